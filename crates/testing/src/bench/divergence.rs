//! Divergence: Bulavintsev's sweep of early exits, before and after flattening, in instructions and cycles of 32 lanes; and
//! how often the divergence analysis calls branches divergent that stay together.
//!
//! The kernel of the sweep is the paper's (section V): in each iteration of the outer loop some `k` of 32 lanes leave the
//! inner loop after one iteration, the others after [`TRIPS`]. Which ones they are is random in each. Payload and inner loop
//! are chains of operations in the ratio A/B.

mod kernels;
mod shapes;

use super::kit::{Report, Table, Target as Aim};
use crate::execution::{options, prepare};
use crate::generate::{Class, Profile, Random, generate};
use heddle::verdicts::verdicts;
use heddle_interp::{Argument, Cycles, Datum, Memory, Options, Outcome, Scheduler, run as run_oracle};
use heddle_ir::{Module, Space, parse_module};
use heddle_transform::flatten::{self, Decision, Policy, Trips, flatten as flatten_nests};
use heddle_transform::{canonicalize, simplify};
use std::fmt::Write as _;

const LANES: u32 = 32;
/// Iterations of the outer loop.
const ROUNDS: u32 = 256;
/// Iterations of the inner loop.
const TRIPS: u32 = 64;
/// Operations in one unit of work.
const UNIT: u32 = 4;
/// What the payload and an iteration of the inner loop take, in units.
const RATIOS: [(u32, u32); 4] = [(10, 1), (1, 1), (1, 10), (1, 100)];
/// How many generated programs the analysis is asked about.
const PROGRAMS: u64 = 400;

/// A chain of so many operations on a value; gives its last name and the next free number.
fn chain(text: &mut String, mut value: u32, mut next: u32, operations: u32) -> (u32, u32) {
    for index in 0..operations {
        let operation = if index % 2 == 0 { "mul" } else { "add" };
        let number = if index % 2 == 0 { 1_664_525 } else { 1_013_904_223 };
        let _ = writeln!(text, "  v{next} = {operation} v{value}, {number}");
        (value, next) = (next, next + 1);
    }
    (value, next)
}

/// The kernel, for a payload and an inner loop of so many units. It takes `k`, and for each iteration of the outer loop and each
/// lane the lane's place in a random order.
fn kernel(payload: u32, inner: u32) -> String {
    let mut text = String::from(
        "func @sweep(v0: i32 uniform, v1: ptr(constant) uniform) -> i32 {\nblock0:\n  v2 = lane i32\n  br block1\nblock1:\n  \
         v3 = phi i32 [block0: 0], [block3: v20]\n  v4 = phi i32 [block0: v2], [block3: v21]\n  v5 = shl v3, 5\n  \
         v6 = or v5, v2\n  v7 = zext i64, v6\n  v8 = ptradd v1, v7\n  v9 = load i8, v8 align 1\n  v10 = zext i32, v9\n  \
         v11 = icmp ult v10, v0\n",
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
         block3:\n  v21 = phi i32 [block2: v16]\n  v20 = add v3, 1\n  v22 = icmp ult v20, {ROUNDS}\n  \
         br v22, block1, block4\nblock4:\n  v23 = phi i32 [block3: v21]\n  ret v23\n}}\n"
    );
    text
}

/// A random order of lanes for each iteration of the outer loop, as the place of each lane in it.
fn orders() -> Vec<u8> {
    let mut random = Random::new(1);
    let mut orders = Vec::new();
    for _ in 0..ROUNDS {
        let mut places: Vec<u8> = (0..LANES as u8).collect();
        for index in (1..places.len()).rev() {
            places.swap(index, random.below(index + 1));
        }
        orders.extend(places);
    }
    orders
}

/// What a run of the kernel gives and takes.
struct Measured {
    results: Vec<Datum>,
    instructions: u64,
    cycles: u64,
    outcome: Outcome,
}

fn measure(module: &Module, early: u32) -> Result<Measured, String> {
    let options = Options { scheduler: Scheduler::Ipdom, profile: true, ..Options::lanes(LANES) };
    let options = Options {
        limits: heddle_interp::Limits { work: u64::MAX / 2, steps: u64::MAX / 2, ..options.limits },
        ..options
    };
    let mut memory = Memory::new();
    let orders = memory.add(Space::Constant, Some("orders"), 16, orders());
    let args = [early.into(), orders.into()].map(|bits| Argument::Uniform(Datum::Bits(bits)));
    let mut outcome =
        run_oracle(module, "sweep", &args, &mut memory, &options).map_err(|fault| fault.to_string())?;
    let profile = outcome.profile.take().unwrap_or_default();
    let (instructions, cycles) = profile.functions[0].total(&module.functions[0], &Cycles::default());
    outcome.profile = Some(profile);
    Ok(Measured { results: outcome.results.concat(), instructions, cycles, outcome })
}

/// Flattens the kernel by what its profile says.
fn flattened(module: &Module, profiled: &Outcome, policy: Policy) -> Result<(Module, Decision), String> {
    let mut module = module.clone();
    let func = &mut module.functions[0];
    let mut options = flatten::Options { policy, lanes: LANES, ..flatten::Options::default() };
    for block in func.blocks() {
        let loops = profiled.profile.as_ref().map(|profile| &profile.functions[0].loops[block].trips);
        if let Some(trips) = loops.filter(|trips| !trips.is_empty()) {
            let counts = trips.iter().map(|(&trips, &lanes)| (trips, lanes)).collect();
            options.trips.insert(block, Trips { counts });
        }
    }
    let decision = flatten_nests(func, verdicts, &options).pop().ok_or("there is no nest")?;
    simplify(func);
    Ok((module, decision))
}

