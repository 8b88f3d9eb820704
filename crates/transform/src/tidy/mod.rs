//! Cleans up after linearization: masks, blends, dead φs, empty blocks.
//!
//! Requires: Stage::Linear.  Ensures: Stage::Linear.
//! Invariants: no block and no branch is added; effects stay in place, under the same predicates; a replacement is
//! defined wherever the replaced value was.
//!
//! * `masks`: `select m, true, false` is m; the masks of both edges of a branch join to that of its block; an all-true
//!   predicate is dropped.
//! * `blends`: selects nested by the same mask, selects with equal arms, φs with a single value.
//! * `hoist`: moves loop-invariant masks to the preheader.
//! * `empty_blocks`: bypasses blocks that only jump, and turns branches with a single target into jumps.
//! * Dead instructions are removed.

mod blends;
mod hoist;
mod masks;
mod empty_blocks;

use heddle_ir::entity::SecondaryMap;
use heddle_ir::{Block, Constant, Function, Inst, Op, Value};

use crate::cfg_analyses::CfgAnalyses;
use crate::simplify::dead;

/// Maximum number of rounds, each linear. A further round handles what the last one exposed; usually one suffices.
const MAX_ROUNDS: usize = 8;

/// Cleans up a function; true if it changed.
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

/// Replacements of removed values.
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

/// Replaces values by simpler ones; collects the remaining mask computations, in dominance order.
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
                // Operands on back edges may be replaced later; the next round sees that.
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
        // Operands on back edges, and predicates, were not updated above.
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

/// Value that this one negates.
fn negated(func: &Function, value: Value) -> Option<Value> {
    let data = func.inst(func.def_inst(value)?);
    (data.op == Op::Xor && is_bool(func, data.args[1], true)).then(|| data.args[0])
}

/// Operands of a select.
fn choice(func: &Function, value: Value) -> Option<[Value; 3]> {
    let data = func.inst(func.def_inst(value)?);
    match (data.op, &data.args[..]) {
        (Op::Select, &[mask, then, otherwise]) => Some([mask, then, otherwise]),
        _ => None,
    }
}
