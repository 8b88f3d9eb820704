//! Makes divergent loops uniform: lanes that have left stay inside, passively, until the last lane leaves.
//!
//! Requires: Stage::Canonical, or what this pass made of it.  Ensures: Stage::Uniform.
//! Invariant: blocks keep their names, and instructions stay where they are, once each; only the φs of a divergent
//! loop's header move to its new header. What is new is φs, branches, and one `any` (or `all`) for each uniform exit.
//! After: Moll, The Region Vectorizer, 9.1; the users of `x.out` read the header's φ, since the latch's does not
//! dominate them; what leaves is tracked by what the exits' φs read, so that an exit with several edges needs no more
//! than one mask.
//!
//! ```text
//!      P                 P
//!      │                 ▼
//!      ▼                NewH ◄────────┐     live: lanes that are still in the loop. If there are none, it is left;
//!   ┌► H              ┌──┴──┐         │     that is tested first, so the loop may be entered by no lane at all.
//!   │  │              ▼     ▼         │
//!   │  ▼            GuardH  Disp      │     Disp, and a chain of blocks behind it, sends each lane to its exit by
//!   │  e ──► X      │   │    │        │     the mask that keeps which exit it took.
//!   │  │            ▼   │    ▼        │
//!   └─ B            H   │    X        │     x.out, with its update in L: what each lane left with, ⊤ at first.
//!                   │   │             │
//!                   ▼   │             │     φs of H move to NewH. Lanes that have left bring ⊤: nothing that
//!                   e ──│──► E        │     matters reads it, and what was uniform stays so.
//!                   │   │    │        │
//!                   ▼   ▼    ▼        │     E splits the exit edge, so that the φs in L can tell it.
//!                   B ─► L ◄─┘        │
//!                        └────────────┘
//! ```
//!
//! The loop body runs with the lanes that are live, so horizontals in it see the lanes that they saw before. Inner
//! loops come first. An edge that leaves several loops leaves the inner one through its dispatch, and from there the
//! next outer one: that one's trackers then carry on what the inner ones kept.
//!
//! A value that is uniform in its iteration needs no care: the counter of a divergent loop goes round unblended, and
//! only the copy that lives out, `x.out`, is blended (Karrenberg & Hack, Fig. 11). What is defined outside of the loop
//! is tracked only if an exit's edges bring different values.
//!
//! **Uniform exits of divergent loops** (exits.rs): if all live lanes always come to the exiting block, they are led
//! together there with those that wait, and all leave at once. Any other exit edge is treated as divergent, which
//! costs one more way round through the latch.
//!
//! Passively executed blocks change what lanes outside hold only by `total` instructions and shadows; where what those
//! define lives out of a divergent loop, the function is refused (passive_live_outs.rs).

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
use exits::{Exit, Plan};
use uniform_loop::LoopBlocks;

/// Makes all loops uniform that the facts call divergent. Sequential code, which launches, has no such loops.
/// A function that is refused stays as it was.
pub fn make_loops_uniform(func: &mut Function, facts: &LoopFacts) -> Result<(), heddle_ir::Diagnostic> {
    if is_sequential(func) {
        return Ok(());
    }
    let flow = CfgAnalyses::new(func);
    let (cfg, forest) = (&flow.cfg, flow.forest());
    if forest.num_cycles() == 0 {
        return Ok(());
    }
    // Where an outer loop was made uniform, its latch may read what an inner one defines that was uniform till then.
    lcssa::close_loops(func, &flow);
    passive_live_outs::refuse(func, cfg, forest, facts)?;
    let mut exits = exits::own_exits(cfg, forest);
    let mut is_divergent: Vec<bool> =
        forest.cycles().map(|cycle| facts.divergent_loops.contains(forest.header(cycle))).collect();
    let mut nest = Nest { forest, dominators: flow.dominators(), new_home: SecondaryMap::new() };
    let mut rejoins = Vec::new();
    for cycle in forest.cycles().rev() {
        let mut leaving = std::mem::take(&mut exits[number(cycle)]);
        let plan = is_divergent[number(cycle)]
            .then(|| Plan::new(cfg, forest, flow.dominators(), facts, cycle, &leaving))
            .flatten();
        if let Some(plan) = &plan {
            let blocks = LoopBlocks::new(func, &mut nest, cycle, plan);
            leaving = uniform_loop::make_uniform(func, &nest, cycle, plan, &blocks);
            rejoins.extend(blocks.rejoins(plan));
        }
        let Some(around) = forest.parent(cycle) else { continue };
        for exit in leaving.into_iter().filter(|exit| !forest.contains(around, exit.to)) {
            // The dispatch sends lanes there that left in different iterations.
            is_divergent[number(around)] |= plan.is_some();
            exits[number(around)].push(Exit { is_own: false, ..exit });
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

/// Whether one thread executes the function: it launches.
pub(crate) fn is_sequential(func: &Function) -> bool {
    func.blocks().flat_map(|block| func.block_insts(block)).any(|inst| func.inst(inst).op == Op::Launch)
}

fn number(cycle: Cycle) -> usize {
    cycle.as_u32() as usize
}

/// Which loops a block is in, new ones included.
#[derive(Debug)]
struct Nest<'a> {
    forest: &'a CycleForest,
    /// Of the blocks that were there before.
    dominators: &'a DominatorTree,
    /// The innermost loop of each new block that is in one.
    new_home: SecondaryMap<Block, Option<Cycle>>,
}

impl Nest<'_> {
    fn contains(&self, cycle: Cycle, block: Block) -> bool {
        match self.new_home[block] {
            Some(home) => self.forest.is_nested(cycle, home),
            None => self.forest.contains(cycle, block),
        }
    }

    /// Whether the value is defined by an instruction in the loop.
    fn defines(&self, func: &Function, cycle: Cycle, value: Value) -> bool {
        let home = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
        home.is_some_and(|block| self.contains(cycle, block))
    }
}
