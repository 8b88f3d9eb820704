//! Rounding of floats to integral floats. The result keeps the sign of the argument, even if zero.
//!
//! Computed in `f64`, which represents every number of every format. The result has no more bits than the argument
//! or, after a carry, is a power of two.

use super::float::{from_f64, to_f64};
use super::format::FloatFormat;

/// Rounds down.
pub fn floor(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).floor())
}

/// Rounds up.
pub fn ceil(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).ceil())
}

/// Rounds towards zero.
pub fn truncate(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).trunc())
}

/// Rounds to nearest, ties away from zero.
pub fn round(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).round())
}

/// Rounds to nearest, ties to even. In the default environment this is also `llvm.rint` and `llvm.nearbyint`.
pub fn round_even(format: FloatFormat, a: u128) -> u128 {
    from_f64(format, to_f64(format, a).round_ties_even())
}
