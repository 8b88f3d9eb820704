//! Float arithmetic against exact rational numbers.

use heddle_interp::scalar::FloatFormat::{self, BF16, F16, F32, F64};
use heddle_interp::scalar::{float, same_float};

use crate::exact::{Exact, Number, is_nearest, is_nearest_by, number};
use crate::sample::{Random, float_corners};

/// Result required by IEEE 754.
#[derive(Debug)]
enum Expected {
    Nan,
    Infinite { negative: bool },
    Zero { negative: bool },
    Nearest(Exact),
    NearestQuotient(Exact, Exact),
    NearestRoot(Exact),
}

fn meets(format: FloatFormat, expected: &Expected, result: u128) -> bool {
    match expected {
        Expected::Nan => result == format.canonical_nan(),
        Expected::Infinite { negative } => result == format.infinity(*negative),
        Expected::Zero { negative } => result == format.zero(*negative),
        Expected::Nearest(exact) => is_nearest(format, result, exact),
        Expected::NearestQuotient(dividend, divisor) => {
            let double = Exact { exponent: dividend.exponent + 1, ..dividend.clone() };
            format.is_negative(result) == (dividend.negative != divisor.negative)
                && is_nearest_by(format, result, |mid| mid.mul(divisor).compare(&double))
        }
        Expected::NearestRoot(exact) => {
            let square_of_double = Exact { exponent: exact.exponent + 2, ..exact.clone() };
            !format.is_negative(result)
                && is_nearest_by(format, result, |mid| mid.mul(mid).compare(&square_of_double))
        }
    }
}

fn expected_sum(a: &Number, b: &Number) -> Expected {
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Expected::Nan,
        (&Number::Infinite { negative }, &Number::Infinite { negative: other }) if negative != other => {
            Expected::Nan
        }
        (&Number::Infinite { negative }, _) | (_, &Number::Infinite { negative }) => {
            Expected::Infinite { negative }
        }
        (Number::Finite(a), Number::Finite(b)) => {
            let sum = a.add(b);
            let zero_is_negative = a.negative && b.negative;
            if sum.is_zero() { Expected::Zero { negative: zero_is_negative } } else { Expected::Nearest(sum) }
        }
    }
}

/// Exact product, an infinity, or a NaN.
fn product(a: &Number, b: &Number) -> Number {
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (&Number::Infinite { negative }, &Number::Infinite { negative: other }) => {
            Number::Infinite { negative: negative != other }
        }
        (&Number::Infinite { negative }, Number::Finite(finite))
        | (Number::Finite(finite), &Number::Infinite { negative }) => {
            if finite.is_zero() {
                Number::Nan
            } else {
                Number::Infinite { negative: negative != finite.negative }
            }
        }
        (Number::Finite(a), Number::Finite(b)) => Number::Finite(a.mul(b)),
    }
}

fn expected_product(a: &Number, b: &Number) -> Expected {
    match product(a, b) {
        Number::Nan => Expected::Nan,
        Number::Infinite { negative } => Expected::Infinite { negative },
        Number::Finite(exact) => Expected::Nearest(exact),
    }
}

fn expected_quotient(a: &Number, b: &Number) -> Expected {
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) | (Number::Infinite { .. }, Number::Infinite { .. }) => {
            Expected::Nan
        }
        (&Number::Infinite { negative }, Number::Finite(b)) => {
            Expected::Infinite { negative: negative != b.negative }
        }
        (Number::Finite(a), &Number::Infinite { negative }) => {
            Expected::Zero { negative: negative != a.negative }
        }
        (Number::Finite(a), Number::Finite(b)) => match (a.is_zero(), b.is_zero()) {
            (true, true) => Expected::Nan,
            (false, true) => Expected::Infinite { negative: a.negative != b.negative },
            (true, false) => Expected::Zero { negative: a.negative != b.negative },
            (false, false) => Expected::NearestQuotient(a.clone(), b.clone()),
        },
    }
}

fn expected_root(a: &Number) -> Expected {
    match a {
        Number::Infinite { negative: false } => Expected::Infinite { negative: false },
        Number::Finite(a) if a.is_zero() => Expected::Zero { negative: a.negative },
        Number::Finite(a) if !a.negative => Expected::NearestRoot(a.clone()),
        _ => Expected::Nan,
    }
}

