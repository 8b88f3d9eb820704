//! Annotations of baseline tests: a comment states the claims of each analysis, ours included, about its line.
//!
//! ```text
//! ; test baselines lanes=4 params=uniform
//!   v4 = phi i32 [block1: v2], [block2: v3]  ; varying; stratton: uniform, wrongly
//!   br v5, block1, block2                    ; divergent; stratton, karrenberg: uniform
//! ```
//!
//! The first word holds for all analyses that are not named after it. *Wrongly* means that the runs of the file
//! contradict the claim. A contradicted claim without *wrongly* is a failure, and so is a *wrongly* without a
//! contradiction.

use crate::baselines_oracle::{ContradictedClaim, UniformityObservation};
use heddle_analysis::baselines::UniformityAnalysis;
use heddle_analysis::{ControlTables, InitialShapes};
use heddle_ir::{Block, Function, Module, Value};

/// Annotation for one analysis.
#[derive(Clone, Copy, PartialEq, Eq)]
struct BaselineAnnotation {
    is_uniform: bool,
    is_wrong: bool,
}

impl BaselineAnnotation {
    fn show(self) -> &'static str {
        match (self.is_uniform, self.is_wrong) {
            (true, true) => "uniform, wrongly",
            (true, false) => "uniform",
            (false, _) => "varying",
        }
    }

    fn read(words: &str) -> Option<BaselineAnnotation> {
        Some(match words.trim() {
            "uniform" => BaselineAnnotation { is_uniform: true, is_wrong: false },
            "uniform, wrongly" => BaselineAnnotation { is_uniform: true, is_wrong: true },
            "varying" | "divergent" => BaselineAnnotation { is_uniform: false, is_wrong: false },
            _ => return None,
        })
    }
}

/// Parses a comment into one annotation per analysis, in the order of [`UniformityAnalysis::ALL`]; `None` without
/// annotations.
fn read(comment: &str) -> Result<Option<[BaselineAnnotation; 4]>, String> {
    let mut parts = comment.split(';');
    let Some(general) = parts.next().and_then(BaselineAnnotation::read) else { return Ok(None) };
    let mut stated = [general; 4];
    for part in parts {
        let wrong = || format!("`{}` is no claim of analyses", part.trim());
        let (names, words) = part.split_once(':').ok_or_else(wrong)?;
        let words = BaselineAnnotation::read(words).ok_or_else(wrong)?;
        for name in names.split(',') {
            let named = UniformityAnalysis::from_name(name.trim()).ok_or_else(wrong)?;
            let number =
                UniformityAnalysis::ALL.iter().position(|&analysis| analysis == named).ok_or_else(wrong)?;
            stated[number] = words;
        }
    }
    Ok(Some(stated))
}

/// Returns annotations that the analyses do not bear out, and claims that the runs contradict.
pub fn check(
    text: &str,
    module: &Module,
    observed: &[UniformityObservation],
    initial: &dyn Fn(&Function) -> InitialShapes,
) -> Vec<String> {
    let mut failures = Vec::new();
    let mut notes = Vec::new();
    let (mut current, mut block) = (None, None);
    for (number, line) in (1..).zip(text.lines()) {
        let (code, comment) = line.split_once(';').unwrap_or((line, ""));
        let code = code.trim();
        if let Some((_, name)) =
            code.split_once('@').filter(|(before, _)| matches!(*before, "func " | "kernel "))
        {
            let name = name.split('(').next().unwrap_or("");
            current = module.functions.iter().position(|func| func.name == name);
        }
        if let Some(name) = code.strip_prefix("block").and_then(|name| name.strip_suffix(':')) {
            block = name.parse().ok().map(Block::from_u32);
        }
        let value = code.split_once('=').and_then(|(name, _)| name.trim().strip_prefix('v')?.parse().ok());
        let about = match (value, block) {
            (Some(value), _) => ContradictedClaim::Value(Value::from_u32(value)),
            (_, Some(block)) if code.starts_with("br ") || code.starts_with("switch ") => {
                ContradictedClaim::Branch(block)
            }
            _ => continue,
        };
        match (read(comment), current) {
            (Ok(Some(stated)), Some(func)) => notes.push((number, func, about, stated)),
            (Err(reason), _) => failures.push(format!("line {number}: {reason}")),
            _ => {}
        }
    }
    for (index, func) in module.functions.iter().enumerate() {
        let control = ControlTables::new(func);
        if !control.cycles.is_graph_reducible() {
            failures.push(format!("@{} is irreducible", func.name));
            continue;
        }
        for (place, analysis) in UniformityAnalysis::ALL.into_iter().enumerate() {
            let claims = analysis.run(func, &control, &initial(func));
            let mut contradicted = observed[index].contradicts(&claims);
            for (line, _, about, stated) in notes.iter().filter(|(_, func, ..)| *func == index) {
                let is_uniform = match about {
                    ContradictedClaim::Value(value) => !claims.varying.contains(*value),
                    ContradictedClaim::Branch(block) => !claims.divergent.contains(*block),
                };
                let is_wrong = contradicted.contains(about);
                contradicted.retain(|other| other != about);
                let found = BaselineAnnotation { is_uniform, is_wrong };
                if found != stated[place] {
                    failures.push(format!("line {line}: {}: {}", analysis.name(), found.show()));
                }
            }
            for about in contradicted {
                failures.push(format!("@{}: {}: the runs contradict {about:?}", func.name, analysis.name()));
            }
        }
    }
    failures
}
