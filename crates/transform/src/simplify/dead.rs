//! Removes instructions without effects whose results have no users.
//!
//! Roots are terminators, stores and other writes, barriers and fences, assumptions, calls with effects, volatile and atomic accesses.
//! A horizontal without users is removed: it has no effect.

use heddle_ir::entity::EntitySet;
use heddle_ir::inst::InstData;
use heddle_ir::ops::{Effect, Op};
use heddle_ir::{Constant, Function, Inst, Value};

/// Removes dead code. Returns true if there was any.
pub fn remove_dead(func: &mut Function) -> bool {
    let live = live(func);
    let all = || func.blocks().flat_map(|block| func.block_insts(block));
    let dead: Vec<Inst> = all().filter(|&inst| !live.contains(inst)).collect();
    if dead.is_empty() {
        return false;
    }
    // A base hint may name a removed object.
    let objects = dead.iter().filter(|&&inst| func.inst(inst).op == Op::Alloca);
    let gone: EntitySet<Value> = objects.flat_map(|&inst| func.results(inst)).copied().collect();
    if !gone.is_empty() {
        let hints: Vec<Inst> =
            all().filter(|&inst| live.contains(inst) && func.inst(inst).access().is_some()).collect();
        hints.into_iter().for_each(|inst| func.retain_bases(inst, |_, base| !gone.contains(base)));
    }
    for inst in dead {
        func.remove_inst(inst);
    }
    true
}

/// Returns the live instructions. A single backward sweep finds nearly all, since most definitions precede their users; a worklist
/// handles the others.
fn live(func: &Function) -> EntitySet<Inst> {
    let mut live = EntitySet::new();
    let mut passed: EntitySet<Inst> = EntitySet::new();
    let mut late: Vec<Inst> = Vec::new();
    let mut next = func.layout.last_block();
    while let Some(block) = next {
        let mut next_inst = func.layout.last_inst(block);
        while let Some(inst) = next_inst {
            passed.insert(inst);
            let data = func.inst(inst);
            if live.contains(inst) || has_effects(func, data) {
                live.insert(inst);
                mark_live(func, &data.args, &mut live, &passed, &mut late);
            }
            next_inst = func.layout.prev_inst(inst);
        }
        mark_live(func, func.predicate(block).as_slice(), &mut live, &passed, &mut late);
        next = func.layout.prev_block(block);
    }
    while let Some(inst) = late.pop() {
        mark_live(func, &func.inst(inst).args, &mut live, &passed, &mut late);
    }
    live
}

/// Marks the definitions of these values as live. Those that the sweep has passed go to the worklist.
fn mark_live(
    func: &Function,
    values: &[Value],
    live: &mut EntitySet<Inst>,
    passed: &EntitySet<Inst>,
    late: &mut Vec<Inst>,
) {
    for inst in values.iter().filter_map(|&value| func.def_inst(value)) {
        if live.insert(inst) && passed.contains(inst) {
            late.push(inst);
        }
    }
}

/// True if an instruction has effects other than its results.
pub(crate) fn has_effects(func: &Function, data: &InstData) -> bool {
    match data.op.info().effect {
        Effect::Pure | Effect::Traps | Effect::Allocates | Effect::Horizontal | Effect::Joins => false,
        Effect::Reads => data.is_ordered(),
        Effect::Writes | Effect::ReadsWrites | Effect::Synchronizes | Effect::Terminator => true,
        Effect::Assumes => func.constant(data.args[0]) != Some(&Constant::bool(true)),
        Effect::Callee => {
            data.op == Op::Launch
                || func.callee_of(data).is_none_or(|callee| {
                    let effects = callee.signature.effects;
                    effects.writes || effects.traps || effects.convergent || effects.endless
                })
        }
    }
}
