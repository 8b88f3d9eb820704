//! Guards of the indices along dimensions: `if (x < w && y < h)` around all that a kernel does.
//!
//! Ensures: the kernel does the same in launches that end at the bounds of the dimensions. Work-items beyond do nothing, so a larger launch
//! may be cut.

use super::index_extents::{IndexExtent, extent, queried, successor};
use crate::canonicalize::unreachable::remove_unreachable;
use crate::simplify::dead::has_effects;
use heddle_analysis::underlying_object;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Constant, Function, Op, Scalar, Value};
use rustc_hash::FxHashMap;

/// Numbers from which on work-items do nothing more, by dimension.
pub type IndexBounds = [Option<IndexExtent>; 3];

/// Maximum number of blocks without effects on other work-items before what a kernel does.
const MOST_BLOCKS: usize = 16;

/// True if work-items that come to this block are done.
fn only_returns(func: &Function, mut block: Block) -> bool {
    for _ in 0..MOST_BLOCKS {
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

/// Comparisons all of which hold where a condition holds, or none of which holds where it does not.
pub(super) fn parts(func: &Function, condition: Value, holds: bool) -> Vec<Value> {
    let (mut comparisons, mut open) = (Vec::new(), vec![condition]);
    while let Some(condition) = open.pop() {
        let data = func.def_inst(condition).map(|inst| func.inst(inst));
        let constant = |value: Value| func.unsigned_constant(value);
        match data.map(|data| (data.op, &data.args[..])) {
            Some((Op::And, both)) if holds => open.extend(both),
            Some((Op::Or, both)) if !holds => open.extend(both),
            Some((Op::Select, &[one, other, rest])) if holds && constant(rest) == Some(0) => {
                open.extend([one, other]);
            }
            Some((Op::Select, &[one, rest, other])) if !holds && constant(rest) == Some(1) => {
                open.extend([one, other]);
            }
            _ => comparisons.push(condition),
        }
    }
    comparisons
}

/// Dimension whose index is below an extent where a comparison holds, or does not hold, and nowhere else.
pub(super) fn bound(func: &Function, comparison: Value, holds: bool) -> Option<(u8, IndexExtent)> {
    let data = func.inst(func.def_inst(comparison)?);
    let (Op::Icmp, Detail::IntCompare(predicate), &[a, b]) = (data.op, &data.detail, &data.args[..]) else {
        return None;
    };
    let dimension = |index: Value| queried(func, index, Op::GlobalId);
    let below = |index: Value, end: Value| Some((dimension(index)?, extent(func, end)?));
    let up_to = |index: Value, last: Value| Some((dimension(index)?, successor(func, last)?));
    use IntPredicate::{Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    match (predicate, holds) {
        (Slt | Ult, true) | (Sge | Uge, false) => below(a, b),
        (Sgt | Ugt, true) | (Sle | Ule, false) => below(b, a),
        (Sle | Ule, true) | (Sgt | Ugt, false) => up_to(a, b),
        (Sge | Uge, true) | (Slt | Ult, false) => up_to(b, a),
        _ => None,
    }
}

/// True if an instruction of a work-item that does nothing more changes nothing that others see: private arrays are filled before guards.
fn is_idle(func: &Function, data: &InstData) -> bool {
    let written = match data.op {
        Op::Memset => Some(data.args[0]),
        Op::Store => Some(data.args[1]),
        _ => None,
    };
    let is_private = |address| {
        let object = func.def_inst(underlying_object(func, address));
        object.is_some_and(|object| func.inst(object).op == Op::Alloca)
    };
    !has_effects(func, data) || !data.is_ordered() && written.is_some_and(is_private)
}

/// Removes the comparisons of indices from the guard that comes first. None if there is no guard, or if it has other conditions, which stay.
fn remove_first(func: &mut Function, bounds: &mut IndexBounds) -> Option<()> {
    let mut block = func.entry();
    for _ in 0..MOST_BLOCKS {
        let terminator = func.terminator(block)?;
        let is_idle = |inst| inst == terminator || is_idle(func, func.inst(inst));
        if !func.block_insts(block).all(is_idle) {
            return None;
        }
        let &[next] = func.successors(block) else { break };
        block = next;
    }
    let terminator = func.terminator(block)?;
    let data = func.inst(terminator);
    let (Op::Br, &[then, otherwise], &[condition]) = (data.op, data.targets(), &data.args[..]) else {
        return None;
    };
    let holds = !only_returns(func, then);
    let (body, end) = if holds { (then, otherwise) } else { (otherwise, then) };
    if body == end || !only_returns(func, end) {
        return None;
    }
    let comparisons = parts(func, condition, holds);
    let mut known: FxHashMap<Value, Value> = FxHashMap::default();
    let count = comparisons.len();
    for comparison in comparisons {
        let Some((dimension, count)) = bound(func, comparison, holds) else { continue };
        let to = bounds.get_mut(usize::from(dimension))?;
        if to.get_or_insert_with(|| count.clone()) == &count {
            let constant = func.make_const(Constant::int(Scalar::I1, i128::from(holds)));
            known.insert(comparison, constant);
        }
    }
    let is_whole = known.len() == count;
    if is_whole {
        let data = func.inst_mut(terminator);
        *data = InstData { origin: data.origin, ..InstData::jump(body) };
        remove_unreachable(func);
    }
    func.map_values(|value| known.get(&value).copied().unwrap_or(value));
    is_whole.then_some(())
}

/// Removes the guards of the indices. Returns their ends.
pub(super) fn remove_guards(func: &mut Function) -> IndexBounds {
    let mut bounds = IndexBounds::default();
    for _ in 0..MOST_BLOCKS {
        if remove_first(func, &mut bounds).is_none() {
            break;
        }
    }
    bounds
}
