//! Makes divergent loops uniform: lanes that have left stay inside, passively, until the last lane leaves.
//!
//! Requires: Stage::Canonical, or the output of this pass.  Ensures: Stage::Uniform.
//! Invariant: blocks keep their names, and instructions keep their places, once each; only the φs of a divergent
//! loop's header move to its new header. New are φs, branches, and one `any` (or `all`) per uniform exit.
//! After: Moll, The Region Vectorizer, 9.1. Differs in: users of `x.out` read the header's φ, since the latch's does not
//! dominate them; trackers follow the operands of the exits' φs, so an exit with several edges needs only one mask.
//!
//! ```text
//!      P                 P
//!      │                 ▼
//!      ▼                NewH ◄────────┐     live: lanes still in the loop. Without any, the loop is left. The test comes
//!   ┌► H              ┌──┴──┐         │     first, so the loop may be entered with an empty mask.
//!   │  │              ▼     ▼         │
//!   │  ▼            GuardH  Disp      │     Disp, and a chain of blocks after it, branch each lane to its exit by
//!   │  e ──► X      │   │    │        │     the mask of the exit that it took.
//!   │  │            ▼   │    ▼        │
//!   └─ B            H   │    X        │     x.out, updated in L: the value with which each lane left, initially poison.
//!                   │   │             │
//!                   ▼   │             │     φs of H move to NewH. Lanes that have left bring poison: no use that
//!                   e ──│──► E        │     matters reads it, and uniform values stay uniform.
//!                   │   │    │        │
//!                   ▼   ▼    ▼        │     E splits the exit edge, so that the φs in L distinguish it.
//!                   B ─► L ◄─┘        │
//!                        └────────────┘
//! ```
//!
//! The loop body runs with the live lanes, so horizontals in it see the lanes that they saw before. Inner loops are
//! transformed first. An edge that leaves several loops leaves the inner one through its dispatch and then the next outer
//! one, whose trackers carry on the inner trackers' values.
//!
//! A value that is uniform within an iteration needs no blend: the counter of a divergent loop is carried unblended, and
//! only its live-out copy, `x.out`, is blended (Karrenberg & Hack, Fig. 11). A value defined outside of the loop
//! is tracked only if an exit's edges bring different values.
//!
//! **Uniform exits of divergent loops** (exits.rs): if all live lanes always reach the exiting block, waiting lanes join
//! them there, and all leave together. Any other exit edge is treated as divergent, which costs one more pass through the
//! latch.
//!
//! Passively executed blocks change values of outside lanes only by `total` instructions and shadows. A function whose
//! divergent loops have such live-outs is refused (passive_live_outs.rs).

pub mod facts;

mod passive_live_outs;
mod exits;
mod trackers;
mod uniform_loop;
mod rejoin;

pub use facts::LoopFacts;

use heddle_analysis::{Cycle, CycleForest, DominatorTree};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::{Block, Function, Op, Value};

use crate::canonicalize::lcssa;
use crate::cfg_analyses::CfgAnalyses;
use exits::{LoopExit, UniformLoopPlan};
use uniform_loop::UniformLoopBlocks;

/// Makes all divergent loops uniform. Sequential code, which launches, has none. A refused function stays unchanged.
pub fn make_loops_uniform(func: &mut Function, facts: &LoopFacts) -> Result<(), heddle_ir::Diagnostic> {
    if is_sequential(func) {
        return Ok(());
    }
    let flow = CfgAnalyses::new(func);
    let (cfg, forest) = (&flow.cfg, flow.forest());
    if forest.num_cycles() == 0 {
        return Ok(());
    }
    // After an outer loop was made uniform, its latch may read values of an inner loop that was uniform before.
    lcssa::close_loops(func, &flow);
    passive_live_outs::refuse(func, cfg, forest, facts)?;
    let mut exits = exits::direct_exits(cfg, forest);
    let mut is_divergent: Vec<bool> =
        forest.cycles().map(|cycle| facts.divergent_loops.contains(forest.header(cycle))).collect();
    let mut membership =
        LoopMembership { forest, dominators: flow.dominators(), new_block_loop: SecondaryMap::new() };
    let mut rejoins = Vec::new();
    for cycle in forest.cycles().rev() {
        let mut leaving = std::mem::take(&mut exits[number(cycle)]);
        let plan = is_divergent[number(cycle)]
            .then(|| UniformLoopPlan::new(cfg, forest, flow.dominators(), facts, cycle, &leaving))
            .flatten();
        if let Some(plan) = &plan {
            let blocks = UniformLoopBlocks::new(func, &mut membership, cycle, plan);
            leaving = uniform_loop::make_uniform(func, &membership, cycle, plan, &blocks);
            rejoins.extend(blocks.rejoins(plan));
        }
        let Some(around) = forest.parent(cycle) else { continue };
        for exit in leaving.into_iter().filter(|exit| !forest.contains(around, exit.to)) {
            // The dispatch receives lanes that left in different iterations.
            is_divergent[number(around)] |= plan.is_some();
            exits[number(around)].push(LoopExit { is_direct: false, ..exit });
        }
    }
    let has_objects_in_loops = || {
        let in_loops = cfg.blocks().filter(|&block| forest.innermost(block).is_some());
        in_loops.flat_map(|block| func.block_insts(block)).any(|inst| func.inst(inst).op == Op::Alloca)
    };
    if !rejoins.is_empty() || has_objects_in_loops() {
        rejoin::restore_dominance(func, &rejoins);
    }
    Ok(())
}

/// True if a single thread executes the function: it launches.
pub(crate) fn is_sequential(func: &Function) -> bool {
    func.blocks().flat_map(|block| func.block_insts(block)).any(|inst| func.inst(inst).op == Op::Launch)
}

fn number(cycle: Cycle) -> usize {
    cycle.as_u32() as usize
}

/// Loop membership of blocks, new ones included.
#[derive(Debug)]
struct LoopMembership<'a> {
    forest: &'a CycleForest,
    /// Dominators of the original blocks.
    dominators: &'a DominatorTree,
    /// Innermost loop of each new block, if any.
    new_block_loop: SecondaryMap<Block, Option<Cycle>>,
}

impl LoopMembership<'_> {
    fn contains(&self, cycle: Cycle, block: Block) -> bool {
        match self.new_block_loop[block] {
            Some(block_of_def) => self.forest.is_nested(cycle, block_of_def),
            None => self.forest.contains(cycle, block),
        }
    }

    /// True if an instruction of the loop defines the value.
    fn defines(&self, func: &Function, cycle: Cycle, value: Value) -> bool {
        let block_of_def = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
        block_of_def.is_some_and(|block| self.contains(cycle, block))
    }
}
