//! Addresses that are not poison at a barrier, since each work-item has accessed memory through them before it.
//!
//! ```text
//!     block0:
//!       i = add nsw x, 64 * group     not poison at the barrier: the load would be undefined behaviour
//!       p = ptradd a, 4 * sext(i)
//!       br block1
//!     block1:
//!       q = phi [block0: p], …
//!       v = load q
//!         ║ barrier
//! ```
//!
//! Requires that a work-item that executes the definition executes the access before the next barrier: blocks between them end in
//! jumps, and nothing between them may end the work-item.

use super::continuations::ContinuationGraph;
use heddle_analysis::{Cfg, Liveness};
use heddle_ir::entity::EntitySet;
use heddle_ir::ops::Effect;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Function, Inst, Op, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the instructions whose results are not poison at the barrier after them, since an access before it depends on them.
pub(super) fn find_accessed(kernel: &Function, states: &ContinuationGraph) -> EntitySet<Inst> {
    let mut accessed = EntitySet::new();
    for start in kernel.blocks() {
        let mut path = CertainPath { kernel, blocks: FxHashSet::default(), incoming: FxHashMap::default() };
        let mut block = start;
        while path.blocks.insert(block) && path.add_accessed(block, &mut accessed) {
            let successors = kernel.successors(block);
            let [next] = successors[..] else { break };
            if states.state_after[block].is_some() {
                break;
            }
            path.enter(next, block);
            block = next;
        }
    }
    accessed
}

/// Blocks that a work-item executes one after the other, from the start of the first one on.
struct CertainPath<'f> {
    kernel: &'f Function,
    blocks: FxHashSet<Block>,
    /// Operands that the phis of these blocks have on the path.
    incoming: FxHashMap<Value, Value>,
}

impl CertainPath<'_> {
    fn enter(&mut self, block: Block, from: Block) {
        let phis = self.kernel.block_insts(block).filter(|&inst| self.kernel.inst(inst).op == Op::Phi);
        for phi in phis {
            let incoming = self.kernel.inst(phi).incoming_from(from);
            self.incoming.extend(self.kernel.result(phi).zip(incoming));
        }
    }

    /// Adds what the accesses of a block depend on. False if a work-item may not come to the block's end.
    fn add_accessed(&self, block: Block, accessed: &mut EntitySet<Inst>) -> bool {
        for inst in self.kernel.block_insts(block) {
            let data = self.kernel.inst(inst);
            match data.op {
                Op::Load | Op::Store => self.add_operands(data.address(), accessed),
                op if matches!(
                    op.info().effect,
                    Effect::Callee | Effect::Synchronizes | Effect::Horizontal
                ) =>
                {
                    return false;
                }
                _ => {}
            }
        }
        true
    }

    /// Adds the instructions of the path whose poison would be poison in an address.
    fn add_operands(&self, address: Option<Value>, accessed: &mut EntitySet<Inst>) {
        let mut work = Vec::from_iter(address);
        while let Some(value) = work.pop() {
            let ValueDef::Result(inst, _) = self.kernel.value_def(value) else { continue };
            let data = self.kernel.inst(inst);
            let is_on_path =
                self.kernel.layout.block_of(inst).is_some_and(|block| self.blocks.contains(&block));
            if !is_on_path {
                continue;
            }
            if data.op == Op::Phi {
                accessed.insert(inst);
                // Those of the first block have any operand.
                work.extend(self.incoming.get(&value));
            } else if keeps_poison(data.op) && accessed.insert(inst) {
                work.extend(data.args.iter().copied());
            }
        }
    }
}

/// True if the result is poison where an operand is.
fn keeps_poison(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Shl
            | Op::Trunc
            | Op::Zext
            | Op::Sext
            | Op::PtrAdd
            | Op::SpaceCast
            | Op::Ptrtoint
            | Op::Inttoptr
    )
}

/// Removes the flags that make address sums poison if the sums live across barriers, such as pointers that loops advance: shapes of
/// addresses need none, and without them lane 0's address represents the others.
pub(super) fn drop_flags_of_addresses(kernel: &mut Function, states: &ContinuationGraph) {
    if states.all.len() == 1 {
        return;
    }
    let cfg = Cfg::new(kernel);
    let liveness = Liveness::new(kernel, &cfg);
    let sets = liveness.sets();
    let mut work: Vec<Value> =
        states.all.iter().skip(1).flat_map(|state| sets.live_in(state.start).iter().copied()).collect();
    let mut seen = EntitySet::new();
    while let Some(value) = work.pop() {
        let ValueDef::Result(inst, _) = kernel.value_def(value) else { continue };
        if !seen.insert(value) {
            continue;
        }
        match kernel.inst(inst).op {
            Op::PtrAdd => {
                let data = kernel.inst_mut(inst);
                data.flags = data.flags.without(Flags::POISON);
                work.push(data.args[0]);
            }
            Op::Phi if kernel.value_type(value).scalar().is_ptr() => {
                work.extend(kernel.inst(inst).args.iter().copied());
            }
            _ => {}
        }
    }
}
