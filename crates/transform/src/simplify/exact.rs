//! Exact results of operations on constants: integers, comparisons, conversions between integers, and what floats do
//! without rounding. By docs/ir.md; written apart from the oracle, so that the two can disagree.

use heddle_ir::Op;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::types::Scalar;
use heddle_ir::words::{Flag, Flags, FloatPredicate, IntPredicate};

/// What an operation on constants gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exact {
    Bits(u128),
    Poison,
}

/// The result of an operation on operands of type `from`, all known, that gives a `to`; none if it has no result, or
/// none that is known without rounding.
pub(crate) fn evaluate(data: &InstData, from: Scalar, to: Scalar, args: &[u128]) -> Option<Exact> {
    if from.is_float() {
        return float(data, from, args);
    }
    if data.op == Op::PtrAdd || to.is_ptr() || !from.is_int() && data.op != Op::Icmp {
        return None;
    }
    let has = |flag| data.flags.has(flag);
    let bits = from.bits();
    let mask = from.bit_mask();
    let s = |index: usize| signed(args[index], from);
    let unless = |broken: bool, value: u128| {
        Some(if broken { Exact::Poison } else { Exact::Bits(value & to.bit_mask()) })
    };
    let plain = |value: u128| unless(false, value);
    let fits = |value: Option<i128>| value.is_some_and(|value| signed(value as u128 & mask, from) == value);
    match data.op {
        Op::Add => {
            let unsigned = args[0].checked_add(args[1]).is_some_and(|sum| sum <= mask);
            let broken = has(Flag::Nuw) && !unsigned || has(Flag::Nsw) && !fits(s(0).checked_add(s(1)));
            unless(broken, args[0].wrapping_add(args[1]))
        }
        Op::Sub => {
            let broken =
                has(Flag::Nuw) && args[0] < args[1] || has(Flag::Nsw) && !fits(s(0).checked_sub(s(1)));
            unless(broken, args[0].wrapping_sub(args[1]))
        }
        Op::Mul => {
            let unsigned = args[0].checked_mul(args[1]).is_some_and(|product| product <= mask);
            let broken = has(Flag::Nuw) && !unsigned || has(Flag::Nsw) && !fits(s(0).checked_mul(s(1)));
            unless(broken, args[0].wrapping_mul(args[1]))
        }
        Op::Udiv | Op::Urem if args[1] == 0 => None,
        Op::Sdiv | Op::Srem if args[1] == 0 || s(1) == -1 && s(0) == signed(1 << (bits - 1), from) => None,
        Op::Udiv => unless(has(Flag::Exact) && !args[0].is_multiple_of(args[1]), args[0] / args[1]),
        Op::Sdiv => unless(has(Flag::Exact) && s(0) % s(1) != 0, (s(0) / s(1)) as u128),
        Op::Urem => plain(args[0] % args[1]),
        Op::Srem => plain((s(0) % s(1)) as u128),
        Op::Shl | Op::Lshr | Op::Ashr if args[1] >= bits.into() => Some(Exact::Poison),
        Op::Shl => {
            let shifted = args[0] << args[1] & mask;
            let lossy = shifted >> args[1] != args[0];
            let signed_lossy = signed(shifted, from) >> args[1] != s(0);
            unless(has(Flag::Nuw) && lossy || has(Flag::Nsw) && signed_lossy, shifted)
        }
        Op::Lshr => unless(has(Flag::Exact) && args[0] >> args[1] << args[1] != args[0], args[0] >> args[1]),
        Op::Ashr => {
            let shifted = (s(0) >> args[1]) as u128;
            unless(has(Flag::Exact) && args[0] >> args[1] << args[1] != args[0], shifted)
        }
        Op::And => plain(args[0] & args[1]),
        Op::Or => unless(has(Flag::Disjoint) && args[0] & args[1] != 0, args[0] | args[1]),
        Op::Xor => plain(args[0] ^ args[1]),
        Op::Umin => plain(args[0].min(args[1])),
        Op::Umax => plain(args[0].max(args[1])),
        Op::Smin => plain(s(0).min(s(1)) as u128),
        Op::Smax => plain(s(0).max(s(1)) as u128),
        Op::Abs => unless(has(Flag::Strict) && args[0] == 1 << (bits - 1), s(0).wrapping_abs() as u128),
        Op::UaddSat => plain(args[0].checked_add(args[1]).map_or(mask, |sum| sum.min(mask))),
        Op::UsubSat => plain(args[0].saturating_sub(args[1])),
        Op::SaddSat => plain(clamp(s(0).saturating_add(s(1)), from)),
        Op::SsubSat => plain(clamp(s(0).saturating_sub(s(1)), from)),
        Op::Ctpop => plain(args[0].count_ones().into()),
        Op::Ctlz => unless(has(Flag::Strict) && args[0] == 0, (args[0].leading_zeros() + bits - 128).into()),
        Op::Cttz => unless(has(Flag::Strict) && args[0] == 0, args[0].trailing_zeros().min(bits).into()),
        Op::Bswap => plain(args[0].swap_bytes() >> (128 - bits)),
        Op::Bitreverse => plain(args[0].reverse_bits() >> (128 - bits)),
        Op::Icmp => match data.detail {
            Detail::IntCompare(predicate) => plain(compare(predicate, from, args[0], args[1]).into()),
            _ => None,
        },
        Op::Trunc => {
            let kept = args[0] & to.bit_mask();
            let broken = has(Flag::Nuw) && kept != args[0] || has(Flag::Nsw) && signed(kept, to) != s(0);
            unless(broken, kept)
        }
        Op::Zext => unless(has(Flag::Nneg) && s(0) < 0, args[0]),
        Op::Sext => plain(s(0) as u128),
        Op::Bitcast if to.is_int() => plain(args[0]),
        _ => None,
    }
}

/// The number that these bits are.
fn signed(bits: u128, scalar: Scalar) -> i128 {
    let shift = 128 - scalar.bits();
    (bits << shift) as i128 >> shift
}

/// The nearest number that the type has.
fn clamp(number: i128, scalar: Scalar) -> u128 {
    let greatest = (scalar.bit_mask() >> 1) as i128;
    number.clamp(-greatest - 1, greatest) as u128
}

fn compare(predicate: IntPredicate, scalar: Scalar, a: u128, b: u128) -> bool {
    let (x, y) = (signed(a, scalar), signed(b, scalar));
    match predicate {
        IntPredicate::Eq => a == b,
        IntPredicate::Ne => a != b,
        IntPredicate::Ult => a < b,
        IntPredicate::Ule => a <= b,
        IntPredicate::Ugt => a > b,
        IntPredicate::Uge => a >= b,
        IntPredicate::Slt => x < y,
        IntPredicate::Sle => x <= y,
        IntPredicate::Sgt => x > y,
        IntPredicate::Sge => x >= y,
    }
}

/// Sign operations and comparisons. Promises about the operands are not looked into.
fn float(data: &InstData, format: Scalar, args: &[u128]) -> Option<Exact> {
    let sign = 1 << (format.bits() - 1);
    if !data.flags.intersection(Flags::POISON).is_empty() {
        return None;
    }
    Some(Exact::Bits(match (data.op, &data.detail) {
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
    }))
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
