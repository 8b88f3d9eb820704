//! Splits a kernel at its barriers into continuation states.
//!
//! A continuation state is the code from the entry, or from a barrier, up to the next barriers.
//!
//! ```text
//!        block0            state 0: block0 to the barrier
//!          ║ barrier
//!        block1 ◄─┐        state 1: block1, block2 to the barrier, and block3
//!         │    block2
//!         │       ║ barrier
//!        block3   …
//! ```
//!
//! Blocks reachable from several barriers belong to several states. No barrier is added, so states may share code.

use super::inline::is_group_barrier;
use crate::inline::split_after;
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, Inst, Op};

/// One continuation state: the code between barriers.
#[derive(Clone, Debug)]
pub(super) struct ContinuationState {
    /// Entry block.
    pub(super) start: Block,
    /// Its blocks, in layout order.
    pub(super) blocks: Vec<Block>,
    /// States after the barriers that this state reaches, in ascending order.
    pub(super) successors: Vec<usize>,
    /// True if the state reaches the end of the kernel.
    pub(super) may_return: bool,
}

/// Continuation states of a kernel and their successors. State 0 is the entry.
#[derive(Clone, Debug)]
pub(super) struct ContinuationGraph {
    pub(super) all: Vec<ContinuationState>,
    /// For a block that ends at a barrier, the state after that barrier.
    pub(super) state_after: SecondaryMap<Block, Option<usize>>,
    /// Number of barriers.
    pub(super) barriers: usize,
}

/// True if the function has a group barrier.
pub(super) fn has_barriers(func: &Function) -> bool {
    func.blocks().flat_map(|block| func.block_insts(block)).any(|inst| is_group_barrier(func.inst(inst)))
}

/// Removes the barriers of a kernel and splits blocks at them: a block that ended at a barrier now ends its state.
pub(super) fn split_at_barriers(func: &mut Function) -> ContinuationGraph {
    let barriers: Vec<Inst> = func
        .blocks()
        .flat_map(|block| func.block_insts(block))
        .filter(|&inst| is_group_barrier(func.inst(inst)))
        .collect();
    let mut starts = vec![func.entry()];
    let mut state_after: SecondaryMap<Block, Option<usize>> = SecondaryMap::new();
    for &inst in &barriers {
        let after = split_after(func, inst);
        let before = func.layout.block_of(inst).expect("a barrier stands in a block");
        state_after[before] = Some(starts.len());
        starts.push(after);
        // The edge stays, so that liveness sees values that live across the barrier.
        let origin = func.inst(inst).origin;
        *func.inst_mut(inst) = InstData { origin, ..InstData::jump(after) };
    }
    let mut states = ContinuationGraph { all: Vec::new(), state_after, barriers: barriers.len() };
    // Only reachable states are created, in discovery order.
    let mut number: Vec<Option<usize>> = vec![None; starts.len()];
    let mut order: Vec<usize> = vec![0];
    number[0] = Some(0);
    let mut at = 0;
    while let Some(&barrier) = order.get(at) {
        at += 1;
        let start = starts[barrier];
        let (blocks, crossed, may_return) = reach(func, start, &states.state_after);
        for &next in &crossed {
            if number[next].is_none() {
                number[next] = Some(order.len());
                order.push(next);
            }
        }
        states.all.push(ContinuationState { start, blocks, successors: crossed, may_return });
    }
    for state in &mut states.all {
        state.successors = state.successors.iter().filter_map(|&next| number[next]).collect();
        state.successors.sort_unstable();
    }
    let blocks: Vec<Block> = func.blocks().collect();
    for block in blocks {
        states.state_after[block] = states.state_after[block].and_then(|barrier| number[barrier]);
    }
    states
}

/// Returns the blocks reachable from `start` without crossing a barrier, the barriers reached, and whether a return is reached.
fn reach(
    func: &Function,
    start: Block,
    state_after: &SecondaryMap<Block, Option<usize>>,
) -> (Vec<Block>, Vec<usize>, bool) {
    let mut reached = EntitySet::new();
    let mut crossed: Vec<usize> = Vec::new();
    let mut may_return = false;
    let mut work = vec![start];
    reached.insert(start);
    while let Some(block) = work.pop() {
        match state_after[block] {
            Some(barrier) if !crossed.contains(&barrier) => crossed.push(barrier),
            Some(_) => {}
            None => {
                let successors = func.successors(block);
                may_return |= func.terminator(block).is_some_and(|inst| func.inst(inst).op == Op::Ret);
                work.extend(successors.iter().copied().filter(|&next| reached.insert(next)));
            }
        }
    }
    crossed.sort_unstable();
    (func.blocks().filter(|&block| reached.contains(block)).collect(), crossed, may_return)
}
