//! Dominator and post-dominator trees.
//!
//! `a` dominates `b` if every path from the entry to `b` contains `a`. `a` post-dominates `b` if every path from `b` to the
//! virtual exit contains `a`. Both relations are trees, and a query compares two intervals.
//!
//! The algorithm is Semi-NCA: semidominators with path compression; then, top down, the immediate dominator of `b` is the
//! lowest dominator of `b`'s depth-first parent that is not below `b`'s semidominator. The original walks up to it, which
//! is quadratic on ladders. Jump pointers bound every graph by O(edges · log blocks).
//!
//! Post-dominators are the dominators of the reversed graph, rooted in a virtual exit after all returns. A region that
//! reaches no return needs an edge to the virtual exit, or it has no post-dominators:
//!
//! ```text
//!     block0 ──► block3 (returns) ──► virtual exit
//!       │                                  ▲
//!       ▼                                  ┊ pseudo-exit
//!     block1 ◄──► block2      block1 is the header of an endless cycle
//! ```
//!
//! The rule: the header of each outermost cycle without an exit edge (the first block in the depth-first search) gets a
//! pseudo-exit. So the header post-dominates its endless loop, as the test of an ordinary `while` would. A graph where
//! every block reaches a return has no pseudo-exit.

use heddle_ir::Block;
use heddle_ir::entity::{Entity, EntitySet};

use crate::cfg::Cfg;
use crate::cycles::CycleForest;
use crate::order::DepthFirstOrder;
use crate::tree::{AncestorTree, JumpPointerForest, NONE};

/// Dominator tree.
#[derive(Clone, Debug)]
pub struct DominatorTree {
    tree: AncestorTree<Block>,
}

impl DominatorTree {
    /// Computes the dominators of all reachable blocks.
    pub fn new(cfg: &Cfg) -> Self {
        Self { tree: dominator_tree(cfg) }
    }

    /// Returns the immediate dominator; none for the entry and unreachable blocks.
    pub fn idom(&self, block: Block) -> Option<Block> {
        self.tree.parent(block)
    }

    /// True if `a` dominates `b`. Every reachable block dominates itself; unreachable blocks neither dominate nor are
    /// dominated.
    #[inline]
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        self.tree.is_ancestor(a, b)
    }

    /// True if `a` dominates `b` and is not `b`.
    #[inline]
    pub fn strictly_dominates(&self, a: Block, b: Block) -> bool {
        a != b && self.tree.is_ancestor(a, b)
    }

    /// Returns the children in the tree, in reverse post-order.
    pub fn children(&self, block: Block) -> &[Block] {
        self.tree.children(block)
    }

    /// Returns the number of strict dominators, if reachable.
    pub fn depth(&self, block: Block) -> Option<usize> {
        self.tree.contains(block).then(|| self.tree.depth(block) as usize)
    }

    /// Returns the lowest common dominator; none if one of the blocks is unreachable.
    pub fn nearest_common(&self, a: Block, b: Block) -> Option<Block> {
        self.tree.nearest_common(a, b)
    }

    /// Returns all dominated blocks, the block itself first. Empty if unreachable.
    pub fn dominated(&self, block: Block) -> &[Block] {
        self.tree.subtree(block)
    }

    /// Returns the reachable blocks, dominators first.
    pub fn pre_order(&self) -> &[Block] {
        self.tree.pre_order()
    }

    pub(crate) fn tree(&self) -> &AncestorTree<Block> {
        &self.tree
    }
}

/// Post-dominator tree. Its root is the virtual exit, which is not a block.
#[derive(Clone, Debug)]
pub struct PostDominatorTree {
    tree: AncestorTree<Block>,
    reversed: Cfg,
    pseudo_exits: Vec<Block>,
}

impl PostDominatorTree {
    /// Computes the post-dominators of all reachable blocks.
    pub fn new(cfg: &Cfg) -> Self {
        let exit = Block::new(cfg.num_blocks());
        let pseudo_exits = pseudo_exits(cfg);
        let returns = cfg.blocks().filter(|&block| cfg.is_reachable(block) && cfg.succs(block).is_empty());
        let out = returns.chain(pseudo_exits.iter().copied()).map(|block| (exit, block));
        let back = cfg.edges().map(|edge| (edge.to, edge.from));
        let reversed = Cfg::from_edges(cfg.num_blocks() + 1, exit, out.chain(back));
        Self { tree: dominator_tree(&reversed), reversed, pseudo_exits }
    }

    /// Returns the immediate post-dominator; none if it is the virtual exit or the block is unreachable.
    pub fn ipdom(&self, block: Block) -> Option<Block> {
        self.tree.parent(block).filter(|&parent| parent != self.exit())
    }

    /// True if `a` post-dominates `b`. Every reachable block post-dominates itself; unreachable blocks neither post-dominate
    /// nor are post-dominated.
    #[inline]
    pub fn post_dominates(&self, a: Block, b: Block) -> bool {
        self.tree.is_ancestor(a, b)
    }

    /// True if `a` post-dominates `b` and is not `b`.
    #[inline]
    pub fn strictly_post_dominates(&self, a: Block, b: Block) -> bool {
        a != b && self.tree.is_ancestor(a, b)
    }

    /// Returns the children in the tree.
    pub fn children(&self, block: Block) -> &[Block] {
        self.tree.children(block)
    }

