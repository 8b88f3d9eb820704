//! Control-dependence region of non-divergence: the blocks that no divergent branch controls.
//!
//! All lanes or none execute such a block, so code moved into it adds no divergence. A block that depends on a divergent
//! branch is outside. So is a block that depends on a branch outside, even a uniform one: lanes that miss the branch miss
//! the block.
//!
//! ```text
//!     for each edge of a branch that is divergent or outside: the blocks on the path up the post-dominator tree, from the
//!     edge's target to below the branch's immediate post-dominator, are outside
//! ```
//!
//! Blocks in divergent loops are outside too, and their branches count as divergent: such a block may post-dominate all
//! divergent branches, and yet lanes reach it in different iterations.
//!
//! Each block is marked as outside once, and paths skip marked blocks. The work is therefore near-linear, although control
//! dependence itself may be quadratic.
//!
//! After: Fukuhara, SSRQP (2021), section 5.1. Differs in: transitive dependence (there, a block that depends on a uniform
//! branch is in the region even if a divergent branch controls that branch); divergent loops.

use heddle_ir::Block;
use heddle_ir::entity::{Entity, EntitySet};

use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::dominators::PostDominatorTree;

/// Returns the reachable blocks that transitively depend on uniform branches only, and are in no divergent loop.
pub fn region_of_nondivergence(
    control: &ControlTables,
    is_divergent: impl Fn(Block) -> bool,
    is_divergent_loop: impl Fn(Cycle) -> bool,
) -> EntitySet<Block> {
    let cfg = &control.cfg;
    let cycles = &control.cycles;
    let mut is_divergent_nest = vec![false; cycles.num_cycles()];
    for cycle in cycles.cycles() {
        let is_inside = cycles.parent(cycle).is_some_and(|parent| is_divergent_nest[parent.index()]);
        is_divergent_nest[cycle.index()] = is_inside || is_divergent_loop(cycle);
    }
    let is_partial = |block| cycles.innermost(block).is_some_and(|cycle| is_divergent_nest[cycle.index()]);
    let is_source = |block| cfg.succs(block).len() > 1 && (is_divergent(block) || is_partial(block));
    let tree = PostDominatorTree::new(cfg);
    let mut outside: EntitySet<Block> = EntitySet::new();
    // Union-find towards the root: a block at or above each one that may be inside; the virtual exit is above all blocks.
    let exit = cfg.num_blocks();
    let mut next: Vec<usize> = (0..=exit).collect();
    let above = |block: usize| tree.ipdom(Block::new(block)).map_or(exit, Entity::index);
    let mut work: Vec<Block> =
        control.index.order().iter().copied().filter(|&block| is_source(block)).collect();
    while let Some(branch) = work.pop() {
        for &to in cfg.succs(branch) {
            let mut at = find_inside(&mut next, to.index());
            while at != exit && !tree.strictly_post_dominates(Block::new(at), branch) {
                let block = Block::new(at);
                outside.insert(block);
                next[at] = above(at);
                if cfg.succs(block).len() > 1 && !is_source(block) {
                    work.push(block);
                }
                at = find_inside(&mut next, at);
            }
        }
    }
    control
        .index
        .order()
        .iter()
        .copied()
        .filter(|&block| !outside.contains(block) && !is_partial(block))
        .collect()
}

/// Returns the first block at or above this one that may be inside.
fn find_inside(next: &mut [usize], mut at: usize) -> usize {
    while next[at] != at {
        next[at] = next[next[at]];
        at = next[at];
    }
    at
}
