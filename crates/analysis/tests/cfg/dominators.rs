//! Dominance by deleting a block and testing reachability.

use heddle_analysis::{DominatorTree, PostDominatorTree};
use heddle_ir::entity::Entity;

use crate::graphs::{Graph, Set, bit, block, for_all_graphs, members, set_of};

#[test]
fn dominance_is_reachability_without_the_block() {
    for_all_graphs(|graph| {
        let dominators = DominatorTree::new(&graph.cfg());
        let reference = graph.dominance();
        for a in 0..graph.len() {
            assert_eq!(set_of(dominators.dominated(block(a))), reference[a]);
            for b in 0..graph.len() {
                let dominates = reference[a] & bit(b) != 0;
                assert_eq!(dominators.dominates(block(a), block(b)), dominates, "{a} {b}");
                assert_eq!(dominators.strictly_dominates(block(a), block(b)), dominates && a != b);
                let common = (0..graph.len())
                    .filter(|&c| reference[c] & bit(a) != 0 && reference[c] & bit(b) != 0)
                    .min_by_key(|&c| reference[c].count_ones());
                assert_eq!(dominators.nearest_common(block(a), block(b)), common.map(block));
            }
            let strict: Vec<usize> =
                (0..graph.len()).filter(|&c| c != a && reference[c] & bit(a) != 0).collect();
            let idom = strict.iter().copied().min_by_key(|&c| reference[c].count_ones());
            assert_eq!(dominators.idom(block(a)), idom.map(block));
            assert_eq!(dominators.depth(block(a)), (reference[a] != 0).then_some(strict.len()));
            let children = (0..graph.len())
                .filter(|&child| dominators.idom(block(child)) == Some(block(a)))
                .fold(0, |set, child| set | bit(child));
            assert_eq!(set_of(dominators.children(block(a))), children);
        }
    });
}

/// Returns the blocks that count as returns: returns, and the first block of each endless component in the search.
pub(crate) fn exits(graph: &Graph) -> Set {
    let reachable = graph.reachable();
    let pre_order = graph.pre_order();
    members(reachable)
        .filter(|&at| {
            let component = graph.reach(at, 0);
            let is_final = members(component).all(|other| graph.reach(other, 0) & bit(at) != 0);
            is_final && members(component).all(|other| pre_order[at] <= pre_order[other])
        })
        .fold(0, |set, at| set | bit(at))
}

/// Blocks that each block post-dominates: those that cannot reach an exit without it.
pub(crate) fn post_dominance(graph: &Graph) -> Vec<Set> {
    let exits = exits(graph);
    let reachable = graph.reachable();
    (0..graph.len())
        .map(|a| {
            let avoids = |&b: &usize| graph.reach(b, bit(a)) & exits != 0;
            let is_reachable = reachable & bit(a) != 0;
            members(reachable).filter(|b| is_reachable && !avoids(b)).fold(0, |set, b| set | bit(b))
        })
        .collect()
}

#[test]
fn post_dominance_is_reachability_of_an_exit_without_the_block() {
    for_all_graphs(|graph| {
        let post_dominators = PostDominatorTree::new(&graph.cfg());
        let reference = post_dominance(graph);
        let pseudo: Set = members(exits(graph)).filter(|&at| !graph.succs[at].is_empty()).map(bit).sum();
        assert_eq!(set_of(post_dominators.pseudo_exits()), pseudo);
        let mut roots = 0;
        for a in 0..graph.len() {
            assert_eq!(set_of(post_dominators.post_dominated(block(a))), reference[a]);
            for b in 0..graph.len() {
                let post_dominates = reference[a] & bit(b) != 0;
                assert_eq!(post_dominators.post_dominates(block(a), block(b)), post_dominates, "{a} {b}");
                assert_eq!(
                    post_dominators.strictly_post_dominates(block(a), block(b)),
                    post_dominates && a != b
                );
                let common = (0..graph.len())
                    .filter(|&c| reference[c] & bit(a) != 0 && reference[c] & bit(b) != 0)
                    .min_by_key(|&c| reference[c].count_ones());
                assert_eq!(post_dominators.nearest_common(block(a), block(b)), common.map(block));
            }
            let strict: Vec<usize> =
                (0..graph.len()).filter(|&c| c != a && reference[c] & bit(a) != 0).collect();
            let ipdom = strict.iter().copied().min_by_key(|&c| reference[c].count_ones());
            assert_eq!(post_dominators.ipdom(block(a)), ipdom.map(block));
            assert_eq!(post_dominators.depth(block(a)), (reference[a] != 0).then_some(strict.len()));
            if reference[a] != 0 && ipdom.is_none() {
                roots |= bit(a);
            }
            assert!(post_dominators.children(block(a)).iter().all(|child| child.index() < graph.len()));
        }
        assert_eq!(set_of(post_dominators.roots()), roots);
    });
}

#[test]
fn an_endless_loop_is_left_at_its_header() {
    // block1 and block2 form an endless loop; block3 returns.
    let graph = Graph::new(0, &[&[1, 3], &[2], &[1], &[]]);
    let post_dominators = PostDominatorTree::new(&graph.cfg());
    assert_eq!(post_dominators.pseudo_exits(), [block(1)]);
    assert_eq!(post_dominators.ipdom(block(2)), Some(block(1)));
    assert_eq!(post_dominators.ipdom(block(1)), None);
    assert_eq!(post_dominators.ipdom(block(0)), None);
}
