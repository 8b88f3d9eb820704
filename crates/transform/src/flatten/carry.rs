//! Repairs SSA form: carries values through N and L that are defined in one state and read in another.
//!
//! A value is carried only in states where it is live: whose loop, before flattening, reads it. In all other states it is
//! poison, so lanes wait with no value that they do not need.

use heddle_analysis::{Cfg, DominatorTree, Liveness};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::{Block, Function, Op, Value, ValueDef};
use std::collections::BTreeMap;

use super::rewrite::{FlattenedNest, LoopNest, NextState};
use crate::cfg_analyses::CfgAnalyses;
use crate::ssa_repair::{SsaRepair, UseSite};

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
    let mut broken: BTreeMap<Value, Vec<UseSite>> = BTreeMap::new();
    let reading = nest.blocks.iter().copied().chain([made.latch]);
    for block in reading {
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            for (operand, &value) in data.args.iter().enumerate() {
                let ValueDef::Result(definition, _) = func.value_def(value) else { continue };
                let Some(def_block) =
                    func.layout.block_of(definition).filter(|&def_block| is_inside.contains(def_block))
                else {
                    continue;
                };
                let at = match data.op {
                    Op::Phi => data.incoming().nth(operand).map_or(block, |(from, _)| from),
                    _ => block,
                };
                // Operands of φs at L are read at the start of their edge.
                let at = source_of[at].unwrap_or(at);
                if !dominators.dominates(def_block, at) {
                    broken.entry(value).or_default().push(UseSite { inst, operand, block: at });
                }
            }
        }
    }
    if broken.is_empty() {
        return;
    }
    let repair = SsaRepair::new(cfg, dominators);
    for (value, reads) in broken {
        let Some(def_block) = func.def_inst(value).and_then(|inst| func.layout.block_of(inst)) else {
            continue;
        };
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
