//! Kernels shaped as those of the papers' benchmarks, before and after scalar replacement and fusion.

use super::super::kit::{AimBound, BenchReport, ReportTable, geomean, growth_exponent, timed};
use super::LANES;
use super::kernels::{FUSION, KernelTemplate, SCALARS, text_of};
use super::measure::{NUMBERS, measure};
use crate::generate::Random;
use heddle_compiler::divergence::analyze_divergence;
use heddle_ir::{Function, Module, parse_module};
use heddle_transform::flatten::{self, flatten as flatten_nests};
use heddle_transform::fuse::MachineModel;
use heddle_transform::scalar_replacement::{self, ReplacementVariant};
use heddle_transform::{FuseOptions, RaceSemantics, canonicalize, fuse, replace_scalars, simplify};
use std::fmt::Write as _;

pub(super) fn prepared(text: &str) -> Result<Module, String> {
    let mut module = parse_module(text).map_err(|errors| format!("{:?}", errors.first()))?;
    module.functions.iter_mut().for_each(canonicalize);
    module.functions.iter_mut().for_each(|func| _ = simplify(func));
    Ok(module)
}

/// Returns the kernels' input: numbers below 64.
pub(crate) fn numbers() -> Vec<u8> {
    let mut random = Random::new(7);
    (0..NUMBERS).flat_map(|_| (random.below(64) as u32).to_le_bytes()).collect()
}

