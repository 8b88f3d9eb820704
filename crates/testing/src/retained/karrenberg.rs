//! Linearization as in R. Karrenberg and S. Hack, *Improving Performance of OpenCL on CPUs*, 3.3.
//!
//! A *region* extends from a divergent branch to its reconvergence point. Overlapping regions are merged, as is a region
//! with a side entry into the one around it. No divergent block of a region may be skipped: an edge to a divergent
//! block, or out of the region, leads to the first divergent block of the region that has not been executed. Edges to
//! other blocks stay.
//!
//! Where the paper leaves a choice, the implementation takes the one that keeps more control flow. In the block order,
//! dominated blocks follow their dominator directly; a block belongs to the smallest region around it; regions that only
//! share an exit stay separate; lanes outside of regions keep their edges. For some graphs no such order exists (the
//! paper's Fig. 7, on the right); then there is no result.

use heddle_analysis::baselines::divergent_blocks;
use heddle_analysis::{BlockIndex, Cfg, ControlTables, CycleForest, DominatorTree, Edge, PostDominatorTree};
use heddle_ir::Block;
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_transform::linearize::{LinearEdges, iteration_graph};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Region between divergent branches and their reconvergence point.
struct DivergentRegion {
    blocks: EntitySet<Block>,
    /// Its divergent blocks that are in no smaller region, in order.
    turns: Vec<Block>,
    /// The smallest region around.
    parent: Option<usize>,
}

/// The graph, as regions see it.
struct DivergentRegions<'a> {
    cfg: &'a Cfg,
    cycles: &'a CycleForest,
    index: &'a BlockIndex,
    /// From small to large.
    all: Vec<DivergentRegion>,
    /// The region that a divergent branch begins, which it is not in itself.
    begun: FxHashMap<Block, Option<usize>>,
}

/// Linearizes the branches of these blocks; `None` if the required block order does not exist.
pub(super) fn linearize_as_karrenberg(
    cfg: &Cfg,
    cycles: &CycleForest,
    index: &BlockIndex,
    divergent: &EntitySet<Block>,
    dead_ends: &EntitySet<Block>,
) -> Option<LinearEdges> {
    let regions = DivergentRegions::new(cfg, cycles, index, divergent);
    let mut targets: SecondaryMap<Block, SmallVec<[Block; 2]>> =
        SecondaryMap::filled(SmallVec::new(), cfg.num_blocks());
    let mut dropped = EntitySet::new();
    for &block in index.order() {
        let mut succs = cfg.succs(block);
        if dead_ends.contains(block) && regions.around(block).is_none() {
            succs = &succs[..succs.len() - 1];
            dropped.insert(block);
        }
        let diverges = divergent.contains(block);
        let from = regions.begun.get(&block).copied().unwrap_or_else(|| regions.around(block));
        let new = |&to: &Block| regions.target(block, from, to, diverges);
        let mut all: SmallVec<[Block; 2]> = succs.iter().map(new).collect();
        if all.iter().all(|&to| to == all[0]) {
            all.truncate(1);
        } else if diverges {
            return None;
        }
        targets[block] = all;
    }
    let folded = LinearEdges::new(targets, dropped);
    regions.are_kept(&folded).then_some(folded)
}

impl<'a> DivergentRegions<'a> {
    fn new(
        cfg: &'a Cfg,
        cycles: &'a CycleForest,
        index: &'a BlockIndex,
        divergent: &EntitySet<Block>,
    ) -> DivergentRegions<'a> {
        let post_dominators = PostDominatorTree::new(&iteration_graph(cfg, cycles));
        let begins: Vec<(Block, EntitySet<Block>)> = divergent
            .iter()
            .map(|branch| (branch, between(cfg, cycles, branch, post_dominators.ipdom(branch))))
            .collect();
        let mut sets: Vec<EntitySet<Block>> = begins.iter().map(|(_, set)| set.clone()).collect();
        while let Some((a, b)) = overlap(&sets) {
            let other = sets.swap_remove(b);
            other.iter().for_each(|block| _ = sets[a].insert(block));
        }
        sets.retain(|set| !set.is_empty());
        sets.sort_by_key(|set| (set.iter().count(), set.iter().next()));
        sets.dedup_by(|a, b| contains(a, b) && contains(b, a));
        sets = only_from_above(cfg, &begins, sets);

