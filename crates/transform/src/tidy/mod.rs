//! Clears up behind linearization: masks, blends, dead φs, regions with nothing in them.
//!
//! Requires: Stage::Linear.  Ensures: Stage::Linear.
//! Invariants: no block and no branch is added; effects stay where they are, under the predicates that they had;
//! whatever takes the place of a value is defined wherever that one was.
//!
//! * `masks`: `select m, true, false` is m; both edges of a branch make up their block; a predicate that is always true
//!   is none.
//! * `blends`: a choice inside a choice by the same mask, a choice that is none, φs that bring one value.
//! * `hoist`: masks that do not change in a loop are made in front of it.
//! * `empty_blocks`: blocks that only lead on are skipped, and branches that lead to one place anyhow are jumps.
//! * What is not read any more is dropped.

mod blends;
mod hoist;
mod masks;
mod empty_blocks;

use heddle_ir::entity::SecondaryMap;
use heddle_ir::{Block, Constant, Function, Inst, Op, Value};

use crate::cfg_analyses::CfgAnalyses;
use crate::simplify::dead;

/// The most rounds; each is linear. A round is repeated for what the last one uncovered, mostly once.
const MAX_ROUNDS: usize = 8;

/// Clears up; tells whether there was anything to do.
pub fn tidy(func: &mut Function) -> bool {
    let mut changed = false;
    let mut flow = CfgAnalyses::new(func);
    let mut masks = Vec::new();
    for round in 0..MAX_ROUNDS {
        masks.clear();
        let replaced = replace(func, &flow, &mut masks);
        let skipped = empty_blocks::skip_empty_blocks(func, &flow);
        let is_last = !replaced && !skipped;
        if is_last && round > 0 {
            break;
        }
        let removed = dead::remove_dead(func);
        changed |= replaced || skipped || removed;
        if is_last {
            break;
        }
        if skipped {
            flow = CfgAnalyses::new(func);
        }
    }
    changed | hoist::hoist_masks(func, &flow, &masks)
}

/// What stands for each value that is gone.
struct ValueReplacements {
    by: SecondaryMap<Value, Option<Value>>,
    count: usize,
}

impl ValueReplacements {
    fn resolve(&self, mut value: Value) -> Value {
        while let Some(other) = self.by[value] {
            value = other;
        }
        value
    }
}

/// Replaces values by simpler ones; lists the masks that are computed from others, dominators first.
fn replace(func: &mut Function, flow: &CfgAnalyses, masks: &mut Vec<Inst>) -> bool {
    let dominators = flow.dominators();
    let mut replacements = ValueReplacements { by: SecondaryMap::with_len(func.value_count()), count: 0 };
    let mut changed = false;
    let mut phis = Vec::new();
    for block in flow.dominator_preorder(func) {
        let mut next = func.layout.first_inst(block);
        while let Some(inst) = next {
            next = func.layout.next_inst(inst);
            if func.inst(inst).op == Op::Phi {
                phis.push(inst);
                // Back edges bring what is not renamed yet; that is for the next round.
                func.inst_mut(inst).map_values(|value| replacements.resolve(value));
                if let Some(value) = blends::only_value(func, dominators, block, inst) {
                    rename(func, &mut replacements, inst, value);
                }
                continue;
            }
            func.inst_mut(inst).map_values(|value| replacements.resolve(value));
            changed |= blends::simplify_arms(func, inst);
            let value = match func.inst(inst).op {
                Op::Select => masks::select(func, inst),
                Op::Or => masks::or(func, inst),
                Op::And => masks::and(func, inst),
                Op::Xor => masks::xor(func, inst),
                _ => None,
            };
            match value {
                Some(value) => rename(func, &mut replacements, inst, value),
                None if hoist::is_mask(func, inst) => masks.push(inst),
                None => {}
            }
        }
    }
    if replacements.count > 0 {
        // What an edge back brings was renamed only after the φ was looked at; predicates were not looked at.
        phis.into_iter().for_each(|phi| func.inst_mut(phi).map_values(|value| replacements.resolve(value)));
        rename_predicates(func, &replacements);
    }
    changed | (replacements.count > 0) | drop_true_predicates(func)
}

fn rename(func: &Function, replacements: &mut ValueReplacements, inst: Inst, value: Value) {
    let result = func.results(inst)[0];
    let value = replacements.resolve(value);
    if value != result {
        replacements.by[result] = Some(value);
        replacements.count += 1;
    }
}

fn rename_predicates(func: &mut Function, replacements: &ValueReplacements) {
    let mut next = func.layout.entry();
    while let Some(block) = next {
        let predicate = func.predicate(block).map(|value| replacements.resolve(value));
        func.set_predicate(block, predicate);
        next = func.layout.next_block(block);
    }
}

fn drop_true_predicates(func: &mut Function) -> bool {
    let is_true = |block: &Block| func.predicate(*block).is_some_and(|value| is_bool(func, value, true));
    let blocks: Vec<Block> = func.blocks().filter(is_true).collect();
    blocks.iter().for_each(|&block| func.set_predicate(block, None));
    !blocks.is_empty()
}

fn is_bool(func: &Function, value: Value, bit: bool) -> bool {
    func.constant(value) == Some(&Constant::bool(bit))
}

/// What a value is the negation of.
fn negated(func: &Function, value: Value) -> Option<Value> {
    let data = func.inst(func.def_inst(value)?);
    (data.op == Op::Xor && is_bool(func, data.args[1], true)).then(|| data.args[0])
}

/// The operands of a choice.
fn choice(func: &Function, value: Value) -> Option<[Value; 3]> {
    let data = func.inst(func.def_inst(value)?);
    match (data.op, &data.args[..]) {
        (Op::Select, &[mask, then, otherwise]) => Some([mask, then, otherwise]),
        _ => None,
    }
}
