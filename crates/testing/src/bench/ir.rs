//! Infrastructure: text format, verifier, control-flow analyses, passes, and the interpreter.

use super::interp;
use super::kit::{
    AimBound, BenchReport, ReportTable, Sample, copies, growth_exponent, interleaved, timed_each,
};
use super::programs::{FAMILIES, ProgramFamily};
use heddle_analysis::{BlockIndex, Cfg, CycleForest, DominatorTree, PostDominatorTree};
use heddle_compiler::Session;
use heddle_compiler::passes::{PASSES, PassInfo};
use heddle_ir::{Function, Module, Stage, parse_module, verify_module};

/// Six sizes, each twice the last.
const SIZES: [usize; 6] = [3125, 6250, 12_500, 25_000, 50_000, 100_000];
const MOST_GROWTH: f64 = 1.15;
const ROUNDS: usize = 5;

pub(super) fn run(report: &mut BenchReport) {
    growth(report);
    if report.is_full() {
        interp::run(report);
    }
}

/// A program of some size.
struct SizedProgram {
    module: Module,
    text: String,
    instructions: usize,
}

impl SizedProgram {
    fn new(family: &ProgramFamily, size: usize) -> SizedProgram {
        let module = family.build(size * family.scale);
        let text = module.to_string();
        let instructions = instructions(&module);
        SizedProgram { module, text, instructions }
    }

    fn func(&self) -> &Function {
        &self.module.functions[0]
    }
}

fn instructions(module: &Module) -> usize {
    module.functions.iter().flat_map(|func| func.blocks().map(|block| func.block_insts(block).count())).sum()
}

/// Runs an operation on all copies of a program and returns seconds per copy.
type TimedRun = dyn Fn(&[SizedProgram]) -> f64;

/// Timed operation: its name, and a function that runs it on copies of a program and returns seconds per copy.
struct IrBenchOperation {
    name: &'static str,
    /// True if the operation concerns control flow, for which a function of one block is no measure.
    of_blocks: bool,
    /// Pass under test, whose work is measured against the size of its input and output.
    pass: Option<&'static PassInfo>,
    run: Box<TimedRun>,
}

impl IrBenchOperation {
    /// Returns the size that the time should be proportional to.
    fn size(&self, subject: &SizedProgram) -> f64 {
        let Some(pass) = self.pass else { return subject.instructions as f64 };
        let module = passed(subject.module.clone(), pass);
        let mut size = subject.instructions + instructions(&module);
        let is_reducible = CycleForest::new(&Cfg::new(subject.func())).is_graph_reducible();
        if !is_reducible && pass.ensures == Some(Stage::Canonical) {
            size += memberships(&module.functions[0]);
        }
        size as f64
    }
}

/// Sums the cycle depths of all blocks. The reducibility check finds cycles with all their entries by recursion into
/// what is left of each cycle; no known algorithm is faster than this sum.
fn memberships(func: &Function) -> usize {
    let cycles = CycleForest::new(&Cfg::new(func));
    func.blocks().map(|block| cycles.depth_of_block(block)).sum()
}

fn passed(mut module: Module, pass: &'static PassInfo) -> Module {
    // Other tests check the result.
    let _ = Session::default().run_passes(&mut module, &[word_of(pass)], false, |_, _| ());
    module
}

fn cfgs(subjects: &[SizedProgram]) -> Vec<Cfg> {
    subjects.iter().map(|subject| Cfg::new(subject.func())).collect()
}

fn operations() -> Vec<IrBenchOperation> {
    let operation = |name, of_blocks, run: fn(&[SizedProgram]) -> f64| IrBenchOperation {
        name,
        of_blocks,
        pass: None,
        run: Box::new(run),
    };
    let mut all = vec![
        operation("parse", false, |subjects| timed_each(subjects, |subject| parse_module(&subject.text))),
        operation("print", false, |subjects| timed_each(subjects, |subject| subject.module.to_string())),
        operation("verify", false, |subjects| {
            timed_each(subjects, |subject| verify_module(&subject.module, Stage::Source))
        }),
        operation("cfg", true, |subjects| timed_each(subjects, |subject| Cfg::new(subject.func()))),
        operation("dominators", true, |subjects| timed_each(&cfgs(subjects), DominatorTree::new)),
        operation("post-dominators", true, |subjects| timed_each(&cfgs(subjects), PostDominatorTree::new)),
        operation("cycles", true, |subjects| timed_each(&cfgs(subjects), CycleForest::new)),
        operation("block-index", true, |subjects| {
            let tables: Vec<(Cfg, DominatorTree, CycleForest)> = cfgs(subjects)
                .into_iter()
                .map(|cfg| {
                    let (dominators, cycles) = (DominatorTree::new(&cfg), CycleForest::new(&cfg));
                    (cfg, dominators, cycles)
                })
                .collect();
            timed_each(&tables, |(cfg, dominators, cycles)| BlockIndex::new(cfg, dominators, cycles))
        }),
    ];
    all.extend(measured_passes().map(|pass| IrBenchOperation {
        name: pass.name,
        of_blocks: false,
        pass: Some(pass),
        run: Box::new(move |subjects| {
            let modules: Vec<Module> = subjects.iter().map(|subject| subject.module.clone()).collect();
            timed_each(modules, |module| passed(module, pass))
        }),
    }));
    all
}

