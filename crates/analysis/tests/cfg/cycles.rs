//! Cycles by strongly connected components, loops by their textbook definition.

use std::collections::BTreeMap;

use heddle_analysis::{Cycle, CycleForest, DominatorTree, Edge};
use heddle_ir::Block;
use heddle_ir::entity::Entity;

use crate::graphs::{Graph, Set, bit, block, for_all_graphs, members, set_of};

/// Blocks of the cycle of each header: its component among its descendants in the search.
fn cycles(graph: &Graph) -> BTreeMap<usize, Set> {
    fn search(graph: &Graph, at: usize, seen: &mut Set, found: &mut BTreeMap<usize, Set>) {
        let before = *seen;
        *seen |= bit(at);
        for &succ in &graph.succs[at] {
            if *seen & bit(succ) == 0 {
                search(graph, succ, seen, found);
            }
        }
        let descendants = *seen & !before;
        let to_header = |&b: &usize| graph.reach(b, !descendants) & bit(at) != 0;
        let component: Set = members(graph.reach(at, !descendants)).filter(to_header).map(bit).sum();
        if component != bit(at) || graph.succs[at].contains(&at) {
            found.insert(at, component);
        }
    }
    let mut found = BTreeMap::new();
    search(graph, graph.entry, &mut 0, &mut found);
    found
}

#[test]
fn cycles_are_components_of_descendants() {
    for_all_graphs(|graph| {
        let cfg = graph.cfg();
        let forest = CycleForest::new(&cfg);
        let reference = cycles(graph);
        let blocks = |cycle: Cycle| reference[&forest.header(cycle).index()];
        assert_eq!(forest.num_cycles(), reference.len());
        for cycle in forest.cycles() {
            assert_eq!(set_of(forest.blocks(cycle)), blocks(cycle));
            assert_eq!(forest.blocks(cycle)[0], forest.header(cycle));
            assert_eq!(forest.headed_by(forest.header(cycle)), Some(cycle));
            let around = |&other: &Cycle| other != cycle && blocks(cycle) & !blocks(other) == 0;
            let parent = forest.cycles().filter(around).min_by_key(|&other| blocks(other).count_ones());
            assert_eq!(forest.parent(cycle), parent);
            assert_eq!(forest.depth(cycle), forest.cycles().filter(around).count());
            assert!(parent.is_none_or(|parent| parent < cycle));
            for other in forest.cycles() {
                let common = blocks(cycle) & blocks(other);
                assert!([0, blocks(cycle), blocks(other)].contains(&common), "cycles overlap");
                assert_eq!(forest.is_nested(other, cycle), other == cycle || around(&other));
                assert_eq!(forest.children(cycle).contains(&other), forest.parent(other) == Some(cycle));
            }
        }
        for at in 0..graph.len() {
            let inside = |&cycle: &Cycle| blocks(cycle) & bit(at) != 0;
            for cycle in forest.cycles() {
                assert_eq!(forest.contains(cycle, block(at)), inside(&cycle));
            }
            let innermost = forest.cycles().filter(inside).min_by_key(|&cycle| blocks(cycle).count_ones());
            assert_eq!(forest.innermost(block(at)), innermost);
            assert_eq!(forest.depth_of_block(block(at)), forest.cycles().filter(inside).count());
            for other in 0..graph.len() {
                let apart = |cycle: &Cycle| inside(cycle) && blocks(*cycle) & bit(other) == 0;
                let largest = forest.cycles().filter(apart).max_by_key(|&cycle| blocks(cycle).count_ones());
                assert_eq!(forest.outermost_without(block(at), block(other)), largest);
            }
        }
    });
}

