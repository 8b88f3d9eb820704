//! Passes from stage Canonical on: growth with the function's size, speed of the whole pipeline, and control flow that
//! linearization keeps compared with other methods.

use super::kit::{AimBound, BenchReport, ReportTable, Sample, growth_exponent, interleaved, timed};
use super::programs::{DIVERGING, ProgramFamily};
use crate::generate::{GeneratorProfile, generate};
use crate::retained::{LinearizationMethod, MethodComparison, retained};
use heddle_compiler::divergence::{divergent_branches, uniform_loops};
use heddle_ir::Function;
use heddle_ir::module::DeclaredShape;
use heddle_ir::verify::{Stage, verify};
use heddle_transform::boscc::GuardOptions;
use heddle_transform::{canonicalize, guard_regions, linearize, tidy};
use std::hint::black_box;

/// Blocks: six sizes, each twice the last.
const SIZES: [usize; 6] = [3125, 6250, 12_500, 25_000, 50_000, 100_000];
const MOST_GROWTH: f64 = 1.2;
const ROUNDS: usize = 3;
/// Time limit for the pipeline on the largest size where all families are measured, extrapolated from the smallest
/// sizes; beyond it, all sizes are halved.
const MOST_SECONDS: f64 = 1.0;
/// Generated programs in the table of retained control flow.
const PROGRAMS: u64 = 1000;

/// Timed steps: passes including the analyses that they require.
const STEPS: [&str; 5] = ["loops", "boscc", "linearize", "tidy", "all"];

pub(super) fn run(report: &mut BenchReport) {
    growth(report);
    if report.is_full() {
        control_flow(report);
    }
}

/// The canonical member of a family whose first parameter differs between lanes and whose second does not.
fn subject(family: &ProgramFamily, size: usize) -> Function {
    let mut func = family.build(size * family.scale).functions.remove(0);
    func.signature.params[0].shape = Some(DeclaredShape::Varying);
    func.signature.params[1].shape = Some(DeclaredShape::Uniform);
    canonicalize(&mut func);
    func
}

fn instructions(func: &Function) -> usize {
    func.blocks().map(|block| func.block_insts(block).count()).sum()
}

/// Runs the pipeline on copies of a function; seconds for each step and for all.
fn steps(func: &Function, copies: usize) -> Result<[f64; STEPS.len()], String> {
    let mut all = vec![func.clone(); copies];
    let mut seconds = [0.0; STEPS.len()];
    let mut run = |at: usize, step: &mut dyn FnMut(&mut Function) -> Result<(), String>| {
        let (done, spent) = timed(|| all.iter_mut().try_for_each(step));
        seconds[at] = spent;
        done
    };
    run(0, &mut |func| uniform_loops(func).map_err(|it| it.to_string()))?;
    run(1, &mut |func| {
        let divergent = divergent_branches(func)?;
        guard_regions(func, &divergent, &GuardOptions::default()).map_err(|it| it.to_string())?;
        Ok(())
    })?;
    run(2, &mut |func| {
        let divergent = divergent_branches(func)?;
        linearize(func, &divergent).map_err(|it| it.to_string())
    })?;
    run(3, &mut |func| {
        tidy(func);
        Ok(())
    })?;
    seconds[4] = seconds[..4].iter().sum();
    if let Some(violations) = verify(&all[0], Stage::Linear).err() {
        return Err(violations.to_string());
    }
    black_box(&all);
    Ok(seconds)
}

/// Returns the sizes, halved until the largest is expected to meet the time limit.
fn affordable_sizes(family: &ProgramFamily) -> [usize; SIZES.len()] {
    let mut sizes = SIZES;
    while sizes[0] > 20 {
        let [first, second] = [0, 1].map(|at| {
            let func = subject(family, sizes[at]);
            (0..2).filter_map(|_| steps(&func, 1).ok()).map(|all| all[4]).fold(f64::INFINITY, f64::min)
        });
        if second * (second / first).max(1.0).powi(4) < MOST_SECONDS {
            break;
        }
        sizes = sizes.map(|size| size / 2);
    }
    sizes
}

