//! Drops instructions whose results nobody needs and that do nothing else.
//!
//! What stays by itself: terminators, stores and whatever else writes, barriers and fences, assumptions, calls that may
//! do more than give a value, volatile and atomic accesses. A horizontal that nobody reads goes: it shows nothing.

use heddle_ir::entity::EntitySet;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::ops::{Effect, Op};
use heddle_ir::words::Flag;
use heddle_ir::{Constant, Function, Inst, Value};

/// Drops dead code; tells whether there was any.
pub(crate) fn remove_dead(func: &mut Function) -> bool {
    let mut needed = EntitySet::new();
    let mut worklist: Vec<Inst> = Vec::new();
    let need = |func: &Function, value: Value, needed: &mut EntitySet<Inst>, worklist: &mut Vec<Inst>| {
        if let Some(inst) = func.def_inst(value)
            && needed.insert(inst)
        {
            worklist.push(inst);
        }
    };
    for block in func.blocks() {
        if let Some(predicate) = func.predicate(block) {
            need(func, predicate, &mut needed, &mut worklist);
        }
        for inst in func.block_insts(block) {
            if acts(func, func.inst(inst)) && needed.insert(inst) {
                worklist.push(inst);
            }
        }
    }
    while let Some(inst) = worklist.pop() {
        for &arg in &func.inst(inst).args {
            need(func, arg, &mut needed, &mut worklist);
        }
    }
    let all: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    let dead: Vec<Inst> = all.iter().copied().filter(|&inst| !needed.contains(inst)).collect();
    if dead.is_empty() {
        return false;
    }
    // A hint may name an object that nothing reaches any more.
    let gone: EntitySet<Value> = dead.iter().flat_map(|&inst| func.results(inst)).copied().collect();
    for &inst in all.iter().filter(|&&inst| needed.contains(inst)) {
        if func.inst(inst).access().is_some() {
            forget_bases(func.inst_mut(inst), &gone);
        }
    }
    for inst in dead {
        func.remove_inst(inst);
    }
    true
}

fn forget_bases(data: &mut InstData, gone: &EntitySet<Value>) {
    let forget = |access: &mut Access| access.base = access.base.filter(|&base| !gone.contains(base));
    match &mut data.detail {
        Detail::Access(access) | Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => {
            forget(access)
        }
        Detail::Transfer(both) => {
            forget(&mut both.0);
            forget(&mut both.1);
        }
        _ => {}
    }
}

/// Whether an instruction does something beside giving results.
fn acts(func: &Function, data: &InstData) -> bool {
    let is_exact = |access: Option<&Access>| {
        data.flags.has(Flag::Volatile) || access.is_some_and(|access| access.atomic.is_some())
    };
    match data.op.info().effect {
        Effect::Pure | Effect::Traps | Effect::Allocates | Effect::Horizontal | Effect::Joins => false,
        Effect::Reads => is_exact(data.access()),
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
