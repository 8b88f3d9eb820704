//! Repairs SSA form: carries values through N and L that are defined in one state and read in another.
//!
//! A value is carried only in states where it is live: whose loop, before flattening, reads it. In all other states it is
//! poison, so lanes wait with no value that they do not need.

use heddle_analysis::{Cfg, DominatorTree, Liveness};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::{Block, Function};

use super::rewrite::{FlattenedNest, LoopNest, NextState};
use crate::cfg_analyses::CfgAnalyses;
use crate::ssa_repair::{SsaRepair, find_broken_uses};

/// Inserts φs for values that no longer dominate their uses. `liveness` is that of the function before the rewrite.
pub(super) fn carry(
    func: &mut Function,
    flow: &CfgAnalyses,
    liveness: &Liveness<'_>,
    nest: &LoopNest,
    made: &FlattenedNest,
) {
    let (cfg, dominators): (&Cfg, &DominatorTree) = (&flow.cfg, flow.dominators());
    let is_inside: EntitySet<Block> = nest.blocks.iter().copied().collect();
    let mut source_of: SecondaryMap<Block, Option<Block>> = SecondaryMap::with_len(func.block_count());
    made.edges.iter().for_each(|edge| source_of[edge.block] = Some(edge.source));
    // Operands of φs at L are read at the start of their edge.
    let read_in = |block: Block| source_of[block].unwrap_or(block);
    let reading = nest.blocks.iter().copied().chain([made.latch]);
    let mut broken = find_broken_uses(func, dominators, reading, read_in);
    broken.retain(|_, &mut (def_block, _)| is_inside.contains(def_block));
    if broken.is_empty() {
        return;
    }
    let repair = SsaRepair::new(cfg, dominators);
    for (value, (def_block, reads)) in broken {
        let none = func.make_poison(func.value_type(value));
        let mut definitions = vec![(nest.preheader, none), (def_block, value)];
        let is_live: Vec<bool> =
            nest.inner.iter().map(|inner| liveness.is_live_in(value, inner.header)).collect();
        for edge in &made.edges {
            if !matches!(edge.next, NextState::Iterate(state) if state > 0 && is_live[state - 1]) {
                definitions.push((edge.block, none));
            }
        }
        repair.rename(func, &definitions, &reads);
    }
}
