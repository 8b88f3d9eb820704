//! Decides for each exit of a divergent loop whether it is retained or rerouted through the latch.
//!
//! An exit edge is retained if its active lanes take it together, and if its block dominates the latch: then all live
//! lanes reach the block in each iteration, and lanes that left before, in this iteration or an earlier one, can join
//! there. A uniform exit that some path bypasses, or in an inner loop, which waiting lanes do not enter, is treated as
//! divergent.
//!
//! ```text
//!        H                      H
//!        │                    ╱   ╲           c1 is uniform in both loops, v2 is not.
//!        ▼                   a     b
//!     e: br c1, X1, b   e: br c1   │          Left: e is retained, and would be after b, too.
//!        ▼                │  ╲     │          Right: lanes in b bypass e, so X1 is tracked like X2.
//!     b: br v2, X2, H     X1   j: br v2, X2, H
//! ```

use heddle_analysis::{Cfg, Cycle, CycleForest, DominatorTree};
use heddle_ir::Block;

use super::LoopFacts;

/// Exit edge of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopExit {
    /// Source of the edge: for an exit of an inner loop that was made uniform, one of its dispatch blocks.
    pub(super) from: Block,
    /// Exit block. All edges to it leave the same loops.
    pub(super) to: Block,
    /// A block that had the edge originally.
    pub(super) source: Block,
    /// True if that block is in no inner loop.
    pub(super) is_direct: bool,
}

impl LoopExit {
    /// Returns the edge, which identifies the exit.
    pub(super) fn edge(&self) -> (Block, Block) {
        (self.from, self.to)
    }
}

/// Exits of a divergent loop, divided into rerouted and retained ones.
#[derive(Debug)]
pub(super) struct UniformLoopPlan {
    pub(super) header: Block,
    pub(super) preheader: Block,
    pub(super) latch: Block,
    /// Exits rerouted through the new latch.
    pub(super) rerouted: Vec<LoopExit>,
    /// For each rerouted exit, the number of retained exits before it. Its lanes pass the later ones on the way to the latch.
    pub(super) retained_before: Vec<usize>,
    /// Retained exits, in execution order.
    pub(super) retained: Vec<LoopExit>,
    /// Exit blocks, those that leave most loops first. The last one is in the next outer loop, if any.
    pub(super) targets: Vec<Block>,
}

/// Returns for each loop its exit edges that start in no inner loop.
pub(super) fn direct_exits(cfg: &Cfg, forest: &CycleForest) -> Vec<Vec<LoopExit>> {
    let mut exits: Vec<Vec<LoopExit>> = vec![Vec::new(); forest.num_cycles()];
    for from in cfg.blocks() {
        let Some(cycle) = forest.innermost(from) else { continue };
        // A block of a loop has an edge that stays inside, so only one leads to each exit.
        for &to in cfg.succs(from).iter().filter(|&&to| !forest.contains(cycle, to)) {
            exits[super::number(cycle)].push(LoopExit { from, to, source: from, is_direct: true });
        }
    }
    exits
}

impl UniformLoopPlan {
    /// Returns the plan, or none if all exits are retained, so that the loop is uniform.
    pub(super) fn new(
        cfg: &Cfg,
        forest: &CycleForest,
        dominators: &DominatorTree,
        facts: &LoopFacts,
        cycle: Cycle,
        exits: &[LoopExit],
    ) -> Option<UniformLoopPlan> {
        let header = forest.header(cycle);
        let preheader = forest.preheader(cfg, cycle).expect("a canonical loop has one preheader");
        let latch = forest.unique_latch(cfg, cycle).expect("a canonical loop has one latch");
        let stays = |exit: &LoopExit| {
            exit.is_direct
                && facts.uniform_exits.contains(exit.from)
                && dominators.dominates(exit.from, latch)
        };
        let (mut retained, rerouted): (Vec<LoopExit>, Vec<LoopExit>) = exits.iter().copied().partition(stays);
        if rerouted.is_empty() {
            return None;
        }
        retained.sort_by_key(|exit| dominators.depth(exit.from));
        // Retained exits dominate the latch, so each other. A retained exit that does not dominate this one comes after it.
        let is_behind = |exit: &LoopExit, stays: &LoopExit| dominators.dominates(stays.from, exit.source);
        let retained_before =
            rerouted.iter().map(|exit| retained.partition_point(|stays| is_behind(exit, stays)));
        let retained_before = retained_before.collect();
        let mut targets: Vec<Block> = exits.iter().map(|exit| exit.to).collect();
        targets.sort_unstable_by_key(|&target| (forest.depth_of_block(target), target));
        targets.dedup();
        Some(UniformLoopPlan { header, preheader, latch, rerouted, retained_before, retained, targets })
    }
}
