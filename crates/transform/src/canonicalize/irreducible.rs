//! Makes irreducible cycles reducible: gives each a single header, a dispatch block, without duplicating code.
//!
//! ```text
//!        block0                         block0
//!        │    │                         │    │
//!        ▼    ▼                         ▼    ▼
//!     block1 ◄─► block2                block3 ◄───┐      block3: v9 = phi i1 [block0: …] [block1: false] [block2: true]
//!                                      │    │     │              br v9, block1, block2
//!                                      ▼    ▼     │
//!                                  block1  block2─┤      (block0's edges are split, to tell them apart)
//!                                      └──────────┘
//! ```
//!
//! Node splitting would execute a horizontal twice, with half of the lanes each (thesis 12.7). Instead, every edge to an entry
//! of the cycle, from outside or inside, is redirected to the dispatch block. A φ there records the intended entry, and a chain
//! of branches leads to it. Without its edges to entries, the inside of the cycle may have further cycles, which are
//! treated alike. The same forest defines greedy schedules of irreducible graphs (design §4.6). So lanes meet exactly where
//! they met in the source: at the latch until the rest of the iteration is over, then at the dispatch block.
//!
//! No value needs repair: if `x` dominated `u`, it still does. A new path is an old one except for jumps, at the dispatch
//! block, from "on the way to entry `a`" to entry `b`. Take `x` inside the cycle. It dominates the source of no edge that enters
//! from outside, or that source would be on a cycle with it, so inside; hence `b` was reachable without `x` before.
//! Now take `x` outside that dominates one block of the cycle. It dominates all of them and all entering edges, since from each
//! entry a path inside leads to each block. The verifier checks it all the same.
//!
//! The original graph decides everything: only edges to entries change, and an entry is in no later cycle.
//!
//! Time: linear except for cycles nested in irreducible ones, which cost once more per level.

use heddle_analysis::{Cfg, Cycle, CycleForest};
use heddle_ir::entity::Entity as _;
use heddle_ir::inst::InstData;
use heddle_ir::types::Scalar;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Builder, Function, InsertPoint, Inst, Type, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg_analyses::CfgAnalyses;
use crate::edges::{append_jump, phis, retarget, set_incoming};

/// Makes every cycle a natural loop. Returns true if one was irreducible.
pub(crate) fn make_reducible(func: &mut Function, flow: &CfgAnalyses) -> bool {
    let (cfg, forest) = (&flow.cfg, flow.forest());
    if forest.is_graph_reducible() {
        return false;
    }
    let mut regions: Vec<Vec<Block>> = outermost_irreducible(forest)
        .into_iter()
        .map(|cycle| sorted(forest.blocks(cycle).to_vec()))
        .collect();
    let mut finder = ComponentFinder::new(cfg.num_blocks());
    while let Some(cycle) = regions.pop() {
        finder.mark(&cycle);
        let is_entry = |block: &Block| cfg.preds(*block).iter().any(|&pred| finder.index_of(pred).is_none());
        let (entries, rest): (Vec<Block>, Vec<Block>) = cycle.into_iter().partition(is_entry);
        if entries.len() > 1 {
            DispatchBuilder { func, cfg }.run(&entries);
        }
        regions.extend(finder.find_components(cfg, &rest));
    }
    debug_assert!(CycleForest::new(&Cfg::new(func)).is_graph_reducible());
    true
}

/// Returns the outermost irreducible cycles.
fn outermost_irreducible(forest: &CycleForest) -> Vec<Cycle> {
    let mut worklist: Vec<Cycle> = forest.outermost().collect();
    let mut found = Vec::new();
    while let Some(cycle) = worklist.pop() {
        match forest.is_reducible(cycle) {
            true => worklist.extend(forest.children(cycle)),
            false => found.push(cycle),
        }
    }
    found
}

fn sorted(mut blocks: Vec<Block>) -> Vec<Block> {
    blocks.sort_unstable();
    blocks
}

/// Not visited yet.
const NONE: u32 = u32::MAX;

