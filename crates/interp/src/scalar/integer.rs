//! Integer arithmetic: sums, products, quotients, extrema, saturation.
//! Invariant: results are computed in 128 bits with overflow checks, then checked against the width.

use thiserror::Error;

/// Immediate undefined behaviour of a division, as opposed to a poison result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Trap {
    /// The divisor of a quotient or remainder is zero.
    #[error("division by zero")]
    DivisionByZero,
    /// The signed quotient of the minimum integer and -1 does not fit; the remainder is undefined with it.
    #[error("signed division of the least integer by -1")]
    DivisionOverflow,
}

/// Pattern with all `bits` bits set; also the maximum unsigned integer.
#[inline]
pub fn all_ones(bits: u32) -> u128 {
    assert!((1..=128).contains(&bits), "no integer type has {bits} bits");
    u128::MAX >> (128 - bits)
}

/// Reads the pattern as an unsigned integer.
#[inline]
pub fn unsigned(bits: u32, a: u128) -> u128 {
    a & all_ones(bits)
}

/// Reads the pattern as a two's complement integer.
#[inline]
pub fn signed(bits: u32, a: u128) -> i128 {
    assert!((1..=128).contains(&bits), "no integer type has {bits} bits");
    let unused = 128 - bits;
    ((a << unused) as i128) >> unused
}

/// Minimum signed integer of a width.
#[inline]
pub fn signed_min(bits: u32) -> i128 {
    signed(bits, 1 << (bits - 1))
}

/// Maximum signed integer of a width.
#[inline]
pub fn signed_max(bits: u32) -> i128 {
    !signed_min(bits)
}

/// Low `bits` bits of a two's complement integer, as a pattern.
#[inline]
pub fn pattern(bits: u32, value: i128) -> u128 {
    unsigned(bits, value as u128)
}

/// Sum modulo 2^bits; poison with `nuw` or `nsw` if it overflows.
#[inline(always)]
pub fn add(bits: u32, a: u128, b: u128, nuw: bool, nsw: bool) -> Option<u128> {
    let exact_unsigned = || unsigned(bits, a).checked_add(unsigned(bits, b));
    let exact_signed = || signed(bits, a).checked_add(signed(bits, b));
    let unsigned_kept = !nuw || exact_unsigned().is_some_and(|exact| exact <= all_ones(bits));
    let signed_kept = !nsw || exact_signed().is_some_and(|exact| fits_signed(bits, exact));
    (unsigned_kept && signed_kept).then(|| unsigned(bits, a.wrapping_add(b)))
}

/// Difference modulo 2^bits; poison with `nuw` or `nsw` if it overflows.
#[inline(always)]
pub fn sub(bits: u32, a: u128, b: u128, nuw: bool, nsw: bool) -> Option<u128> {
    let exact_unsigned = || unsigned(bits, a).checked_sub(unsigned(bits, b));
    let exact_signed = || signed(bits, a).checked_sub(signed(bits, b));
    let unsigned_kept = !nuw || exact_unsigned().is_some_and(|exact| exact <= all_ones(bits));
    let signed_kept = !nsw || exact_signed().is_some_and(|exact| fits_signed(bits, exact));
    (unsigned_kept && signed_kept).then(|| unsigned(bits, a.wrapping_sub(b)))
}

/// Product modulo 2^bits; poison with `nuw` or `nsw` if it overflows.
#[inline(always)]
pub fn mul(bits: u32, a: u128, b: u128, nuw: bool, nsw: bool) -> Option<u128> {
    let exact_unsigned = || unsigned(bits, a).checked_mul(unsigned(bits, b));
    let exact_signed = || signed(bits, a).checked_mul(signed(bits, b));
    let unsigned_kept = !nuw || exact_unsigned().is_some_and(|exact| exact <= all_ones(bits));
    let signed_kept = !nsw || exact_signed().is_some_and(|exact| fits_signed(bits, exact));
    (unsigned_kept && signed_kept).then(|| unsigned(bits, a.wrapping_mul(b)))
}

