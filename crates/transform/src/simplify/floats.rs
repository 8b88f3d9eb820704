//! Folds float operations that do not round, after docs/ir.md. Independent of the oracle's implementation, so that tests can compare
//! them.

use heddle_ir::Op;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::types::Scalar;
use heddle_ir::words::{Flags, FloatPredicate};

/// Evaluates sign operations and comparisons. Operations with poison-generating flags are not folded.
pub(crate) fn evaluate(data: &InstData, format: Scalar, args: &[u128]) -> Option<u128> {
    let sign = 1 << (format.bits() - 1);
    if !data.flags.intersection(Flags::POISON).is_empty() {
        return None;
    }
    Some(match (data.op, &data.detail) {
        (Op::Fneg, _) => args[0] ^ sign,
        (Op::Fabs, _) => args[0] & !sign,
        (Op::Copysign, _) => args[0] & !sign | args[1] & sign,
        (Op::Fcmp, Detail::FloatCompare(predicate)) => {
            let number = |bits: u128| match format {
                Scalar::F32 => Some(f64::from(f32::from_bits(bits as u32))),
                Scalar::F64 => Some(f64::from_bits(bits as u64)),
                _ => None,
            };
            float_compare(*predicate, number(args[0])?, number(args[1])?).into()
        }
        _ => return None,
    })
}

fn float_compare(predicate: FloatPredicate, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match predicate {
        FloatPredicate::False => false,
        FloatPredicate::Oeq => a == b,
        FloatPredicate::Ogt => a > b,
        FloatPredicate::Oge => a >= b,
        FloatPredicate::Olt => a < b,
        FloatPredicate::Ole => a <= b,
        FloatPredicate::One => !unordered && a != b,
        FloatPredicate::Ord => !unordered,
        FloatPredicate::Uno => unordered,
        FloatPredicate::Ueq => unordered || a == b,
        FloatPredicate::Ugt => unordered || a > b,
        FloatPredicate::Uge => unordered || a >= b,
        FloatPredicate::Ult => unordered || a < b,
        FloatPredicate::Ule => unordered || a <= b,
        FloatPredicate::Une => unordered || a != b,
        FloatPredicate::True => true,
    }
}
