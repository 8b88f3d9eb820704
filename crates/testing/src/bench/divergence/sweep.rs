//! Bulavintsev's sweep of early exits: in each iteration of the outer loop some `k` of 32 lanes leave the inner loop after one
//! iteration, the others after [`TRIPS`]. Which ones they are is random in each. Payload and inner loop are chains of operations
//! in the ratio A/B (section V of the paper).

use super::super::kit::{AimBound, BenchReport, ReportTable};
use super::measure::{RunMeasurement, measure};
use super::{LANES, profile_of};
use crate::generate::Random;
use heddle_compiler::divergence::analyze_divergence;
use heddle_ir::{Module, parse_module};
use heddle_transform::flatten::{self, FlattenDecision, FlattenPolicy, flatten as flatten_nests};
use heddle_transform::{canonicalize, simplify};
use std::fmt::Write as _;

/// Iterations of the inner loop.
const TRIPS: u32 = 64;
/// Operations in one unit of work.
const UNIT: u32 = 4;
/// Costs of the payload and of an iteration of the inner loop, in units.
pub(super) const RATIOS: [(u32, u32); 4] = [(10, 1), (1, 1), (1, 10), (1, 100)];
/// Random orders to measure the grid with, each with its iterations of the outer loop. The curves of the first are
/// printed.
const SEEDS: [(u64, u32); 3] = [(1, 256), (2, 64), (3, 64)];

/// Appends a chain of distinct operations on a value; returns its last name and the next free number.
fn chain(text: &mut String, mut value: u32, mut next: u32, operations: u32) -> (u32, u32) {
    for index in 0..operations {
        let operation = if index % 2 == 0 { "mul" } else { "xor" };
        let number = if index % 2 == 0 { 1_664_525 } else { 1_013_904_223 };
        let _ = writeln!(text, "  v{next} = {operation} v{value}, {number}");
        (value, next) = (next, next + 1);
    }
    (value, next)
}

/// Returns the kernel for a payload and an inner loop of these costs. `v0` is the buffer from [`input`]; `v1` receives
/// a number per lane.
pub(crate) fn kernel((payload, inner): (u32, u32), rounds: u32) -> String {
    let mut text = String::from(
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {\nblock0:\n  v2 = lane i32\n  \
         v24 = load i32, v0 align 4\n  v25 = ptradd v0, i64 64\n  br block1\nblock1:\n  \
         v3 = phi i32 [block0: 0], [block3: v20]\n  v4 = phi i32 [block0: v2], [block3: v21]\n  v5 = shl v3, 5\n  \
         v6 = or v5, v2\n  v7 = zext i64, v6\n  v8 = ptradd v25, v7\n  v9 = load i8, v8 align 1\n  v10 = zext i32, v9\n  \
         v11 = icmp ult v10, v24\n",
    );
    let _ = writeln!(text, "  v12 = select v11, i32 1, {TRIPS}");
    let (after_payload, next) = chain(&mut text, 4, 30, payload * UNIT);
    let _ = write!(
        text,
        "  br block2\nblock2:\n  v13 = phi i32 [block1: 0], [block2: v15]\n  \
         v14 = phi i32 [block1: v{after_payload}], [block2: v16]\n"
    );
    // The last operation of the loop has a name that the φ knows.
    let (last, _) = chain(&mut text, 14, next, inner * UNIT - 1);
    let _ = write!(
        text,
        "  v16 = add v{last}, v13\n  v15 = add v13, 1\n  v17 = icmp ult v15, v12\n  br v17, block2, block3\n\
         block3:\n  v21 = phi i32 [block2: v16]\n  v20 = add v3, 1\n  v22 = icmp ult v20, {rounds}\n  \
         br v22, block1, block4\nblock4:\n  v23 = phi i32 [block3: v21]\n  v26 = zext i64, v2\n  v27 = shl v26, 2\n  \
         v28 = ptradd v1, v27\n  store v23, v28 align 4\n  ret\n}}\n"
    );
    text
}

/// Returns the kernel's input: `k` for each of 16 lanes, so that a run may start at lane 16; then, for each iteration
/// of the outer loop, a random permutation of the lanes as each lane's position.
pub(crate) fn input(early: u32, seed: u64, rounds: u32) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes: Vec<u8> = (0..16).flat_map(|_| early.to_le_bytes()).collect();
    for _ in 0..rounds {
        let mut places: Vec<u8> = (0..LANES as u8).collect();
        for index in (1..places.len()).rev() {
            places.swap(index, random.below(index + 1));
        }
        bytes.extend(places);
    }
    bytes
}

pub(super) fn prepared(text: &str) -> Result<Module, String> {
    let mut module = parse_module(text).map_err(|errors| format!("{:?}", errors.first()))?;
    canonicalize(&mut module.functions[0]);
    simplify(&mut module.functions[0]);
    Ok(module)
}

/// Flattens the kernel, guided by its profile.
pub(super) fn flattened(
    module: &Module,
    profiled: &RunMeasurement,
    options: flatten::FlattenOptions,
) -> Result<(Module, FlattenDecision), String> {
    let mut module = module.clone();
    let func = &mut module.functions[0];
    let trips = profile_of(func, profiled).1;
    let decision = flatten_nests(func, analyze_divergence, &flatten::FlattenOptions { trips, ..options })
        .pop()
        .ok_or("there is no nest")?;
    simplify(func);
    Ok((module, decision))
}

