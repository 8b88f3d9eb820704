//! Shifts, whose amount must be less than the width, and funnel shifts, whose amount is modulo the width.

use super::integer::{pattern, signed, unsigned};

/// Left shift. Poison if the amount is not less than the width, with `nuw` if a one is lost, and with `nsw` if a lost
/// bit differs from the sign of the result.
#[inline]
pub fn shl(bits: u32, a: u128, amount: u128, nuw: bool, nsw: bool) -> Option<u128> {
    let amount = shift_amount(bits, amount)?;
    let result = unsigned(bits, a << amount);
    let unsigned_kept = result >> amount == unsigned(bits, a);
    let signed_kept = signed(bits, result) >> amount == signed(bits, a);
    ((!nuw || unsigned_kept) && (!nsw || signed_kept)).then_some(result)
}

/// Logical right shift. Poison if the amount is not less than the width, and with `exact` if a one is lost.
#[inline]
pub fn lshr(bits: u32, a: u128, amount: u128, exact: bool) -> Option<u128> {
    let amount = shift_amount(bits, amount)?;
    let value = unsigned(bits, a);
    let result = value >> amount;
    (!exact || result << amount == value).then_some(result)
}

/// Arithmetic right shift. Poison if the amount is not less than the width, and with `exact` if a one is lost.
#[inline]
pub fn ashr(bits: u32, a: u128, amount: u128, exact: bool) -> Option<u128> {
    let amount = shift_amount(bits, amount)?;
    let value = signed(bits, a);
    let result = value >> amount;
    (!exact || result << amount == value).then(|| pattern(bits, result))
}

/// Upper half of `high:low` shifted left by `amount` modulo the width; a rotation if both halves are equal.
pub fn fshl(bits: u32, high: u128, low: u128, amount: u128) -> u128 {
    let (high, low) = (unsigned(bits, high), unsigned(bits, low));
    match funnel_amount(bits, amount) {
        0 => high,
        amount => unsigned(bits, high << amount) | low >> (bits - amount),
    }
}

/// Lower half of `high:low` shifted right by `amount` modulo the width; a rotation if both halves are equal.
pub fn fshr(bits: u32, high: u128, low: u128, amount: u128) -> u128 {
    let (high, low) = (unsigned(bits, high), unsigned(bits, low));
    match funnel_amount(bits, amount) {
        0 => low,
        amount => unsigned(bits, high << (bits - amount)) | low >> amount,
    }
}

#[inline]
fn shift_amount(bits: u32, amount: u128) -> Option<u32> {
    let amount = unsigned(bits, amount);
    (amount < u128::from(bits)).then_some(amount as u32)
}

fn funnel_amount(bits: u32, amount: u128) -> u32 {
    (unsigned(bits, amount) % u128::from(bits)) as u32
}
