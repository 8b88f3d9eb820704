//! Block index: a topological, loop-compact order of all blocks, dominance-compact where possible.
//!
//! Partial linearization visits blocks in this order and may merge all blocks between two others, so a misplaced block
//! costs a uniform branch. The order should have three properties (thesis 2.5):
//!
//! * topological: every edge that is not retreating leads to a greater index;
//! * loop-compact: the blocks of each cycle are one interval, the header first;
//! * dominance-compact: the blocks that `b` dominates are one interval, `b` first.
//!
//! ```text
//!         block0               The last two properties conflict. The loop consists of block5, block1, block2 and the
//!           │                  latch block3, which comes last because the whole loop reaches it.
//!           ▼                  block1 dominates itself and the exit block4, which comes after the loop. So the latch is
//!         block5 ◄───┐         between them, and block1 does not dominate it.
//!         │    │     │
//!         ▼    ▼     │         Without the edge from block2 to block3, block1 dominates the latch: in the order
//!     block1  block2 │         5 2 1 3 4, block1, block3 and block4 are contiguous.
//!      │  │    │     │
//!      │  └─►block3 ─┘
//!      ▼
//!     block4
//! ```
//!
//! The order is topological and loop-compact. Further guarantees for all graphs:
//!
//! 1. If `b` is in the cycle `C` (or `C` is the whole function) but in no cycle inside `C`, or only in ones that
//!    `b` enters alone, the blocks of `C` that `b` dominates are one interval.
//! 2. If for each cycle `C` around `b`, `b` dominates nothing outside of `C` or dominates all latches of `C`,
//!    then all that `b` dominates is one interval. So on acyclic graphs the order is dominance-compact.
//! 3. Nothing stronger is possible where a cycle has a unique latch that is in no inner cycle. Such a latch comes last,
//!    because every block of the cycle reaches it. If `b` is in `C` and dominates `x` outside, `x` comes after `b`, so
//!    after all of `C`. An interval with `b` and `x` then contains the latch, which `b` must dominate.
//!
//! Construction: a *unit* of the cycle `C` is a block directly in `C`, or a direct inner cycle of `C`; the function counts
//! as the outermost cycle. All blocks of a cycle have the same dominators outside of it, since a path that avoids `d` to
//! one of them extends to the others inside the cycle. So the *host* of a unit is well defined: the closest dominator
//! outside of the unit, or the unit of `C` that contains this dominator. A unit whose closest dominator is outside of `C`
//! is a root of `C`. Units are placed after their hosts, siblings in reverse post-order of their headers. A cycle's roots
//! are placed at the cycle's position. A unit whose host is a cycle still being placed is delayed until the cycle ends;
//! the *last delayed unit is placed first*.
//!
//! Proof that it is topological: let `u -> v` connect the units `U` and `V` of `C`. `V` is a root of `C`, or its host also
//! contains or dominates `U`; so `U` is the host, or descends from a sibling `K` of `V`. Reverse post-order of headers is
//! topological among units, so `K` comes before `V` if the same block dominates both. Else the host is a cycle, and `V`'s
//! dominator in it dominates that of `K`. It is placed earlier, so `V` is delayed earlier and placed later.
//!
//! Proof of 1: what `b` dominates in `C` is the subtree of `b`'s unit, which is placed contiguously. (If `b` dominates `x`
//! and both are in `C`, so are all blocks between them in the dominator tree.)
//!
//! Proof of 2: let `C` be the innermost cycle around `b`, and let `b` dominate a block outside of it, hence all its latches.
//! The blocks of `C` that `b` dominates are an interval by 1, which ends `C`. Otherwise let `y` be in `C`, not dominated by
//! `b`, but placed after it. A path leads from `y` to a latch without the header of `C`. It enters what `b` dominates, so it
//! contains `b`. So `y` is in an earlier unit of `C` than `b` (in the same unit it would be before `b`), a contradiction.
//! The units delayed until the end of `C` by blocks that `b` dominates were thus the last ones delayed. They follow `C`
//! immediately, and what `b` dominates in the next outer cycle is one interval again. The argument repeats outwards until
//! `b` dominates nothing outside.
//!
//! Theorem 5 of the thesis requires dominance-compactness. A pass that relies on it for a certain block checks
//! [`BlockIndex::dominated_range`].

use std::ops::Range;

use heddle_ir::Block;
use heddle_ir::entity::{Entity, SecondaryMap};

use crate::cfg::Cfg;
use crate::cycles::{Cycle, CycleForest};
use crate::dominators::DominatorTree;
use crate::lists::Lists;
use crate::order::DepthFirstOrder;
use crate::tree::NONE;

/// Topological, loop-compact and mostly dominance-compact order of the reachable blocks.
#[derive(Clone, Debug)]
pub struct BlockIndex {
    order: Vec<Block>,
    number: SecondaryMap<Block, u32>,
    cycles: Vec<Range<usize>>,
    /// End of the interval of dominated blocks; [`NONE`] if they are no interval.
    dominated_end: SecondaryMap<Block, u32>,
}

