//! Comparisons of integers and floats, by predicate.

use heddle_ir::words::{FloatPredicate, IntPredicate};
use std::cmp::Ordering;

use super::float::to_f64;
use super::format::FloatFormat;
use super::integer::{signed, unsigned};

/// True if the predicate holds between two integers.
#[inline(always)]
pub fn icmp(predicate: IntPredicate, bits: u32, a: u128, b: u128) -> bool {
    let by_unsigned = || unsigned(bits, a).cmp(&unsigned(bits, b));
    let by_signed = || signed(bits, a).cmp(&signed(bits, b));
    match predicate {
        IntPredicate::Eq => by_unsigned().is_eq(),
        IntPredicate::Ne => by_unsigned().is_ne(),
        IntPredicate::Ugt => by_unsigned().is_gt(),
        IntPredicate::Uge => by_unsigned().is_ge(),
        IntPredicate::Ult => by_unsigned().is_lt(),
        IntPredicate::Ule => by_unsigned().is_le(),
        IntPredicate::Sgt => by_signed().is_gt(),
        IntPredicate::Sge => by_signed().is_ge(),
        IntPredicate::Slt => by_signed().is_lt(),
        IntPredicate::Sle => by_signed().is_le(),
    }
}

/// True if the predicate holds between two floats. Zeros of either sign are equal; a NaN is unordered with everything.
#[inline]
pub fn fcmp(predicate: FloatPredicate, format: FloatFormat, a: u128, b: u128) -> bool {
    let relation = match to_f64(format, a).partial_cmp(&to_f64(format, b)) {
        Some(Ordering::Equal) => 0b0001,
        Some(Ordering::Greater) => 0b0010,
        Some(Ordering::Less) => 0b0100,
        None => 0b1000,
    };
    // The number of a predicate, here and in LLVM, is a set of the four relations between two floats.
    predicate as u8 & relation != 0
}
