//! Inlines functions that query the launch, wait for their group or name local memory.
//!
//! Only the kernel itself can be given the answers, split at barriers, or given its local memory.

use super::group_waits::has_group_waits;
use super::{MAX_INSTRUCTIONS, refuse_inst};
use crate::inline::inline_chosen;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::InstFormat;
use heddle_ir::words::SyncScope;
use heddle_ir::{Constant, Diagnostic, Function, Inst, Module, Op, Space, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the functions whose calls must be inlined: those with such instructions, and their callers.
pub(super) fn functions_to_inline(module: &Module) -> FxHashSet<String> {
    let mut callers: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    let mut found: FxHashSet<String> = FxHashSet::default();
    let mut work: Vec<&str> = Vec::new();
    for func in &module.functions {
        for declaration in func.callees.values() {
            callers.entry(&declaration.name).or_default().push(&func.name);
        }
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        if insts.any(|inst| needs_inlining(func, inst)) || has_group_waits(func) {
            work.push(&func.name);
        }
    }
    while let Some(name) = work.pop() {
        if found.insert(name.to_string()) {
            work.extend(callers.get(name).into_iter().flatten());
        }
    }
    found
}

fn needs_inlining(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let names_local = |&arg: &Value| matches!(func.constant(arg), Some(Constant::Address(Space::Local, _)));
    is_launch_query(data) || is_group_barrier(data) || data.args.iter().any(names_local)
}

/// True if an instruction queries the launch. Queries of the brush (`lane`, `width`) do not count.
pub(super) fn is_launch_query(data: &InstData) -> bool {
    data.op.info().format == InstFormat::Dimension && !matches!(data.op, Op::Lane | Op::Width)
}

/// True if an instruction is a barrier of the work-group.
pub(super) fn is_group_barrier(data: &InstData) -> bool {
    data.op == Op::Barrier && data.detail == Detail::Barrier(SyncScope::Group)
}

/// Inlines all calls of these functions, transitively.
pub(super) fn inline_calls(
    func: &mut Function,
    module: &Module,
    names: &FxHashSet<String>,
) -> Result<(), Diagnostic> {
    if names.is_empty() {
        return Ok(());
    }
    // Inlined calls: the callee, and the index of the call that came with its body.
    let mut done: Vec<(&str, Option<usize>)> = Vec::new();
    let mut origins: FxHashMap<Inst, usize> = FxHashMap::default();
    loop {
        let (first, mut size) = (done.len(), func.inst_count());
        let mut chosen: Vec<(Inst, &Function)> = Vec::new();
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            let declared = func.callee_of(func.inst(inst)).filter(|callee| names.contains(&callee.name));
            let Some(callee) = declared.and_then(|callee| module.function(&callee.name)) else { continue };
            let name = callee.name.as_str();
            let brought = origins.get(&inst).copied();
            let mut at = brought;
            while let Some(outer) = at {
                if done[outer].0 == name {
                    let text = format!("@{name} is recursive and depends on the work-item");
                    return Err(refuse_inst(func, inst, text, "write a loop; kernels have no recursion"));
                }
                at = done[outer].1;
            }
            size += callee.inst_count();
            if size > MAX_INSTRUCTIONS {
                let text = format!("more than {MAX_INSTRUCTIONS} instructions after inlining");
                let help = "call fewer functions that use work-item indices, barriers or local memory";
                return Err(refuse_inst(func, inst, text, help));
            }
            chosen.push((inst, callee));
            done.push((name, brought));
        }
        if chosen.is_empty() {
            return Ok(());
        }
        let copied = inline_chosen(func, &chosen);
        origins = copied.into_iter().map(|(call, number)| (call, first + number)).collect();
    }
}
