//! The pipeline: the only place that knows the passes and their order.

use heddle_ir::Module;
use heddle_ir::verify::{Stage, Violations, verify_module};
use heddle_transform::{LoopFacts, canonicalize, make_loops_uniform, simplify};
use thiserror::Error;

/// A pass by its name.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// The stage that it needs.
    pub requires: Stage,
    /// The stage that it ensures; none leaves the stage as it was.
    pub ensures: Option<Stage>,
    run: fn(&mut Module),
}

/// All passes, in the order in which the pipeline runs them.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "canonicalize",
        doc: "reducible control flow, one return, simple loops, LCSSA, no switch",
        requires: Stage::Source,
        ensures: Some(Stage::Canonical),
        run: |module| module.functions.iter_mut().for_each(canonicalize),
    },
    Pass {
        name: "simplify",
        doc: "constant folding, dead code, trivial φs, common subexpressions",
        requires: Stage::Source,
        ensures: None,
        run: |module| {
            for func in &mut module.functions {
                simplify(func);
            }
        },
    },
    Pass {
        name: "loops",
        doc: "no divergent loop: lanes that have left wait inside, their live-outs and exits tracked",
        requires: Stage::Canonical,
        ensures: Some(Stage::Uniform),
        run: |module| {
            for func in &mut module.functions {
                let facts = LoopFacts::obvious(func);
                make_loops_uniform(func, &facts);
            }
        },
    },
];

/// Why passes did not run to their end.
#[derive(Debug, Error)]
pub enum PassError {
    /// There is no such pass.
    #[error("there is no pass `{name}`; there are {}", PASSES.iter().map(|pass| pass.name).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The module is not at the stage that a pass needs, or is not at the one it should have ensured.
    #[error("{when} `{name}` the module is not at stage {stage}:\n{violations}")]
    Stage {
        /// `before` or `behind`.
        when: &'static str,
        /// The pass.
        name: &'static str,
        /// The stage.
        stage: Stage,
        /// What is wrong.
        violations: Violations,
    },
}

/// Runs passes by name, each after the other; `watch` sees the module behind each of them. With `verify`, what a pass
/// needs and ensures is checked.
pub fn run_passes(
    module: &mut Module,
    names: &[&str],
    verify: bool,
    mut watch: impl FnMut(&Pass, &Module),
) -> Result<(), PassError> {
    let mut stage = Stage::Source;
    for &name in names {
        let pass = PASSES
            .iter()
            .find(|pass| pass.name == name)
            .ok_or_else(|| PassError::Unknown { name: name.into() })?;
        let check = |module: &Module, stage: Stage, when| match verify_module(module, stage) {
            Err(violations) if verify => Err(PassError::Stage { when, name: pass.name, stage, violations }),
            _ => Ok(()),
        };
        check(module, pass.requires.max(stage), "before")?;
        (pass.run)(module);
        stage = pass.ensures.unwrap_or(stage);
        check(module, stage, "behind")?;
        watch(pass, module);
    }
    Ok(())
}
