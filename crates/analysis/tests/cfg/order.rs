//! The graph and its depth-first orders.

use heddle_analysis::{Cfg, DepthFirstOrder};
use heddle_ir::Block;

use crate::graphs::{bit, block, for_all_graphs, set_of};

#[test]
fn edges_are_kept_in_order() {
    let edges = [(0, 2), (0, 1), (1, 2), (0, 2), (3, 2), (2, 2)].map(|(from, to)| (block(from), block(to)));
    let cfg = Cfg::from_edges(4, block(0), edges);
    assert_eq!(cfg.succs(block(0)), [2, 1, 2].map(block));
    // block3 is unreachable, so its edge does not exist.
    assert_eq!(cfg.preds(block(2)), [0, 1, 0, 2].map(block));
    assert_eq!(cfg.succs(block(3)), []);
    assert_eq!(cfg.num_edges(), 5);
    assert!(!cfg.is_reachable(block(3)));
}

#[test]
#[should_panic(expected = "the edge block0 -> block7 leaves the 2 blocks")]
fn an_edge_to_nowhere_is_named() {
    Cfg::from_edges(2, block(0), [(block(0), block(7))]);
}

#[test]
fn adjacency_agrees_with_the_edges() {
    for_all_graphs(|graph| {
        let cfg = graph.cfg();
        let reachable = graph.reachable();
        for at in 0..graph.len() {
            let is_reachable = reachable & bit(at) != 0;
            assert_eq!(cfg.is_reachable(block(at)), is_reachable);
            let succs: Vec<Block> = graph.succs[at].iter().map(|&to| block(to)).collect();
            assert_eq!(cfg.succs(block(at)), if is_reachable { &succs[..] } else { &[] });
            let preds: Vec<Block> =
                graph.edges().filter(|edge| edge.to == block(at)).map(|edge| edge.from).collect();
            assert_eq!(cfg.preds(block(at)), preds);
        }
        assert_eq!(cfg.num_edges(), graph.edges().count());
        assert_eq!(cfg.num_reachable(), reachable.count_ones() as usize);
    });
}

#[test]
fn orders_are_those_of_a_recursive_search() {
    for_all_graphs(|graph| {
        let search = DepthFirstOrder::new(&graph.cfg());
        let pre_order = graph.pre_order();
        let reachable = graph.reachable();
        assert_eq!(set_of(search.pre_order()), reachable);
        assert_eq!(set_of(search.post_order()), reachable);
        for (at, &number) in pre_order.iter().enumerate() {
            assert_eq!(search.pre_number(block(at)), number);
            assert_eq!(search.post_number(block(at)).is_some(), number.is_some());
        }
        for edge in graph.edges() {
            let pre = |block| search.pre_number(block).unwrap();
            let post = |block| search.post_number(block).unwrap();
            // An edge against the post-order leads to an ancestor, whose interval contains both ends.
            let is_retreating = post(edge.from) <= post(edge.to);
            assert_eq!(is_retreating, {
                let mut above = Some(edge.from);
                std::iter::from_fn(|| {
                    let at = above?;
                    above = search.parent(at);
                    Some(at)
                })
                .any(|at| at == edge.to)
            });
            assert!(!is_retreating || pre(edge.to) <= pre(edge.from));
        }
    });
}
