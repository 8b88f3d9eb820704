//! Range analysis: sets no-wrap flags on integer arithmetic where PTX's launch limits prove them.
//!
//! PTX has no such flags, but a thread index is below 1024, and masks, shifts and conversions bound values, too. Shared
//! addresses are computed in 32 bits and then extended: only without wrap-around do they stay strided across lanes.
//!
//! Ensures: the same values; adds flags, and replaces `sext` by `zext nneg`.
//! Invariant: a range holds for values that are not poison. Loop-carried values have none.

use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::Detail;
use heddle_ir::words::Flag;
use heddle_ir::{Function, Inst, InstData, Op, Value};

/// Maximum number of threads of a block along a dimension.
const MAX_THREADS: i128 = 1024;
/// Maximum number of blocks along the first dimension, and along the others.
const MAX_BLOCKS: [i128; 2] = [(1 << 31) - 1, 65535];
/// Maximum width of values with ranges.
const MAX_BITS: u32 = 64;

/// Inclusive range of a value, read as signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SignedRange {
    min: i128,
    max: i128,
}

impl SignedRange {
    fn new(min: i128, max: i128) -> SignedRange {
        SignedRange { min, max }
    }

    /// Returns the full range of a width.
    fn all(bits: u32) -> SignedRange {
        SignedRange::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    }

    fn is_within(self, other: SignedRange) -> bool {
        other.min <= self.min && self.max <= other.max
    }

    fn is_positive(self) -> bool {
        self.min >= 0
    }

    fn joined(self, other: SignedRange) -> SignedRange {
        SignedRange::new(self.min.min(other.min), self.max.max(other.max))
    }

    fn product(self, other: SignedRange) -> SignedRange {
        let ends = [self.min, self.max].map(|a| [a * other.min, a * other.max]);
        let ends = ends.as_flattened();
        let fold = |pick: fn(i128, i128) -> i128| ends.iter().copied().reduce(pick).unwrap_or(0);
        SignedRange::new(fold(i128::min), fold(i128::max))
    }
}

/// Sets the flags of a lowered function.
pub(super) fn set_flags(func: &mut Function) {
    let mut ranges: SecondaryMap<Value, Option<SignedRange>> = SecondaryMap::with_len(func.value_count());
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    for inst in insts {
        let Some(result) = func.result(inst).filter(|&result| bits(func, result).is_some()) else { continue };
        let (bounds, data) = transfer(func, inst, &ranges);
        ranges[result] = bounds;
        if let Some(data) = data {
            *func.inst_mut(inst) = data;
        }
    }
}

/// Returns the width of a value that may have a range.
fn bits(func: &Function, value: Value) -> Option<u32> {
    let ty = func.value_type(value);
    let bits = ty.scalar().bits();
    (ty.scalar().is_int() && !ty.is_vector() && (2..=MAX_BITS).contains(&bits)).then_some(bits)
}

/// Returns the range of an operand.
fn of(
    func: &Function,
    ranges: &SecondaryMap<Value, Option<SignedRange>>,
    value: Value,
) -> Option<SignedRange> {
    let all = SignedRange::all(bits(func, value)?);
    let constant = func.signed_constant(value).map(|number| SignedRange::new(number, number));
    Some(constant.or(ranges[value]).unwrap_or(all))
}

