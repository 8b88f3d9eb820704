//! Pre-order, post-order and reverse post-order of one depth-first search from the entry.
//!
//! The search takes successors in branch order. All analyses use this one search, so "first visited" means the
//! same block everywhere. In reverse post-order every edge points forward, but for those that go back to an
//! ancestor in the search.

use heddle_ir::Block;
use heddle_ir::entity::{Entity, SecondaryMap};

use crate::cfg::Cfg;
use crate::tree::NONE;

/// The orders of a depth-first search. Unreachable blocks are in none of them.
#[derive(Clone, Debug)]
pub struct DepthFirstOrder {
    pre_order: Vec<Block>,
    post_order: Vec<Block>,
    pre_number: SecondaryMap<Block, u32>,
    post_number: SecondaryMap<Block, u32>,
    /// By pre-order number: that of the block from which the search came.
    parent: Vec<u32>,
}

impl DepthFirstOrder {
    /// Searches the graph.
    pub fn new(cfg: &Cfg) -> Self {
        let mut search = Self {
            pre_order: Vec::with_capacity(cfg.num_reachable()),
            post_order: Vec::with_capacity(cfg.num_reachable()),
            pre_number: SecondaryMap::filled(NONE, cfg.num_blocks()),
            post_number: SecondaryMap::filled(NONE, cfg.num_blocks()),
            parent: Vec::with_capacity(cfg.num_reachable()),
        };
        let mut path = Vec::new();
        search.enter(cfg.entry(), NONE);
        path.push((cfg.entry(), cfg.succs(cfg.entry()).iter()));
        while let Some((block, succs)) = path.last_mut() {
            let block = *block;
            if let Some(&succ) = succs.next() {
                if search.pre_number[succ] == NONE {
                    search.enter(succ, search.pre_number[block]);
                    path.push((succ, cfg.succs(succ).iter()));
                }
            } else {
                search.post_number[block] = search.post_order.len() as u32;
                search.post_order.push(block);
                path.pop();
            }
        }
        search
    }

    /// The blocks as the search first meets them.
    pub fn pre_order(&self) -> &[Block] {
        &self.pre_order
    }

    /// The blocks as the search leaves them.
    pub fn post_order(&self) -> &[Block] {
        &self.post_order
    }

    /// The post-order backwards.
    pub fn reverse_post_order(
        &self,
    ) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + Clone + '_ {
        self.post_order.iter().rev().copied()
    }

    /// The position in the pre-order, if reachable.
    pub fn pre_number(&self, block: Block) -> Option<usize> {
        Some(self.pre_number[block]).filter(|&number| number != NONE).map(|number| number as usize)
    }

    /// The position in the post-order, if reachable.
    pub fn post_number(&self, block: Block) -> Option<usize> {
        Some(self.post_number[block]).filter(|&number| number != NONE).map(|number| number as usize)
    }

    /// The block from which the search came to this one; none for the entry and unreachable blocks.
    pub fn parent(&self, block: Block) -> Option<Block> {
        let number = self.pre_number(block)?;
        self.pre_order.get(self.parent[number] as usize).copied()
    }

    /// By pre-order number, that of the parent; [`NONE`] for the entry.
    pub(crate) fn parents(&self) -> &[u32] {
        &self.parent
    }

    /// The reverse post-order, as numbers of blocks.
    pub(crate) fn reverse_post_indices(&self) -> Vec<u32> {
        self.reverse_post_order().map(|block| block.index() as u32).collect()
    }

    fn enter(&mut self, block: Block, parent: u32) {
        self.pre_number[block] = self.pre_order.len() as u32;
        self.pre_order.push(block);
        self.parent.push(parent);
    }
}
