//! Repairs uses that their definitions no longer dominate.
//!
//! Linearization preserves dominance on graphs with one exit. A dead end gets a successor, so a path may bypass a
//! definition that dominated the successor before. No active lane takes that path, so the value is poison there.

use heddle_analysis::{Cfg, DominatorTree};
use heddle_ir::inst::Detail;
use heddle_ir::{Block, Function, Inst, Value};
use std::collections::BTreeMap;

use crate::ssa_repair::SsaRepair;

/// Position of a use.
#[derive(Clone, Copy)]
enum UsePosition {
    Operand(Inst, usize),
    Predicate(Block),
}

/// Inserts φs for uses that their definitions don't dominate.
pub(super) fn restore_dominance(func: &mut Function) {
    let cfg = Cfg::new(func);
    let dominators = DominatorTree::new(&cfg);
    let mut cut_off: BTreeMap<Value, (Block, Vec<(Block, UsePosition)>)> = BTreeMap::new();
    let mut check = |value: Value, block: Block, position: UsePosition| {
        let definition = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
        if let Some(definition) = definition.filter(|&above| !dominators.dominates(above, block)) {
            cut_off.entry(value).or_insert_with(|| (definition, Vec::new())).1.push((block, position));
        }
    };
    for block in func.blocks() {
        if let Some(predicate) = func.predicate(block) {
            check(predicate, block, UsePosition::Predicate(block));
        }
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            let joined: &[Block] = match &data.detail {
                Detail::Phi(blocks) => blocks,
                _ => &[],
            };
            for (index, &value) in data.args.iter().enumerate() {
                check(value, joined.get(index).copied().unwrap_or(block), UsePosition::Operand(inst, index));
            }
        }
    }
    if cut_off.is_empty() {
        return;
    }
    let repair = SsaRepair::new(&cfg, &dominators);
    for (value, (definition, reads)) in cut_off {
        let poison = func.make_poison(func.value_type(value));
        let joins = repair.iterated_frontier(&[definition]);
        let mut variable = repair.variable_from(func, &[(func.entry(), poison), (definition, value)], joins);
        for (block, position) in reads {
            let value = variable.read(func, block);
            match position {
                UsePosition::Operand(inst, index) => func.inst_mut(inst).args[index] = value,
                UsePosition::Predicate(block) => func.set_predicate(block, Some(value)),
            }
        }
        variable.finish(func);
    }
}
