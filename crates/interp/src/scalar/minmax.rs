//! Minima and maxima of floats in LLVM's three families, which differ in their treatment of NaNs.
//!
//! All of them order -0 before +0. LLVM specifies this for `minnum` and `maxnum` too, but its code generators do not
//! implement it yet; [`SignedZeros::Either`] accepts their results when compiled code is compared.

use super::float::{neg, quieted, to_f64};
use super::format::FloatFormat;

/// Accepted results of `minnum` and `maxnum` for zeros of different signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignedZeros {
    /// -0 is less than +0.
    Ordered,
    /// Either operand may be returned, as with the flag `nsz` and in compiled code.
    Either,
}

/// Minimum; NaN only if both are. Signaling NaNs count as quiet ones.
pub fn minnum(format: FloatFormat, a: u128, b: u128) -> u128 {
    minimumnum(format, a, b)
}

/// Maximum; NaN only if both are. Signaling NaNs count as quiet ones.
pub fn maxnum(format: FloatFormat, a: u128, b: u128) -> u128 {
    maximumnum(format, a, b)
}

/// All results allowed for `minnum`, that of [`minnum`] first: a signaling NaN may make the result NaN.
pub fn minnum_allowed(format: FloatFormat, a: u128, b: u128, zeros: SignedZeros) -> [u128; 2] {
    [minnum(format, a, b), alternative(format, a, b, minnum(format, a, b), zeros)]
}

/// All results allowed for `maxnum`, that of [`maxnum`] first: a signaling NaN may make the result NaN.
pub fn maxnum_allowed(format: FloatFormat, a: u128, b: u128, zeros: SignedZeros) -> [u128; 2] {
    [maxnum(format, a, b), alternative(format, a, b, maxnum(format, a, b), zeros)]
}

/// Minimum; NaN only if both are, quiet or signaling.
pub fn minimumnum(format: FloatFormat, a: u128, b: u128) -> u128 {
    match (format.is_nan(a), format.is_nan(b)) {
        (true, _) => quieted(format, b),
        (false, true) => quieted(format, a),
        (false, false) => lesser(format, a, b),
    }
}

/// Maximum; NaN only if both are, quiet or signaling.
pub fn maximumnum(format: FloatFormat, a: u128, b: u128) -> u128 {
    match (format.is_nan(a), format.is_nan(b)) {
        (true, _) => quieted(format, b),
        (false, true) => quieted(format, a),
        (false, false) => greater(format, a, b),
    }
}

/// Minimum; NaN if either is.
pub fn minimum(format: FloatFormat, a: u128, b: u128) -> u128 {
    if format.is_nan(a) || format.is_nan(b) { format.canonical_nan() } else { lesser(format, a, b) }
}

/// Maximum; NaN if either is.
pub fn maximum(format: FloatFormat, a: u128, b: u128) -> u128 {
    if format.is_nan(a) || format.is_nan(b) { format.canonical_nan() } else { greater(format, a, b) }
}

fn lesser(format: FloatFormat, a: u128, b: u128) -> u128 {
    let (x, y) = (to_f64(format, a), to_f64(format, b));
    let first = x < y || x == y && format.is_negative(a);
    quieted(format, if first { a } else { b })
}

fn greater(format: FloatFormat, a: u128, b: u128) -> u128 {
    let (x, y) = (to_f64(format, a), to_f64(format, b));
    let first = x > y || x == y && !format.is_negative(a);
    quieted(format, if first { a } else { b })
}

/// Returns the second result that LLVM allows, or the chosen one if there is none.
fn alternative(format: FloatFormat, a: u128, b: u128, chosen: u128, zeros: SignedZeros) -> u128 {
    if format.is_signaling_nan(a) || format.is_signaling_nan(b) {
        format.canonical_nan()
    } else if zeros == SignedZeros::Either
        && format.is_zero(a)
        && format.is_zero(b)
        && format.is_negative(a) != format.is_negative(b)
    {
        neg(format, chosen)
    } else {
        chosen
    }
}
