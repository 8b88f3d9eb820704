//! Guards of the index: `if (i < n)` around all that a kernel does.
//!
//! Ensures: the kernel does the same in launches of at most n work-items. Those beyond do nothing, so a launch of more may be cut.

use super::index_extents::{IndexExtent, extent, is_query};
use crate::canonicalize::unreachable::remove_unreachable;
use crate::simplify::dead::has_effects;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Function, Op};

/// True if work-items that come to this block are done.
fn only_returns(func: &Function, mut block: Block) -> bool {
    for _ in 0..8 {
        let mut insts = func.block_insts(block);
        let (Some(first), None) = (insts.next(), insts.next()) else { return false };
        match (func.inst(first).op, func.successors(block)) {
            (Op::Ret, _) => return true,
            (Op::Br, &[next]) => block = next,
            _ => return false,
        }
    }
    false
}

/// Removes the guard of the index. Returns its end, or none if there is no such guard.
pub(super) fn remove_guard(func: &mut Function) -> Option<IndexExtent> {
    let entry = func.entry();
    let terminator = func.terminator(entry)?;
    let is_idle = |inst| inst == terminator || !has_effects(func, func.inst(inst));
    let data = func.inst(terminator);
    let (Op::Br, &[then, otherwise], &[condition]) = (data.op, data.targets(), &data.args[..]) else {
        return None;
    };
    if !func.block_insts(entry).all(is_idle) {
        return None;
    }
    let compared = func.inst(func.def_inst(condition)?);
    let (Op::Icmp, Detail::IntCompare(predicate), &[a, b]) =
        (compared.op, &compared.detail, &compared.args[..])
    else {
        return None;
    };
    let (body, end, index, count) = match predicate {
        IntPredicate::Slt | IntPredicate::Ult => (then, otherwise, a, b),
        IntPredicate::Sgt | IntPredicate::Ugt => (then, otherwise, b, a),
        IntPredicate::Sge | IntPredicate::Uge => (otherwise, then, a, b),
        IntPredicate::Sle | IntPredicate::Ule => (otherwise, then, b, a),
        _ => return None,
    };
    if body == end || !is_query(func, index, Op::GlobalId) || !only_returns(func, end) {
        return None;
    }
    let count = extent(func, count)?;
    let data = func.inst_mut(terminator);
    *data = InstData { origin: data.origin, ..InstData::jump(body) };
    remove_unreachable(func);
    Some(count)
}
