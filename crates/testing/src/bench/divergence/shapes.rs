//! Kernels shaped as those of the papers' benchmarks, before and after scalar replacement and fusion.

use super::super::kit::{Report, Table, Target as Aim, geomean, growth_exponent, timed};
use super::LANES;
use super::kernels::{FUSION, Kernel, SCALARS, text_of};
use super::measure::{NUMBERS, measure};
use crate::generate::Random;
use heddle_ir::{Function, Module, parse_module};
use heddle_transform::fuse::Machine;
use heddle_transform::scalar_replacement::{self, Variant};
use heddle_transform::{FuseOptions, Races, canonicalize, fuse, replace_scalars, simplify};
use std::fmt::Write as _;

pub(super) fn prepared(text: &str) -> Result<Module, String> {
    let mut module = parse_module(text).map_err(|errors| format!("{:?}", errors.first()))?;
    module.functions.iter_mut().for_each(canonicalize);
    module.functions.iter_mut().for_each(|func| _ = simplify(func));
    Ok(module)
}

/// What kernels read: numbers below 64.
pub(super) fn numbers() -> Vec<u8> {
    let mut random = Random::new(7);
    (0..NUMBERS).flat_map(|_| (random.below(64) as u32).to_le_bytes()).collect()
}

/// How many times fewer cycles a kernel takes behind a pass.
fn gain(report: &mut Report, (name, text): Kernel, pass: &dyn Fn(&mut Function)) -> Result<f64, String> {
    let fails = |reason: String| format!("{name}: {reason}");
    let before = prepared(&text_of(text, LANES)).map_err(fails)?;
    let mut after = before.clone();
    after.functions.iter_mut().for_each(|func| {
        pass(func);
        simplify(func);
    });
    let [before, after] = [&before, &after].map(|module| measure(module, LANES, &numbers()).map_err(fails));
    let (before, after) = (before?, after?);
    report.check(before.written == after.written, || format!("{name}: other results"));
    Ok(before.cycles as f64 / after.cycles as f64)
}

pub(super) fn scalars(report: &mut Report) -> Result<(), String> {
    let mut head = vec!["kernel"];
    head.extend(Variant::ALL.map(Variant::name));
    let mut table = Table::new(&head);
    let mut gains: Vec<Vec<f64>> = vec![Vec::new(); Variant::ALL.len()];
    for &kernel in SCALARS {
        let mut row = vec![kernel.0.to_string()];
        for (variant, gains) in Variant::ALL.into_iter().zip(&mut gains) {
            let options = scalar_replacement::ReplacementOptions {
                variant,
                races: Races::Excluded,
                machine: Machine::Warps,
            };
            let gain = gain(report, kernel, &|func| _ = replace_scalars(func, &options))?;
            gains.push(gain);
            row.push(format!("{gain:.2}"));
        }
        table.row(row);
    }
    let means: Vec<f64> = gains.iter().map(|gains| geomean(gains)).collect();
    table.row(std::iter::once("geomean".into()).chain(means.iter().map(|mean| format!("{mean:.2}"))));
    report.say(format_args!("Scalar replacement: how many times fewer cycles, {LANES} lanes\n\n{table}"));
    let best = means.iter().copied().fold(0.0, f64::max);
    let ours = Variant::ALL.into_iter().zip(&means).zip(&gains);
    let ours = ours.filter(|((variant, _), _)| matches!(variant, Variant::Ssrqp | Variant::Cost));
    let (mut mean, mut worst) = (0.0, f64::INFINITY);
    for ((_, &here), gains) in ours {
        mean = f64::max(mean, here);
        worst = gains.iter().copied().fold(worst, f64::min);
    }
    report.aim("divergence.ssrqp.best", mean / best, Aim::AtLeast(1.0), "of the best variant");
    report.aim("divergence.ssrqp.worst", worst, Aim::AtLeast(0.99), "times");
    Ok(())
}

pub(super) fn fusion(report: &mut Report) -> Result<(), String> {
    let mut table = Table::new(&["kernel", "gain"]);
    let mut gains = Vec::new();
    let options = FuseOptions { machine: Machine::Warps, races: Races::Excluded, ..FuseOptions::default() };
    for &kernel in FUSION {
        let gain = gain(report, kernel, &|func| _ = fuse(func, &options))?;
        gains.push(gain);
        table.row([kernel.0.to_string(), format!("{gain:.2}")]);
    }
    let mean = geomean(&gains);
    table.row(["geomean".into(), format!("{mean:.2}")]);
    report.say(format_args!("Fusion: how many times fewer cycles, {LANES} lanes\n\n{table}"));
    report.aim("divergence.fuse.mean", mean, Aim::AtLeast(1.15), "times");
    report.aim(
        "divergence.fuse.worst",
        gains.iter().copied().fold(f64::INFINITY, f64::min),
        Aim::AtLeast(0.99),
        "times",
    );
    Ok(())
}

/// So many loops behind each other, each with a walk along an array and a branch.
fn large(loops: usize) -> String {
    let mut text = String::from(
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {\nblock0:\n  v2 = lane i64\n  br block1\n",
    );
    for number in 0..loops {
        let (block, value) = (1 + 4 * number, 10 + 20 * number);
        let before = if number == 0 { 0 } else { block - 1 };
        let names: Vec<String> = (0..15).map(|index| format!("v{}", value + index)).collect();
        let [i, a, b, c, d, e, f, g, h, k, l, m, n, o, _] = &names[..] else { return text };
        let [head, left, join, next] = [block, block + 1, block + 2, block + 3];
        let _ = write!(
            text,
            "block{head}:\n  {i} = phi i64 [block{before}: 0], [block{join}: {n}]\n  {a} = add {i}, v2\n  {b} = shl {a}, 2\n  \
             {c} = ptradd v0, {b}\n  {d} = load i32, {c}\n  {e} = ptradd {c}, i64 4\n  {f} = load i32, {e}\n  \
             {g} = icmp ult {d}, {f}\n  br {g}, block{left}, block{join}\nblock{left}:\n  {h} = load i32, {c}\n  \
             {k} = add {h}, 1\n  br block{join}\nblock{join}:\n  {l} = phi i32 [block{head}: {f}], [block{left}: {k}]\n  \
             {m} = ptradd v1, {b}\n  store {l}, {m}\n  {n} = add {i}, 1\n  {o} = icmp ult {n}, 9\n  \
             br {o}, block{head}, block{next}\nblock{next}:\n  "
        );
        text.push_str(if number + 1 == loops { "ret\n" } else { "" });
        if number + 1 < loops {
            let _ = writeln!(text, "br block{}", next + 1);
        }
    }
    text + "}\n"
}

/// How compile time grows with the function.
pub(super) fn growth(report: &mut Report) -> Result<(), String> {
    for variant in [Variant::Ssrqp, Variant::Cost] {
        let options = scalar_replacement::ReplacementOptions {
            variant,
            races: Races::Excluded,
            machine: Machine::Warps,
        };
        let mut points = Vec::new();
        for loops in [32, 64, 128, 256, 512, 1024] {
            let module = prepared(&large(loops))?;
            let copies = 1024 / loops;
            let mut least = f64::INFINITY;
            for _ in 0..3 {
                let mut all = vec![module.functions[0].clone(); copies];
                let ((), seconds) =
                    timed(|| all.iter_mut().for_each(|func| _ = replace_scalars(func, &options)));
                least = least.min(seconds / copies as f64);
            }
            points.push((loops as f64, least));
        }
        let name = format!("divergence.exponent.{}", variant.name());
        report.aim(name, growth_exponent(&points), Aim::AtMost(1.2), "");
    }
    Ok(())
}