fn growth(report: &mut BenchReport) {
    let operations = operations();
    let head: Vec<&str> =
        ["family"].into_iter().chain(operations.iter().map(|operation| operation.name)).collect();
    let mut exponents = ReportTable::new(&head);
    let mut throughput = ReportTable::new(&[
        "family",
        "blocks",
        "instructions",
        "MB",
        "parse MB/s",
        "print MB/s",
        "verify MB/s",
        "all MB/s",
        "all M inst/s",
        "spread",
    ]);
    let mut worst = vec![(f64::NEG_INFINITY, ""); operations.len()];
    for family in FAMILIES {
        if !report.is_on(family.name) {
            continue;
        }
        report.progress(format_args!("{}: building", family.name));
        let subjects: Vec<Vec<SizedProgram>> = SIZES
            .iter()
            .zip(copies(&SIZES))
            .map(|(&size, copies)| (0..copies).map(|_| SizedProgram::new(family, size)).collect())
            .collect();
        let firsts: Vec<&SizedProgram> = subjects.iter().map(|copies| &copies[0]).collect();
        check(family, &firsts, report);
        let mut cells = vec![family.name.to_string()];
        let mut largest = Vec::new();
        for (operation, worst) in operations.iter().zip(&mut worst) {
            if operation.of_blocks && firsts[0].func().block_count() == 1 {
                cells.push("-".into());
                continue;
            }
            report.progress(format_args!("{}: {}", family.name, operation.name));
            let mut tasks: Vec<Box<dyn FnMut() -> f64 + '_>> = Vec::new();
            for copies in &subjects {
                tasks.push(Box::new(|| (operation.run)(copies)));
            }
            let samples = interleaved(ROUNDS, &mut tasks);
            let sizes = firsts.iter().map(|subject| operation.size(subject));
            let points: Vec<(f64, f64)> = sizes.zip(samples.iter().map(Sample::least)).collect();
            let exponent = growth_exponent(&points);
            cells.push(format!("{exponent:.2}"));
            if exponent > worst.0 {
                *worst = (exponent, family.name);
            }
            largest.extend(samples.into_iter().last());
        }
        exponents.row(cells);
        throughput.row(throughput_row(family, firsts[SIZES.len() - 1], &largest));
    }
    report.progress("");
    report
        .say(format_args!("Throughput at the largest size (medians; spread of the slowest)\n\n{throughput}"));
    report.say(format_args!(
        "Exponents of growth, {} to {} blocks (least of {ROUNDS} times)\n\n{exponents}",
        SIZES[0],
        SIZES[SIZES.len() - 1]
    ));
    for (operation, (exponent, family)) in operations.iter().zip(worst) {
        let name = format!("exponent.{} ({family})", operation.name);
        report.aim(name, exponent, AimBound::AtMost(MOST_GROWTH), "");
    }
}

fn throughput_row(family: &ProgramFamily, subject: &SizedProgram, samples: &[Sample]) -> Vec<String> {
    let megabytes = subject.text.len() as f64 / 1e6;
    let text = &samples[..3];
    let all: f64 = text.iter().map(Sample::median).sum();
    let spread = text.iter().map(Sample::spread).fold(0.0, f64::max);
    let mut row = vec![
        family.name.to_string(),
        subject.func().block_count().to_string(),
        subject.instructions.to_string(),
        format!("{megabytes:.1}"),
    ];
    row.extend(text.iter().map(|sample| format!("{:.1}", megabytes / sample.median())));
    row.extend([
        format!("{:.1}", megabytes / all),
        format!("{:.2}", subject.instructions as f64 / 1e6 / all),
        format!("{:.0} %", 100.0 * spread),
    ]);
    row
}

/// Checks text format, verifier and analyses on the members of a family.
fn check(family: &ProgramFamily, subjects: &[&SizedProgram], report: &mut BenchReport) {
    for subject in subjects {
        let wrong = |what: &str| format!("{} of {} instructions: {what}", family.name, subject.instructions);
        let printed = parse_module(&subject.text).map(|module| module.to_string());
        report.check(printed.as_ref() == Ok(&subject.text), || wrong("parsed and printed, it differs"));
        report.check(verify_module(&subject.module, family.stage).is_ok(), || wrong("it does not verify"));
        let cfg = Cfg::new(subject.func());
        let (dominators, cycles) = (DominatorTree::new(&cfg), CycleForest::new(&cfg));
        let index = BlockIndex::new(&cfg, &dominators, &cycles);
        report.check(index.order().len() == subject.func().blocks().count(), || {
            wrong("blocks without an index")
        });
        report.check(cycles.is_graph_reducible() == (family.name != "irreducible mesh"), || {
            wrong("reducible or not, the cycles say otherwise")
        });
        for pass in measured_passes() {
            let mut module = subject.module.clone();
            let passed = Session::default().run_passes(&mut module, &[word_of(pass)], true, |_, _| ());
            report.check(passed.is_ok(), || wrong(pass.name));
        }
    }
}

/// Returns the passes on source code, except those that need parameters and those for kernels.
fn measured_passes() -> impl Iterator<Item = &'static PassInfo> {
    PASSES
        .iter()
        .copied()
        .filter(|pass| pass.requires == Stage::Source && !matches!(pass.name, "params" | "kernels"))
}

/// Returns the pass's word in a pipeline.
fn word_of(pass: &'static PassInfo) -> &'static str {
    if pass.name == "brushes" { "brushes:2" } else { pass.name }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each measured pass accepts its input: refusing would be fast.
    #[test]
    fn all_that_is_measured_works() {
        let mut report = BenchReport::default();
        for family in FAMILIES {
            check(family, &[&SizedProgram::new(family, 64)], &mut report);
        }
        assert!(report.finish());
    }
}
