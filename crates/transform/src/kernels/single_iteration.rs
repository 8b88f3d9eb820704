//! Loops over a grid that run once: `for (i = global_id; i < n; i += global_size)` in launches of n work-items or more.
//!
//! Requires: Stage::Source.  Ensures: in launches of dimension 0 with as many work-items as the limits, no offset, and fewer than 2³⁰, the
//! kernel does the same; no loop that is left steps by the size of the launch.

use super::independent_iterations::is_all;
use super::index_extents::{IndexExtent, extent, is_query};
use crate::edges::{phis, replace_predecessors};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Function, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Maximum number of work-items of launches in which loops run once: the next index is no negative number.
pub const MOST_ITERATIONS: u64 = 1 << 30;

/// Kernel without its loops over the grid.
pub(super) struct SingleIteration {
    pub(super) kernel: Function,
    /// Minimum of work-items of its launches: ends of the loops.
    pub(super) limits: Vec<IndexExtent>,
    /// True if the kernel does nothing but one loop, whose iterations share no values.
    pub(super) is_all: bool,
}

/// End of the loop that a branch on this condition repeats from its latch: its counter starts at the index and steps by the size of the launch.
fn limit(
    func: &Function,
    condition: Value,
    repeats_if: bool,
    latch: Block,
    header: Block,
) -> Option<IndexExtent> {
    let data = func.inst(func.def_inst(condition)?);
    let (Op::Icmp, Detail::IntCompare(predicate), &[a, b]) = (data.op, &data.detail, &data.args[..]) else {
        return None;
    };
    let (next, end) =
        match (predicate, repeats_if) {
            (IntPredicate::Slt | IntPredicate::Ult, true)
            | (IntPredicate::Sge | IntPredicate::Uge, false) => (a, b),
            (IntPredicate::Sgt | IntPredicate::Ugt, true)
            | (IntPredicate::Sle | IntPredicate::Ule, false) => (b, a),
            _ => return None,
        };
    let sum = func.inst(func.def_inst(next)?);
    let (Op::Add, &[one, other]) = (sum.op, &sum.args[..]) else { return None };
    let counter = match (is_query(func, one, Op::GlobalSize), is_query(func, other, Op::GlobalSize)) {
        (false, true) => one,
        (true, false) => other,
        _ => return None,
    };
    let phi = func.phis(header).find(|&phi| func.result(phi) == Some(counter))?;
    let counts = |(source, value)| match source == latch {
        true => value == next,
        false => is_query(func, value, Op::GlobalId),
    };
    func.inst(phi).incoming().all(counts).then(|| extent(func, end)).flatten()
}

/// Takes the loops over the grid apart. None if there is no such loop.
pub(super) fn single_iteration(func: &Function) -> Option<SingleIteration> {
    let branches = func.blocks().filter_map(|latch| {
        let data = func.inst(func.terminator(latch)?);
        let (Op::Br, &[then, otherwise], &[condition]) = (data.op, data.targets(), &data.args[..]) else {
            return None;
        };
        [(then, otherwise, true), (otherwise, then, false)].into_iter().find_map(
            |(header, exit, repeats_if)| {
                let limit = limit(func, condition, repeats_if, latch, header)?;
                (header != exit).then_some((latch, header, exit, limit))
            },
        )
    });
    let branches: Vec<(Block, Block, Block, IndexExtent)> = branches.collect();
    if branches.is_empty() {
        return None;
    }
    let is_all = match &branches[..] {
        [(latch, header, _, limit)] => is_all(func, *header, *latch, limit),
        _ => false,
    };
    let mut kernel = func.clone();
    let mut limits = Vec::new();
    for (latch, header, exit, limit) in branches {
        let terminator = kernel.terminator(latch)?;
        let data = kernel.inst_mut(terminator);
        *data = InstData { origin: data.origin, ..InstData::jump(exit) };
        replace_predecessors(&mut kernel, header, &FxHashMap::from_iter([(latch, SmallVec::new())]));
        let mut replacements: FxHashMap<Value, Value> = FxHashMap::default();
        for phi in phis(&kernel, header) {
            let mut incoming = kernel.inst(phi).incoming();
            if let (Some((_, only)), None, Some(result)) =
                (incoming.next(), incoming.next(), kernel.result(phi))
            {
                replacements.insert(result, only);
            }
        }
        kernel.map_values(|value| replacements.get(&value).copied().unwrap_or(value));
        limits.push(limit);
    }
    Some(SingleIteration { kernel, limits, is_all })
}
