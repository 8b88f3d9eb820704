//! Counts branches that the divergence analysis calls divergent although lanes stay together in runs: in generated
//! programs, file tests, and the kernels of this benchmark. After Fig. 13 of Coutinho et al.

use super::super::kit::{BenchReport, ReportTable};
use super::LANES;
use super::kernels::{FUSION, SCALARS, text_of};
use super::measure::measure;
use super::shapes::{numbers, prepared};
use crate::execution::{options, prepare};
use crate::file_test::find_files;
use crate::generate::{GeneratorProfile, ProgramClass, generate};
use heddle_compiler::divergence::analyze_divergence;
use heddle_interp::{FunctionProfile, RunOptions, Scheduler, run as run_oracle};
use heddle_ir::module::DeclaredShape;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Function, Module, parse_module};
use heddle_runs::line::{Expectation, RunLine};
use heddle_transform::canonicalize;
use std::path::Path;

/// Number of generated programs to analyze.
const PROGRAMS: u64 = 400;

/// Branches with two targets that were executed.
#[derive(Clone, Copy, Default)]
struct BranchTally {
    functions: u32,
    executed: u32,
    /// Branches where lanes diverged in some run.
    diverged: u32,
    /// Branches that the analysis calls divergent.
    called: u32,
    /// Those of them that stayed together.
    wrong: u32,
    /// Branches that the analysis calls uniform although lanes diverged.
    missed: u32,
}

impl BranchTally {
    fn add(&mut self, other: BranchTally) {
        self.functions += other.functions;
        self.executed += other.executed;
        self.diverged += other.diverged;
        self.called += other.called;
        self.wrong += other.wrong;
        self.missed += other.missed;
    }

    fn row(&self, corpus: &str) -> Vec<String> {
        let percent =
            |part: u32, whole: u32| format!("{:.1}", 100.0 * f64::from(part) / f64::from(whole.max(1)));
        let BranchTally { functions, executed, diverged, called, wrong, missed } = *self;
        vec![
            corpus.into(),
            functions.to_string(),
            executed.to_string(),
            called.to_string(),
            diverged.to_string(),
            wrong.to_string(),
            percent(wrong, called),
            percent(executed - wrong - missed, executed),
        ]
    }
}

/// Executions and divergent executions of each function's branches, over all runs.
struct FunctionBranchCounts {
    of: Vec<Vec<(u64, u64)>>,
}

impl FunctionBranchCounts {
    fn new(module: &Module) -> FunctionBranchCounts {
        FunctionBranchCounts {
            of: module.functions.iter().map(|func| vec![(0, 0); func.block_count()]).collect(),
        }
    }

    fn note(&mut self, module: &Module, profiles: &[FunctionProfile]) {
        for ((func, profile), observed) in module.functions.iter().zip(profiles).zip(&mut self.of) {
            for block in func.blocks() {
                let (all, apart) = &mut observed[block.as_u32() as usize];
                *all += profile.branches[block].executed;
                *apart += profile.branches[block].diverged;
            }
        }
    }

    /// Compares the analysis with the runs; reports branches that it wrongly calls uniform in `contradictions`.
    fn tally(&self, module: &Module, from: &str, contradictions: &mut Vec<String>) -> BranchTally {
        let mut tally = BranchTally::default();
        for (func, observed) in module.functions.iter().zip(&self.of) {
            let Some((control, facts)) = analyze_divergence(func) else { continue };
            let before = tally.executed;
            for &block in control.index.order() {
                let (all, apart) = observed[block.as_u32() as usize];
                if all == 0 || func.successors(block).len() < 2 {
                    continue;
                }
                let is_called = facts.is_divergent_branch(block);
                tally.executed += 1;
                tally.diverged += u32::from(apart > 0);
                tally.called += u32::from(is_called);
                tally.wrong += u32::from(is_called && apart == 0);
                if !is_called && apart > 0 {
                    tally.missed += 1;
                    contradictions.push(format!("{from}: @{}, {block}", func.name));
                }
            }
            tally.functions += u32::from(tally.executed > before);
        }
        tally
    }
}

