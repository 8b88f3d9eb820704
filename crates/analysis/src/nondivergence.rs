//! The control dependence region of non-divergence: the blocks on which no divergent branch has a say.
//!
//! Work that is put into such a block is done by all lanes or by none, so that it makes nothing diverge that did not
//! before. Whatever depends on a divergent branch is outside, and so is what depends on a branch outside: lanes that do
//! not come to that one do not come to what it decides about, however uniform it is.
//!
//! ```text
//!     for each edge of a branch that is divergent or outside: the blocks on the way up the tree of post-dominators,
//!     from the edge's target to below the branch's own closest post-dominator, are outside
//! ```
//!
//! Blocks in loops that lanes leave apart are outside, whatever they depend on, and their branches count as divergent: a
//! block may post-dominate all that diverges, and yet lanes come to it in different rounds.
//!
//! Each block comes to be outside once, and ways leap over those that already are; so the work is near-linear although
//! control dependence itself may be quadratic.
//!
//! After: Fukuhara, SSRQP (2021), section 5.1. Differs in: dependence is transitive. There, a block that depends on a
//! uniform branch belongs to the region even if that branch is itself on one side of a divergent one. And loops are looked
//! at, as said.

use heddle_ir::Block;
use heddle_ir::entity::{Entity, EntitySet};

use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::dominators::PostDominatorTree;

/// The reachable blocks that depend, directly or through one another, on uniform branches only, and are in no loop that
/// lanes leave apart.
pub fn region_of_nondivergence(
    control: &ControlTables,
    is_divergent: impl Fn(Block) -> bool,
    is_left_apart: impl Fn(Cycle) -> bool,
) -> EntitySet<Block> {
    let cfg = &control.cfg;
    let cycles = &control.cycles;
    let mut lacks = vec![false; cycles.num_cycles()];
    for cycle in cycles.cycles() {
        let is_inside = cycles.parent(cycle).is_some_and(|parent| lacks[parent.index()]);
        lacks[cycle.index()] = is_inside || is_left_apart(cycle);
    }
    let is_late = |block| cycles.innermost(block).is_some_and(|cycle| lacks[cycle.index()]);
    let is_source = |block| cfg.succs(block).len() > 1 && (is_divergent(block) || is_late(block));
    let tree = PostDominatorTree::new(cfg);
    let mut outside: EntitySet<Block> = EntitySet::new();
    // Per block, one at or above it that may be inside; the virtual exit is behind all blocks.
    let exit = cfg.num_blocks();
    let mut next: Vec<usize> = (0..=exit).collect();
    let above = |block: usize| tree.ipdom(Block::new(block)).map_or(exit, Entity::index);
    let mut work: Vec<Block> =
        control.index.order().iter().copied().filter(|&block| is_source(block)).collect();
    while let Some(branch) = work.pop() {
        for &to in cfg.succs(branch) {
            let mut at = leap(&mut next, to.index());
            while at != exit && !tree.strictly_post_dominates(Block::new(at), branch) {
                let block = Block::new(at);
                outside.insert(block);
                next[at] = above(at);
                if cfg.succs(block).len() > 1 && !is_source(block) {
                    work.push(block);
                }
                at = leap(&mut next, at);
            }
        }
    }
    control
        .index
        .order()
        .iter()
        .copied()
        .filter(|&block| !outside.contains(block) && !is_late(block))
        .collect()
}

/// The first block at or above this one that may be inside.
fn leap(next: &mut [usize], mut at: usize) -> usize {
    while next[at] != at {
        next[at] = next[next[at]];
        at = next[at];
    }
    at
}
