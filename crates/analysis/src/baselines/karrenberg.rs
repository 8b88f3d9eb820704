//! Divergent blocks by disjoint paths: a φ varies if lanes may enter its block from different sides of a branch.
//!
//! Definition 1: a block is divergent if, from a block `v` with a varying branch,
//!
//! 1. it is a direct successor of `v`, or
//! 2. two disjoint paths lead to it, or
//! 3. it is an exit of a loop around `v`, and disjoint paths lead from `v` to it and to the loop's latch.
//!
//! After: Karrenberg and Hack, *Improving Performance of OpenCL on CPUs*, CC 2012, sections 3.1 and 3.2. The definition is
//! implemented literally: two paths from `v` to a block, disjoint but for their ends, exist if and only if `v` is its only
//! strict dominator in the graph that starts at `v`. The paper propagates marks that name the edges of varying branches.
//! Sets of marks distinguish paths only until they have taken a back edge, so the paper finds less.
//!
//! Unsound: lanes that leave a loop by different exits in different iterations may have taken the same path at different
//! times, and such paths are not disjoint (Moll, thesis, sections 7.3 and 7.5). Imprecise: every φ of a divergent block
//! varies, even if its operands are equal or come from outside of the loop. Direct successors are divergent although no
//! paths join there.

use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function};

use super::{BaselineResult, propagate};
use crate::cfg::Cfg;
use crate::control_tables::ControlTables;
use crate::divergence::InitialShapes;
use crate::dominators::DominatorTree;

/// Computes data dependence and divergent blocks.
pub fn karrenberg(func: &Function, control: &ControlTables, initial: &InitialShapes) -> BaselineResult {
    propagate(func, control, initial, |marks, branch| {
        for block in divergent_blocks(control, branch).iter() {
            for phi in marks.func.phis(block) {
                marks.mark_results(phi);
            }
        }
    })
}

/// Returns the blocks that are divergent if this branch varies.
pub fn divergent_blocks(control: &ControlTables, branch: Block) -> EntitySet<Block> {
    let cfg = &control.cfg;
    let edges = cfg.edges().filter(|edge| edge.to != branch).map(|edge| (edge.from, edge.to));
    let paths = DominatorTree::new(&Cfg::from_edges(cfg.num_blocks(), branch, edges));
    // 1 and 2: a direct successor is divergent even if it has other dominators.
    let mut divergent: EntitySet<Block> = EntitySet::new();
    let direct = cfg.succs(branch).iter().chain(paths.children(branch));
    for &block in direct {
        divergent.insert(block);
    }
    // 3.
    let cycles = &control.cycles;
    let mut enclosing = cycles.innermost(branch);
    while let Some(cycle) = enclosing {
        for latch in cycles.latches(cfg, cycle).into_iter().filter(|&latch| latch != branch) {
            for exit in cycles.exits(cfg, cycle) {
                if paths.nearest_common(exit, latch) == Some(branch) {
                    divergent.insert(exit);
                }
            }
        }
        enclosing = cycles.parent(cycle);
    }
    divergent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_index::BlockIndex;
    use crate::cycles::CycleForest;

    fn tables(num_blocks: usize, edges: &[(u32, u32)]) -> ControlTables {
        let edges = edges.iter().map(|&(from, to)| (Block::from_u32(from), Block::from_u32(to)));
        let cfg = Cfg::from_edges(num_blocks, Block::from_u32(0), edges);
        let dominators = DominatorTree::new(&cfg);
        let cycles = CycleForest::new(&cfg);
        let index = BlockIndex::new(&cfg, &dominators, &cycles);
        ControlTables { cfg, dominators, cycles, index }
    }

    /// Collects all simple paths from the last block of `path` to a block.
    fn paths(cfg: &Cfg, path: &mut Vec<Block>, to: Block, found: &mut Vec<Vec<Block>>) {
        let last = path[path.len() - 1];
        for &succ in cfg.succs(last) {
            if succ == to {
                found.push([&path[1..], &[to]].concat());
            } else if !path.contains(&succ) {
                path.push(succ);
                paths(cfg, path, to, found);
                path.pop();
            }
        }
    }

    fn are_there_disjoint(cfg: &Cfg, from: Block, to: [Block; 2]) -> bool {
        let [one, other] = to.map(|to| {
            let mut found = Vec::new();
            paths(cfg, &mut vec![from], to, &mut found);
            found
        });
        let inner =
            |path: &[Block]| if to[0] == to[1] { path[..path.len() - 1].to_vec() } else { path.to_vec() };
        one.iter().enumerate().any(|(a, path)| {
            other.iter().enumerate().any(|(b, with)| {
                (to[0] != to[1] || a != b) && inner(path).iter().all(|block| !inner(with).contains(block))
            })
        })
    }

    #[test]
    fn the_definition_is_evaluated_as_it_stands() {
        let mut state = 1u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u32 % below
        };
        let mut count = 0;
        for _ in 0..3000 {
            let num_blocks = 3 + random(5);
            let edges: Vec<(u32, u32)> = (0..num_blocks)
                .flat_map(|from| {
                    let mut targets: Vec<u32> = (0..random(3)).map(|_| 1 + random(num_blocks - 1)).collect();
                    targets.dedup();
                    targets.into_iter().map(move |to| (from, to))
                })
                .collect();
            let control = tables(num_blocks as usize, &edges);
            let (cfg, cycles) = (&control.cfg, &control.cycles);
            for branch in cfg.blocks().filter(|&block| cfg.is_reachable(block) && cfg.succs(block).len() == 2)
            {
                let found = divergent_blocks(&control, branch);
                for block in cfg.blocks().filter(|&block| block != branch && cfg.is_reachable(block)) {
                    let is_left_apart = cycles.cycles().any(|cycle| {
                        cycles.contains(cycle, branch)
                            && cycles.exits(cfg, cycle).contains(&block)
                            && cycles.latches(cfg, cycle).into_iter().any(|latch| {
                                latch != branch && are_there_disjoint(cfg, branch, [block, latch])
                            })
                    });
                    let expected = cfg.succs(branch).contains(&block)
                        || are_there_disjoint(cfg, branch, [block, block])
                        || is_left_apart;
                    assert_eq!(found.contains(block), expected, "{edges:?}: {branch}, {block}");
                    count += usize::from(expected);
                }
            }
        }
        assert!(count > 1000, "{count}");
    }
}