fn generated(contradictions: &mut Vec<String>) -> BranchTally {
    let mut tally = BranchTally::default();
    for seed in 0..PROGRAMS {
        let case = generate(seed, &GeneratorProfile::source());
        if case.traits.class == ProgramClass::Predicated {
            continue;
        }
        let mut module = case.module.clone();
        module.functions.iter_mut().for_each(canonicalize);
        let mut observed = FunctionBranchCounts::new(&module);
        for input in &case.inputs {
            let (mut memory, args) = prepare(&case, input);
            let options = RunOptions { profile: true, ..options(input) };
            if let Ok(outcome) = run_oracle(&module, &case.entry, &args, &mut memory, &options) {
                observed.note(&module, &outcome.profile.unwrap_or_default().functions);
            }
        }
        tally.add(observed.tally(&module, &format!("generated program {seed}"), contradictions));
    }
    tally
}

/// Declares shapes, as observed in runs, of parameters without a declared shape.
fn declare(func: &mut Function, runs: &[RunLine]) {
    let runs: Vec<&RunLine> = runs.iter().filter(|run| run.func == func.name).collect();
    // Callees get the shapes of their arguments from their callers.
    if runs.is_empty() {
        return;
    }
    for (index, param) in func.signature.params.iter_mut().enumerate() {
        let varies = |run: &&RunLine| {
            run.args.get(index).is_some_and(|arg| arg.starts_with('[') || arg.starts_with("linear"))
        };
        let shape = if runs.iter().any(varies) { DeclaredShape::Varying } else { DeclaredShape::Uniform };
        param.shape.get_or_insert(shape);
    }
}

/// The runs of one file test; nothing of files that are about something else than lock-step sources.
fn of_file(path: &Path, contradictions: &mut Vec<String>) -> Option<BranchTally> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut module = parse_module(&text).ok()?;
    verify_module(&module, Stage::Source).ok()?;
    let has_predicate = |func: &Function| func.blocks().any(|block| func.predicate(block).is_some());
    if module.functions.iter().any(has_predicate) {
        return None;
    }
    let runs: Vec<RunLine> =
        text.lines().filter_map(|line| RunLine::parse(line.strip_prefix("; run:")?.trim()).ok()).collect();
    for func in &mut module.functions {
        declare(func, &runs);
        canonicalize(func);
    }
    let mut observed = FunctionBranchCounts::new(&module);
    for run in runs.iter().filter(|run| !matches!(run.expected, Expectation::Fault(_))) {
        // The analysis speaks of greedy schedules: a reconvergence stack may join lanes of different iterations.
        let options = RunOptions { profile: true, scheduler: Scheduler::Greedy, ..run.options.clone() };
        let Ok(outcome) = run.run(&module, &options).ok()?.outcome else { continue };
        observed.note(&module, &outcome.profile.unwrap_or_default().functions);
    }
    Some(observed.tally(&module, &path.display().to_string(), contradictions))
}

fn of_files(contradictions: &mut Vec<String>) -> Result<BranchTally, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut tally = BranchTally::default();
    for path in find_files(&root).map_err(|error| error.to_string())? {
        of_file(&path, contradictions).into_iter().for_each(|found| tally.add(found));
    }
    Ok(tally)
}

fn of_kernels(contradictions: &mut Vec<String>) -> Result<BranchTally, String> {
    let mut tally = BranchTally::default();
    for &(name, text) in SCALARS.iter().chain(FUSION) {
        let module = prepared(&text_of(text, LANES)).map_err(|reason| format!("{name}: {reason}"))?;
        let mut observed = FunctionBranchCounts::new(&module);
        observed.note(&module, &[measure(&module, LANES, &numbers())?.profile]);
        tally.add(observed.tally(&module, name, contradictions));
    }
    Ok(tally)
}

/// Asks the analysis about branches of all corpora.
pub(super) fn false_positives(report: &mut BenchReport) -> Result<(), String> {
    let mut table = ReportTable::new(&[
        "corpus",
        "functions",
        "branches",
        "called divergent",
        "diverged",
        "false positives",
        "% of called",
        "right %",
    ]);
    let (mut all, mut contradictions) = (BranchTally::default(), Vec::new());
    let tallies = [
        ("generated", generated(&mut contradictions)),
        ("file tests", of_files(&mut contradictions)?),
        ("kernels", of_kernels(&mut contradictions)?),
    ];
    for (corpus, tally) in tallies {
        table.row(tally.row(corpus));
        all.add(tally);
    }
    table.row(all.row("all"));
    let missed = all.missed;
    report.check(missed == 0, || {
        format!("{missed} branches diverged that the analysis calls uniform: {}", contradictions.join("; "))
    });
    report.say(format_args!(
        "branches of which the divergence analysis speaks, and how lanes went there\n\n{table}"
    ));
    Ok(())
}