        let dominators = DominatorTree::new(cfg);
        let control =
            ControlTables { cfg: cfg.clone(), dominators, cycles: cycles.clone(), index: index.clone() };
        let mut meets = EntitySet::new();
        for branch in divergent.iter() {
            divergent_blocks(&control, branch).iter().for_each(|block| _ = meets.insert(block));
        }
        let mut all: Vec<DivergentRegion> = Vec::new();
        for (at, blocks) in sets.iter().enumerate() {
            let is_inner = |block| sets[..at].iter().any(|inner| inner.contains(block));
            let is_turn =
                |&block: &Block| blocks.contains(block) && meets.contains(block) && !is_inner(block);
            let turns = index.order().iter().copied().filter(is_turn).collect();
            let parent = (at + 1..sets.len()).find(|&outer| contains(&sets[outer], blocks));
            all.push(DivergentRegion { blocks: blocks.clone(), turns, parent });
        }
        let smallest = |inner: &EntitySet<Block>| sets.iter().position(|set| contains(set, inner));
        let begun = begins.iter().map(|(branch, set)| (*branch, smallest(set))).collect();
        DivergentRegions { cfg, cycles, index, all, begun }
    }

    /// The smallest region around a block.
    fn around(&self, block: Block) -> Option<usize> {
        self.all.iter().position(|region| region.blocks.contains(block))
    }

    /// Where an edge leads to that starts in a region, or at the branch before it.
    fn target(&self, block: Block, from: Option<usize>, to: Block, diverges: bool) -> Block {
        if self.cycles.is_retreating(Edge { from: block, to }) {
            return to;
        }
        // A lane that leaves a loop does not return to it.
        let position = match self.cycles.outermost_without(block, to) {
            Some(left) => self.index.cycle_range(left).end - 1,
            None => self.number(block),
        };
        let mut region = from;
        while let Some(at) = region {
            let DivergentRegion { blocks, turns, parent } = &self.all[at];
            if blocks.contains(to) && !diverges && !self.is_turn(to) {
                return to;
            }
            if let Some(&next) = turns.iter().find(|&&turn| self.number(turn) > position) {
                return next;
            }
            region = *parent;
        }
        to
    }

    fn is_turn(&self, block: Block) -> bool {
        self.all.iter().any(|region| region.turns.contains(&block))
    }

    fn number(&self, block: Block) -> usize {
        self.index.number(block).unwrap_or(usize::MAX)
    }

    /// True if every path still reaches its original targets, whatever branches it takes.
    fn are_kept(&self, folded: &LinearEdges) -> bool {
        let (cfg, cycles) = (self.cfg, self.cycles);
        let edges = self
            .index
            .order()
            .iter()
            .flat_map(|&from| folded.targets(from).iter().map(move |&to| (from, to)));
        let new = Cfg::from_edges(cfg.num_blocks(), cfg.entry(), edges);
        let goes_on =
            |&edge: &Edge| self.number(edge.to) > self.number(edge.from) || cycles.is_retreating(edge);
        if !new.edges().all(|edge| goes_on(&edge)) {
            return false;
        }
        let new_cycles = CycleForest::new(&new);
        if !new_cycles.is_graph_reducible() || new_cycles.num_cycles() != cycles.num_cycles() {
            return false;
        }
        let post_dominators = PostDominatorTree::new(&iteration_graph(&new, &new_cycles));
        self.index.order().iter().all(|&from| {
            let succs = cfg.succs(from);
            succs.iter().enumerate().all(|(slot, &to)| {
                match folded.carrier(from, slot, slot + 1 == succs.len()) {
                    None => true,
                    Some(carrier) => carrier == to || post_dominators.post_dominates(to, carrier),
                }
            })
        })
    }
}

/// Returns the blocks reachable from a branch before its reconvergence point.
fn between(cfg: &Cfg, cycles: &CycleForest, branch: Block, end: Option<Block>) -> EntitySet<Block> {
    let mut found = EntitySet::new();
    let mut worklist = vec![branch];
    while let Some(from) = worklist.pop() {
        for &to in cfg.succs(from) {
            if Some(to) != end && !cycles.is_retreating(Edge { from, to }) && found.insert(to) {
                worklist.push(to);
            }
        }
    }
    found
}

/// Keeps the regions that are entered by their branches alone; others become part of the smallest enclosing region.
fn only_from_above(
    cfg: &Cfg,
    begins: &[(Block, EntitySet<Block>)],
    sets: Vec<EntitySet<Block>>,
) -> Vec<EntitySet<Block>> {
    let is_only = |at: usize| {
        let set = &sets[at];
        let begins = |from: Block| begins.iter().any(|(branch, its)| *branch == from && contains(set, its));
        let is_outermost = !sets[at + 1..].iter().any(|outer| contains(outer, set));
        is_outermost
            || set.iter().all(|block| cfg.preds(block).iter().all(|&from| set.contains(from) || begins(from)))
    };
    (0..sets.len()).filter(|&at| is_only(at)).map(|at| sets[at].clone()).collect()
}

fn contains(outer: &EntitySet<Block>, inner: &EntitySet<Block>) -> bool {
    inner.iter().all(|block| outer.contains(block))
}

/// Two regions that share blocks, none of them within the other.
fn overlap(sets: &[EntitySet<Block>]) -> Option<(usize, usize)> {
    let shares = |a: &EntitySet<Block>, b: &EntitySet<Block>| a.iter().any(|block| b.contains(block));
    (0..sets.len()).flat_map(|a| (a + 1..sets.len()).map(move |b| (a, b))).find(|&(a, b)| {
        shares(&sets[a], &sets[b]) && !contains(&sets[a], &sets[b]) && !contains(&sets[b], &sets[a])
    })
}
