//! Frontiers and control dependence by their definitions.

use heddle_analysis::{ControlDependence, DominanceFrontier, DominatorTree, Edge, PostDominatorTree};
use heddle_ir::Block;
use heddle_ir::entity::Entity;

use crate::dominators::{exits, post_dominance};
use crate::graphs::{Graph, Random, Set, bit, block, for_all_graphs, members};

fn list(set: Set) -> Vec<Block> {
    members(set).map(block).collect()
}

fn union(sets: &[Set], of: Set) -> Set {
    members(of).fold(0, |union, at| union | sets[at])
}

/// Minimum set with the frontiers of these blocks and of its own members.
fn fixpoint(frontier: &[Set], blocks: Set) -> Set {
    let mut found = 0;
    loop {
        let more = union(frontier, blocks | found);
        if more == found {
            return found;
        }
        found = more;
    }
}

#[test]
fn frontiers_follow_their_definition() {
    let mut random = Random(1);
    for_all_graphs(|graph| {
        let cfg = graph.cfg();
        let dominators = DominatorTree::new(&cfg);
        let frontiers = DominanceFrontier::new(&cfg, &dominators);
        let dominance = graph.dominance();
        let reference: Vec<Set> = (0..graph.len())
            .map(|at| {
                let ends = |edge: &Edge| {
                    let strict = dominance[at] & !bit(at);
                    dominance[at] & bit(edge.from.index()) != 0 && strict & bit(edge.to.index()) == 0
                };
                graph.edges().filter(ends).fold(0, |set, edge| set | bit(edge.to.index()))
            })
            .collect();
        for (at, &expected) in reference.iter().enumerate() {
            assert_eq!(frontiers.of(block(at)), list(expected), "of {at}");
        }
        for _ in 0..3 {
            let some = random.next() & random.next() & ((1 << graph.len()) - 1);
            let reachable = some & graph.reachable();
            assert_eq!(frontiers.iterated(list(some)), list(fixpoint(&reference, reachable)), "of {some:b}");
            if graph.edges().any(|edge| edge.to <= edge.from) {
                continue;
            }
            for last in 0..graph.len() {
                let found = frontiers.iterated_while(list(some), |at| at < block(last));
                let found: Vec<Block> = found.into_iter().filter(|&at| at <= block(last)).collect();
                let before = bit(last) | (bit(last) - 1);
                let expected = fixpoint(&reference, reachable & (bit(last) - 1)) & before;
                assert_eq!(found, list(expected), "of {some:b} up to {last}");
            }
        }
    });
}

#[test]
fn control_dependence_follows_its_definition() {
    let mut random = Random(2);
    for_all_graphs(|graph| {
        let cfg = graph.cfg();
        let post_dominators = PostDominatorTree::new(&cfg);
        let dependence = ControlDependence::new(&post_dominators);
        let reference = post_dominance(graph);
        let depends = |at: usize, edge: &Edge| {
            let strict = reference[at] & !bit(at);
            reference[at] & bit(edge.to.index()) != 0 && strict & bit(edge.from.index()) == 0
        };
        let mut sources = vec![0; graph.len()];
        for (at, sources) in sources.iter_mut().enumerate() {
            let mut edges: Vec<Edge> = graph.edges().filter(|edge| depends(at, edge)).collect();
            edges.sort();
            edges.dedup();
            assert_eq!(dependence.edges(block(at)), edges, "of {at}");
            *sources = edges.iter().fold(0, |set, edge| set | bit(edge.from.index()));
            assert_eq!(dependence.of(block(at)), list(*sources));
        }
        for edge in graph.edges() {
            let controlled: Set = (0..graph.len()).filter(|&at| depends(at, &edge)).map(bit).sum();
            let mut found: Vec<Block> = dependence.controlled_by(edge).collect();
            assert!(found.is_sorted_by(|&a, &b| post_dominators.strictly_post_dominates(b, a)));
            found.sort();
            assert_eq!(found, list(controlled), "by {edge:?}");
        }
        let some = random.next() & random.next() & graph.reachable();
        assert_eq!(dependence.iterated(list(some)), list(fixpoint(&sources, some)));
    });
}

/// Post-dominance on acyclic graphs quantifies over all paths; this test enumerates them.
#[test]
fn on_acyclic_graphs_post_dominance_holds_on_each_path() {
    fn paths(graph: &Graph, at: usize, so_far: Set, all: &mut Vec<Set>) {
        if graph.succs[at].is_empty() {
            all.push(so_far | bit(at));
        }
        for &succ in &graph.succs[at] {
            paths(graph, succ, so_far | bit(at), all);
        }
    }
    let mut count = 0;
    for_all_graphs(|graph| {
        let is_acyclic = members(graph.reachable())
            .all(|at| graph.succs[at].iter().all(|&succ| graph.reach(succ, 0) & bit(at) == 0));
        if !is_acyclic || graph.len() > 12 {
            return;
        }
        count += 1;
        let post_dominators = PostDominatorTree::new(&graph.cfg());
        assert_eq!(
            exits(graph),
            members(graph.reachable()).filter(|&at| graph.succs[at].is_empty()).map(bit).sum()
        );
        for b in members(graph.reachable()) {
            let mut all = Vec::new();
            paths(graph, b, 0, &mut all);
            for a in 0..graph.len() {
                let on_all = all.iter().all(|path| path & bit(a) != 0);
                assert_eq!(post_dominators.post_dominates(block(a), block(b)), on_all, "{a} {b}");
            }
        }
    });
    assert!(count > 1000);
}

#[test]
fn a_loop_that_tests_at_its_end_controls_itself() {
    let graph = Graph::new(0, &[&[1], &[1, 2], &[]]);
    let post_dominators = PostDominatorTree::new(&graph.cfg());
    let again = Edge { from: block(1), to: block(1) };
    assert_eq!(ControlDependence::new(&post_dominators).edges(block(1)), [again]);
}

#[test]
fn blocks_outside_of_the_graph_have_no_frontier() {
    let graph = Graph::new(0, &[&[], &[0]]);
    let cfg = graph.cfg();
    let (dominators, post_dominators) = (DominatorTree::new(&cfg), PostDominatorTree::new(&cfg));
    assert_eq!(DominanceFrontier::new(&cfg, &dominators).of(block(1)), []);
    let dependence = ControlDependence::new(&post_dominators);
    assert_eq!(dependence.edges(block(1)), []);
    assert_eq!(dependence.controlled_by(Edge { from: block(0), to: block(1) }).count(), 0);
}
