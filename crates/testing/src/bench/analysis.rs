//! Divergence analysis: growth with the function's size, cost, and precision compared with the published analyses.

use super::kit::{
    AimBound, BenchReport, ReportTable, copies, growth_exponent, interleaved, timed, timed_each,
};
use super::programs::{DIVERGING, ProgramFamily};
use crate::baselines_oracle::subjects;
use crate::generate::{GeneratorProfile, generate};
use heddle_analysis::baselines::{BaselineResult, UniformityAnalysis};
use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::{Fact, Geometry};
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::Function;
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, verify};
use heddle_transform::canonicalize;
use std::hint::black_box;
use std::process::Command;

/// Blocks: six sizes, each twice the last.
const SIZES: [usize; 6] = [3125, 6250, 12_500, 25_000, 50_000, 100_000];
const MOST_GROWTH: f64 = 1.2;
const ROUNDS: usize = 3;
/// Time limit for one analysis of the largest size, extrapolated from the smallest; beyond it, all sizes are halved.
const MOST_SECONDS: f64 = 3.0;
/// Generated programs in the table of precision.
const PROGRAMS: u64 = 3000;
/// Exceptions that are listed.
const MOST_LISTED: usize = 20;
/// Requests the memory of one family, measured in a separate process.
const BYTES_OF: &str = "HEDDLE_BENCH_BYTES_OF";

pub(super) fn run(report: &mut BenchReport) {
    if let Ok(name) = std::env::var(BYTES_OF) {
        if let Some(family) = DIVERGING.iter().find(|family| family.name == name)
            && let Some(bytes) = bytes_per_instruction(family)
        {
            crate::say_line!("{bytes}");
        }
        return;
    }
    growth(report);
    if report.is_full() {
        precision(report);
    }
}

struct AnalysisBenchInput {
    func: Function,
    control: ControlTables,
    initial: InitialShapes,
    instructions: usize,
}

impl AnalysisBenchInput {
    /// The member of a family whose first parameter differs between lanes and whose second does not.
    fn new(family: &ProgramFamily, size: usize) -> AnalysisBenchInput {
        let mut module = family.build(size * family.scale);
        let mut func = module.functions.remove(0);
        canonicalize(&mut func);
        let control = ControlTables::new(&func);
        let mut initial = InitialShapes::uniform(&func, Geometry::brush(&[8]));
        initial.params[0] = Fact::TOP;
        let instructions = func.blocks().map(|block| func.block_insts(block).count()).sum();
        AnalysisBenchInput { func, control, initial, instructions }
    }

    fn analyze(&self) -> Divergence {
        divergence(&self.func, &self.control, &self.initial)
    }
}

