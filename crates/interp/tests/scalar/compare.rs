//! Predicates against native comparisons, each spelled out.

use heddle_interp::scalar::FloatFormat::{self, F32, F64};
use heddle_interp::scalar::compare;
use heddle_ir::words::{FloatPredicate, IntPredicate};

use crate::exact::{Number, number};
use crate::sample::{Random, float_corners};

fn check_icmp(bits: u32, a: u128, b: u128) {
    let signed =
        |v: u128| if v >> (bits - 1) == 1 { (v | !(u128::MAX >> (128 - bits))) as i128 } else { v as i128 };
    let (x, y) = (signed(a), signed(b));
    for &predicate in IntPredicate::ALL {
        let expected = match predicate {
            IntPredicate::Eq => a == b,
            IntPredicate::Ne => a != b,
            IntPredicate::Ugt => a > b,
            IntPredicate::Uge => a >= b,
            IntPredicate::Ult => a < b,
            IntPredicate::Ule => a <= b,
            IntPredicate::Sgt => x > y,
            IntPredicate::Sge => x >= y,
            IntPredicate::Slt => x < y,
            IntPredicate::Sle => x <= y,
        };
        assert_eq!(compare::icmp(predicate, bits, a, b), expected, "{predicate:?} i{bits} {a:#x} {b:#x}");
    }
}

#[test]
fn integer_predicates() {
    for bits in [1, 4, 8] {
        for a in 0..1u128 << bits {
            (0..1u128 << bits).for_each(|b| check_icmp(bits, a, b));
        }
    }
    let mut random = Random::new(21);
    for bits in [16, 32, 64, 128] {
        for _ in 0..5_000 {
            let a = random.integer(bits);
            check_icmp(bits, a, a);
            check_icmp(bits, a, random.integer(bits));
        }
    }
}

/// Checks comparisons against the sign of the exact sum `a + (-b)`.
fn check_fcmp(format: FloatFormat, a: u128, b: u128) {
    let difference = match (number(format, a), number(format, b ^ format.sign_mask())) {
        (Number::Nan, _) | (_, Number::Nan) => None,
        (Number::Infinite { negative }, Number::Infinite { negative: other }) => {
            Some(match (negative, other) {
                (true, true) => -1,
                (false, false) => 1,
                _ => 0,
            })
        }
        (Number::Infinite { negative }, _) | (_, Number::Infinite { negative }) => {
            Some(if negative { -1 } else { 1 })
        }
        (Number::Finite(x), Number::Finite(y)) => {
            let sum = x.add(&y);
            Some(if sum.is_zero() {
                0
            } else if sum.negative {
                -1
            } else {
                1
            })
        }
    };
    let unordered = difference.is_none();
    let sign = difference.unwrap_or(0);
    for &predicate in FloatPredicate::ALL {
        let expected = match predicate {
            FloatPredicate::False => false,
            FloatPredicate::Oeq => !unordered && sign == 0,
            FloatPredicate::Ogt => !unordered && sign > 0,
            FloatPredicate::Oge => !unordered && sign >= 0,
            FloatPredicate::Olt => !unordered && sign < 0,
            FloatPredicate::Ole => !unordered && sign <= 0,
            FloatPredicate::One => !unordered && sign != 0,
            FloatPredicate::Ord => !unordered,
            FloatPredicate::Uno => unordered,
            FloatPredicate::Ueq => unordered || sign == 0,
            FloatPredicate::Ugt => unordered || sign > 0,
            FloatPredicate::Uge => unordered || sign >= 0,
            FloatPredicate::Ult => unordered || sign < 0,
            FloatPredicate::Ule => unordered || sign <= 0,
            FloatPredicate::Une => unordered || sign != 0,
            FloatPredicate::True => true,
        };
        assert_eq!(
            compare::fcmp(predicate, format, a, b),
            expected,
            "{predicate:?} {format:?} {a:#x} {b:#x}"
        );
    }
}

#[test]
fn float_predicates() {
    let mut random = Random::new(22);
    for format in FloatFormat::ALL {
        let corners = float_corners(format);
        corners.iter().for_each(|&a| corners.iter().for_each(|&b| check_fcmp(format, a, b)));
        for _ in 0..3_000 {
            let a = random.float(format);
            check_fcmp(format, a, a);
            check_fcmp(format, a, random.float(format));
            check_fcmp(format, a, (a ^ 1) | random.wide() & format.sign_mask());
        }
    }
}

#[test]
fn corner_cases() {
    assert!(compare::fcmp(FloatPredicate::Oeq, F64, 0, 1 << 63), "-0 equals +0");
    assert!(
        !compare::fcmp(FloatPredicate::Oeq, F32, 0x7fc0_0000, 0x7fc0_0000),
        "a NaN does not equal itself"
    );
    assert!(compare::fcmp(FloatPredicate::Une, F32, 0x7fc0_0000, 0x7fc0_0000));
    assert!(compare::icmp(IntPredicate::Slt, 1, 1, 0), "the i1 that is true is -1");
    assert!(compare::icmp(IntPredicate::Ugt, 1, 1, 0));
}