/// Returns the range of a result, and the instruction with its flags if it changes.
fn transfer(
    func: &Function,
    inst: Inst,
    ranges: &SecondaryMap<Value, Option<SignedRange>>,
) -> (Option<SignedRange>, Option<InstData>) {
    let data = func.inst(inst);
    let width = func.result(inst).and_then(|result| bits(func, result)).unwrap_or(MAX_BITS);
    let all = SignedRange::all(width);
    let operand = |at: usize| data.args.get(at).and_then(|&arg| of(func, ranges, arg));
    let number = |at: usize| operand(at).filter(|it| it.min == it.max).map(|it| it.min);
    let amount = || number(1).filter(|&by| (0..i128::from(width)).contains(&by));
    let plain = |bounds: Option<SignedRange>| (bounds, None);
    // The exact result, before truncation to the width.
    let exact = match (data.op, operand(0), operand(1)) {
        (Op::Add, Some(a), Some(b)) => Some(SignedRange::new(a.min + b.min, a.max + b.max)),
        (Op::Sub, Some(a), Some(b)) => Some(SignedRange::new(a.min - b.max, a.max - b.min)),
        (Op::Mul, Some(a), Some(b)) => Some(a.product(b)),
        (Op::Shl, Some(a), Some(_)) => amount().map(|by| a.product(SignedRange::new(1 << by, 1 << by))),
        (Op::Trunc, Some(a), _) => Some(a),
        _ => None,
    };
    if let Some(exact) = exact {
        if !exact.is_within(all) {
            return plain(None);
        }
        let mut flagged = data.clone();
        flagged.flags = flagged.flags.with(Flag::Nsw);
        // The unsigned reading agrees only if no operand and no result is negative.
        let mut operands = (0..data.args.len()).filter_map(operand);
        if exact.is_positive() && operands.all(SignedRange::is_positive) {
            flagged.flags = flagged.flags.with(Flag::Nuw);
        }
        return (Some(exact), Some(flagged));
    }
    let along = match data.detail {
        Detail::Dimension(along) => usize::from(along.unwrap_or(0)),
        _ => 0,
    };
    let blocks = MAX_BLOCKS[along.min(1)];
    let within = |bounds: SignedRange| bounds.is_within(all).then_some(bounds);
    plain(match (data.op, operand(0), operand(1)) {
        (Op::LocalId, ..) => within(SignedRange::new(0, MAX_THREADS - 1)),
        (Op::LocalSize, ..) => within(SignedRange::new(1, MAX_THREADS)),
        (Op::GroupId, ..) => within(SignedRange::new(0, blocks - 1)),
        (Op::NumGroups, ..) => within(SignedRange::new(1, blocks)),
        (Op::Zext | Op::Sext, Some(a), _) if a.is_positive() => {
            let mut flagged = data.clone();
            flagged.op = Op::Zext;
            flagged.flags = flagged.flags.with(Flag::Nneg);
            return (Some(a), Some(flagged));
        }
        (Op::Sext, Some(a), _) => Some(a),
        (Op::Zext, Some(_), _) => {
            let from = bits(func, data.args[0]).unwrap_or(MAX_BITS);
            within(SignedRange::new(0, (1 << from) - 1))
        }
        (Op::And, Some(a), Some(b)) => match [a, b].map(|it| it.is_positive().then_some(it.max)) {
            [Some(a), Some(b)] => Some(SignedRange::new(0, a.min(b))),
            [Some(one), None] | [None, Some(one)] => Some(SignedRange::new(0, one)),
            [None, None] => None,
        },
        (Op::Or | Op::Xor, Some(a), Some(b)) if a.is_positive() && b.is_positive() => {
            let most = a.max.max(b.max) as u128;
            Some(SignedRange::new(0, (most + 1).next_power_of_two() as i128 - 1))
        }
        (Op::Lshr, Some(a), _) if a.is_positive() => {
            amount().map(|by| SignedRange::new(a.min >> by, a.max >> by))
        }
        (Op::Lshr, ..) => {
            amount().filter(|&by| by > 0).map(|by| SignedRange::new(0, (1 << (i128::from(width) - by)) - 1))
        }
        (Op::Ashr, Some(a), _) => amount().map(|by| SignedRange::new(a.min >> by, a.max >> by)),
        (Op::Urem | Op::Srem, Some(a), _) if a.is_positive() => {
            number(1).filter(|&by| by > 0).map(|by| SignedRange::new(0, a.max.min(by - 1)))
        }
        (Op::Udiv | Op::Sdiv, Some(a), _) if a.is_positive() => {
            number(1).filter(|&by| by > 0).map(|by| SignedRange::new(a.min / by, a.max / by))
        }
        (Op::Smin, Some(a), Some(b)) => Some(SignedRange::new(a.min.min(b.min), a.max.min(b.max))),
        (Op::Smax, Some(a), Some(b)) => Some(SignedRange::new(a.min.max(b.min), a.max.max(b.max))),
        (Op::Select, ..) => operand(1).zip(operand(2)).map(|(a, b)| a.joined(b)),
        (Op::Phi, first, _) => {
            (1..data.args.len()).fold(first, |all, at| all.zip(operand(at)).map(|(a, b)| a.joined(b)))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use crate::{LowerOptions, lower, parse};

    fn text_of(body: &str) -> String {
        let text = format!(
            ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 .ptr .global .align 4 p) {{\n{body}\nret;\n}}\n"
        );
        let module = parse(&text).expect("it is PTX");
        let lowered = lower(&module, "k.ptx", LowerOptions::default()).expect("it is taken");
        assert!(lowered.refused.is_empty(), "{:?}", lowered.refused);
        lowered.module.functions[0].to_string()
    }

    const HEAD: &str = ".reg .b32 %r<9>; .reg .b64 %d<9>; mov.u32 %r0, %tid.x; ld.param.u64 %d0, [p];";

    #[test]
    fn numbers_that_cannot_wrap_get_flags() {
        let text = text_of(&format!(
            "{HEAD} shl.b32 %r1, %r0, 2; add.s32 %r2, %r1, 64; cvt.s64.s32 %d1, %r2; add.s64 %d2, %d0, %d1; st.global.b32 [%d2], %r0;"
        ));
        assert!(text.contains("shl nuw nsw"), "{text}");
        assert!(text.contains("add nuw nsw"), "{text}");
        assert!(text.contains("zext nneg"), "{text}");
    }

    #[test]
    fn what_may_wrap_around_is_left() {
        let text = text_of(&format!(
            "{HEAD} shl.b32 %r1, %r0, 22; add.s32 %r2, %r1, 64; cvt.s64.s32 %d1, %r2; add.s64 %d2, %d0, %d1; st.global.b32 [%d2], %r0;"
        ));
        assert!(!text.contains("nsw") && !text.contains("nneg"), "{text}");
        let text =
            text_of(&format!("{HEAD} sub.s32 %r1, %r0, 5; add.s32 %r2, %r1, 3; st.global.b32 [%d0], %r2;"));
        assert!(text.contains("sub nsw") && text.contains("add nsw") && !text.contains("nuw"), "{text}");
    }
}
