//! Rounding to an integer that stays a float. The result keeps the sign of the argument, also where it is zero.
//!
//! Computed in `f64`: every number of every format exists there, and the result has no more bits than the argument
//! or, after a carry, is a power of two.

use super::float::{from_f64, to_f64};
use super::format::FloatFormat;

/// The greatest integer that is not greater.
pub fn floor(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).floor())
}

/// The least integer that is not less.
pub fn ceil(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).ceil())
}

/// The integer part: rounded towards zero.
pub fn truncate(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).trunc())
}

/// The nearest integer; of two equally near ones, the one farther from zero.
pub fn round(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).round())
}

/// The nearest integer; of two equally near ones, the even one. In the default environment `llvm.rint` and
/// `llvm.nearbyint` are this too.
pub fn round_even(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).round_ties_even())
}