/// Scratch table shared by all regions, so that each costs time linear in its own size.
struct ComponentFinder {
    /// For each block, the last region that contained it and its index there.
    last_seen: Vec<(u32, u32)>,
    region: u32,
}

impl ComponentFinder {
    fn new(num_blocks: usize) -> ComponentFinder {
        ComponentFinder { last_seen: vec![(0, 0); num_blocks], region: 0 }
    }

    fn mark(&mut self, blocks: &[Block]) {
        self.region += 1;
        for (index, block) in blocks.iter().enumerate() {
            self.last_seen[block.index()] = (self.region, index as u32);
        }
    }

    /// Returns the index of a block in the current region.
    fn index_of(&self, block: Block) -> Option<u32> {
        let (region, index) = self.last_seen[block.index()];
        (region == self.region).then_some(index)
    }

    /// Returns the strongly connected components with more than one block of the subgraph of these blocks (Tarjan). Each keeps the order
    /// of the input. A single block is the only entry of its cycle, if it has one.
    fn find_components(&mut self, cfg: &Cfg, blocks: &[Block]) -> Vec<Vec<Block>> {
        self.mark(blocks);
        let (mut number, mut low) = (vec![NONE; blocks.len()], vec![0; blocks.len()]);
        // Component of each finished block, and the size of each component.
        let (mut component, mut sizes) = (vec![NONE; blocks.len()], Vec::new());
        let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
        let mut next_number = 0;
        for root in 0..blocks.len() as u32 {
            if number[root as usize] != NONE {
                continue;
            }
            path.push((root, 0));
            while let Some(&mut (at, ref mut edge)) = path.last_mut() {
                if *edge == 0 && number[at as usize] == NONE {
                    (number[at as usize], low[at as usize]) = (next_number, next_number);
                    next_number += 1;
                    open.push(at);
                }
                let targets = cfg.succs(blocks[at as usize]);
                if let Some(&target) = targets.get(*edge) {
                    *edge += 1;
                    if let Some(to) = self.index_of(target) {
                        if number[to as usize] == NONE {
                            path.push((to, 0));
                        } else if component[to as usize] == NONE {
                            low[at as usize] = low[at as usize].min(number[to as usize]);
                        }
                    }
                    continue;
                }
                path.pop();
                if let Some(&(above, _)) = path.last() {
                    low[above as usize] = low[above as usize].min(low[at as usize]);
                }
                if low[at as usize] == number[at as usize] {
                    let mut size = 0;
                    while let Some(member) = open.pop() {
                        component[member as usize] = sizes.len() as u32;
                        size += 1;
                        if member == at {
                            break;
                        }
                    }
                    sizes.push(size);
                }
            }
        }
        let mut found: Vec<Vec<Block>> = sizes.iter().map(|&size| Vec::with_capacity(size)).collect();
        for (&block, &component) in blocks.iter().zip(&component) {
            if sizes[component as usize] > 1 {
                found[component as usize].push(block);
            }
        }
        found.retain(|component| !component.is_empty());
        found
    }
}

fn distinct(blocks: &[Block]) -> Vec<Block> {
    let mut seen = FxHashSet::default();
    blocks.iter().copied().filter(|&block| seen.insert(block)).collect()
}

struct DispatchBuilder<'a> {
    func: &'a mut Function,
    /// The original graph; the edges around these entries are still the same.
    cfg: &'a Cfg,
}

