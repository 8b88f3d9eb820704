//! Separates sign extensions that LLVM merges with the scale of an address.
//!
//! LLVM turns `shl (sext (trunc x)), 2` into `ashr (shl x, 32), 30` where the extended number has no other use. Once separated,
//! the extension can be versioned, or removed where its operand is known not to wrap. Merged, it hides the stride.
//!
//! Requires: Stage::Source.  Ensures: Stage::Source, and equal values.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Constant, Function, Inst, Op, Value};

/// Rewrites `ashr (shl x, c), d` with `d < c` to `shl nsw (ashr (shl x, c), c), c - d`. No bit of the extended number is lost.
pub(super) fn split_extensions(func: &mut Function) {
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    for inst in insts {
        let Some((shifted, cut, kept)) = match_merged_extension(func, inst) else { continue };
        let origin = func.inst(inst).origin;
        let scalar = func.value_type(shifted).scalar();
        let [cut, scale] = [cut, cut - kept].map(|amount| func.make_const(Constant::Scalar(scalar, amount)));
        let exact = Flags::NONE.with(Flag::Exact);
        let mut builder = Builder::new(func, InsertPoint::Before(inst));
        builder.set_origin(origin);
        let extended = builder.op_with(Op::Ashr, &[shifted, cut], exact);
        let mut data = InstData::new(Op::Shl, [extended, scale], Detail::None);
        data.flags = Flags::NONE.with(Flag::Nsw);
        data.origin = origin;
        *func.inst_mut(inst) = data;
    }
}

/// Matches `ashr (shl x, c), d` with `0 < d < c`. Returns the `shl`, `c` and `d`.
fn match_merged_extension(func: &Function, inst: Inst) -> Option<(Value, u128, u128)> {
    let amount = |value: Value| match func.constant(value) {
        Some(&Constant::Scalar(scalar, amount)) => (amount < scalar.bits().into()).then_some(amount),
        _ => None,
    };
    let data = func.inst(inst);
    if data.op != Op::Ashr {
        return None;
    }
    let kept = amount(data.args[1])?;
    let shift = func.inst(func.def_inst(data.args[0])?);
    let cut = (shift.op == Op::Shl).then(|| amount(shift.args[1]))??;
    (0 < kept && kept < cut && !data.is_total()).then_some((data.args[0], cut, kept))
}
