//! Mathematical functions against true values, within the bounds of the full profile.
//!
//! Doubles are held against numbers computed with many digits (`tests/opencl-c/math.txt`). Functions that the crate `math` has are tested
//! there; here is that they are those. `tests/opencl/math.c` checks all types through the driver.

use crate::{by_oracle, compiled, compiled_with};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const SAMPLES: &str = include_str!("../../../../tests/opencl-c/math.txt");

/// Name, types of parameters (`f` a double, `i` an int), and the bound.
const FUNCTIONS: &[(&str, &str, f64)] = &[
    ("sinpi", "f", 4.0),
    ("cospi", "f", 4.0),
    ("tanpi", "f", 6.0),
    ("asinpi", "f", 5.0),
    ("acospi", "f", 5.0),
    ("atanpi", "f", 5.0),
    ("atan2pi", "ff", 6.0),
    ("asinh", "f", 4.0),
    ("acosh", "f", 4.0),
    ("atanh", "f", 5.0),
    ("erf", "f", 16.0),
    ("erfc", "f", 16.0),
    ("tgamma", "f", 16.0),
    ("pown", "fi", 16.0),
    ("rootn", "fi", 16.0),
    ("powr", "ff", 16.0),
    ("rsqrt", "f", 2.0),
    ("remainder", "ff", 0.0),
];

/// A function for each of a list, which calls it.
fn callers() -> String {
    let mut source = String::new();
    for (name, params, ..) in FUNCTIONS.iter().chain(&[("lgamma", "f", 0.0)]) {
        let types = params.chars().map(|it| if it == 'i' { "int" } else { "double" });
        let list: Vec<String> = types.zip(["a", "b"]).map(|(ty, name)| format!("{ty} {name}")).collect();
        let args = if params.len() == 1 { "a" } else { "a, b" };
        _ = writeln!(source, "double call_{name}({}) {{ return {name}({args}); }}", list.join(", "));
    }
    source
}

/// Arguments and true values of each function: the nearest double, and what is missing to it in units in the last place.
struct Truths {
    columns: Vec<Vec<u64>>,
    results: Vec<(f64, f64)>,
}

fn samples() -> BTreeMap<&'static str, Truths> {
    let mut all: BTreeMap<&str, Truths> = BTreeMap::new();
    for line in SAMPLES.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let at = words.iter().position(|word| *word == "=").expect("each line has a result");
        let truths = all
            .entry(words[0])
            .or_insert_with(|| Truths { columns: vec![Vec::new(); at - 1], results: Vec::new() });
        let bits = |word: &str| match word.len() {
            16 => u64::from_str_radix(word, 16).expect("bits"),
            _ => u64::from(word.parse::<i32>().expect("an int") as u32),
        };
        for (column, word) in truths.columns.iter_mut().zip(&words[1..at]) {
            column.push(bits(word));
        }
        let missing: f64 = words[at + 2].parse().expect("a number");
        truths.results.push((f64::from_bits(bits(words[at + 1])), missing / 1024.0));
    }
    all
}