fn growth(report: &mut BenchReport) {
    let mut table = ReportTable::new(&[
        "family",
        "blocks",
        "instructions",
        "divergent branches",
        "ms",
        "spread",
        "M inst/s",
        "bytes/inst",
        "exponent",
    ]);
    let mut exponents = Vec::new();
    for family in DIVERGING {
        if !report.is_on(family.name) {
            continue;
        }
        report.progress(format_args!("{}: building", family.name));
        let sizes = affordable_sizes(family);
        let copies: Vec<Vec<AnalysisBenchInput>> = sizes
            .iter()
            .zip(copies(&sizes))
            .map(|(&size, copies)| (0..copies).map(|_| AnalysisBenchInput::new(family, size)).collect())
            .collect();
        let subjects: Vec<&AnalysisBenchInput> = copies.iter().map(|copies| &copies[0]).collect();
        for subject in &subjects {
            let wrong = verify(&subject.func, Stage::Canonical).err();
            report.check(wrong.is_none(), || {
                format!("{}: {}", family.name, wrong.map_or(String::new(), |it| it.to_string()))
            });
        }
        report.progress(format_args!("{}: analyzing", family.name));
        let mut tasks: Vec<Box<dyn FnMut() -> f64 + '_>> = Vec::new();
        for copies in &copies {
            tasks.push(Box::new(move || timed_each(copies, AnalysisBenchInput::analyze)));
        }
        let samples = interleaved(ROUNDS, &mut tasks);
        let points: Vec<(f64, f64)> = subjects
            .iter()
            .zip(&samples)
            .map(|(subject, sample)| (subject.instructions as f64, sample.least()))
            .collect();
        let exponent = growth_exponent(&points);
        exponents.push((family.name, exponent));
        let (Some(largest), Some(sample)) = (subjects.last(), samples.last()) else { continue };
        let claims = largest.analyze();
        let divergent = largest.func.blocks().filter(|&block| claims.is_divergent_branch(block)).count();
        report.check(divergent > 0 || matches!(family.name, "one block" | "uniform outs"), || {
            format!("{}: nothing diverges", family.name)
        });
        table.row([
            family.name.to_string(),
            largest.control.cfg.num_reachable().to_string(),
            largest.instructions.to_string(),
            divergent.to_string(),
            format!("{:.0}", sample.median() * 1e3),
            format!("{:.0} %", sample.spread() * 100.0),
            format!("{:.2}", largest.instructions as f64 / sample.median() / 1e6),
            measured_bytes(family).map_or("-".into(), |bytes| format!("{bytes:.0}")),
            format!("{exponent:.2}"),
        ]);
    }
    report.progress("");
    report.say(format_args!(
        "The analysis on canonical functions of {} to {} blocks, control-flow tables given. Rows are of the largest;\n\
         families whose largest would take longer than {MOST_SECONDS} s stop before\n\n{table}",
        SIZES[0],
        SIZES[SIZES.len() - 1]
    ));
    for (name, exponent) in exponents {
        report.aim(format!("exponent.divergence ({name})"), exponent, AimBound::AtMost(MOST_GROWTH), "");
    }
}

/// Returns the sizes, halved until the largest is expected to meet the time limit.
fn affordable_sizes(family: &ProgramFamily) -> [usize; SIZES.len()] {
    let mut sizes = SIZES;
    while sizes[0] > 20 {
        let [first, second] = [0, 1].map(|at| {
            let subject = AnalysisBenchInput::new(family, sizes[at]);
            (0..3).map(|_| timed(|| black_box(subject.analyze())).1).fold(f64::INFINITY, f64::min)
        });
        if second * (second / first).max(1.0).powi(4) < MOST_SECONDS {
            break;
        }
        sizes = sizes.map(|size| size / 2);
    }
    sizes
}

/// Measures the memory of the analysis in a fresh process: in this one, freed memory would be reused and hide it.
fn measured_bytes(family: &ProgramFamily) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).arg("analysis").env(BYTES_OF, family.name).output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().next()?.trim().parse().ok()
}

/// The most memory that an analysis holds beyond what was there before.
fn bytes_per_instruction(family: &ProgramFamily) -> Option<f64> {
    let subject = AnalysisBenchInput::new(family, affordable_sizes(family)[SIZES.len() - 1]);
    // Forgets the peak of what came before.
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = memory("VmRSS:")?;
    black_box(subject.analyze());
    Some((memory("VmHWM:")? - before).max(0.0) / subject.instructions as f64)
}

