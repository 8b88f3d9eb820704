//! Control-flow graph.
//!
//! A branch with several equal targets has as many parallel edges, in the branch's order. Unreachable blocks have no
//! outgoing edges: their `succs` is empty and `preds` lists reachable blocks only. Analyses thus ignore unreachable blocks
//! without a check; a pass that deletes them uses `is_reachable`.

use heddle_ir::entity::{Entity, EntitySet};
use heddle_ir::{Block, Function};

use crate::lists::Lists;

/// Control-flow edge. Parallel edges are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Source of the edge.
    pub from: Block,
    /// Target of the edge.
    pub to: Block,
}

/// Successors and predecessors of every block.
#[derive(Clone, Debug)]
pub struct Cfg {
    entry: Block,
    succs: Lists<Block>,
    preds: Lists<Block>,
    num_blocks: usize,
    num_edges: usize,
    reachable: EntitySet<Block>,
}

impl Cfg {
    /// Builds the graph of a function. Removed block numbers count as unreachable blocks.
    ///
    /// # Panics
    /// If the function has no block.
    pub fn new(func: &Function) -> Self {
        let edges = func.blocks().flat_map(|from| func.successors(from).iter().map(move |&to| (from, to)));
        Self::from_edges(func.block_count(), func.entry(), edges)
    }

    /// Builds the graph of blocks `0..num_blocks` with these edges. Each block keeps its successors in the given order.
    ///
    /// # Panics
    /// If the entry or an end of an edge is not one of the blocks.
    pub fn from_edges(
        num_blocks: usize,
        entry: Block,
        edges: impl IntoIterator<Item = (Block, Block)>,
    ) -> Self {
        assert!(entry.index() < num_blocks, "the entry {entry} is not among the {num_blocks} blocks");
        let mut edges: Vec<(Block, Block)> = edges.into_iter().collect();
        for &(from, to) in &edges {
            assert!(
                from.index().max(to.index()) < num_blocks,
                "the edge {from} -> {to} leaves the {num_blocks} blocks"
            );
        }
        let by_source = |edges: &[(Block, Block)]| {
            Lists::new(num_blocks, edges.iter().map(|&(from, to)| (from.index(), to)))
        };
        let mut succs = by_source(&edges);
        let reachable = reachable_from(entry, &succs);
        if reachable.len() < num_blocks {
            edges.retain(|&(from, _)| reachable.contains(from));
            succs = by_source(&edges);
        }
        let preds = Lists::new(num_blocks, edges.iter().map(|&(from, to)| (to.index(), from)));
        Self { entry, succs, preds, num_blocks, num_edges: edges.len(), reachable }
    }

    /// Returns the entry block. It may have predecessors.
    pub fn entry(&self) -> Block {
        self.entry
    }

    /// Returns the number of blocks, including unreachable ones.
    pub fn num_blocks(&self) -> usize {
        self.num_blocks
    }

    /// Returns the number of edges from reachable blocks.
    pub fn num_edges(&self) -> usize {
        self.num_edges
    }

    /// Returns all blocks in order, including unreachable ones.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + use<> {
        (0..self.num_blocks).map(Block::new)
    }

    /// Returns all edges from reachable blocks, by source, then in branch order.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.blocks().flat_map(|from| self.succs(from).iter().map(move |&to| Edge { from, to }))
    }

    /// Returns the targets of a block's branch in branch order, one per edge. Empty for an unreachable block.
    #[inline]
    pub fn succs(&self, block: Block) -> &[Block] {
        self.succs.get(block.index())
    }

    /// Returns the reachable predecessors, one per edge, in the order of the given edges.
    #[inline]
    pub fn preds(&self, block: Block) -> &[Block] {
        self.preds.get(block.index())
    }

    /// True if a path leads from the entry to the block.
    #[inline]
    pub fn is_reachable(&self, block: Block) -> bool {
        self.reachable.contains(block)
    }

    /// Returns the number of reachable blocks.
    pub fn num_reachable(&self) -> usize {
        self.reachable.len()
    }
}

fn reachable_from(entry: Block, succs: &Lists<Block>) -> EntitySet<Block> {
    let mut reachable = EntitySet::new();
    reachable.insert(entry);
    let mut worklist = vec![entry];
    while let Some(block) = worklist.pop() {
        for &succ in succs.get(block.index()) {
            if reachable.insert(succ) {
                worklist.push(succ);
            }
        }
    }
    reachable
}