/// Accuracy of the predicted gain.
#[derive(Clone, Copy, Default)]
pub(super) struct PredictionTally {
    points: u32,
    by_model: u32,
    by_formula: u32,
    /// Points with the right sign, changes below 1 % left out.
    large_by_model: u32,
    large_by_formula: u32,
}

impl PredictionTally {
    /// Counts a point of the grid; returns the prediction of formula (1).
    pub(super) fn count(&mut self, decision: &FlattenDecision, gain: f64) -> Result<bool, String> {
        let estimate = decision.estimate.ok_or("the nest was refused")?;
        let predicted = [estimate.before > estimate.after, estimate.pays_by_formula()];
        let is_small = (gain - 1.0).abs() < 0.01;
        let is_right = predicted.map(|predicted| predicted == (gain > 1.0));
        self.points += 1;
        self.by_model += u32::from(is_right[0]);
        self.by_formula += u32::from(is_right[1]);
        self.large_by_model += u32::from(is_small || is_right[0]);
        self.large_by_formula += u32::from(is_small || is_right[1]);
        Ok(predicted[1])
    }

    fn add(&mut self, other: PredictionTally) {
        self.points += other.points;
        self.by_model += other.by_model;
        self.by_formula += other.by_formula;
        self.large_by_model += other.large_by_model;
        self.large_by_formula += other.large_by_formula;
    }

    /// Prints the accuracy and returns the model's share of right signs, in percent.
    pub(super) fn say(&self, report: &mut BenchReport, what: &str) -> f64 {
        let share = |right: u32| 100.0 * f64::from(right) / f64::from(self.points.max(1));
        report.say(format_args!(
            "{what}: whether it pays is foretold at {} of {} points by the model ({:.1} %), at {} by formula (1) ({:.1} %); where \
             changes below a hundredth count as right, {:.1} % and {:.1} %\n",
            self.by_model,
            self.points,
            share(self.by_model),
            self.by_formula,
            share(self.by_formula),
            share(self.large_by_model),
            share(self.large_by_formula)
        ));
        share(self.by_model)
    }
}

/// Formats the speedup that the model predicts.
pub(super) fn predicted(decision: &FlattenDecision) -> String {
    decision.estimate.map_or_else(String::new, |estimate| format!("{:.2}", estimate.before / estimate.after))
}

/// A word for what was foretold.
pub(super) fn mark(pays: bool) -> String {
    String::from(if pays { "pays" } else { "-" })
}

fn curve(
    report: &mut BenchReport,
    ratio: (u32, u32),
    (seed, rounds): (u64, u32),
    foretold: &mut PredictionTally,
) -> Result<(), String> {
    let (payload, inner) = ratio;
    let module = prepared(&kernel(ratio, rounds))?;
    let mut table = ReportTable::new(&[
        "k",
        "instructions",
        "flattened",
        "cycles",
        "flattened",
        "gain",
        "performance %",
        "flattened %",
        "model",
        "formula (1)",
    ]);
    let mut best = None;
    let mut last = (0.0, 0.0);
    for early in 0..LANES {
        report.progress(format_args!("A/B = {payload}/{inner}, seed {seed}, k = {early}"));
        let read = input(early, seed, rounds);
        let before = measure(&module, LANES, &read)?;
        let options = flatten::FlattenOptions {
            policy: FlattenPolicy::Force,
            lanes: LANES,
            ..flatten::FlattenOptions::default()
        };
        let (flat, decision) = flattened(&module, &before, options)?;
        let after = measure(&flat, LANES, &read)?;
        report.check(before.written == after.written, || {
            format!("A/B = {payload}/{inner}, k = {early}: other results")
        });
        let gain = before.cycles as f64 / after.cycles as f64;
        let by_formula = foretold.count(&decision, gain)?;
        // As Fig. 7: iterations of the inner loop by time, relative to the original without early exits.
        let useful = f64::from((LANES - early) * TRIPS + early);
        let best = best.get_or_insert(useful / before.cycles as f64);
        let performance = |cycles: u64| format!("{:.0}", 100.0 * useful / cycles as f64 / *best);
        last = (gain, before.instructions as f64 / after.instructions as f64);
        table.row([
            early.to_string(),
            before.instructions.to_string(),
            after.instructions.to_string(),
            before.cycles.to_string(),
            after.cycles.to_string(),
            format!("{gain:.2}"),
            performance(before.cycles),
            performance(after.cycles),
            predicted(&decision),
            mark(by_formula),
        ]);
    }
    if (seed, rounds) == SEEDS[0] {
        report.say(format_args!(
            "A/B = {payload}/{inner}, {LANES} lanes under a reconvergence stack\n\n{table}"
        ));
        if inner > payload {
            let name = format!("divergence.flatten.{payload}_{inner}");
            report.aim(format!("{name}.cycles"), last.0, AimBound::AtLeast(10.0), "times");
            report.aim(format!("{name}.instructions"), last.1, AimBound::AtLeast(10.0), "times");
        }
    }
    Ok(())
}

/// The sweep on the oracle, as a GPU runs it.
pub(super) fn counted(report: &mut BenchReport) -> Result<(), String> {
    let mut all = PredictionTally::default();
    for seed in SEEDS {
        let mut foretold = PredictionTally::default();
        for ratio in RATIOS {
            curve(report, ratio, seed, &mut foretold)?;
        }
        foretold.say(report, &format!("seed {}", seed.0));
        all.add(foretold);
    }
    let share = all.say(report, "all seeds");
    report.aim("divergence.flatten.foretold", share, AimBound::AtLeast(95.0), "% of the grid");
    Ok(())
}