impl DispatchBuilder<'_> {
    fn run(mut self, entries: &[Block]) {
        let moved: Vec<Vec<Block>> = entries.iter().map(|&entry| distinct(self.cfg.preds(entry))).collect();
        let mut entries_from: FxHashMap<Block, usize> = FxHashMap::default();
        for &source in moved.iter().flatten() {
            *entries_from.entry(source).or_default() += 1;
        }

        // Edges into the dispatch block: for each entry, the original source and the block that replaces it.
        let dispatch = self.func.insert_block_after(moved[0][0]);
        let mut edges: Vec<Vec<(Block, Block)>> = Vec::with_capacity(entries.len());
        for (&entry, sources) in entries.iter().zip(&moved) {
            let mut from = Vec::with_capacity(sources.len());
            for &source in sources {
                if entries_from[&source] == 1 {
                    retarget(self.func, source, entry, dispatch);
                    from.push((source, source));
                } else {
                    let split = self.func.insert_block_after(source);
                    retarget(self.func, source, entry, split);
                    append_jump(self.func, split, dispatch);
                    from.push((source, split));
                }
            }
            edges.push(from);
        }
        let chain = self.branch_to(dispatch, entries, &edges);
        let after_phis = self.func.first_non_phi(dispatch).expect("the dispatch block branches");
        for (index, (&entry, &from)) in entries.iter().zip(&chain).enumerate() {
            self.move_phis(entry, index, from, after_phis, &edges);
        }
    }

    /// Emits the chain of branches on the φ of the intended entry. Returns the block that branches to each entry.
    fn branch_to(&mut self, dispatch: Block, entries: &[Block], edges: &[Vec<(Block, Block)>]) -> Vec<Block> {
        let scalar = if entries.len() == 2 { Scalar::I1 } else { Scalar::I32 };
        let mut incoming = Vec::new();
        for (index, from) in edges.iter().enumerate() {
            // Of two entries the first one is `true`.
            let number = if scalar == Scalar::I1 { 1 - index } else { index };
            let number = self.func.make_int(scalar, number as i128);
            incoming.extend(from.iter().map(|&(_, source)| (source, number)));
        }
        let phi = self.func.make_inst(InstData::phi(incoming, None), &[Type::Scalar(scalar)]);
        self.func.layout.append_inst(phi, dispatch);
        let intended = self.func.results(phi)[0];

        let mut chain = Vec::with_capacity(entries.len());
        let mut here = dispatch;
        for (index, &entry) in entries[..entries.len() - 1].iter().enumerate() {
            let is_last = index + 2 == entries.len();
            let otherwise = if is_last { entries[index + 1] } else { self.func.insert_block_after(here) };
            let number = self.func.make_int(scalar, index as i128);
            let mut builder = Builder::new(self.func, InsertPoint::End(here));
            let is_intended = match scalar {
                Scalar::I1 => intended,
                _ => builder.icmp(IntPredicate::Eq, intended, number),
            };
            builder.branch(is_intended, entry, otherwise);
            chain.push(here);
            if is_last {
                chain.push(here);
            }
            here = otherwise;
        }
        chain
    }

    /// Merges the operands of an entry's φs in the dispatch block, with poison on edges to other entries.
    fn move_phis(
        &mut self,
        entry: Block,
        index: usize,
        from: Block,
        after_phis: Inst,
        edges: &[Vec<(Block, Block)>],
    ) {
        let new_source: FxHashMap<Block, Block> = edges[index].iter().copied().collect();
        for phi in phis(self.func, entry) {
            let mut moved: FxHashMap<Block, Value> = FxHashMap::default();
            let mut first = None;
            let mut agree = true;
            for (source, value) in self.func.inst(phi).incoming() {
                agree &= *first.get_or_insert(value) == value;
                moved.insert(new_source[&source], value);
            }
            let Some(first) = first else { continue };
            let is_everywhere = matches!(self.func.value_def(first), ValueDef::Const | ValueDef::Param(_));
            let value = if agree && is_everywhere {
                first
            } else {
                let ty = self.func.value_type(first);
                let poison = self.func.make_poison(ty);
                let incoming: Vec<(Block, Value)> = edges
                    .iter()
                    .flatten()
                    .map(|&(_, source)| (source, moved.get(&source).copied().unwrap_or(poison)))
                    .collect();
                let origin = self.func.inst(phi).origin;
                let data = InstData { origin, ..InstData::phi(incoming, None) };
                let joined = self.func.make_inst(data, &[ty]);
                self.func.layout.insert_inst_before(joined, after_phis);
                self.func.results(joined)[0]
            };
            set_incoming(self.func, phi, [(from, value)]);
        }
    }
}