impl BlockIndex {
    /// Orders the reachable blocks.
    pub fn new(cfg: &Cfg, dominators: &DominatorTree, cycles: &CycleForest) -> Self {
        let mut index = Self {
            order: Vec::with_capacity(cfg.num_reachable()),
            number: SecondaryMap::filled(NONE, cfg.num_blocks()),
            cycles: vec![0..0; cycles.num_cycles()],
            dominated_end: SecondaryMap::filled(NONE, cfg.num_blocks()),
        };
        index.place_all(&PlacementUnits::new(cfg, dominators, cycles), cfg, cycles);
        index.find_dominated_ends(dominators);
        index
    }

    /// Returns the blocks in index order.
    pub fn order(&self) -> &[Block] {
        &self.order
    }

    /// Returns the index of a block, if reachable.
    #[inline]
    pub fn number(&self, block: Block) -> Option<usize> {
        Some(self.number[block]).filter(|&number| number != NONE).map(|number| number as usize)
    }

    /// Returns the indices of the cycle's blocks. The header has the minimum. A unique latch in no inner cycle has the
    /// maximum.
    pub fn cycle_range(&self, cycle: Cycle) -> Range<usize> {
        self.cycles[cycle.index()].clone()
    }

    /// Returns the indices of the dominated blocks, if they are an interval.
    pub fn dominated_range(&self, block: Block) -> Option<Range<usize>> {
        let end = self.dominated_end[block];
        (end != NONE).then(|| self.number[block] as usize..end as usize)
    }

    fn place_all(&mut self, units: &PlacementUnits, cfg: &Cfg, cycles: &CycleForest) {
        // The function's entry is the header of an outermost cycle, or in no cycle.
        let first =
            cycles.headed_by(cfg.entry()).map_or(PlacementStep::Block(cfg.entry()), PlacementStep::Cycle);
        let mut held_up: Vec<Vec<PlacementStep>> = vec![Vec::new(); cycles.num_cycles()];
        let mut steps = vec![first];
        while let Some(step) = steps.pop() {
            match step {
                PlacementStep::Block(block) => {
                    self.number[block] = self.order.len() as u32;
                    self.order.push(block);
                    for &(unit, until) in units.dominated.get(block.index()).iter().rev() {
                        match until {
                            None => steps.push(unit),
                            Some(cycle) => held_up[cycle.index()].push(unit),
                        }
                    }
                }
                PlacementStep::Cycle(cycle) => {
                    self.cycles[cycle.index()].start = self.order.len();
                    steps.push(PlacementStep::EndOf(cycle));
                    steps.extend(units.roots.get(cycle.index()).iter().rev());
                }
                PlacementStep::EndOf(cycle) => {
                    self.cycles[cycle.index()].end = self.order.len();
                    steps.append(&mut held_up[cycle.index()]);
                }
            }
        }
    }

    fn find_dominated_ends(&mut self, dominators: &DominatorTree) {
        for &block in dominators.pre_order().iter().rev() {
            // Subtrees that are not compact may combine to a compact one.
            self.dominated_end[block] = dominators
                .children(block)
                .iter()
                .map(|&child| self.dominated_end[child])
                .fold(self.number[block] + 1, u32::max);
        }
        for &block in dominators.pre_order() {
            let len = self.dominated_end[block] - self.number[block];
            if len as usize != dominators.dominated(block).len() {
                self.dominated_end[block] = NONE;
            }
        }
    }
}

#[derive(Clone, Copy)]
enum PlacementStep {
    Block(Block),
    Cycle(Cycle),
    EndOf(Cycle),
}

/// Placement of the units.
struct PlacementUnits {
    /// Units by closest dominator, with the cycle after which they are placed; none if directly after the block.
    dominated: Lists<(PlacementStep, Option<Cycle>)>,
    /// Units of each cycle whose closest dominator is outside of it.
    roots: Lists<PlacementStep>,
}

impl PlacementUnits {
    fn new(cfg: &Cfg, dominators: &DominatorTree, cycles: &CycleForest) -> Self {
        let search = DepthFirstOrder::new(cfg);
        let mut dominated = Vec::new();
        let mut roots = Vec::new();
        let mut add = |unit: PlacementStep, parent: Option<Cycle>, header: Block| {
            let idom = dominators.idom(header);
            match (parent, idom) {
                (Some(parent), Some(idom)) if !cycles.contains(parent, idom) => {
                    roots.push((parent.index(), unit));
                }
                (Some(parent), None) => roots.push((parent.index(), unit)),
                (_, Some(idom)) => {
                    dominated.push((idom.index(), (unit, cycles.outermost_without(idom, header))));
                }
                (None, None) => {}
            }
        };
        for block in search.reverse_post_order() {
            add(PlacementStep::Block(block), cycles.innermost(block), block);
            if let Some(cycle) = cycles.headed_by(block) {
                add(PlacementStep::Cycle(cycle), cycles.parent(cycle), block);
            }
        }
        Self {
            dominated: Lists::new(cfg.num_blocks(), dominated.iter().copied()),
            roots: Lists::new(cycles.num_cycles(), roots.iter().copied()),
        }
    }
}
