//! Bit operations: logic, counts, reversals.

use super::integer::unsigned;

/// Bitwise conjunction.
#[inline]
pub fn and(bits: u32, a: u128, b: u128) -> u128 {
    unsigned(bits, a & b)
}

/// Bitwise disjunction; poison with `disjoint` if a bit is set in both.
#[inline]
pub fn or(bits: u32, a: u128, b: u128, disjoint: bool) -> Option<u128> {
    (!disjoint || and(bits, a, b) == 0).then(|| unsigned(bits, a | b))
}

/// Bitwise exclusive disjunction.
#[inline]
pub fn xor(bits: u32, a: u128, b: u128) -> u128 {
    unsigned(bits, a ^ b)
}

/// The number of ones. It fits the type for every width.
pub fn ctpop(bits: u32, a: u128) -> u128 {
    u128::from(unsigned(bits, a).count_ones())
}

/// The number of zeros above the highest one. Zero has `bits` of them, or is poison with `zero_poison`.
pub fn ctlz(bits: u32, a: u128, zero_poison: bool) -> Option<u128> {
    let value = unsigned(bits, a);
    (!zero_poison || value != 0).then(|| u128::from(value.leading_zeros() - (128 - bits)))
}

/// The number of zeros below the lowest one. Zero has `bits` of them, or is poison with `zero_poison`.
pub fn cttz(bits: u32, a: u128, zero_poison: bool) -> Option<u128> {
    let value = unsigned(bits, a);
    (!zero_poison || value != 0).then(|| u128::from(value.trailing_zeros().min(bits)))
}

/// The bytes in reverse order. Only whole bytes can be swapped, so other widths panic.
pub fn bswap(bits: u32, a: u128) -> u128 {
    assert!(bits.is_multiple_of(8), "bswap needs whole bytes, not {bits} bits");
    unsigned(bits, a).swap_bytes() >> (128 - bits)
}

/// The bits in reverse order.
pub fn bitreverse(bits: u32, a: u128) -> u128 {
    unsigned(bits, a).reverse_bits() >> (128 - bits)
}