    /// Returns the blocks with the virtual exit as immediate post-dominator.
    pub fn roots(&self) -> &[Block] {
        self.tree.children(self.exit())
    }

    /// Returns the number of strict post-dominators that are blocks, if reachable.
    pub fn depth(&self, block: Block) -> Option<usize> {
        self.tree.contains(block).then(|| self.tree.depth(block) as usize - 1)
    }

    /// Returns the lowest common post-dominator; none if it is the virtual exit or a block is unreachable.
    pub fn nearest_common(&self, a: Block, b: Block) -> Option<Block> {
        self.tree.nearest_common(a, b).filter(|&block| block != self.exit())
    }

    /// Returns all post-dominated blocks, the block itself first. Empty if unreachable.
    pub fn post_dominated(&self, block: Block) -> &[Block] {
        self.tree.subtree(block)
    }

    /// Returns the headers of endless cycles, which have an edge to the virtual exit.
    pub fn pseudo_exits(&self) -> &[Block] {
        &self.pseudo_exits
    }

    pub(crate) fn tree(&self) -> &AncestorTree<Block> {
        &self.tree
    }

    /// Returns the reversed graph, with the virtual exit as its entry.
    pub(crate) fn reversed(&self) -> &Cfg {
        &self.reversed
    }

    fn exit(&self) -> Block {
        self.reversed.entry()
    }
}

/// Computes the dominator tree of any graph; siblings are in reverse post-order.
fn dominator_tree(cfg: &Cfg) -> AncestorTree<Block> {
    let search = DepthFirstOrder::new(cfg);
    let semidominators = semidominators(cfg, &search);
    let mut dominators = JumpPointerForest::new(semidominators.len());
    for number in 0..semidominators.len() as u32 {
        let semidominator = semidominators[number as usize];
        let parent = search.parents()[number as usize];
        let idom = match parent {
            NONE => NONE,
            _ => dominators
                .highest(parent, |above| above > semidominator)
                .map_or(parent, |too_low| dominators.parent(too_low)),
        };
        dominators.attach(number, idom);
    }
    let idom = |block: u32| {
        let number = search.pre_number(Block::new(block as usize)).map_or(NONE, |number| number as u32);
        match if number == NONE { NONE } else { dominators.parent(number) } {
            NONE => NONE,
            idom => search.pre_order()[idom as usize].index() as u32,
        }
    };
    AncestorTree::new(cfg.num_blocks(), idom, &search.reverse_post_indices())
}

/// Computes semidominators, by pre-order number: the minimum number with a path to the block whose inner blocks all have
/// greater numbers than the block.
fn semidominators(cfg: &Cfg, search: &DepthFirstOrder) -> Vec<u32> {
    let num_blocks = search.pre_order().len();
    // The search tree with compressed paths among processed blocks; and the minimum semidominator on the compressed path,
    // lower end included.
    let mut shortcut = search.parents().to_vec();
    let mut least: Vec<u32> = (0..num_blocks as u32).collect();
    // A separate copy, since compression lowers `least` to the minimum over blocks above.
    let mut semidominators = least.clone();
    let mut path = Vec::new();
    for number in (1..num_blocks as u32).rev() {
        let mut semidominator = number;
        for &pred in cfg.preds(search.pre_order()[number as usize]) {
            // Predecessors are reachable, so they have numbers.
            let Some(pred) = search.pre_number(pred) else { continue };
            compress(pred as u32, number + 1, &mut shortcut, &mut least, &mut path);
            semidominator = semidominator.min(least[pred]);
        }
        least[number as usize] = semidominator;
        semidominators[number as usize] = semidominator;
    }
    semidominators
}

/// Compresses the path up from `below` over processed blocks, so that `least[below]` covers all of it.
fn compress(below: u32, first_done: u32, shortcut: &mut [u32], least: &mut [u32], path: &mut Vec<u32>) {
    let is_done = |block: u32| block != NONE && block >= first_done;
    let mut block = below;
    while is_done(block) && is_done(shortcut[block as usize]) {
        path.push(block);
        block = shortcut[block as usize];
    }
    while let Some(block) = path.pop() {
        let above = shortcut[block as usize];
        least[block as usize] = least[block as usize].min(least[above as usize]);
        shortcut[block as usize] = shortcut[above as usize];
    }
}

/// Returns the header of each outermost cycle without an exit edge.
fn pseudo_exits(cfg: &Cfg) -> Vec<Block> {
    let mut reaches_return = EntitySet::new();
    let mut worklist: Vec<Block> = cfg.blocks().filter(|&block| cfg.succs(block).is_empty()).collect();
    worklist.retain(|&block| cfg.is_reachable(block) && reaches_return.insert(block));
    while let Some(block) = worklist.pop() {
        for &pred in cfg.preds(block) {
            if reaches_return.insert(pred) {
                worklist.push(pred);
            }
        }
    }
    if reaches_return.len() == cfg.num_reachable() {
        return Vec::new();
    }
    let cycles = CycleForest::new(cfg);
    let is_endless = |&cycle: &_| {
        cycles
            .blocks(cycle)
            .iter()
            .all(|&block| cfg.succs(block).iter().all(|&succ| cycles.contains(cycle, succ)))
    };
    // Inner cycles always have an exit edge.
    cycles.outermost().filter(is_endless).map(|cycle| cycles.header(cycle)).collect()
}
