//! The one place where an exact number becomes a float: to nearest, ties to even, overflow to infinity, subnormal
//! numbers kept.

use super::format::FloatFormat;

/// The exact number `± significand · 2^exponent`. Zero keeps its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dyadic {
    /// Is the number, or the zero, negative?
    pub negative: bool,
    /// The absolute value, in units of `2^exponent`.
    pub significand: u128,
    /// The exponent of the unit.
    pub exponent: i64,
}

/// The number that a finite pattern stands for; `None` for infinities and NaNs.
pub fn exact_value(format: FloatFormat, a: u128) -> Option<Dyadic> {
    if !format.is_finite(a) {
        return None;
    }
    let fraction = a & format.fraction_mask();
    let binade = (format.magnitude(a) >> format.fraction_bits()) as i64;
    // Subnormal numbers are counted in the same unit as the least normal binade, but have no hidden bit.
    let hidden = if binade == 0 { 0 } else { 1 << format.fraction_bits() };
    Some(Dyadic {
        negative: format.is_negative(a),
        significand: hidden | fraction,
        exponent: format.least_exponent() + (binade - 1).max(0),
    })
}

/// The float nearest to an exact number; of two equally near ones, the one whose pattern is even.
pub fn round(format: FloatFormat, exact: Dyadic) -> u128 {
    let sign = format.zero(exact.negative);
    if exact.significand == 0 {
        return sign;
    }
    let binade = exact.exponent.saturating_add(i64::from(exact.significand.ilog2()));
    if binade > format.max_exponent() {
        return format.infinity(exact.negative);
    }
    let least = format.least_exponent();
    let unit = least.max(binade.saturating_sub(i64::from(format.fraction_bits())));
    let units = nearest(exact.significand, unit.saturating_sub(exact.exponent));
    // The hidden bit counts as one step of the exponent field, and so does a carry out of the significand, which in
    // the greatest binade leads to infinity.
    sign | ((((unit - least) as u128) << format.fraction_bits()) + units)
}

/// `significand / 2^shift` as the nearest integer, ties to even. A negative shift is to the left, and then the
/// result is less than 2^64 by the choice of the unit.
fn nearest(significand: u128, shift: i64) -> u128 {
    match shift {
        ..=0 => significand << -shift,
        1..=128 => {
            let half = 1 << (shift - 1);
            let below_half = half - 1;
            let units = significand.checked_shr(shift as u32).unwrap_or(0);
            let away = significand & half != 0 && (significand & below_half != 0 || units & 1 != 0);
            units + u128::from(away)
        }
        _ => 0,
    }
}
