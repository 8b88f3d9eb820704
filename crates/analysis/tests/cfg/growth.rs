//! Large graphs: no stack overflow, no quadratic time (which would take hours here).

use heddle_analysis::{
    BlockIndex, Cfg, ControlDependence, CycleForest, DominanceFrontier, DominatorTree, PostDominatorTree,
};

use crate::graphs::block;
#[path = "../../examples/families/mod.rs"]
mod families;

#[test]
fn every_family_is_analyzed_at_a_large_size() {
    for family in families::FAMILIES {
        let (num_blocks, edges) = (family.edges)(1 << 17);
        let edges = edges.into_iter().map(|(from, to)| (block(from), block(to)));
        let cfg = Cfg::from_edges(num_blocks, block(0), edges);
        let dominators = DominatorTree::new(&cfg);
        let post_dominators = PostDominatorTree::new(&cfg);
        let cycles = CycleForest::new(&cfg);
        let index = BlockIndex::new(&cfg, &dominators, &cycles);
        assert_eq!(index.order().len(), cfg.num_reachable(), "{}", family.name);
        assert_eq!(cycles.is_graph_reducible(), family.is_reducible, "{}", family.name);
        let frontier = DominanceFrontier::new(&cfg, &dominators);
        frontier.iterated(cfg.blocks().step_by(3));
        ControlDependence::new(&post_dominators).iterated(cfg.blocks().step_by(3));
        // Many small queries must not cost a walk of the whole graph each.
        for at in cfg.blocks().step_by(1024) {
            frontier.of(at);
        }
    }
}

#[test]
fn a_million_blocks_in_a_chain_fit_the_stack() {
    let len = 1_000_000;
    let edges = (1..len).map(|to| (block(to - 1), block(to)));
    let cfg = Cfg::from_edges(len, block(0), edges.chain([(block(len - 1), block(0))]));
    let dominators = DominatorTree::new(&cfg);
    assert_eq!(dominators.depth(block(len - 1)), Some(len - 1));
    let cycles = CycleForest::new(&cfg);
    assert_eq!(cycles.num_cycles(), 1);
    assert_eq!(PostDominatorTree::new(&cfg).pseudo_exits(), [block(0)]);
    assert_eq!(BlockIndex::new(&cfg, &dominators, &cycles).number(block(len - 1)), Some(len - 1));
}
