//! The lesser and greater of two floats, in LLVM's three families, which differ in what a NaN does.
//!
//! All of them order -0 before +0. For `minnum` and `maxnum` LLVM does so on paper, and says there that its code
//! generators do not yet; where compiled code is compared, [`SignedZeros::Either`] accepts what they do.

use super::float::{neg, quieted, to_f64};
use super::format::FloatFormat;

/// Which results of `minnum` and `maxnum` are accepted where the operands are zeros of different signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignedZeros {
    /// -0 is less than +0.
    Ordered,
    /// Either operand may be returned: the meaning with the flag `nsz`, and that of compiled code.
    Either,
}

/// The lesser number; NaN only if both are. A signaling NaN counts as a quiet one.
pub fn minnum(format: FloatFormat, a: u128, b: u128) -> u128 {
    minimumnum(format, a, b)
}

/// The greater number; NaN only if both are. A signaling NaN counts as a quiet one.
pub fn maxnum(format: FloatFormat, a: u128, b: u128) -> u128 {
    maximumnum(format, a, b)
}

/// All results that `minnum` may have, that of [`minnum`] first: a signaling NaN may also make the result NaN.
pub fn minnum_allowed(format: FloatFormat, a: u128, b: u128, zeros: SignedZeros) -> [u128; 2] {
    [minnum(format, a, b), alternative(format, a, b, minnum(format, a, b), zeros)]
}

/// All results that `maxnum` may have, that of [`maxnum`] first: a signaling NaN may also make the result NaN.
pub fn maxnum_allowed(format: FloatFormat, a: u128, b: u128, zeros: SignedZeros) -> [u128; 2] {
    [maxnum(format, a, b), alternative(format, a, b, maxnum(format, a, b), zeros)]
}

/// The lesser number; NaN only if both are, whatever their kind.
pub fn minimumnum(format: FloatFormat, a: u128, b: u128) -> u128 {
    match (format.is_nan(a), format.is_nan(b)) {
        (true, _) => quieted(format, b),
        (false, true) => quieted(format, a),
        (false, false) => lesser(format, a, b),
    }
}

/// The greater number; NaN only if both are, whatever their kind.
pub fn maximumnum(format: FloatFormat, a: u128, b: u128) -> u128 {
    match (format.is_nan(a), format.is_nan(b)) {
        (true, _) => quieted(format, b),
        (false, true) => quieted(format, a),
        (false, false) => greater(format, a, b),
    }
}

/// The lesser number; NaN if either is.
pub fn minimum(format: FloatFormat, a: u128, b: u128) -> u128 {
    if format.is_nan(a) || format.is_nan(b) { format.canonical_nan() } else { lesser(format, a, b) }
}

/// The greater number; NaN if either is.
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

/// The other result that LLVM allows beside the chosen one, or that one again.
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
