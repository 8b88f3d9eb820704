//! The three properties of a block index, and the two defects where one is missing.

use std::ops::Range;

use heddle_analysis::{BlockIndex, Cfg, Cycle, CycleForest, DominatorTree};
use heddle_ir::Block;
use heddle_ir::entity::Entity;

use crate::graphs::{Graph, Set, bit, block, for_all_graphs, members, set_of};

struct Tables {
    cfg: Cfg,
    cycles: CycleForest,
    index: BlockIndex,
}

impl Tables {
    fn new(graph: &Graph) -> Self {
        let cfg = graph.cfg();
        let cycles = CycleForest::new(&cfg);
        let index = BlockIndex::new(&cfg, &DominatorTree::new(&cfg), &cycles);
        Self { cfg, cycles, index }
    }

    fn number(&self, at: usize) -> usize {
        self.index.number(block(at)).unwrap()
    }

    /// Interval of these blocks, if they are one.
    fn interval(&self, set: Set) -> Option<Range<usize>> {
        let first = members(set).map(|at| self.number(at)).min()?;
        let last = members(set).map(|at| self.number(at)).max()?;
        (last - first + 1 == set.count_ones() as usize).then_some(first..last + 1)
    }
}

#[test]
fn the_order_is_topological_and_complete() {
    for_all_graphs(|graph| {
        let tables = Tables::new(graph);
        assert_eq!(set_of(tables.index.order()), graph.reachable());
        for (number, &at) in tables.index.order().iter().enumerate() {
            assert_eq!(tables.index.number(at), Some(number));
        }
        for at in 0..graph.len() {
            assert_eq!(tables.index.number(block(at)).is_some(), graph.reachable() & bit(at) != 0);
        }
        for edge in graph.edges() {
            let is_forward = tables.index.number(edge.from) < tables.index.number(edge.to);
            assert_eq!(is_forward, !tables.cycles.is_retreating(edge), "{edge:?}");
        }
    });
}

#[test]
fn cycles_are_compact_from_header_to_latch() {
    for_all_graphs(|graph| {
        let Tables { cfg, cycles, index } = &Tables::new(graph);
        for cycle in cycles.cycles() {
            let range = index.cycle_range(cycle);
            let mut blocks: Vec<Block> = index.order()[range.clone()].to_vec();
            assert_eq!(blocks[0], cycles.header(cycle));
            if let Some(latch) = cycles.unique_latch(cfg, cycle) {
                let is_direct = cycles.innermost(latch) == Some(cycle);
                assert!(!is_direct || blocks.last() == Some(&latch));
            }
            let mut expected = cycles.blocks(cycle).to_vec();
            blocks.sort();
            expected.sort();
            assert_eq!(blocks, expected);
        }
    });
}

#[test]
fn dominance_is_compact_unless_a_loop_contradicts() {
    let mut compact = 0;
    let mut contradicted = 0;
    for_all_graphs(|graph| {
        let tables = Tables::new(graph);
        let Tables { cfg, cycles, index } = &tables;
        let dominance = graph.dominance();
        for at in members(graph.reachable()) {
            let dominated = dominance[at];
            let interval = tables.interval(dominated);
            assert_eq!(index.dominated_range(block(at)), interval);

            // Property 1, for each cycle around the block and for the whole function.
            let around: Vec<Cycle> =
                cycles.cycles().filter(|&cycle| cycles.contains(cycle, block(at))).collect();
            for outer in around.iter().copied().map(Some).chain([None]) {
                let is_inside = |cycle| match outer {
                    Some(outer) => cycle != outer && cycles.is_nested(outer, cycle),
                    None => true,
                };
                let enters_alone = |cycle| cycles.header(cycle) == block(at) && cycles.is_reducible(cycle);
                if around.iter().all(|&cycle| !is_inside(cycle) || enters_alone(cycle)) {
                    let all = outer.map_or(!0, |outer| set_of(cycles.blocks(outer)));
                    assert!(tables.interval(dominated & all).is_some(), "what {at} dominates in {outer:?}");
                }
            }

            // Property 2.
            let escapes = |cycle| dominated & !set_of(cycles.blocks(cycle)) != 0;
            let ends =
                |cycle| cycles.latches(cfg, cycle).iter().all(|latch| dominated & bit(latch.index()) != 0);
            if around.iter().all(|&cycle| !escapes(cycle) || ends(cycle)) {
                compact += 1;
                assert!(interval.is_some(), "what {at} dominates is not together");
            }
            // Property 3.
            let must_end = |cycle| {
                let latch = cycles.unique_latch(cfg, cycle);
                latch.is_some_and(|latch| cycles.innermost(latch) == Some(cycle))
            };
            if around.iter().any(|&cycle| must_end(cycle) && escapes(cycle) && !ends(cycle)) {
                contradicted += 1;
                assert!(interval.is_none());
            }
        }
    });
    assert!(compact > 100_000 && contradicted > 1000, "{compact} {contradicted}");
}

