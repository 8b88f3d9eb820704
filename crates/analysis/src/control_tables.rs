//! Bundle of the control-flow tables that most analyses need.

use heddle_ir::Function;

use crate::block_index::BlockIndex;
use crate::cfg::Cfg;
use crate::cycles::CycleForest;
use crate::dominators::DominatorTree;

/// Control-flow graph, dominators, cycles and block index of a function.
#[derive(Clone, Debug)]
pub struct ControlTables {
    /// Control-flow graph.
    pub cfg: Cfg,
    /// Dominator tree.
    pub dominators: DominatorTree,
    /// Cycle forest.
    pub cycles: CycleForest,
    /// Block order.
    pub index: BlockIndex,
}

impl ControlTables {
    /// Computes all tables.
    pub fn new(func: &Function) -> Self {
        let cfg = Cfg::new(func);
        let dominators = DominatorTree::new(&cfg);
        let cycles = CycleForest::new(&cfg);
        let index = BlockIndex::new(&cfg, &dominators, &cycles);
        Self { cfg, dominators, cycles, index }
    }
}
