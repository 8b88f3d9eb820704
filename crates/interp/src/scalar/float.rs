//! Float arithmetic, each operation rounded once.
//!
//! `f32` and `f64` use the host's arithmetic, which follows IEEE 754. `f16` and `bf16` are computed in `f64` and rounded
//! to their format. This equals a single rounding of the exact result:
//! * a product has at most 2·11 bits and a remainder no more than its operands, so both are exact in `f64`;
//! * a sum of two `f16` spans at most 41 bits and is exact. A sum of two `bf16` that is not exact in 53 bits lies so
//!   close to the greater operand, itself a `bf16`, that both roundings return that operand;
//! * a quotient or root that is not exactly halfway between two floats of the format differs from that halfway
//!   point, a number of at most 12 bits, by more than one part in 2^26: `a = m·b` and `a = m²` are equations
//!   between numbers of at most 24 bits. Rounding to 53 bits cannot move it across or onto that point.
//!
//! None of this holds for the fused multiply-add; [`fma`] rounds to odd instead.

use super::convert::{fpext, fptrunc};
use super::format::FloatFormat;
use super::integer::signed;
use super::rounding::{Dyadic, exact_value, round};

/// Sum.
#[inline]
pub fn add(format: FloatFormat, a: u128, b: u128) -> u128 {
    binary(format, a, b, |x, y| x + y, |x, y| x + y)
}

/// Difference.
#[inline]
pub fn sub(format: FloatFormat, a: u128, b: u128) -> u128 {
    binary(format, a, b, |x, y| x - y, |x, y| x - y)
}

/// Product.
#[inline]
pub fn mul(format: FloatFormat, a: u128, b: u128) -> u128 {
    binary(format, a, b, |x, y| x * y, |x, y| x * y)
}

/// Quotient. Division by zero gives an infinity, or a NaN for zero by zero.
#[inline]
pub fn div(format: FloatFormat, a: u128, b: u128) -> u128 {
    binary(format, a, b, |x, y| x / y, |x, y| x / y)
}

/// Remainder of the quotient rounded towards zero, like `fmod`: exact, with the sign of the dividend even if zero.
pub fn rem(format: FloatFormat, a: u128, b: u128) -> u128 {
    binary(format, a, b, |x, y| x % y, |x, y| x % y)
}

/// Square root: -0 for -0, a NaN for other negative numbers.
pub fn sqrt(format: FloatFormat, a: u128) -> u128 {
    binary(format, a, 0, |x, _| x.sqrt(), |x, _| x.sqrt())
}

/// Reciprocal square root, rounded twice.
pub fn rsqrt(format: FloatFormat, a: u128) -> u128 {
    div(format, from_f64(format, 1.0), sqrt(format, a))
}

/// `a · b + c`, rounded once.
///
/// For `f16` and `bf16` the product is exact in `f64`. The sum is rounded to odd there: an inexact sum becomes the
/// neighbour whose last bit is set, so the second rounding is correct.
pub fn fma(format: FloatFormat, a: u128, b: u128, c: u128) -> u128 {
    match format {
        FloatFormat::F64 => from_f64(format, to_f64(format, a).mul_add(to_f64(format, b), to_f64(format, c))),
        FloatFormat::F32 => from_f32(to_f32(a).mul_add(to_f32(b), to_f32(c))),
        FloatFormat::F16 | FloatFormat::BF16 => {
            from_f64(format, add_to_odd(to_f64(format, a) * to_f64(format, b), to_f64(format, c)))
        }
    }
}

/// `llvm.fmuladd` in this interpreter: fused.
pub fn fmuladd(format: FloatFormat, a: u128, b: u128, c: u128) -> u128 {
    fma(format, a, b, c)
}

/// Both results allowed for `llvm.fmuladd`: fused, and multiplied then added.
pub fn fmuladd_allowed(format: FloatFormat, a: u128, b: u128, c: u128) -> [u128; 2] {
    [fma(format, a, b, c), add(format, mul(format, a, b), c)]
}

/// Inverts the sign bit only: NaNs keep their payload.
pub fn neg(format: FloatFormat, a: u128) -> u128 {
    copy(format, format.magnitude(a), !format.is_negative(a))
}

/// Clears the sign bit only.
pub fn abs(format: FloatFormat, a: u128) -> u128 {
    format.magnitude(a)
}

/// Combines the sign bit of `sign` with the other bits of `a`.
pub fn copysign(format: FloatFormat, a: u128, sign: u128) -> u128 {
    copy(format, format.magnitude(a), format.is_negative(sign))
}

/// `a · 2^exponent`, rounded once; the exponent is a signed integer of `exponent_bits` bits.
pub fn ldexp(format: FloatFormat, a: u128, exponent_bits: u32, exponent: u128) -> u128 {
    // Larger exponents overflow or underflow in every format; clamping keeps their sums small.
    let steps = signed(exponent_bits, exponent).clamp(-100_000, 100_000) as i64;
    match exact_value(format, a) {
        Some(exact) => round(format, Dyadic { exponent: exact.exponent + steps, ..exact }),
        None => quieted(format, a),
    }
}

/// Converts to `f64`, which represents every number of every format.
#[inline]
pub fn to_f64(format: FloatFormat, a: u128) -> f64 {
    f64::from_bits(fpext(format, FloatFormat::F64, a) as u64)
}

/// Rounds an `f64` to the format.
#[inline]
pub fn from_f64(format: FloatFormat, value: f64) -> u128 {
    fptrunc(FloatFormat::F64, format, u128::from(value.to_bits()))
}

/// Replaces NaNs by the canonical one.
#[inline]
pub(super) fn quieted(format: FloatFormat, a: u128) -> u128 {
    if format.is_nan(a) {
        format.canonical_nan()
    } else {
        copy(format, format.magnitude(a), format.is_negative(a))
    }
}

#[inline]
fn to_f32(a: u128) -> f32 {
    f32::from_bits(a as u32)
}

#[inline]
fn from_f32(value: f32) -> u128 {
    quieted(FloatFormat::F32, u128::from(value.to_bits()))
}

#[inline]
fn copy(format: FloatFormat, magnitude: u128, negative: bool) -> u128 {
    format.zero(negative) | magnitude
}

#[inline]
fn binary(
    format: FloatFormat,
    a: u128,
    b: u128,
    single: impl Fn(f32, f32) -> f32,
    double: impl Fn(f64, f64) -> f64,
) -> u128 {
    match format {
        FloatFormat::F32 => from_f32(single(to_f32(a), to_f32(b))),
        FloatFormat::F16 | FloatFormat::BF16 | FloatFormat::F64 => {
            from_f64(format, double(to_f64(format, a), to_f64(format, b)))
        }
    }
}

/// Sum rounded to odd. The error of the nearest sum is exact, and its sign tells on which side the exact sum lies.
fn add_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if !sum.is_finite() {
        return sum;
    }
    let y_part = sum - x;
    let error = (x - (sum - y_part)) + (y - y_part);
    let pattern = sum.to_bits();
    if error == 0.0 || pattern & 1 == 1 {
        sum
    } else if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(pattern + 1)
    } else {
        f64::from_bits(pattern - 1)
    }
}
