//! Dominance frontiers and control dependence, on demand.
//!
//! The frontier of `b` consists of the blocks that `b` does not strictly dominate, with a predecessor that `b` dominates.
//! Control dependence is the dominance frontier of the reversed graph. A table of all frontiers may be quadratic (a ladder
//! of `n` nested `do` loops has `n²/2` pairs), so each query walks a part of the tree instead.
//!
//! In the graph of dominator tree and join edges (Sreedhar & Gao), an edge `x -> y` leaves the dominance of `b` if and only
//! if `x` is in the subtree of `b` and `y` is not deeper than `b`, because the immediate dominator of `y` dominates `x`.
//! One number per block suffices to prune the walk: the minimum depth of a target of an edge out of its subtree.
//!
//! ```text
//!         block0                depth 0      An iterated frontier processes blocks deepest first. A higher block
//!        /      \                            skips the blocks that a deeper one has walked: an edge that matters
//!     block1   block2           depth 1      for the higher block was already found for the deeper one. Each block
//!        \      /                            is walked once.
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

/// Dominance frontiers, computed on demand.
#[derive(Debug)]
pub struct DominanceFrontier<'a> {
    joins: JoinEdges<'a>,
}

impl<'a> DominanceFrontier<'a> {
    /// Prepares the tables for queries.
    pub fn new(cfg: &'a Cfg, dominators: &'a DominatorTree) -> Self {
        Self { joins: JoinEdges::new(cfg, dominators.tree()) }
    }

    /// Returns the dominance frontier of a block, in order. A loop header is in its own frontier.
    pub fn of(&self, block: Block) -> Vec<Block> {
        let mut frontier = Vec::new();
        self.joins.visit_leaving(block, |edge| frontier.push(edge.to));
        frontier.sort_unstable();
        frontier.dedup();
        frontier
    }

    /// Returns the iterated dominance frontier of these blocks, in order: the blocks that need φs for a variable that these
    /// blocks write.
    pub fn iterated(&self, blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
        self.joins.iterated(blocks, |_| true)
    }

    /// Returns the iterated frontier through blocks for which `goes_on` is true; the others must not lead back to them. On an
    /// acyclic graph, `goes_on` may select the blocks before some position; then only those are walked.
    pub fn iterated_while(
        &self,
        blocks: impl IntoIterator<Item = Block>,
        goes_on: impl Fn(Block) -> bool,
    ) -> Vec<Block> {
        self.joins.iterated(blocks, goes_on)
    }
}

/// Control dependences, computed on demand.
///
/// `k` is control dependent on the edge `a -> b` if `k` post-dominates `b` and does not strictly post-dominate `a`. So a
/// block that decides whether it runs again depends on its own branch. The thesis (2.3) excludes that: it demands that `k`
/// does not post-dominate `a` at all, which drops the edges out of `k`.
///
/// A pseudo-exit counts as one more successor of its block: all of an endless cycle depends on edges out of its header,
/// even if the header has only one successor.
#[derive(Debug)]
pub struct ControlDependence<'a> {
    post_dominators: &'a PostDominatorTree,
    joins: JoinEdges<'a>,
}

impl<'a> ControlDependence<'a> {
    /// Prepares the tables for queries.
    pub fn new(post_dominators: &'a PostDominatorTree) -> Self {
        Self { post_dominators, joins: JoinEdges::new(post_dominators.reversed(), post_dominators.tree()) }
    }

    /// Returns the edges on which `block` is control dependent, in order, without duplicates.
    pub fn edges(&self, block: Block) -> Vec<Edge> {
        let mut edges = Vec::new();
        self.joins.visit_leaving(block, |edge| edges.push(Edge { from: edge.to, to: edge.from }));
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Returns the blocks on whose branches `block` is directly control dependent, in order.
    pub fn of(&self, block: Block) -> Vec<Block> {
        let mut sources: Vec<Block> = self.edges(block).into_iter().map(|edge| edge.from).collect();
        sources.dedup();
        sources
    }

    /// Returns the blocks on whose branches these blocks are transitively control dependent, in order.
    pub fn iterated(&self, blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
        self.joins.iterated(blocks, |_| true)
    }

    /// Returns the blocks that are control dependent on this edge, from its target up the post-dominator tree.
    pub fn controlled_by(&self, edge: Edge) -> impl Iterator<Item = Block> + '_ {
        let end = self.post_dominators.ipdom(edge.from);
        let first = Some(edge.to).filter(|&to| self.post_dominators.tree().contains(to));
        std::iter::successors(first, |&block| self.post_dominators.ipdom(block))
            .take_while(move |&block| Some(block) != end)
    }
}

/// Join edges of a graph, relative to its dominator tree.
#[derive(Debug)]
struct JoinEdges<'a> {
    cfg: &'a Cfg,
    tree: &'a AncestorTree<Block>,
    /// Minimum depth of a target of an edge out of each block's subtree.
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

    /// Visits the edges that leave the dominance of `root`.
    fn visit_leaving(&self, root: Block, visit: impl FnMut(Edge)) {
        self.visit_leaving_if(root, |_| true, visit);
    }

    fn visit_leaving_if(
        &self,
        root: Block,
        mut is_new: impl FnMut(Block) -> bool,
        mut visit: impl FnMut(Edge),
    ) {
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
            self.visit_leaving_if(
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