#[test]
fn the_parts_of_a_cycle_follow_their_definitions() {
    for_all_graphs(|graph| {
        let cfg = graph.cfg();
        let forest = CycleForest::new(&cfg);
        let reference = cycles(graph);
        let reachable = graph.reachable();
        let sorted = |mut list: Vec<Block>| {
            list.sort();
            list
        };
        for (&header, &blocks) in &reference {
            let cycle = forest.headed_by(block(header)).unwrap();
            let is_inside = |block: Block| blocks & bit(block.index()) != 0;
            let edges = |test: &dyn Fn(&Edge) -> bool| graph.edges().filter(test).collect::<Vec<_>>();
            let distinct = |list: Vec<Block>| {
                let mut list = sorted(list);
                list.dedup();
                list
            };

            let entering = edges(&|edge| !is_inside(edge.from) && is_inside(edge.to));
            let mut entries = entering.iter().map(|edge| edge.to).collect::<Vec<_>>();
            if header == graph.entry {
                entries.push(block(header));
            }
            let entries = distinct(entries);
            assert_eq!(forest.entries(&cfg, cycle)[0], block(header));
            assert_eq!(sorted(forest.entries(&cfg, cycle)), entries);
            assert_eq!(forest.is_reducible(cycle), entries == [block(header)]);

            let back = edges(&|edge| is_inside(edge.from) && edge.to == block(header));
            let latches = distinct(back.iter().map(|edge| edge.from).collect());
            assert_eq!(sorted(forest.latches(&cfg, cycle)), latches);
            let unique_latch = (latches.len() == 1).then(|| latches[0]);
            assert_eq!(forest.unique_latch(&cfg, cycle), unique_latch);

            let leaving = edges(&|edge| is_inside(edge.from) && !is_inside(edge.to));
            let mut found: Vec<Edge> = forest.exiting_edges(&cfg, cycle).collect();
            found.sort();
            let mut expected = leaving.clone();
            expected.sort();
            assert_eq!(found, expected);
            assert_eq!(forest.exits(&cfg, cycle), distinct(leaving.iter().map(|edge| edge.to).collect()));

            let outside = distinct(entering.iter().map(|edge| edge.from).collect());
            let has_preheader = outside.len() == 1 && entries.len() == 1 && header != graph.entry;
            assert_eq!(forest.preheader(&cfg, cycle), has_preheader.then(|| outside[0]));
        }
        let retreating: Vec<Edge> = forest.retreating_edges(&cfg).collect();
        let expected: Vec<Edge> = graph
            .edges()
            .filter(|edge| {
                reference.get(&edge.to.index()).is_some_and(|blocks| blocks & bit(edge.from.index()) != 0)
            })
            .collect();
        assert_eq!(retreating, expected);
        let forward = without(graph, &retreating);
        for at in members(reachable) {
            assert_eq!(forward.reach(graph.entry, 0), reachable, "retreating edges are needed for nothing");
            assert!(forward.succs[at].iter().all(|&succ| forward.reach(succ, 0) & bit(at) == 0));
        }
    });
}

fn without(graph: &Graph, edges: &[Edge]) -> Graph {
    let keep = |from: usize, to: usize| !edges.contains(&Edge { from: block(from), to: block(to) });
    let succs = (0..graph.len())
        .map(|from| graph.succs[from].iter().copied().filter(|&to| keep(from, to)).collect())
        .collect();
    Graph { entry: graph.entry, succs }
}

#[test]
fn reducible_cycles_are_natural_loops() {
    let mut reducible = 0;
    for_all_graphs(|graph| {
        let cfg = graph.cfg();
        let forest = CycleForest::new(&cfg);
        assert_eq!(forest.is_graph_reducible(), graph.is_reducible());
        let all = forest.cycles().all(|cycle| forest.is_reducible(cycle));
        assert_eq!(forest.is_graph_reducible(), all);
        if !all {
            return;
        }
        reducible += 1;
        let dominators = DominatorTree::new(&cfg);
        let mut loops = BTreeMap::<Block, Set>::new();
        for edge in graph.edges().filter(|edge| dominators.dominates(edge.to, edge.from)) {
            assert!(forest.is_retreating(edge));
            let (header, latch) = (edge.to.index(), edge.from.index());
            let reaches_latch = |&at: &usize| at == latch || graph.reach(at, bit(header)) & bit(latch) != 0;
            let body: Set = members(graph.reachable()).filter(reaches_latch).fold(0, |set, at| set | bit(at));
            *loops.entry(edge.to).or_default() |= body | bit(header);
        }
        let found = forest.cycles().map(|cycle| (forest.header(cycle), set_of(forest.blocks(cycle))));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), loops);
    });
    assert!(reducible > 5000);
}
