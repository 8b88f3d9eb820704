//! Conversions between integer widths, between float formats, and between integers and floats.
//! Invariant: a float result is rounded once, from the exact number.

use super::float::quieted;
use super::format::FloatFormat;
use super::integer::{all_ones, fits_signed, pattern, signed, signed_max, signed_min, unsigned};
use super::rounding::{Dyadic, exact_value, round};

/// Truncation to the low `to` bits; poison with `nuw` or `nsw` if the integer changes.
#[inline]
pub fn trunc(from: u32, to: u32, a: u128, nuw: bool, nsw: bool) -> Option<u128> {
    let unsigned_kept = unsigned(from, a) <= all_ones(to);
    let signed_kept = fits_signed(to, signed(from, a));
    ((!nuw || unsigned_kept) && (!nsw || signed_kept)).then(|| unsigned(to, a))
}

/// Zero extension to `to` bits; poison with `nneg` if the sign bit is set.
#[inline]
pub fn zext(from: u32, to: u32, a: u128, nneg: bool) -> Option<u128> {
    (!nneg || signed(from, a) >= 0).then(|| unsigned(to, unsigned(from, a)))
}

/// Sign extension to `to` bits.
#[inline]
pub fn sext(from: u32, to: u32, a: u128) -> u128 {
    pattern(to, signed(from, a))
}

/// Conversion to a wider format; always exact.
#[inline]
pub fn fpext(from: FloatFormat, to: FloatFormat, a: u128) -> u128 {
    reformatted(from, to, a)
}

/// Conversion to a narrower format: nearest, ties to even. Overflow gives an infinity.
#[inline]
pub fn fptrunc(from: FloatFormat, to: FloatFormat, a: u128) -> u128 {
    reformatted(from, to, a)
}

/// Integer part as an unsigned integer; poison for NaNs and where it does not fit. Numbers between -1 and 0 give zero.
pub fn fptoui(format: FloatFormat, bits: u32, a: u128) -> Option<u128> {
    let exact = exact_value(format, a)?;
    let magnitude = integer_part(exact)?;
    let fits = magnitude <= if exact.negative { 0 } else { all_ones(bits) };
    fits.then_some(magnitude)
}

/// Integer part as a signed integer; poison for NaNs and where it does not fit.
pub fn fptosi(format: FloatFormat, bits: u32, a: u128) -> Option<u128> {
    let exact = exact_value(format, a)?;
    let magnitude = integer_part(exact)?;
    let bound = if exact.negative { signed_min(bits) } else { signed_max(bits) };
    let fits = magnitude <= bound.unsigned_abs();
    fits.then(|| unsigned(bits, if exact.negative { magnitude.wrapping_neg() } else { magnitude }))
}

/// Integer part clamped to the unsigned range; zero for NaNs.
pub fn fptoui_sat(format: FloatFormat, bits: u32, a: u128) -> u128 {
    if format.is_nan(a) {
        return 0;
    }
    let bound = if format.is_negative(a) { 0 } else { all_ones(bits) };
    fptoui(format, bits, a).unwrap_or(bound)
}

/// Integer part clamped to the signed range; zero for NaNs.
pub fn fptosi_sat(format: FloatFormat, bits: u32, a: u128) -> u128 {
    if format.is_nan(a) {
        return 0;
    }
    let bound = if format.is_negative(a) { signed_min(bits) } else { signed_max(bits) };
    fptosi(format, bits, a).unwrap_or(pattern(bits, bound))
}

/// Float nearest to an unsigned integer; poison with `nneg` if the sign bit is set. Overflow gives an infinity.
pub fn uitofp(bits: u32, format: FloatFormat, a: u128, nneg: bool) -> Option<u128> {
    let exact = Dyadic { negative: false, significand: unsigned(bits, a), exponent: 0 };
    (!nneg || signed(bits, a) >= 0).then(|| round(format, exact))
}

/// Float nearest to a signed integer; zero becomes +0. Overflow gives an infinity.
pub fn sitofp(bits: u32, format: FloatFormat, a: u128) -> u128 {
    let value = signed(bits, a);
    round(format, Dyadic { negative: value < 0, significand: value.unsigned_abs(), exponent: 0 })
}

#[inline]
fn reformatted(from: FloatFormat, to: FloatFormat, a: u128) -> u128 {
    if from == to {
        return quieted(to, a);
    }
    match exact_value(from, a) {
        Some(exact) => round(to, exact),
        None if from.is_nan(a) => to.canonical_nan(),
        None => to.infinity(from.is_negative(a)),
    }
}

/// Absolute value without its fraction; `None` from 2^128 on.
fn integer_part(exact: Dyadic) -> Option<u128> {
    let Dyadic { significand, exponent, .. } = exact;
    if exponent < 0 {
        Some(significand.checked_shr(exponent.unsigned_abs() as u32).unwrap_or(0))
    } else {
        let room = significand == 0 || exponent <= i64::from(significand.leading_zeros());
        room.then(|| significand << exponent.min(127))
    }
}
