//! Branches that may be treated as divergent without changing the program's meaning.

use heddle_analysis::{Cfg, ControlDependence, CycleForest, PostDominatorTree};
use heddle_ir::Block;
use heddle_ir::entity::EntitySet;
use heddle_transform::linearize::iteration_graph;

/// Returns the blocks whose branches do not control loop exits.
pub fn free_branches(cfg: &Cfg) -> EntitySet<Block> {
    let cycles = CycleForest::new(cfg);
    let post_dominators = PostDominatorTree::new(&iteration_graph(cfg, &cycles));
    let dependence = ControlDependence::new(&post_dominators);
    let mut free: EntitySet<Block> = cfg
        .blocks()
        .filter(|&block| cfg.succs(block).iter().any(|succ| *succ != cfg.succs(block)[0]))
        .collect();
    for cycle in cycles.cycles() {
        let exiting: Vec<Block> = cycles.exiting_edges(cfg, cycle).map(|edge| edge.from).collect();
        let deciding = dependence.iterated(exiting.iter().copied());
        let all = deciding.into_iter().chain(exiting).chain(cycles.latches(cfg, cycle));
        all.filter(|&block| cycles.contains(cycle, block)).for_each(|block| _ = free.remove(block));
    }
    free
}
