//! Dominance frontiers and control dependence, on demand.
//!
//! The frontier of `b` is where its dominance ends: the targets of edges out of blocks that `b` dominates which
//! `b` does not strictly dominate. Control dependence is the same question on the reversed graph. A table of
//! all answers may be quadratic (a ladder of `n` nested `do` loops has `n²/2` pairs), so there is none; each
//! query walks a part of the tree.
//!
//! In the graph of dominator tree and join edges (Sreedhar & Gao), `x -> y` leaves the dominance of `b` exactly
//! if `x` is in the subtree of `b` and `y` is not deeper than `b`, because the immediate dominator of `y`
//! dominates `x`. One number per block is enough to skip what cannot contribute: the least depth of a target of
//! an edge out of its subtree.
//!
//! ```text
//!         block0                depth 0      An iterated frontier takes its blocks deepest first. What a
//!        /      \                            deeper block has walked, a higher one need not walk again: any
//!     block1   block2           depth 1      edge found there that counts for the higher one has counted
//!        \      /                            for the deeper one already. So each block is walked once.
//!         block3                depth 1
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use heddle_ir::Block;
use heddle_ir::entity::Entity;
use rustc_hash::FxHashSet;

use crate::cfg::{Cfg, Edge};
use crate::dominators::{DominatorTree, PostDominatorTree};
use crate::tree::AncestorTree;

/// Answers queries for dominance frontiers.
#[derive(Debug)]
pub struct DominanceFrontier<'a> {
    joins: JoinEdges<'a>,
}

impl<'a> DominanceFrontier<'a> {
    /// Prepares for queries.
    pub fn new(cfg: &'a Cfg, dominators: &'a DominatorTree) -> Self {
        Self { joins: JoinEdges::new(cfg, dominators.tree()) }
    }

    /// The blocks that are not strictly dominated by `block` and have a predecessor that is dominated by it, in
    /// order. A loop header is in its own frontier.
    pub fn of(&self, block: Block) -> Vec<Block> {
        let mut frontier = Vec::new();
        self.joins.leaving(block, |edge| frontier.push(edge.to));
        frontier.sort_unstable();
        frontier.dedup();
        frontier
    }

    /// The least set that contains the frontiers of these blocks and of its own members, in order: where φs are
    /// needed for a variable that these blocks write.
    pub fn iterated(&self, blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
        self.joins.iterated(blocks, |_| true)
    }

    /// The same, as far as blocks lead for which `goes_on` is true; the others must not lead back to them. On a graph
    /// without cycles, `goes_on` may say what stands before some block; then only that is walked.
    pub fn iterated_while(
        &self,
        blocks: impl IntoIterator<Item = Block>,
        goes_on: impl Fn(Block) -> bool,
    ) -> Vec<Block> {
        self.joins.iterated(blocks, goes_on)
    }
}

/// Answers queries for control dependence.
///
/// `k` is control dependent on the edge `a -> b` if `k` post-dominates `b` and does not strictly post-dominate
/// `a`. So a block that decides whether it runs again depends on its own branch; the thesis's 2.3 leaves that
/// out by asking that `k` does not post-dominate `a` at all, which amounts to dropping edges out of `k`.
///
/// A pseudo-exit counts as one more successor of its block: all of an endless cycle depends on edges out of its
/// header, even if that has one successor only.
#[derive(Debug)]
pub struct ControlDependence<'a> {
    post_dominators: &'a PostDominatorTree,
    joins: JoinEdges<'a>,
}

impl<'a> ControlDependence<'a> {
    /// Prepares for queries.
    pub fn new(post_dominators: &'a PostDominatorTree) -> Self {
        Self { post_dominators, joins: JoinEdges::new(post_dominators.reversed(), post_dominators.tree()) }
    }