/// Where the order lacks the properties because of a loop with a unique latch, no order has all three: all orders are
/// enumerated.
#[test]
fn what_a_loop_contradicts_no_order_has() {
    // The graph in the module head; block5 is `h`.
    let graph = Graph::new(0, &[&[5], &[3, 4], &[3], &[5], &[], &[1, 2]]);
    let tables = Tables::new(&graph);
    assert_eq!(tables.index.order().first(), Some(&block(0)));
    assert_eq!(tables.index.dominated_range(block(1)), None);

    fn orders(placed: &mut Vec<usize>, len: usize, visit: &mut impl FnMut(&[usize])) {
        if placed.len() == len {
            return visit(placed);
        }
        for next in 0..len {
            if !placed.contains(&next) {
                placed.push(next);
                orders(placed, len, visit);
                placed.pop();
            }
        }
    }
    let mut legal = 0;
    orders(&mut Vec::new(), graph.len(), &mut |order| {
        let position = |at: usize| order.iter().position(|&other| other == at).unwrap();
        let is_together = |blocks: &[usize]| {
            let positions = || blocks.iter().map(|&at| position(at));
            positions().max().unwrap() - positions().min().unwrap() + 1 == blocks.len()
        };
        let is_topological = graph.edges().all(|edge| {
            tables.cycles.is_retreating(edge) || position(edge.from.index()) < position(edge.to.index())
        });
        if is_topological && is_together(&[5, 1, 2, 3]) {
            legal += 1;
            assert!(!is_together(&[1, 4]));
        }
    });
    assert!(legal > 0);
}

/// Fig. 8.6, top. block1 does not dominate block2, so block2 must not come between block1 and the targets of block1's
/// uniform branch. Otherwise it would be deferred at block1, come next, and linearize the branch.
#[test]
fn a_sibling_does_not_separate_a_branch_from_its_targets() {
    for succs in [[1, 2], [2, 1]] {
        for targets in [[3, 4], [4, 3]] {
            let graph = Graph::new(0, &[&succs, &targets, &[5], &[5], &[5], &[]]);
            let tables = Tables::new(&graph);
            let range = tables.index.dominated_range(block(1)).unwrap();
            assert_eq!(range.len(), 3);
            assert!(!range.contains(&tables.number(2)));
        }
    }
}

/// Fig. 8.6, bottom. The exit of a loop must not come between the blocks of the loop, or it would move into the loop.
#[test]
fn an_exit_does_not_stand_inside_its_loop() {
    for succs in [[2, 3], [3, 2]] {
        // block1 is the header, block2 the rest of the loop, block3 the exit.
        let graph = Graph::new(0, &[&[1], &succs, &[1], &[]]);
        let tables = Tables::new(&graph);
        assert_eq!(tables.index.order(), [0, 1, 2, 3].map(block));
        assert_eq!(tables.index.cycle_range(tables.cycles.headed_by(block(1)).unwrap()), 1..3);
    }
}

/// Of two exits, the one with the deeper dominator follows the loop first, so that both dominators keep their dominated
/// blocks contiguous.
#[test]
fn exits_leave_in_the_order_that_keeps_dominance_compact() {
    // for (;;) { block1; if (..) goto block5; block2; if (..) goto block4; }
    for first in [[2, 5], [5, 2]] {
        for second in [[3, 4], [4, 3]] {
            let graph = Graph::new(0, &[&[1], &first, &second, &[1], &[6], &[6], &[]]);
            let tables = Tables::new(&graph);
            assert_eq!(tables.index.order(), [0, 1, 2, 3, 4, 5, 6].map(block));
            assert_eq!(tables.index.dominated_range(block(2)), Some(2..5));
        }
    }
}
