//! Exact integer semantics after docs/ir.md, implemented separately from the oracle so that tests can compare the two.

use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Detail, Op};

/// Result of an exact evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExactResult {
    /// Bits of the result.
    Bits(u128),
    /// Poison: a violated flag, or a shift amount out of range.
    Poison,
    /// Undefined behaviour.
    Undefined,
}

/// Evaluates an integer operation with operands of `from` bits and a result of `to` bits; none for any other operation.
pub fn evaluate_integer(
    op: Op,
    flags: Flags,
    detail: &Detail,
    from: u32,
    to: u32,
    args: &[u128],
) -> Option<ExactResult> {
    let has = |flag| flags.has(flag);
    let mask = ones(from);
    let s = |index: usize| signed(args[index], from);
    let unless = |broken: bool, value: u128| {
        Some(if broken { ExactResult::Poison } else { ExactResult::Bits(value & ones(to)) })
    };
    let plain = |value: u128| unless(false, value);
    let fits = |value: Option<i128>| value.is_some_and(|value| signed(value as u128 & mask, from) == value);
    match op {
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
        Op::Udiv | Op::Urem if args[1] == 0 => Some(ExactResult::Undefined),
        Op::Sdiv | Op::Srem if args[1] == 0 || s(1) == -1 && args[0] == 1 << (from - 1) => {
            Some(ExactResult::Undefined)
        }
        Op::Udiv => unless(has(Flag::Exact) && !args[0].is_multiple_of(args[1]), args[0] / args[1]),
        Op::Sdiv => unless(has(Flag::Exact) && s(0) % s(1) != 0, (s(0) / s(1)) as u128),
        Op::Urem => plain(args[0] % args[1]),
        Op::Srem => plain((s(0) % s(1)) as u128),
        Op::Shl | Op::Lshr | Op::Ashr if args[1] >= from.into() => Some(ExactResult::Poison),
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
        Op::Abs => unless(has(Flag::Strict) && args[0] == 1 << (from - 1), s(0).wrapping_abs() as u128),
        Op::UaddSat => plain(args[0].checked_add(args[1]).map_or(mask, |sum| sum.min(mask))),
        Op::UsubSat => plain(args[0].saturating_sub(args[1])),
        Op::SaddSat => plain(clamp(s(0).saturating_add(s(1)), from)),
        Op::SsubSat => plain(clamp(s(0).saturating_sub(s(1)), from)),
        Op::Ctpop => plain(args[0].count_ones().into()),
        Op::Ctlz => unless(has(Flag::Strict) && args[0] == 0, (args[0].leading_zeros() + from - 128).into()),
        Op::Cttz => unless(has(Flag::Strict) && args[0] == 0, args[0].trailing_zeros().min(from).into()),
        Op::Bswap if from.is_multiple_of(8) => plain(args[0].swap_bytes() >> (128 - from)),
        Op::Bitreverse => plain(args[0].reverse_bits() >> (128 - from)),
        Op::Icmp => match *detail {
            Detail::IntCompare(predicate) => plain(compare(predicate, from, args[0], args[1]).into()),
            _ => None,
        },
        Op::Trunc => {
            let kept = args[0] & ones(to);
            let broken = has(Flag::Nuw) && kept != args[0] || has(Flag::Nsw) && signed(kept, to) != s(0);
            unless(broken, kept)
        }
        Op::Zext => unless(has(Flag::Nneg) && s(0) < 0, args[0]),
        Op::Sext => plain(s(0) as u128),
        Op::Bitcast => plain(args[0]),
        _ => None,
    }
}

/// Returns the mask of all bits of this width.
fn ones(width: u32) -> u128 {
    u128::MAX >> (128 - width)
}

/// Reads bits as a signed number.
fn signed(bits: u128, width: u32) -> i128 {
    let shift = 128 - width;
    (bits << shift) as i128 >> shift
}

/// Clamps a number to the signed range of a width.
fn clamp(number: i128, width: u32) -> u128 {
    let greatest = (ones(width) >> 1) as i128;
    number.clamp(-greatest - 1, greatest) as u128
}

fn compare(predicate: IntPredicate, width: u32, a: u128, b: u128) -> bool {
    let (x, y) = (signed(a, width), signed(b, width));
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
