//! Rounding of exact numbers to floats: nearest, ties to even, overflow to infinity, gradual underflow.
//! Decision: no other file rounds.

use super::format::FloatFormat;

/// Exact number `± significand · 2^exponent`. Zero keeps its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dyadic {
    /// Sign, also of zero.
    pub negative: bool,
    /// Absolute value, in units of `2^exponent`.
    pub significand: u128,
    /// Exponent of the unit.
    pub exponent: i64,
}

/// Decodes a finite pattern; `None` for infinities and NaNs.
pub fn exact_value(format: FloatFormat, a: u128) -> Option<Dyadic> {
    if !format.is_finite(a) {
        return None;
    }
    let fraction = a & format.fraction_mask();
    let binade = (format.magnitude(a) >> format.fraction_bits()) as i64;
    // Subnormal numbers have the unit of the smallest normal binade, but no hidden bit.
    let hidden = if binade == 0 { 0 } else { 1 << format.fraction_bits() };
    Some(Dyadic {
        negative: format.is_negative(a),
        significand: hidden | fraction,
        exponent: format.least_exponent() + (binade - 1).max(0),
    })
}

/// Rounds an exact number to the nearest float, ties to the even pattern.
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
    // The hidden bit counts as one step of the exponent field. So does a carry out of the significand, which in the
    // largest binade gives an infinity.
    sign | ((((unit - least) as u128) << format.fraction_bits()) + units)
}

/// Computes `significand / 2^shift` to the nearest integer, ties to even. A negative shift is to the left; the unit is
/// chosen so that its result is less than 2^64.
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
