//! Comparisons of integers and floats, by predicate.

use std::cmp::Ordering;

use super::float::to_f64;
use super::format::FloatFormat;
use super::integer::{signed, unsigned};

/// The ten integer predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntPredicate {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Unsigned greater than.
    Ugt,
    /// Unsigned greater or equal.
    Uge,
    /// Unsigned less than.
    Ult,
    /// Unsigned less or equal.
    Ule,
    /// Signed greater than.
    Sgt,
    /// Signed greater or equal.
    Sge,
    /// Signed less than.
    Slt,
    /// Signed less or equal.
    Sle,
}

impl IntPredicate {
    /// All predicates, in LLVM's order.
    pub const ALL: [Self; 10] = [
        Self::Eq,
        Self::Ne,
        Self::Ugt,
        Self::Uge,
        Self::Ult,
        Self::Ule,
        Self::Sgt,
        Self::Sge,
        Self::Slt,
        Self::Sle,
    ];
}

/// Does the predicate hold between two integers?
pub fn icmp(predicate: IntPredicate, bits: u32, a: u128, b: u128) -> bool {
    let by_unsigned = unsigned(bits, a).cmp(&unsigned(bits, b));
    let by_signed = signed(bits, a).cmp(&signed(bits, b));
    match predicate {
        IntPredicate::Eq => by_unsigned.is_eq(),
        IntPredicate::Ne => by_unsigned.is_ne(),
        IntPredicate::Ugt => by_unsigned.is_gt(),
        IntPredicate::Uge => by_unsigned.is_ge(),
        IntPredicate::Ult => by_unsigned.is_lt(),
        IntPredicate::Ule => by_unsigned.is_le(),
        IntPredicate::Sgt => by_signed.is_gt(),
        IntPredicate::Sge => by_signed.is_ge(),
        IntPredicate::Slt => by_signed.is_lt(),
        IntPredicate::Sle => by_signed.is_le(),
    }
}

/// The sixteen float predicates: one for each set of the four relations that two floats can be in. The number is
/// that set, with equal as bit 0, greater as bit 1, less as bit 2, unordered as bit 3; so it is in LLVM too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatPredicate {
    /// Never.
    False = 0b0000,
    /// Ordered and equal.
    Oeq = 0b0001,
    /// Ordered and greater.
    Ogt = 0b0010,
    /// Ordered and greater or equal.
    Oge = 0b0011,
    /// Ordered and less.
    Olt = 0b0100,
    /// Ordered and less or equal.
    Ole = 0b0101,
    /// Ordered and not equal.
    One = 0b0110,
    /// Ordered: neither is a NaN.
    Ord = 0b0111,
    /// Unordered: one is a NaN.
    Uno = 0b1000,
    /// Unordered or equal.
    Ueq = 0b1001,
    /// Unordered or greater.
    Ugt = 0b1010,
    /// Unordered or greater or equal.
    Uge = 0b1011,
    /// Unordered or less.
    Ult = 0b1100,
    /// Unordered or less or equal.
    Ule = 0b1101,
    /// Unordered or not equal.
    Une = 0b1110,
    /// Always.
    True = 0b1111,
}

impl FloatPredicate {
    /// All predicates, in LLVM's order.
    pub const ALL: [Self; 16] = [
        Self::False,
        Self::Oeq,
        Self::Ogt,
        Self::Oge,
        Self::Olt,
        Self::Ole,
        Self::One,
        Self::Ord,
        Self::Uno,
        Self::Ueq,
        Self::Ugt,
        Self::Uge,
        Self::Ult,
        Self::Ule,
        Self::Une,
        Self::True,
    ];
}

/// Does the predicate hold between two floats? Zeros of either sign are equal, a NaN is unordered to everything.
pub fn fcmp(predicate: FloatPredicate, format: FloatFormat, a: u128, b: u128) -> bool {
    let relation = match to_f64(format, a).partial_cmp(&to_f64(format, b)) {
        Some(Ordering::Equal) => 0b0001,
        Some(Ordering::Greater) => 0b0010,
        Some(Ordering::Less) => 0b0100,
        None => 0b1000,
    };
    predicate as u8 & relation != 0
}
