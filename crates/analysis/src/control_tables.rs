//! The control-flow tables that most analyses start from, in one.

use heddle_ir::Function;

use crate::block_index::BlockIndex;
use crate::cfg::Cfg;
use crate::cycles::CycleForest;
use crate::dominators::DominatorTree;

/// Graph, dominators, loops and block index of a function.
#[derive(Clone, Debug)]
pub struct ControlTables {
    /// The graph.
    pub cfg: Cfg,
    /// Its dominators.
    pub dominators: DominatorTree,
    /// Its loops.
    pub cycles: CycleForest,
    /// The order of its blocks.
    pub index: BlockIndex,
}

impl ControlTables {
    /// Finds all of them.
    pub fn new(func: &Function) -> Self {
        let cfg = Cfg::new(func);
        let dominators = DominatorTree::new(&cfg);
        let cycles = CycleForest::new(&cfg);
        let index = BlockIndex::new(&cfg, &dominators, &cycles);
        Self { cfg, dominators, cycles, index }
    }
}