/// Returns a result's error in ulps; infinity where the kind differs.
fn ulps(result: f64, nearest: f64, missing: f64) -> f64 {
    if nearest.is_nan() || result.is_nan() {
        return if nearest.is_nan() && result.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if result == nearest && (result == 0.0 || result.is_infinite()) {
        return if result.is_sign_negative() == nearest.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    // Beyond the greatest number lies what would come next.
    if result.is_infinite() || nearest.is_infinite() {
        let near = |x: f64| if x.is_infinite() { f64::MAX.copysign(x) } else { x };
        return if near(result) == near(nearest) { 1.0 + missing.abs() } else { f64::INFINITY };
    }
    let exponent = (nearest.abs().to_bits() >> 52).max(1);
    let unit = f64::from_bits(if exponent > 52 { (exponent - 52) << 52 } else { 1 << (exponent - 1) });
    ((result - nearest) / unit - missing).abs()
}

#[test]
fn doubles_are_within_their_bounds() {
    let module = compiled(&callers());
    let samples = samples();
    let mut wrong = Vec::new();
    for (name, _, bound) in FUNCTIONS {
        let truths = &samples[name];
        let found = &by_oracle(&module, &format!("call_{name}"), &truths.columns)[0];
        let mut worst = (0.0, 0);
        for (index, (&bits, &(nearest, missing))) in found.iter().zip(&truths.results).enumerate() {
            let off = ulps(f64::from_bits(bits), nearest, missing);
            worst = if off > worst.0 { (off, index) } else { worst };
        }
        let (off, index) = worst;
        println!("{name}: {off:.2} units");
        // Half a unit is that of any rounding.
        if off > bound.max(0.5) {
            let at: Vec<f64> = truths.columns.iter().map(|column| f64::from_bits(column[index])).collect();
            let result = f64::from_bits(found[index]);
            wrong.push(format!(
                "{name}{at:?} is {result:e}, true is {:e}: {off} units",
                truths.results[index].0
            ));
        }
    }
    // The specification leaves the error of lgamma open; near its zeros, 1 and 2, it is that of 1.
    let truths = &samples["lgamma"];
    let found = &by_oracle(&module, "call_lgamma", &truths.columns)[0];
    for (index, (&bits, &(truth, _))) in found.iter().zip(&truths.results).enumerate() {
        let off = (f64::from_bits(bits) - truth).abs() / truth.abs().max(1.0);
        if off > 1e-13 {
            wrong.push(format!("lgamma({}) is off by {off:e}", f64::from_bits(truths.columns[0][index])));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// OpenCL C has all functions of the crate `math`, in both sizes: the fast form where there is one.
#[test]
fn functions_of_c_are_those_of_the_library() {
    let one = [
        "acos", "asin", "atan", "cbrt", "cos", "cosh", "exp", "exp10", "exp2", "expm1", "log", "log10",
        "log1p",
    ];
    let more = ["log2", "sin", "sinh", "tan", "tanh"];
    for name in one.into_iter().chain(more) {
        let source = format!(
            "float f({0}) {{ return {name}(x); }} double d(double x) {{ return {name}(x); }} float4 v(float4 x) {{ return {name}(x); }}",
            "float x"
        );
        let module = compiled(&source);
        let of_type = |own: &str| {
            let has_fast =
                heddle_math::FUNCTIONS.iter().any(|function| function.name == own && function.fast.is_some());
            if has_fast { format!("heddle.fast.{own}") } else { format!("heddle.{own}") }
        };
        for callee in [of_type(&format!("{name}f")), of_type(name)] {
            assert!(module.function(&callee).is_some(), "{callee}");
        }
    }
    let module = compiled("float f(float x) { return native_sin(x) + half_cos(x) + native_log2(x); }");
    for callee in ["heddle.fast.sinf", "heddle.fast.cosf", "heddle.fast.log2f"] {
        assert!(module.function(callee).is_some(), "{callee}");
    }
}

/// `-heddle-math=exact` selects the functions within one unit, where a program calls both forms, too; the last option counts.
#[test]
fn an_option_selects_functions_within_one_unit() {
    let source = "float f(float x, double y) { return sin(x) + pow(x, x) + (float)log(y) + asinpi(x) + native_log(x); }";
    let names = |options: &[&str]| -> Vec<String> {
        let module = compiled_with(source, options);
        let names = module.functions.iter().map(|func| func.name.clone());
        names.filter(|name| name.starts_with(heddle_math::PREFIX)).collect()
    };
    let is_fast = |name: &String| name.starts_with("heddle.fast.");
    for options in [&[][..], &["-heddle-math=fast"], &["-heddle-math=exact", "-heddle-math=fast"]] {
        let names = names(options);
        for name in ["heddle.fast.sinf", "heddle.fast.powf", "heddle.fast.log", "heddle.fast.logf"] {
            assert!(names.iter().any(|found| found == name), "{options:?} lacks {name}: {names:?}");
        }
    }
    for options in [&["-heddle-math=exact"][..], &["-heddle-math=fast", "-heddle-math=exact"]] {
        let names = names(options);
        assert!(!names.iter().any(is_fast), "{options:?}: {names:?}");
        for name in ["heddle.sinf", "heddle.powf", "heddle.log", "heddle.logf"] {
            assert!(names.iter().any(|found| found == name), "{options:?} lacks {name}: {names:?}");
        }
    }
}

/// A program may have functions of the names that C's have: they are not meant.
#[test]
fn functions_of_the_program_stay_its_own() {
    let source = "float sinf(float x) { return 7; } float f(float x) { return sin(x) + sinf(x); }";
    let module = compiled(source);
    let found = by_oracle(&module, "f", &[vec![0]]);
    assert_eq!(found, [[u64::from(7f32.to_bits())]]);
}