fn growth(report: &mut BenchReport) {
    let mut head = vec!["family", "blocks", "instructions", "linear", "M inst/s"];
    head.extend(STEPS.map(|step| if step == "all" { "all, ms" } else { step }));
    head.push("exponents");
    let mut table = ReportTable::new(&head);
    let mut exponents = Vec::new();
    for family in DIVERGING {
        if !report.is_on(family.name) {
            continue;
        }
        report.progress(format_args!("{}: building", family.name));
        let sizes = if report.is_full() { affordable_sizes(family) } else { SIZES };
        let subjects = sizes.map(|size| subject(family, size));
        report.progress(format_args!("{}: transforming", family.name));
        let wrong = std::cell::RefCell::new(None);
        let samples: Vec<Vec<Sample>> = {
            // Every size does the same work over as much memory: small ones come in copies.
            let results: Vec<std::cell::RefCell<[Vec<f64>; STEPS.len()]>> =
                subjects.iter().map(|_| std::cell::RefCell::default()).collect();
            let mut tasks: Vec<Box<dyn FnMut() -> f64 + '_>> = Vec::new();
            for ((func, size), times) in subjects.iter().zip(sizes).zip(&results) {
                let copies = (sizes[SIZES.len() - 1] / size).max(1);
                let wrong = &wrong;
                tasks.push(Box::new(move || match steps(func, copies) {
                    Ok(seconds) => {
                        let each = seconds.map(|seconds| seconds / copies as f64);
                        times.borrow_mut().iter_mut().zip(each).for_each(|(times, time)| times.push(time));
                        each[4]
                    }
                    Err(reason) => {
                        wrong.borrow_mut().get_or_insert(reason);
                        f64::NAN
                    }
                }));
            }
            interleaved(ROUNDS, &mut tasks);
            drop(tasks);
            results
                .into_iter()
                .map(|times| times.into_inner().into_iter().filter_map(Sample::of).collect())
                .collect()
        };
        let wrong = wrong.into_inner();
        report.check(wrong.is_none(), || format!("{}: {}", family.name, wrong.clone().unwrap_or_default()));
        if samples.iter().any(|steps: &Vec<Sample>| steps.len() < STEPS.len()) {
            continue;
        }
        let found: Vec<f64> = (0..STEPS.len())
            .map(|step| {
                let points: Vec<(f64, f64)> = subjects
                    .iter()
                    .zip(&samples)
                    .map(|(func, samples)| (instructions(func) as f64, samples[step].least()))
                    .collect();
                growth_exponent(&points)
            })
            .collect();
        let (largest, times) = (&subjects[SIZES.len() - 1], &samples[SIZES.len() - 1]);
        let mut result = largest.clone();
        let after = uniform_loops(&mut result).map_err(|it| it.to_string());
        let after = after.and_then(|()| Ok(divergent_branches(&result)?)).and_then(|it| {
            linearize(&mut result, &it).map_err(|it| it.to_string())?;
            Ok(instructions(&result))
        });
        let count = instructions(largest);
        let mut row = vec![
            family.name.to_string(),
            largest.blocks().count().to_string(),
            count.to_string(),
            after.map_or("-".into(), |count| count.to_string()),
            format!("{:.2}", count as f64 / times[4].median() / 1e6),
        ];
        row.extend(times.iter().map(|time| format!("{:.0}", time.median() * 1e3)));
        row.push(found.iter().map(|exponent| format!("{exponent:.2}")).collect::<Vec<_>>().join(" "));
        table.row(row);
        exponents.push((family.name, found));
    }
    report.progress("");
    report.say(format_args!(
        "Canonical functions of {} to {} blocks made linear; each step with the divergence analysis that it asks. Rows are\n\
         of the largest, times in ms; in a run of all families, one whose largest would take longer than {MOST_SECONDS} s \
         stops before. `linear` are instructions after linearization\n\n{table}",
        SIZES[0],
        SIZES[SIZES.len() - 1]
    ));
    for (family, found) in exponents {
        for (step, exponent) in STEPS.into_iter().zip(found) {
            report.aim(format!("exponent.{step} ({family})"), exponent, AimBound::AtMost(MOST_GROWTH), "");
        }
    }
}

fn control_flow(report: &mut BenchReport) {
    let mut sums: [MethodComparison; 4] = Default::default();
    for seed in 0..PROGRAMS {
        if seed % 100 == 0 {
            report.progress(format_args!("retained control flow: {seed} of {PROGRAMS} programs"));
        }
        match retained(&generate(seed, &GeneratorProfile::source())) {
            Ok(Some(kept)) => MethodComparison::note(&mut sums, seed, kept),
            Ok(None) => {}
            Err(reason) => report.check(false, || format!("seed {seed}: {reason}")),
        }
    }
    report.progress("");
    let mut table = ReportTable::new(&[
        "way to fold",
        "programs",
        "branches kept",
        "(ours)",
        "blocks executed",
        "(ours)",
        "without lanes",
        "(ours)",
        "ours is worse",
    ]);
    for (way, MethodComparison { programs, ours, other, worse }) in
        LinearizationMethod::ALL.into_iter().zip(&sums)
    {
        table.row([
            way.name().to_string(),
            programs.to_string(),
            other.branches.to_string(),
            ours.branches.to_string(),
            other.blocks.to_string(),
            ours.blocks.to_string(),
            other.empty.to_string(),
            ours.empty.to_string(),
            worse.len().to_string(),
        ]);
    }
    report.say(format_args!(
        "Control flow kept in generated programs, those that a way can do, counted by the interpreter\n\n{table}"
    ));
    for (way, against) in LinearizationMethod::ALL.into_iter().zip(&sums).skip(1) {
        let name = format!("retained.programs-worse-than ({})", way.name());
        report.aim(name, against.worse.len() as f64, AimBound::AtMost(0.0), "");
    }
}
