//! The block index: an order of all blocks in which everything that belongs together stands together.
//!
//! Partial linearization visits blocks in this order and may join whatever stands between two of them, so a
//! block in the wrong place costs a uniform branch. Three properties are wanted (thesis 2.5):
//!
//! * topological: every edge that is not retreating goes to a greater index;
//! * loop-compact: the blocks of each cycle are one interval, the header first;
//! * dominance-compact: the blocks that `b` dominates are one interval, `b` first.
//!
//! ```text
//!         block0               The last two contradict each other. The loop is block5, block1, block2 and the
//!           │                  latch block3, which is the last of the loop since all of it leads there.
//!           ▼                  block1 dominates itself and the exit block4, which comes after the loop; so the
//!         block5 ◄───┐         latch is between them, and block1 does not dominate it.
//!         │    │     │
//!         ▼    ▼     │         Were the edge from block2 to block3 not there, block1 would dominate the latch:
//!     block1  block2 │         5 2 1 3 4 has block1, block3 and block4 together.
//!      │  │    │     │
//!      │  └─►block3 ─┘
//!      ▼
//!     block4
//! ```
//!
//! What this order guarantees, for all graphs, besides being topological and loop-compact:
//!
//! 1. If `b` is in the cycle `C` (or `C` is the whole function) but in no cycle inside `C`, or only in ones that
//!    `b` enters alone, the blocks of `C` that `b` dominates are one interval.
//! 2. If for each cycle `C` around `b`, `b` dominates nothing outside of `C` or dominates all latches of `C`,
//!    then all that `b` dominates is one interval. So on acyclic graphs the order is dominance-compact.
//! 3. Nothing stronger is possible where a cycle has a unique latch that is in no inner cycle: such a latch comes
//!    last, for all of the cycle leads to it. If `b` is in `C` and dominates `x` outside, `x` comes after `b`,
//!    so after all of `C`, and an interval with `b` and `x` contains the latch, which `b` then must dominate.
//!
//! The construction. A *unit* of the cycle `C` is a block that is directly in `C`, or a cycle directly in it; the
//! function counts as the outermost cycle. All blocks of a cycle have the same dominators outside of it (what
//! avoids `d` on the way to one block goes on to the others without leaving the cycle), so the *host* of a unit
//! is well defined: the closest dominator outside of the unit, or, if that stands in another unit of `C`, this
//! unit; a unit whose closest dominator is outside of `C` is a root of `C`. PlacementUnits are placed after their hosts,
//! siblings in reverse post-order of their headers; a cycle's roots are placed in its place. PlacementUnits that were held
//! up because their host is a cycle that is still being placed follow it, *last held up, first placed*.
//!
//! Why it is topological: let `u -> v` connect the units `U` and `V` of `C`. `V` is a root of `C` or its host also
//! holds or dominates `U`; so `U` is the host, or descends from a sibling `K` of `V`. Reverse post-order of
//! headers is topological among units, so `K` comes before `V` if the same block dominates both. Else the host is a
//! cycle, `V`'s dominator in it dominates that of `K`, so is placed earlier, so `V` is held up earlier, so placed
//! later.
//!
//! Why 1 holds: what `b` dominates in `C` is the subtree of `b`'s unit, which is placed in one piece (if `b`
//! dominates `x` and both are in `C`, so are all blocks between them in the dominator tree).
//!
//! Why 2 holds: let `C` be the innermost cycle around `b`, and `b` dominate something outside of it, hence all its
//! latches. What `b` dominates in `C` is an interval by 1, and it ends `C`: let `y` be in `C`, not dominated by
//! `b`, but placed after it. A path leads from `y` to a latch without going through the header of `C`. It enters
//! what `b` dominates, so it goes through `b`; so `y` is in an earlier unit of `C` than `b` (not in the same one,
//! where it could only be before `b`), against what was assumed. The units held up until the end of `C` by blocks that `b` dominates were thus the last ones held up,
//! so they follow `C` immediately, and what `b` dominates in the next outer cycle is one interval again. The
//! same argument goes on outwards until `b` dominates nothing outside.
//!
//! Theorem 5 of the thesis asks for dominance-compactness. A pass that relies on it for a certain block asks
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

/// A topological, loop-compact and as far as possible dominance-compact order of the reachable blocks.
#[derive(Clone, Debug)]
pub struct BlockIndex {
    order: Vec<Block>,
    number: SecondaryMap<Block, u32>,
    cycles: Vec<Range<usize>>,
    /// The end of the interval of what a block dominates, if it is one.
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

    /// The blocks, by index.
    pub fn order(&self) -> &[Block] {
        &self.order
    }

    /// The index of a block, if reachable.
    #[inline]
    pub fn number(&self, block: Block) -> Option<usize> {
        Some(self.number[block]).filter(|&number| number != NONE).map(|number| number as usize)
    }

    /// The indices of the cycle's blocks. The header has the least one. A unique latch that is in no inner cycle
    /// has the greatest.
    pub fn cycle_range(&self, cycle: Cycle) -> Range<usize> {
        self.cycles[cycle.index()].clone()
    }

    /// The indices of the blocks that this one dominates, if they are an interval.
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
            // Children that are not compact themselves may make up a compact whole.
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

/// Which units are placed where.
struct PlacementUnits {
    /// Per block: the units whose closest dominator it is, and the cycle after which they are placed if that is
    /// not right after the block.
    dominated: Lists<(PlacementStep, Option<Cycle>)>,
    /// Per cycle: the units whose closest dominator is outside of it.
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
