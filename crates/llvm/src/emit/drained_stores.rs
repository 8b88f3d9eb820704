//! Finds sequentially consistent stores that a later operation of their block orders.
//!
//! x86 makes such a store an exchange, which waits until memory has all stores of the processor: no later sequentially
//! consistent load may pass it. A later sequentially consistent store, read-modify-write or fence waits for the earlier
//! store, too, so without a load between them the earlier one is a plain store, as in the order `release`. AArch64 has
//! one instruction for both orders. The IR keeps the order: only processors keep all stores in a row, the memory model
//! of the source does not.

use heddle_ir::inst::Detail;
use heddle_ir::inst::InstData;
use heddle_ir::ops::Effect;
use heddle_ir::words::{AtomicOrdering, Flag, SyncScope};
use heddle_ir::{Function, Inst, Op};
use rustc_hash::FxHashSet;

/// Returns the stores that may be emitted in the order `release`.
pub(super) fn drained_stores(func: &Function) -> FxHashSet<Inst> {
    let mut drained = FxHashSet::default();
    for block in func.blocks() {
        let insts: Vec<Inst> = func.block_insts(block).collect();
        let mut is_drained = false;
        for &inst in insts.iter().rev() {
            let data = func.inst(inst);
            if drains(data) {
                if is_drained && data.op == Op::Store {
                    drained.insert(inst);
                }
                is_drained = true;
            } else {
                is_drained &= is_passed(data);
            }
        }
    }
    drained
}

/// True for operations that wait for all stores of the processor.
fn drains(data: &InstData) -> bool {
    let order = match (data.op, &data.detail) {
        (Op::Fence, &Detail::Fence(order, scope)) => Some((order, scope)),
        (Op::Store | Op::AtomicRmw | Op::CompareExchange, _) => {
            data.access().and_then(|access| access.atomic)
        }
        _ => None,
    };
    let is_ordered =
        order.is_some_and(|(order, scope)| order == AtomicOrdering::SeqCst && scope != SyncScope::Lane);
    is_ordered && !data.flags.has(Flag::Volatile)
}

/// True for instructions that an earlier store need not be visible to: arithmetic, and accesses that no other thread orders.
fn is_passed(data: &InstData) -> bool {
    match data.op.info().effect {
        Effect::Pure | Effect::Traps | Effect::Horizontal => true,
        _ => {
            let is_access = matches!(data.op, Op::Load | Op::Store | Op::MaskedLoad | Op::MaskedStore);
            is_access && !data.is_ordered()
        }
    }
}