/// Computes the remainder by doubling: `count · 2^shift mod divisor`, one doubling at a time.
fn expected_remainder(format: FloatFormat, a: u128, b: u128) -> Expected {
    let (x, y) = match (number(format, a), number(format, b)) {
        (Number::Nan, _) | (_, Number::Nan) | (Number::Infinite { .. }, _) => return Expected::Nan,
        (Number::Finite(a), Number::Infinite { .. }) => return Expected::Nearest(a),
        (Number::Finite(a), Number::Finite(b)) => (a, b),
    };
    if y.is_zero() {
        return Expected::Nan;
    }
    let shift = x.exponent - y.exponent;
    let (mut rest, divisor) = (x.count.low(64), y.count.low(64));
    if shift < 0 {
        let divisor = if shift < -64 { u128::MAX } else { divisor << -shift };
        return Expected::Nearest(Exact::new(x.negative, rest % divisor, x.exponent));
    }
    for _ in 0..shift {
        rest = 2 * (rest % divisor);
    }
    Expected::Nearest(Exact::new(x.negative, rest % divisor, y.exponent))
}

fn check_pair(format: FloatFormat, a: u128, b: u128) {
    let (x, y) = (number(format, a), number(format, b));
    let check = |name: &str, expected: Expected, result: u128| {
        assert!(
            meets(format, &expected, result),
            "{name} {format:?} {a:#x} {b:#x} = {result:#x}: {expected:?}"
        );
    };
    check("add", expected_sum(&x, &y), float::add(format, a, b));
    check("sub", expected_sum(&x, &number(format, b ^ format.sign_mask())), float::sub(format, a, b));
    check("mul", expected_product(&x, &y), float::mul(format, a, b));
    check("div", expected_quotient(&x, &y), float::div(format, a, b));
    check("rem", expected_remainder(format, a, b), float::rem(format, a, b));
}

fn check_fma(format: FloatFormat, a: u128, b: u128, c: u128) {
    let (x, y, z) = (number(format, a), number(format, b), number(format, c));
    let expected = expected_sum(&product(&x, &y), &z);
    let result = float::fma(format, a, b, c);
    assert!(
        meets(format, &expected, result),
        "fma {format:?} {a:#x} {b:#x} {c:#x} = {result:#x}: {expected:?}"
    );
}

#[test]
fn pairs_of_corners_in_every_format() {
    for format in FloatFormat::ALL {
        let corners = float_corners(format);
        corners.iter().for_each(|&a| corners.iter().for_each(|&b| check_pair(format, a, b)));
    }
}

#[test]
fn random_pairs_in_every_format() {
    let mut random = Random::new(2);
    for format in FloatFormat::ALL {
        for _ in 0..15_000 {
            let a = random.float(format);
            let (far, near) = (random.float(format), random.float_near(format, a));
            check_pair(format, a, far);
            check_pair(format, a, near);
        }
    }
}

#[test]
fn every_narrow_float_with_a_few_others() {
    let mut random = Random::new(3);
    for format in [F16, BF16] {
        let corners = float_corners(format);
        for a in 0..=0xffff {
            for turn in 0..4 {
                check_pair(format, a, corners[(5 * a as usize + turn) % corners.len()]);
            }
            check_pair(format, a, random.float(format));
            check_pair(format, a, random.float_near(format, a));
        }
    }
}

#[test]
fn roots_of_every_narrow_float_and_of_samples_of_the_wide_ones() {
    let check = |format, a| {
        let (result, expected) = (float::sqrt(format, a), expected_root(&number(format, a)));
        assert!(meets(format, &expected, result), "sqrt {format:?} {a:#x} = {result:#x}: {expected:?}");
    };
    let mut random = Random::new(4);
    for format in [F16, BF16] {
        (0..=0xffff).for_each(|a| check(format, a));
    }
    for format in [F32, F64] {
        float_corners(format).into_iter().for_each(|a| check(format, a));
        (0..20_000).for_each(|_| check(format, random.float(format)));
    }
}

#[test]
fn fused_multiply_add_in_every_format() {
    let mut random = Random::new(5);
    for format in FloatFormat::ALL {
        let corners = float_corners(format);
        for &a in &corners {
            for &b in &corners {
                let c = corners[random.below(corners.len() as u64) as usize];
                check_fma(format, a, b, c);
            }
        }
        for _ in 0..40_000 {
            let (a, b) = (random.float(format), random.float(format));
            let c = match random.below(3) {
                0 => random.float(format),
                _ => random.float_near(format, float::mul(format, a, b)),
            };
            check_fma(format, a, b, c);
        }
    }
}

/// The product is next to a midpoint of two floats and the addend far below decides: rounding the product, or
/// rounding the sum to 53 bits first, goes wrong here.
#[test]
fn fused_multiply_add_where_a_distant_addend_decides_a_tie() {
    for format in [F16, BF16] {
        let step = 1u128 << format.fraction_bits();
        let one = (format.max_exponent() as u128) << format.fraction_bits();
        for fraction in 0..step {
            for c in [1, format.sign_mask() | 1, step, format.sign_mask() | step, 0] {
                let three_halves = one + step / 2;
                check_fma(format, one + fraction, three_halves, c);
                check_fma(format, infinity_below(format) - fraction, one + 1, c);
            }
        }
    }
    let (a, b) = (0x3c01, 0x3e00);
    let tie = float::fma(F16, a, b, 0);
    assert_eq!(tie, float::mul(F16, a, b));
    assert_eq!(
        [float::fma(F16, a, b, 1), float::fma(F16, a, b, 0x8001)].iter().filter(|&&v| v == tie).count(),
        1
    );
}