/// Reads a line of this process's memory statistics, in bytes.
fn memory(line: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let words = status.lines().find_map(|text| text.strip_prefix(line))?;
    Some(words.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

/// Uniform values and branches that one analysis proved, of those observed in runs.
#[derive(Clone, Copy, Default)]
struct ProvedCounts {
    values: usize,
    branches: usize,
    wrong_values: usize,
    wrong_branches: usize,
    wrong_programs: usize,
    /// Programs on which it is not contradicted and proves a value that ours does not.
    more: usize,
    /// Programs on which ours proves a value more.
    less: usize,
}

fn precision(report: &mut BenchReport) {
    let profile = GeneratorProfile::source();
    let mut proved = [ProvedCounts::default(); 4];
    let (mut values, mut branches, mut functions) = (0, 0, 0);
    let mut listed = Vec::new();
    for seed in 0..PROGRAMS {
        if seed % 100 == 0 {
            report.progress(format_args!("precision: {seed} of {PROGRAMS} programs"));
        }
        let case = generate(seed, &profile);
        let mut tally = [ClaimComparison::default(); 4];
        for subject in subjects(&case) {
            functions += 1;
            values += subject.observed.uniform().count();
            branches += subject.observed.staying().count();
            let claims = UniformityAnalysis::ALL
                .map(|analysis| analysis.run(&subject.func, &subject.control, &subject.initial));
            for (index, claim) in claims.iter().enumerate() {
                let contradicted = subject.observed.contradicts(claim);
                let uniform: EntitySet<_> =
                    subject.observed.uniform().filter(|&value| !claim.varying.contains(value)).collect();
                proved[index].values += uniform.len();
                proved[index].branches += staying(&subject.observed, claim);
                proved[index].wrong_values +=
                    subject.observed.differing.iter().filter(|&value| !claim.varying.contains(value)).count();
                proved[index].wrong_branches += subject
                    .observed
                    .diverged
                    .iter()
                    .filter(|&block| !claim.divergent.contains(block))
                    .count();
                tally[index].is_wrong |= !contradicted.is_empty();
                let ours = |value| !claims[0].varying.contains(value);
                let more: Vec<_> = uniform.iter().filter(|&value| !ours(value)).collect();
                tally[index].less |=
                    subject.observed.uniform().any(|value| ours(value) && claim.varying.contains(value));
                if let Some(value) = more.first() {
                    tally[index].more = true;
                    if contradicted.is_empty() {
                        listed.push((index, seed, format!("@{} {value}", subject.func.name)));
                    }
                }
            }
        }
        for (tally, proved) in tally.iter().zip(&mut proved) {
            proved.wrong_programs += usize::from(tally.is_wrong);
            proved.more += usize::from(tally.more && !tally.is_wrong);
            proved.less += usize::from(tally.less);
        }
        listed.retain(|&(index, of, _)| of != seed || !tally[index].is_wrong);
    }
    report.progress("");
    let mut table = ReportTable::new(&[
        "analysis",
        "uniform values proved",
        "share",
        "uniform branches proved",
        "share",
        "programs wrong",
        "values wrong",
        "branches wrong",
        "programs with less than ours",
        "with more",
    ]);
    let share = |part: usize, whole: usize| format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64);
    for (analysis, proved) in UniformityAnalysis::ALL.into_iter().zip(&proved) {
        table.row([
            analysis.name().to_string(),
            proved.values.to_string(),
            share(proved.values, values),
            proved.branches.to_string(),
            share(proved.branches, branches),
            proved.wrong_programs.to_string(),
            proved.wrong_values.to_string(),
            proved.wrong_branches.to_string(),
            proved.less.to_string(),
            proved.more.to_string(),
        ]);
    }
    report.say(format_args!(
        "Precision on {PROGRAMS} generated programs, {functions} functions: {values} values and {branches} branches on \
         which lanes always agreed.\n`Wrong` is what runs contradict; `with more` counts programs on which an analysis is \
         not contradicted and claims\na value uniform that ours does not, and that was\n\n{table}"
    ));
    // An unsound analysis gets no credit for what it proves on programs whose inputs do not show the error.
    let is_sound = |index: usize| proved[index].wrong_programs == 0;
    for (index, seed, value) in listed.iter().filter(|(index, ..)| is_sound(*index)).take(MOST_LISTED) {
        report.say(format_args!(
            "more than ours: {}, seed {seed}: {value}",
            UniformityAnalysis::ALL[*index].name()
        ));
    }
    report.check(is_sound(0), || format!("runs contradict us on {} programs", proved[0].wrong_programs));
    for (index, analysis) in
        UniformityAnalysis::ALL.into_iter().enumerate().skip(1).filter(|(index, _)| is_sound(*index))
    {
        let name = format!("precision.programs-with-more ({})", analysis.name());
        report.aim(name, proved[index].more as f64, AimBound::AtMost(0.0), "");
    }
}

#[derive(Clone, Copy, Default)]
struct ClaimComparison {
    is_wrong: bool,
    more: bool,
    less: bool,
}

/// Counts the branches whose lanes always stayed together and that the analysis claims uniform.
fn staying(observed: &crate::baselines_oracle::UniformityObservation, claims: &BaselineResult) -> usize {
    observed.staying().filter(|&block| !claims.divergent.contains(block)).count()
}