    /// The edges on which `block` is control dependent, in order, parallel ones once.
    pub fn edges(&self, block: Block) -> Vec<Edge> {
        let mut edges = Vec::new();
        self.joins.leaving(block, |edge| edges.push(Edge { from: edge.to, to: edge.from }));
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// The blocks whose branches decide directly whether `block` runs, in order.
    pub fn of(&self, block: Block) -> Vec<Block> {
        let mut sources: Vec<Block> = self.edges(block).into_iter().map(|edge| edge.from).collect();
        sources.dedup();
        sources
    }

    /// The blocks whose branches decide, directly or through one another, whether these blocks run, in order.
    pub fn iterated(&self, blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
        self.joins.iterated(blocks, |_| true)
    }

    /// The blocks that are control dependent on this edge of the graph, the edge's target or a post-dominator of
    /// it first.
    pub fn controlled_by(&self, edge: Edge) -> impl Iterator<Item = Block> + '_ {
        let end = self.post_dominators.ipdom(edge.from);
        let first = Some(edge.to).filter(|&to| self.post_dominators.tree().contains(to));
        std::iter::successors(first, |&block| self.post_dominators.ipdom(block))
            .take_while(move |&block| Some(block) != end)
    }
}

/// The edges of a graph, seen from its dominator tree.
#[derive(Debug)]
struct JoinEdges<'a> {
    cfg: &'a Cfg,
    tree: &'a AncestorTree<Block>,
    /// The least depth of a target of an edge out of a block's subtree.
    rise: Vec<u32>,
}

impl<'a> JoinEdges<'a> {
    fn new(cfg: &'a Cfg, tree: &'a AncestorTree<Block>) -> Self {
        let mut rise = vec![u32::MAX; cfg.num_blocks()];
        for &block in tree.pre_order().iter().rev() {
            let own = cfg.succs(block).iter().map(|&succ| tree.depth(succ));
            let below = tree.children(block).iter().map(|child| rise[child.index()]);
            rise[block.index()] = own.chain(below).min().unwrap_or(u32::MAX);
        }
        Self { cfg, tree, rise }
    }

    /// Visits the edges on which the dominance of `root` ends.
    fn leaving(&self, root: Block, visit: impl FnMut(Edge)) {
        self.leaving_new(root, |_| true, visit);
    }

    fn leaving_new(&self, root: Block, mut is_new: impl FnMut(Block) -> bool, mut visit: impl FnMut(Edge)) {
        if !self.tree.contains(root) {
            return;
        }
        let depth = self.tree.depth(root);
        let mut worklist = vec![root];
        while let Some(block) = worklist.pop() {
            if self.rise[block.index()] > depth || !is_new(block) {
                continue;
            }
            for &succ in self.cfg.succs(block) {
                if self.tree.depth(succ) <= depth {
                    visit(Edge { from: block, to: succ });
                }
            }
            worklist.extend_from_slice(self.tree.children(block));
        }
    }

    fn iterated(
        &self,
        blocks: impl IntoIterator<Item = Block>,
        goes_on: impl Fn(Block) -> bool,
    ) -> Vec<Block> {
        let mut found = FxHashSet::default();
        let mut walked = FxHashSet::default();
        let mut seen: FxHashSet<Block> = FxHashSet::default();
        let mut deepest_first = BinaryHeap::new();
        for block in blocks.into_iter().filter(|&block| self.tree.contains(block)) {
            if seen.insert(block) {
                deepest_first.push((self.tree.depth(block), Reverse(block)));
            }
        }
        while let Some((_, Reverse(root))) = deepest_first.pop() {
            self.leaving_new(
                root,
                |block| goes_on(block) && walked.insert(block),
                |edge| {
                    if found.insert(edge.to) && seen.insert(edge.to) {
                        deepest_first.push((self.tree.depth(edge.to), Reverse(edge.to)));
                    }
                },
            );
        }
        let mut frontier: Vec<Block> = found.into_iter().collect();
        frontier.sort_unstable();
        frontier
    }
}