fn infinity_below(format: FloatFormat) -> u128 {
    format.infinity(false) - 1
}

#[test]
fn fmuladd_allows_both_roundings_and_they_can_differ() {
    let mut random = Random::new(6);
    for format in FloatFormat::ALL {
        let mut differing = 0;
        for _ in 0..5_000 {
            let (a, b) = (random.float(format), random.float(format));
            let c = random.float_near(format, float::mul(format, a, b));
            let [fused, separate] = float::fmuladd_allowed(format, a, b, c);
            assert_eq!(fused, float::fma(format, a, b, c));
            assert_eq!(separate, float::add(format, float::mul(format, a, b), c));
            assert_eq!(float::fmuladd(format, a, b, c), fused);
            differing += u32::from(!same_float(format, fused, separate));
        }
        assert!(differing > 100, "{format:?}: only {differing} differ");
    }
}

#[test]
fn sign_operations_touch_one_bit_also_of_nans() {
    for format in FloatFormat::ALL {
        let sign = 1u128 << (format.bits() - 1);
        for a in float_corners(format) {
            assert_eq!(float::neg(format, a), a ^ sign);
            assert_eq!(float::abs(format, a), a & !sign);
            for b in float_corners(format) {
                assert_eq!(float::copysign(format, a, b), a & !sign | b & sign);
            }
        }
    }
}

#[test]
fn ldexp_scales_exactly_and_rounds_once() {
    let mut random = Random::new(7);
    for format in FloatFormat::ALL {
        let check = |a: u128, steps: i64| {
            let result = float::ldexp(format, a, 32, u128::from(steps as i32 as u32));
            let expected = match number(format, a) {
                Number::Nan => Expected::Nan,
                Number::Infinite { negative } => Expected::Infinite { negative },
                Number::Finite(exact) => {
                    Expected::Nearest(Exact { exponent: exact.exponent + steps, ..exact })
                }
            };
            assert!(meets(format, &expected, result), "ldexp {format:?} {a:#x} {steps} = {result:#x}");
        };
        for a in float_corners(format) {
            let reach = 2 * format.max_exponent() + 60;
            (-reach..reach).step_by(if format == F64 { 41 } else { 1 }).for_each(|steps| check(a, steps));
            [i32::MIN, i32::MAX, -3000, 3000].into_iter().for_each(|steps| check(a, steps.into()));
        }
        for _ in 0..2_000 {
            let steps = random.below(2 * format.max_exponent() as u64) as i64 - format.max_exponent();
            check(random.float(format), steps);
        }
    }
    assert_eq!(float::ldexp(F32, 0x3f80_0000, 128, i128::MIN as u128), 0);
    assert_eq!(float::ldexp(F32, 0x3f80_0000, 128, i128::MAX as u128), 0x7f80_0000);
    assert_eq!(float::ldexp(F32, 0x3f80_0000, 8, 0xff), 0x3f00_0000, "the exponent is signed");
}

/// Hand-computed patterns, so that no shared misunderstanding of the formats goes unnoticed.
#[test]
fn known_results() {
    assert_eq!(float::add(F16, 0x3c00, 0x3c00), 0x4000, "1 + 1 = 2");
    assert_eq!(float::add(F16, 0x7bff, 0x4bff), 0x7bff, "65504 + 15.99 rounds down");
    assert_eq!(float::add(F16, 0x7bff, 0x4c00), 0x7c00, "65504 + 16 is a tie, and the even side is infinity");
    assert_eq!(float::div(BF16, 0x3f80, 0x4040), 0x3eab, "1 / 3 in bf16");
    assert_eq!(float::mul(F16, 0x0001, 0x3800), 0, "half of the least subnormal is a tie to zero");
    assert_eq!(float::mul(F16, 0x0003, 0x3800), 2, "one and a half of them is a tie to two");
    assert_eq!(float::rem(F32, 0xc0a0_0000, 0x4040_0000), 0xc000_0000, "-5 mod 3 = -2");
    assert_eq!(float::rem(F32, 0xc0c0_0000, 0x4040_0000), 0x8000_0000, "-6 mod 3 = -0");
    assert_eq!(float::rem(F32, 0x3f80_0000, 0x7f80_0000), 0x3f80_0000, "1 mod inf = 1");
    assert_eq!(float::sqrt(F64, 1 << 63), 1 << 63, "the root of -0 is -0");
    assert_eq!(float::sub(F32, 0x7f80_0000, 0x7f80_0000), 0x7fc0_0000, "inf - inf is the canonical NaN");
}
