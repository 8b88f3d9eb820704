//! Functions of halves against those of doubles: of one number at all 65,536 halves, of more at as many pairs.

use crate::{by_oracle, compiled};
use heddle_llvm::f16_bits;
use std::fmt::Write as _;

/// Functions of one number, which err by at most 0.51 units.
const NEAR: &str = "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt cos cosh cospi erf erfc exp exp10 exp2 \
    expm1 log log10 log1p log2 rsqrt sin sinh sinpi tan tanh tanpi tgamma degrees radians normalize length";
/// Functions of one number that are exact or rounded once.
const EXACT: &str = "fabs ceil floor rint round sqrt trunc logb sign isfinite isinf isnan signbit ilogb";
/// Functions of two numbers, which err by at most 0.51 units.
const NEAR_PAIRS: &str = "atan2 atan2pi hypot pow powr";
/// Functions of two numbers that are exact or rounded once.
const EXACT_PAIRS: &str = "copysign fdim fmax fmin fmod max min maxmag minmag remainder step isequal isnotequal isgreater \
    isgreaterequal isless islessequal islessgreater isordered isunordered distance";
/// Names, expressions of `a` and `b` of type `T`, and whether they are exact or rounded once.
const EXPRESSIONS: [(&str, &str, bool); 38] = [
    ("plus", "a + b", true),
    ("minus", "a - b", true),
    ("times", "a * b", true),
    ("over", "a / b", true),
    ("negative", "-a", true),
    ("less", "(int)(a < b)", true),
    ("equal", "(int)(a == b)", true),
    ("fract", "fract(a, &other)", false),
    ("fract_whole", "(fract(a, &other), other)", true),
    ("modf", "modf(a, &other)", true),
    ("modf_whole", "(modf(a, &other), other)", true),
    ("sincos", "sincos(a, &other)", false),
    ("sincos_other", "(sincos(a, &other), other)", false),
    ("frexp", "frexp(a, &whole)", true),
    ("frexp_whole", "(frexp(a, &whole), whole)", true),
    ("remquo", "remquo(a, b, &whole)", true),
    ("remquo_whole", "(remquo(a, b, &whole), whole)", true),
    ("lgamma_sign", "(lgamma_r(a, &whole), whole)", true),
    ("ldexp", "ldexp(a, (int)convert_long_sat(b))", true),
    ("pown", "pown(a, (int)convert_char_sat(b))", false),
    ("rootn", "rootn(a, (int)convert_char_sat(b))", false),
    ("mix", "mix(a, b, (T)0.25)", false),
    ("clamp", "clamp(a, (T)-2, (T)3)", true),
    ("smoothstep", "smoothstep((T)-2, (T)3, a)", false),
    ("step_2", "step(a, (T2)(b, a)).y", true),
    ("select", "select(a, b, (I)(a < b))", true),
    ("bitselect", "bitselect(a, b, (T)-0.0)", true),
    ("length", "length((T2)(a, b))", false),
    ("length_4", "length((T4)(a, b, 1, b))", false),
    ("distance", "distance((T3)(a, 2, b), (T3)(2, 1, 3))", false),
    ("normalize", "normalize((T2)(a, b)).x", false),
    ("normalize_3", "normalize((T3)(a, b, -1)).z", false),
    ("dot", "dot((T2)(a, 2), (T2)(b, 1))", false),
    ("cross", "cross((T3)(a, 1, b), (T3)(2, b, 0)).x", true),
    ("shuffle", "shuffle2((T4)(a, b, 1, 2), (T4)(b, 4, a, 3), (U2)(6, 1)).x", true),
    ("any", "(int)any(isless((T2)(a, b), (T2)(b, b)))", true),
    ("to_float", "(float)a", true),
    ("to_long", "convert_long_sat(a)", true),
];

const GEOMETRIC: [&str; 3] = ["length", "distance", "normalize"];

/// Programs have to ask for arithmetic of halves.
pub(crate) const ENABLE: &str = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";

/// The largest halves, the smallest ones, special values, and some of each size.
fn some_halves() -> Vec<u16> {
    let edges = [0, 1, 2, 0x3ff, 0x400, 0x401, 0x3555, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4000];
    let more = [0x4248, 0x4900, 0x6400, 0x6401, 0x6800, 0x7400, 0x7bfe, 0x7bff, 0x7c00, 0x7e00, 0x7c01];
    let spread = (0..104u32).map(|index| (index * 40_503 % 0x7c00) as u16);
    let positive: Vec<u16> = edges.into_iter().chain(more).chain(spread).collect();
    positive.iter().copied().chain(positive.iter().map(|bits| bits | 0x8000)).collect()
}

