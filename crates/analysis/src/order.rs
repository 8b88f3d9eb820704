//! Pre-order, post-order and reverse post-order of a depth-first search from the entry.
//!
//! The search visits successors in branch order. All analyses share it, so their orders agree. In reverse post-order every
//! edge points forward, except those to an ancestor in the search.

use heddle_ir::Block;
use heddle_ir::entity::{Entity, SecondaryMap};

use crate::cfg::Cfg;
use crate::tree::NONE;

/// Orders of a depth-first search. They contain reachable blocks only.
#[derive(Clone, Debug)]
pub struct DepthFirstOrder {
    pre_order: Vec<Block>,
    post_order: Vec<Block>,
    pre_number: SecondaryMap<Block, u32>,
    post_number: SecondaryMap<Block, u32>,
    /// Pre-order number of each block's search parent, by pre-order number.
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

    /// Returns the blocks in pre-order.
    pub fn pre_order(&self) -> &[Block] {
        &self.pre_order
    }

    /// Returns the blocks in post-order.
    pub fn post_order(&self) -> &[Block] {
        &self.post_order
    }

    /// Returns the blocks in reverse post-order.
    pub fn reverse_post_order(
        &self,
    ) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + Clone + '_ {
        self.post_order.iter().rev().copied()
    }

    /// Returns the position in pre-order, if reachable.
    pub fn pre_number(&self, block: Block) -> Option<usize> {
        Some(self.pre_number[block]).filter(|&number| number != NONE).map(|number| number as usize)
    }

    /// Returns the position in post-order, if reachable.
    pub fn post_number(&self, block: Block) -> Option<usize> {
        Some(self.post_number[block]).filter(|&number| number != NONE).map(|number| number as usize)
    }

    /// Returns the parent in the search; none for the entry and unreachable blocks.
    pub fn parent(&self, block: Block) -> Option<Block> {
        let number = self.pre_number(block)?;
        self.pre_order.get(self.parent[number] as usize).copied()
    }

    /// Returns the parents' pre-order numbers, by pre-order number; [`NONE`] for the entry.
    pub(crate) fn parents(&self) -> &[u32] {
        &self.parent
    }

    /// Returns the reverse post-order as block numbers.
    pub(crate) fn reverse_post_indices(&self) -> Vec<u32> {
        self.reverse_post_order().map(|block| block.index() as u32).collect()
    }

    fn enter(&mut self, block: Block, parent: u32) {
        self.pre_number[block] = self.pre_order.len() as u32;
        self.pre_order.push(block);
        self.parent.push(parent);
    }
}