/// How well pay is foretold.
#[derive(Default)]
struct Foretold {
    points: u32,
    by_model: u32,
    by_formula: u32,
}

fn sweep(report: &mut Report, (payload, inner): (u32, u32), foretold: &mut Foretold) -> Result<(), String> {
    let mut module =
        parse_module(&kernel(payload, inner)).map_err(|errors| format!("{:?}", errors.first()))?;
    canonicalize(&mut module.functions[0]);
    simplify(&mut module.functions[0]);
    let mut table = Table::new(&[
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
        report.progress(format_args!("A/B = {payload}/{inner}, k = {early}"));
        let before = measure(&module, early)?;
        let (flat, decision) = flattened(&module, &before.outcome, Policy::Force)?;
        let after = measure(&flat, early)?;
        report.check(before.results == after.results, || {
            format!("A/B = {payload}/{inner}, k = {early}: other results")
        });
        let estimate = decision.estimate.ok_or("the nest was refused")?;
        let gain = before.cycles as f64 / after.cycles as f64;
        let [by_model, by_formula] = [estimate.before > estimate.after, estimate.pays_by_formula()];
        foretold.points += 1;
        foretold.by_model += u32::from(by_model == (gain > 1.0));
        foretold.by_formula += u32::from(by_formula == (gain > 1.0));
        // As Fig. 7: iterations of the inner loop by time, relative to the original without early exits.
        let useful = f64::from((LANES - early) * TRIPS + early);
        let best = best.get_or_insert(useful / before.cycles as f64);
        let performance = |cycles: u64| format!("{:.0}", 100.0 * useful / cycles as f64 / *best);
        let mark = |foretold: bool| String::from(if foretold { "pays" } else { "-" });
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
            mark(by_model),
            mark(by_formula),
        ]);
    }
    report.say(format_args!("A/B = {payload}/{inner}, {LANES} lanes under a reconvergence stack\n\n{table}"));
    if inner > payload {
        let name = format!("divergence.flatten.{payload}_{inner}");
        report.aim(format!("{name}.cycles"), last.0, Aim::AtLeast(10.0), "times");
        report.aim(format!("{name}.instructions"), last.1, Aim::AtLeast(10.0), "times");
    }
    Ok(())
}

/// Asks the analysis about branches of generated programs, and runs them.
fn false_positives(report: &mut Report) -> Result<(), String> {
    let (mut executed, mut diverged, mut called, mut wrong) = (0u32, 0u32, 0u32, 0u32);
    let mut missed = 0u32;
    for seed in 0..PROGRAMS {
        let case = generate(seed, &Profile::source());
        if case.traits.class == Class::Predicated {
            continue;
        }
        let mut module = case.module.clone();
        module.functions.iter_mut().for_each(canonicalize);
        let mut parted: Vec<Vec<(u64, u64)>> =
            module.functions.iter().map(|func| vec![(0, 0); func.block_count()]).collect();
        for input in &case.inputs {
            let (mut memory, args) = prepare(&case, input);
            let options = Options { profile: true, ..options(input) };
            let Ok(outcome) = run_oracle(&module, &case.entry, &args, &mut memory, &options) else {
                continue;
            };
            for ((func, profile), parted) in
                module.functions.iter().zip(outcome.profile.unwrap_or_default().functions).zip(&mut parted)
            {
                for block in func.blocks() {
                    let (all, apart) = &mut parted[block.as_u32() as usize];
                    *all += profile.branches[block].executed;
                    *apart += profile.branches[block].diverged;
                }
            }
        }
        for (func, parted) in module.functions.iter().zip(&parted) {
            let Some((control, facts)) = verdicts(func) else { continue };
            for &block in control.index.order() {
                let (all, apart) = parted[block.as_u32() as usize];
                if all == 0 || func.successors(block).len() < 2 {
                    continue;
                }
                let is_called = facts.is_divergent_branch(block);
                executed += 1;
                diverged += u32::from(apart > 0);
                called += u32::from(is_called);
                wrong += u32::from(is_called && apart == 0);
                missed += u32::from(!is_called && apart > 0);
            }
        }
    }
    report.check(missed == 0, || format!("{missed} branches diverged that the analysis calls uniform"));
    let share = 100.0 * f64::from(wrong) / f64::from(called.max(1));
    report.say(format_args!(
        "divergence analysis on {PROGRAMS} generated programs: {executed} branches executed, {diverged} diverged, {called} are \
         called divergent; {wrong} of these stayed together ({share:.1} % false positives)\n"
    ));
    Ok(())
}

pub(super) fn run(report: &mut Report) {
    let mut foretold = Foretold::default();
    let mut done = Ok(());
    if report.is_on("flatten") {
        for ratio in RATIOS {
            done = done.and_then(|()| sweep(report, ratio, &mut foretold));
        }
        let share = |right: u32| 100.0 * f64::from(right) / f64::from(foretold.points.max(1));
        report.say(format_args!(
            "whether it pays is foretold at {} of {} points by the model, at {} by formula (1) ({:.1} %)\n",
            foretold.by_model,
            foretold.points,
            foretold.by_formula,
            share(foretold.by_formula)
        ));
        report.aim(
            "divergence.flatten.foretold",
            share(foretold.by_model),
            Aim::AtLeast(95.0),
            "% of the grid",
        );
    }
    for (family, measured) in [
        ("analysis", false_positives as fn(&mut Report) -> Result<(), String>),
        ("scalars", shapes::scalars),
        ("fusion", shapes::fusion),
        ("growth", shapes::growth),
    ] {
        if report.is_on(family) {
            done = done.and_then(|()| measured(report));
        }
    }
    if let Err(reason) = done {
        report.check(false, || reason);
    }
}