/// Returns the number that bits of a half stand for.
pub(crate) fn of_half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let size = match exponent {
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        0 => fraction * 2f64.powi(-24),
        _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// Returns a result's error in units of a half; infinity where the kind or the sign of a zero differs.
fn half_ulps(result: u16, truth: f64) -> f64 {
    let result = of_half(result);
    if truth.is_nan() || result.is_nan() {
        return if truth.is_nan() && result.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if result == 0.0 && result.is_sign_negative() != truth.is_sign_negative() {
        return f64::INFINITY;
    }
    // Beyond the greatest number lies what would come next.
    let finite = |x: f64| x.clamp(-65536.0, 65536.0);
    let exponent = (truth.abs().to_bits() >> 52) as i32 - 1023;
    (finite(result) - finite(truth)).abs() / 2f64.powi(exponent.clamp(-14, 15) - 10)
}

/// A function to check: its name, its expression, and its bound, if it is not rounded once.
struct HalfCheck {
    name: String,
    text: String,
    bound: Option<f64>,
}

/// A function of `a` and `b` for each check. The results are numbers of type `T` or of 64 bits.
fn source_of(checks: &[HalfCheck], ty: &str, words: [&str; 2]) -> String {
    let mut source = String::from(ENABLE);
    for check in checks {
        let with = |name: &str, text: &str| {
            let mut found = check.text.clone();
            for count in ["4", "3", "2"] {
                found = found.replace(&format!("({name}{count})"), &format!("({text}{count})"));
            }
            found.replace(&format!("({name})"), &format!("({text})"))
        };
        let text = with("T", ty)
            .replace("(I)", &format!("({})", words[0]))
            .replace("(U2)", &format!("({}2)", words[1]));
        _ = writeln!(
            source,
            "double check_{}({ty} a, {ty} b) {{ {ty} other; int whole; return (double)({text}); }}",
            check.name
        );
    }
    source
}

/// Compares functions of halves with those of doubles at the arguments.
fn compare(checks: &[HalfCheck], arguments: &[Vec<u16>; 2]) {
    let halves = compiled(&source_of(checks, "half", ["short", "ushort"]));
    let doubles = compiled(&source_of(checks, "double", ["long", "ulong"]));
    let columns =
        |of: fn(u16) -> u64| arguments.each_ref().map(|column| column.iter().map(|&bits| of(bits)).collect());
    let (narrow, wide) = (columns(u64::from), columns(|bits| of_half(bits).to_bits()));
    let mut wrong = Vec::new();
    for check in checks {
        let function = format!("check_{}", check.name);
        let found = &by_oracle(&halves, &function, &narrow)[0];
        let truths = &by_oracle(&doubles, &function, &wide)[0];
        let mut worst = (0.0, 0);
        for (index, (&found, &truth)) in found.iter().zip(truths).enumerate() {
            let (result, truth) = (f64::from_bits(found), f64::from_bits(truth));
            // What geometric functions make of NaN is not specified.
            let is_open = GEOMETRIC.iter().any(|name| check.name.starts_with(name))
                && arguments.iter().any(|column| of_half(column[index]).is_nan());
            if is_open {
                continue;
            }
            let is_half = result.is_nan() || of_half(f16_bits(result)) == result;
            let off = match check.bound {
                None if result == truth && result.is_sign_negative() == truth.is_sign_negative() => 0.0,
                // What is no half is an integer or a float.
                None if is_half && f16_bits(result) == f16_bits(truth) => 0.0,
                None if result.is_nan() && truth.is_nan() => 0.0,
                None => f64::INFINITY,
                Some(_) => half_ulps(f16_bits(result), truth),
            };
            worst = if off > worst.0 { (off, index) } else { worst };
        }
        let (off, index) = worst;
        println!("{}: {off:.3} units", check.name);
        if off > check.bound.unwrap_or(0.0) {
            let at = arguments.each_ref().map(|column| of_half(column[index]));
            let [found, truth] = [found, truths].map(|list| f64::from_bits(list[index]));
            wrong.push(format!("{}{at:?} is {found:e}, true is {truth:e}: {off} units", check.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn checks(names: &str, bound: Option<f64>, arguments: &str) -> Vec<HalfCheck> {
    let check = |name: &str| HalfCheck { name: name.into(), text: format!("{name}({arguments})"), bound };
    names.split_whitespace().map(check).collect()
}

fn all_halves() -> [Vec<u16>; 2] {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    [all.clone(), all]
}

fn pairs() -> [Vec<u16>; 2] {
    let some = some_halves();
    let each =
        |of: fn(u16, u16) -> u16| some.iter().flat_map(|&a| some.iter().map(move |&b| of(a, b))).collect();
    [each(|a, _| a), each(|_, b| b)]
}

#[test]
fn functions_of_one_half_are_near() {
    compare(&checks(NEAR, Some(0.51), "a"), &all_halves());
}

#[test]
fn functions_of_one_half_are_rounded_once() {
    compare(&checks(EXACT, None, "a"), &all_halves());
}

#[test]
fn functions_of_two_halves_are_near() {
    compare(&checks(NEAR_PAIRS, Some(0.51), "a, b"), &pairs());
}

#[test]
fn functions_of_two_halves_are_rounded_once() {
    compare(&checks(EXACT_PAIRS, None, "a, b"), &pairs());
}

#[test]
fn expressions_of_halves_are_right() {
    let check = |&(name, text, is_exact): &(&str, &str, bool)| {
        // The largest half below 1 is nearly a unit below what would be 1.
        let bound = if name == "fract" { 1.0 } else { 0.51 };
        HalfCheck { name: name.into(), text: text.into(), bound: (!is_exact).then_some(bound) }
    };
    let checks: Vec<HalfCheck> = EXPRESSIONS.iter().map(check).collect();
    compare(&checks, &pairs());
}

#[test]
fn normal_halves_are_known() {
    let module = compiled(&format!("{ENABLE}int f(half a) {{ return isnormal(a); }}"));
    let found = &by_oracle(&module, "f", &[(0..=u64::from(u16::MAX)).collect()])[0];
    assert!((0..=u16::MAX).zip(found).all(|(bits, &found)| found
        == u64::from(of_half(bits).abs() >= 2f64.powi(-14) && of_half(bits).is_finite())));
}

/// `fma` of halves is rounded once, where rounding a float would err.
#[test]
fn fused_products_are_rounded_once() {
    let source = format!("{ENABLE}half f(half a, half b, half c) {{ return fma(a, b, c); }}");
    let module = compiled(&source);
    let [left, right] = pairs();
    let third: Vec<u16> =
        left.iter().zip(&right).map(|(a, b)| a.wrapping_mul(31) ^ b.wrapping_mul(5)).collect();
    let columns = [&left, &right, &third].map(|column| column.iter().map(|&bits| u64::from(bits)).collect());
    let found = &by_oracle(&module, "f", &columns)[0];
    for index in 0..found.len() {
        let [a, b, c] = [left[index], right[index], third[index]].map(of_half);
        // The product has 22 bits. A double holds the sum, or errs on the side of the product's sign at most.
        let sum = a * b + c;
        let error = if (a * b).abs() > c.abs() { c - (sum - a * b) } else { a * b - (sum - c) };
        let odd = match error == 0.0 || error.is_nan() || sum.to_bits() & 1 == 1 {
            true => sum,
            false if (error > 0.0) == (sum > 0.0) => f64::from_bits(sum.to_bits() + 1),
            false => f64::from_bits(sum.to_bits() - 1),
        };
        let is_same =
            found[index] == u64::from(f16_bits(odd)) || sum.is_nan() && of_half(found[index] as u16).is_nan();
        assert!(is_same, "fma({a:e}, {b:e}, {c:e}) is {:e}, not {odd:e}", of_half(found[index] as u16));
    }
}

/// The bounds tell a wrong result from a right one.
#[test]
fn a_wrong_half_is_noticed() {
    assert!(half_ulps(0x3c01, 1.0) > 0.51 && half_ulps(0x3c00, 1.0) == 0.0);
    assert!(half_ulps(0x8000, 0.0).is_infinite() && half_ulps(0x7c00, f64::NAN).is_infinite());
    assert!(half_ulps(0x7bff, 65520.0) == 0.5 && half_ulps(0x7c00, 65519.0) > 0.5);
    assert!((0..=u16::MAX).all(|bits| of_half(bits).is_nan() || f16_bits(of_half(bits)) == bits));
}
