//! Which exits of a divergent loop go round through the latch, and which may stay.
//!
//! An exit edge stays if all lanes at its block take it together, and if every way from the loop's header to its
//! latch leads through that block: then all lanes that are still live come there in each iteration, and those that left
//! before, in this iteration or an earlier one, can be led there as well. A uniform exit that is passed by, or that
//! lies in an inner loop, where those lanes do not come, is treated as divergent.
//!
//! ```text
//!        H                      H
//!        │                    ╱   ╲           c1 is uniform in both loops, v2 is not.
//!        ▼                   a     b
//!     e: br c1, X1, b   e: br c1   │          On the left e stays an exit, and would do so behind b too.
//!        ▼                │  ╲     │          On the right lanes in b pass it by: X1 is tracked as X2 is.
//!     b: br v2, X2, H     X1   j: br v2, X2, H
//! ```

use heddle_analysis::{Cfg, Cycle, CycleForest, DominatorTree};
use heddle_ir::Block;

use super::LoopFacts;

/// An edge that leaves a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    /// The block that has the edge: of an exit of an inner loop that was made uniform one of its dispatch blocks.
    pub(super) from: Block,
    /// The exit. All edges to it leave the same loops.
    pub(super) to: Block,
    /// A block that had the edge at first.
    pub(super) source: Block,
    /// Whether that block is in no inner loop.
    pub(super) is_own: bool,
}

impl Exit {
    /// What tells it from all others.
    pub(super) fn edge(&self) -> (Block, Block) {
        (self.from, self.to)
    }
}

/// What becomes of a divergent loop.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) header: Block,
    pub(super) preheader: Block,
    pub(super) latch: Block,
    /// The exits that go round through the new latch.
    pub(super) rebound: Vec<Exit>,
    /// For each of them, how many of the exits that stay are before it: those behind it are met on the way round.
    pub(super) station: Vec<usize>,
    /// The exits that stay, in the order in which lanes come to them.
    pub(super) retained: Vec<Exit>,
    /// The exits' blocks, those that leave most loops first; the last one is in the next outer loop, if there is one.
    pub(super) targets: Vec<Block>,
}

/// For each loop the edges that leave it from no inner loop.
pub(super) fn own_exits(cfg: &Cfg, forest: &CycleForest) -> Vec<Vec<Exit>> {
    let mut exits: Vec<Vec<Exit>> = vec![Vec::new(); forest.num_cycles()];
    for from in cfg.blocks() {
        let Some(cycle) = forest.innermost(from) else { continue };
        // A block of a loop has an edge that stays, so no two lead to one exit.
        for &to in cfg.succs(from).iter().filter(|&&to| !forest.contains(cycle, to)) {
            exits[super::number(cycle)].push(Exit { from, to, source: from, is_own: true });
        }
    }
    exits
}

impl Plan {
    /// Decides; none if all exits may stay, so that the loop is uniform.
    pub(super) fn new(
        cfg: &Cfg,
        forest: &CycleForest,
        dominators: &DominatorTree,
        facts: &LoopFacts,
        cycle: Cycle,
        exits: &[Exit],
    ) -> Option<Plan> {
        let header = forest.header(cycle);
        let preheader = forest.preheader(cfg, cycle).expect("a canonical loop has one preheader");
        let latch = forest.unique_latch(cfg, cycle).expect("a canonical loop has one latch");
        let stays = |exit: &Exit| {
            exit.is_own && facts.uniform_exits.contains(exit.from) && dominators.dominates(exit.from, latch)
        };
        let (mut retained, rebound): (Vec<Exit>, Vec<Exit>) = exits.iter().copied().partition(stays);
        if rebound.is_empty() {
            return None;
        }
        retained.sort_by_key(|exit| dominators.depth(exit.from));
        // They dominate the latch, so each other; an exit that one does not dominate is before it.
        let is_behind = |exit: &Exit, stays: &Exit| dominators.dominates(stays.from, exit.source);
        let station = rebound.iter().map(|exit| retained.partition_point(|stays| is_behind(exit, stays)));
        let station = station.collect();
        let mut targets: Vec<Block> = exits.iter().map(|exit| exit.to).collect();
        targets.sort_unstable_by_key(|&target| (forest.depth_of_block(target), target));
        targets.dedup();
        Some(Plan { header, preheader, latch, rebound, station, retained, targets })
    }
}
