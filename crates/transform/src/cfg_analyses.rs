//! Control-flow graph of an unchanged function with lazily computed analyses.

use heddle_analysis::{Cfg, CycleForest, DominatorTree};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::{Block, Function};
use std::cell::OnceCell;

/// Control-flow graph, and analyses of it that were computed so far.
pub(crate) struct CfgAnalyses {
    pub(crate) cfg: Cfg,
    forest: OnceCell<CycleForest>,
    dominators: OnceCell<DominatorTree>,
}

impl CfgAnalyses {
    pub(crate) fn new(func: &Function) -> CfgAnalyses {
        CfgAnalyses { cfg: Cfg::new(func), forest: OnceCell::new(), dominators: OnceCell::new() }
    }

    pub(crate) fn forest(&self) -> &CycleForest {
        self.forest.get_or_init(|| CycleForest::new(&self.cfg))
    }

    pub(crate) fn dominators(&self) -> &DominatorTree {
        self.dominators.get_or_init(|| DominatorTree::new(&self.cfg))
    }

    /// Reachable blocks in pre-order of the dominator tree. Siblings keep their layout order, for locality.
    pub(crate) fn dominator_preorder(&self, func: &Function) -> Vec<Block> {
        let mut first_child: SecondaryMap<Block, Option<Block>> = SecondaryMap::with_len(func.block_count());
        let mut next_sibling = first_child.clone();
        let mut next = func.layout.last_block();
        while let Some(block) = next {
            if let Some(above) = self.dominators().idom(block) {
                next_sibling[block] = first_child[above].replace(block);
            }
            next = func.layout.prev_block(block);
        }
        let mut order = Vec::with_capacity(self.cfg.num_reachable());
        let mut stack = vec![func.entry()];
        while let Some(block) = stack.pop() {
            order.push(block);
            stack.extend(next_sibling[block]);
            stack.extend(first_child[block]);
        }
        order
    }
}
