//! Range analysis: sets no-wrap flags on integer arithmetic where PTX's launch limits prove them.
//!
//! PTX has no such flags, but a thread index is below 1024, and masks, shifts and conversions bound values, too. Shared
//! addresses are computed in 32 bits and then extended: only without wrap-around do they stay strided across lanes.
//!
//! Ensures: the same values; adds flags, and replaces `sext` by `zext nneg`.
//! Invariant: a range holds for values that are not poison. Loop-carried values have none.

use heddle_analysis::{IntegerRange, result_range};
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

/// Sets the flags of a lowered function.
pub(super) fn set_flags(func: &mut Function) {
    let mut ranges: SecondaryMap<Value, Option<IntegerRange>> = SecondaryMap::with_len(func.value_count());
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
    ranges: &SecondaryMap<Value, Option<IntegerRange>>,
    value: Value,
) -> Option<IntegerRange> {
    let all = IntegerRange::signed(bits(func, value)?);
    let constant = func.signed_constant(value).map(|number| IntegerRange::new(number, number));
    Some(constant.or(ranges[value]).unwrap_or(all))
}

/// Returns the range of a result, and the instruction with its flags if it changes.
fn transfer(
    func: &Function,
    inst: Inst,
    ranges: &SecondaryMap<Value, Option<IntegerRange>>,
) -> (Option<IntegerRange>, Option<InstData>) {
    let data = func.inst(inst);
    let width = func.result(inst).and_then(|result| bits(func, result)).unwrap_or(MAX_BITS);
    let all = IntegerRange::signed(width);
    let of = |value: Value| of(func, ranges, value);
    let along = match data.detail {
        Detail::Dimension(along) => usize::from(along.unwrap_or(0)),
        _ => 0,
    };
    let blocks = MAX_BLOCKS[along.min(1)];
    let range = match data.op {
        Op::LocalId => Some(IntegerRange::new(0, MAX_THREADS - 1)),
        Op::LocalSize => Some(IntegerRange::new(1, MAX_THREADS)),
        Op::GroupId => Some(IntegerRange::new(0, blocks - 1)),
        Op::NumGroups => Some(IntegerRange::new(1, blocks)),
        _ => result_range(func, inst, of),
    };
    let Some(range) = range.filter(|range| range.is_within(all)) else { return (None, None) };
    let mut flagged = data.clone();
    let is_nonnegative = || data.args.iter().filter_map(|&arg| of(arg)).all(IntegerRange::is_nonnegative);
    match data.op {
        Op::Add | Op::Sub | Op::Mul | Op::Shl | Op::Trunc => {
            flagged.flags = flagged.flags.with(Flag::Nsw);
            // The unsigned reading agrees only if no operand and no result is negative.
            if range.is_nonnegative() && is_nonnegative() {
                flagged.flags = flagged.flags.with(Flag::Nuw);
            }
        }
        Op::Zext | Op::Sext if is_nonnegative() => {
            flagged.op = Op::Zext;
            flagged.flags = flagged.flags.with(Flag::Nneg);
        }
        _ => return (Some(range), None),
    }
    (Some(range), Some(flagged))
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