/// Returns the factor by which a pass reduces a kernel's cycles.
fn gain(
    report: &mut BenchReport,
    (name, text): KernelTemplate,
    pass: &dyn Fn(&mut Function),
) -> Result<f64, String> {
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

pub(super) fn scalars(report: &mut BenchReport) -> Result<(), String> {
    let mut head = vec!["kernel"];
    head.extend(ReplacementVariant::ALL.map(ReplacementVariant::name));
    let mut table = ReportTable::new(&head);
    let mut gains: Vec<Vec<f64>> = vec![Vec::new(); ReplacementVariant::ALL.len()];
    for &kernel in SCALARS {
        let mut row = vec![kernel.0.to_string()];
        for (variant, gains) in ReplacementVariant::ALL.into_iter().zip(&mut gains) {
            let options = scalar_replacement::ReplacementOptions {
                variant,
                races: RaceSemantics::Excluded,
                machine: MachineModel::Warps,
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
    let ours = ReplacementVariant::ALL.into_iter().zip(&means).zip(&gains);
    let ours = ours
        .filter(|((variant, _), _)| matches!(variant, ReplacementVariant::Ssrqp | ReplacementVariant::Cost));
    let (mut mean, mut worst) = (0.0, f64::INFINITY);
    for ((_, &here), gains) in ours {
        mean = f64::max(mean, here);
        worst = gains.iter().copied().fold(worst, f64::min);
    }
    report.aim("divergence.ssrqp.best", mean / best, AimBound::AtLeast(1.0), "of the best variant");
    report.aim("divergence.ssrqp.worst", worst, AimBound::AtLeast(0.99), "times");
    Ok(())
}

pub(super) fn fusion(report: &mut BenchReport) -> Result<(), String> {
    let mut table = ReportTable::new(&["kernel", "gain"]);
    let mut gains = Vec::new();
    let options = FuseOptions {
        machine: MachineModel::Warps,
        races: RaceSemantics::Excluded,
        ..FuseOptions::default()
    };
    for &kernel in FUSION {
        let gain = gain(report, kernel, &|func| _ = fuse(func, &options))?;
        gains.push(gain);
        table.row([kernel.0.to_string(), format!("{gain:.2}")]);
    }
    let mean = geomean(&gains);
    table.row(["geomean".into(), format!("{mean:.2}")]);
    report.say(format_args!("Fusion: how many times fewer cycles, {LANES} lanes\n\n{table}"));
    report.aim("divergence.fuse.mean", mean, AimBound::AtLeast(1.15), "times");
    report.aim(
        "divergence.fuse.worst",
        gains.iter().copied().fold(f64::INFINITY, f64::min),
        AimBound::AtLeast(0.99),
        "times",
    );
    Ok(())
}

/// Generates consecutive loops, each with an array walk and a branch.
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

/// Generates consecutive nests, each of a payload and a divergent loop.
fn nests(count: usize) -> String {
    let mut text = String::from("func @f(v0: i32, v1: i32) -> i32 {\nblock0:\n  br block1\n");
    for number in 0..count {
        let (block, value) = (1 + 3 * number, 10 + 10 * number);
        let name = |index: usize| format!("v{}", value + index);
        let [i, x, j, y, k, l, m, n, o, p] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(name);
        let (head, inner, end) = (block, block + 1, block + 2);
        let (before, start) = match number {
            0 => (0, "v0".to_string()),
            _ => (block - 1, format!("v{}", value - 2)),
        };
        let _ = write!(
            text,
            "block{head}:\n  {i} = phi i32 [block{before}: 0], [block{end}: {n}]\n  {x} = phi i32 [block{before}: {start}], \
             [block{end}: {o}]\n  br block{inner}\nblock{inner}:\n  {j} = phi i32 [block{head}: 0], [block{inner}: {l}]\n  \
             {y} = phi i32 [block{head}: {x}], [block{inner}: {k}]\n  {k} = mul {y}, v1\n  {l} = add {j}, 1\n  \
             {m} = icmp ult {l}, v1\n  br {m}, block{inner}, block{end}\nblock{end}:\n  {o} = xor {k}, {i}\n  \
             {n} = add {i}, 1\n  {p} = icmp ult {n}, 9\n  br {p}, block{head}, block{}\n",
            end + 1
        );
    }
    let _ = write!(text, "block{}:\n  ret v{}\n}}\n", 1 + 3 * count, 10 * count + 8);
    text
}

/// Generates a divergent branch with `length` products on each side.
fn sides(length: usize) -> String {
    let mut text = String::from("func @f(v0: i32, v1: i1) -> i32 {\nblock0:\n  br v1, block1, block2\n");
    for side in 0..2 {
        let first = 10 + side * length;
        let _ = writeln!(text, "block{}:", side + 1);
        for value in first..first + length {
            let from = if value == first { 0 } else { value - 1 };
            let _ = writeln!(text, "  v{value} = mul v{from}, {}", 2 * value + 1);
        }
        text.push_str("  br block3\n");
    }
    let [left, right] = [9 + length, 9 + 2 * length];
    let _ = write!(text, "block3:\n  v2 = phi i32 [block1: v{left}], [block2: v{right}]\n  ret v2\n}}\n");
    text
}

/// Returns the minimum time of a pass on a function.
fn least(text: &str, copies: usize, pass: &dyn Fn(&mut Function)) -> Result<f64, String> {
    let module = prepared(text)?;
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        let mut all = vec![module.functions[0].clone(); copies];
        let ((), seconds) = timed(|| all.iter_mut().for_each(pass));
        least = least.min(seconds / copies as f64);
    }
    Ok(least)
}

/// Measures the growth of compile time: of flattening and scalar replacement with the function's size, of alignment
/// with the product of both sides' sizes.
pub(super) fn growth(report: &mut BenchReport) -> Result<(), String> {
    let scalars = |variant| scalar_replacement::ReplacementOptions {
        variant,
        races: RaceSemantics::Excluded,
        machine: MachineModel::Warps,
    };
    let (ssrqp, cost) = (scalars(ReplacementVariant::Ssrqp), scalars(ReplacementVariant::Cost));
    let fusing = FuseOptions {
        machine: MachineModel::Warps,
        races: RaceSemantics::Excluded,
        ..FuseOptions::default()
    };
    let force = flatten::FlattenOptions {
        policy: flatten::FlattenPolicy::Force,
        ..flatten::FlattenOptions::default()
    };
    type ScalingFamily<'a> = (&'a str, fn(usize) -> String, usize, &'a dyn Fn(&mut Function));
    let families: [ScalingFamily<'_>; 4] = [
        ("ssrqp", large, 32, &|func| _ = replace_scalars(func, &ssrqp)),
        ("cost", large, 32, &|func| _ = replace_scalars(func, &cost)),
        ("flatten", nests, 32, &|func| _ = flatten_nests(func, analyze_divergence, &force)),
        ("alignment", sides, 8, &|func| _ = fuse(func, &fusing)),
    ];
    for (name, text, smallest, pass) in families {
        let mut points = Vec::new();
        for size in (0..6).map(|log| smallest << log) {
            let copies = (smallest << 5) / size;
            // Alignment compares each pair of instructions of the two sides.
            let work = if name == "alignment" { size * size } else { size };
            points.push((work as f64, least(&text(size), copies, pass)?));
        }
        report.aim(
            format!("divergence.exponent.{name}"),
            growth_exponent(&points),
            AimBound::AtMost(1.2),
            "",
        );
    }
    Ok(())
}