/// Unsigned quotient; poison with `exact` if there is a remainder.
pub fn udiv(bits: u32, a: u128, b: u128, exact: bool) -> Result<Option<u128>, Trap> {
    let (dividend, divisor) = (unsigned(bits, a), unsigned(bits, b));
    if divisor == 0 {
        return Err(Trap::DivisionByZero);
    }
    Ok((!exact || dividend % divisor == 0).then(|| dividend / divisor))
}

/// Signed quotient, rounded towards zero; poison with `exact` if there is a remainder.
pub fn sdiv(bits: u32, a: u128, b: u128, exact: bool) -> Result<Option<u128>, Trap> {
    let (dividend, divisor) = signed_operands(bits, a, b)?;
    Ok((!exact || dividend % divisor == 0).then(|| pattern(bits, dividend / divisor)))
}

/// Remainder of the unsigned quotient.
pub fn urem(bits: u32, a: u128, b: u128) -> Result<u128, Trap> {
    let (dividend, divisor) = (unsigned(bits, a), unsigned(bits, b));
    dividend.checked_rem(divisor).ok_or(Trap::DivisionByZero)
}

/// Remainder of the signed quotient: zero, or with the sign of the dividend.
pub fn srem(bits: u32, a: u128, b: u128) -> Result<u128, Trap> {
    let (dividend, divisor) = signed_operands(bits, a, b)?;
    Ok(pattern(bits, dividend % divisor))
}

/// Unsigned minimum.
#[inline]
pub fn umin(bits: u32, a: u128, b: u128) -> u128 {
    unsigned(bits, a).min(unsigned(bits, b))
}

/// Unsigned maximum.
#[inline]
pub fn umax(bits: u32, a: u128, b: u128) -> u128 {
    unsigned(bits, a).max(unsigned(bits, b))
}

/// Signed minimum.
#[inline]
pub fn smin(bits: u32, a: u128, b: u128) -> u128 {
    pattern(bits, signed(bits, a).min(signed(bits, b)))
}

/// Signed maximum.
#[inline]
pub fn smax(bits: u32, a: u128, b: u128) -> u128 {
    pattern(bits, signed(bits, a).max(signed(bits, b)))
}

/// Absolute value. The minimum integer has none: it is returned unchanged, or poison with `int_min_poison`.
pub fn abs(bits: u32, a: u128, int_min_poison: bool) -> Option<u128> {
    let value = signed(bits, a);
    let stays = !(int_min_poison && value == signed_min(bits));
    stays.then(|| pattern(bits, value.wrapping_abs()))
}

/// Unsigned saturating sum.
pub fn uadd_sat(bits: u32, a: u128, b: u128) -> u128 {
    unsigned(bits, a).saturating_add(unsigned(bits, b)).min(all_ones(bits))
}

/// Signed saturating sum.
pub fn sadd_sat(bits: u32, a: u128, b: u128) -> u128 {
    held_in_range(bits, signed(bits, a).saturating_add(signed(bits, b)))
}

/// Unsigned saturating difference.
pub fn usub_sat(bits: u32, a: u128, b: u128) -> u128 {
    unsigned(bits, a).saturating_sub(unsigned(bits, b))
}

/// Signed saturating difference.
pub fn ssub_sat(bits: u32, a: u128, b: u128) -> u128 {
    held_in_range(bits, signed(bits, a).saturating_sub(signed(bits, b)))
}

/// True if the value fits a signed integer of this width.
#[inline]
pub(super) fn fits_signed(bits: u32, value: i128) -> bool {
    (signed_min(bits)..=signed_max(bits)).contains(&value)
}

fn held_in_range(bits: u32, value: i128) -> u128 {
    pattern(bits, value.clamp(signed_min(bits), signed_max(bits)))
}

fn signed_operands(bits: u32, a: u128, b: u128) -> Result<(i128, i128), Trap> {
    let (dividend, divisor) = (signed(bits, a), signed(bits, b));
    match divisor {
        0 => Err(Trap::DivisionByZero),
        -1 if dividend == signed_min(bits) => Err(Trap::DivisionOverflow),
        _ => Ok((dividend, divisor)),
    }
}
