//! Inlines functions that query the launch, wait at group barriers or name local memory.
//!
//! Only the kernel itself can be given the answers, split at barriers, or given its local memory.

use super::{MAX_INSTRUCTIONS, refuse_inst};
use crate::block_copier::BlockCopier;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::InstFormat;
use heddle_ir::words::SyncScope;
use heddle_ir::{Block, Constant, Diagnostic, Function, Inst, Module, Op, Space, Value};
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
        if insts.any(|inst| needs_inlining(func, inst)) {
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
    let entry = func.entry();
    // Worklist of calls, each with the index of the inlined call that it was copied from.
    let mut work: Vec<(Inst, Option<usize>)> =
        calls(func, func.blocks(), names).map(|inst| (inst, None)).collect();
    let mut done: Vec<(String, Option<usize>)> = Vec::new();
    while let Some((inst, brought)) = work.pop() {
        let Some(name) = func.callee_of(func.inst(inst)).map(|callee| callee.name.clone()) else { continue };
        let mut at = brought;
        while let Some(outer) = at {
            if done[outer].0 == name {
                let text = format!("@{name} is recursive and depends on the work-item");
                return Err(refuse_inst(func, inst, text, "write a loop; kernels have no recursion"));
            }
            at = done[outer].1;
        }
        let Some(callee) = module.function(&name) else { continue };
        if func.inst_count() + callee.inst_count() > MAX_INSTRUCTIONS {
            let text = format!("more than {MAX_INSTRUCTIONS} instructions after inlining");
            let help = "call fewer functions that use work-item indices, barriers or local memory";
            return Err(refuse_inst(func, inst, text, help));
        }
        let copied = inline(func, entry, inst, callee);
        work.extend(calls(func, copied.into_iter(), names).map(|call| (call, Some(done.len()))));
        done.push((name, brought));
    }
    func.remove_unused_callees();
    Ok(())
}

fn calls<'a>(
    func: &'a Function,
    blocks: impl Iterator<Item = Block> + 'a,
    names: &'a FxHashSet<String>,
) -> impl Iterator<Item = Inst> + 'a {
    let is_one = |inst: &Inst| {
        let data = func.inst(*inst);
        data.op == Op::Call && func.callee_of(data).is_some_and(|callee| names.contains(&callee.name))
    };
    let insts: Vec<Inst> = blocks.flat_map(|block| func.block_insts(block)).filter(is_one).collect();
    insts.into_iter()
}

/// Replaces a call by a copy of the callee's blocks. Returns the copies.
fn inline(func: &mut Function, entry: Block, call: Inst, callee: &Function) -> Vec<Block> {
    let before = func.layout.block_of(call).expect("a call stands in a block");
    let after = split_after(func, call);
    let mut copier = BlockCopier::new(callee);
    let args = func.inst(call).args.clone();
    for (&param, &arg) in callee.params().iter().zip(&args) {
        copier.set(func, param, arg);
    }
    let blocks: Vec<Block> = callee.blocks().collect();
    copier.copy_blocks(func, &blocks);
    let copies: Vec<Block> = blocks.iter().filter_map(|&block| copier.block(block)).collect();
    let mut returns: Vec<(Block, Inst)> = Vec::new();
    for &copy in &copies {
        returns.extend(
            func.terminator(copy).filter(|&inst| func.inst(inst).op == Op::Ret).map(|inst| (copy, inst)),
        );
    }
    let results: Vec<_> = func.results(call).iter().map(|&value| (value, func.value_type(value))).collect();
    func.remove_inst(call);
    let jump = func.make_inst(InstData::jump(copies[0]), &[]);
    func.layout.append_inst(jump, before);
    for (index, (value, ty)) in results.into_iter().enumerate().rev() {
        let data = if returns.is_empty() {
            let poison = func.make_poison(ty);
            InstData::plain(Op::Freeze, [poison])
        } else {
            let given = returns.iter().map(|&(block, inst)| (block, func.inst(inst).args[index]));
            InstData::phi(given.collect::<Vec<_>>(), None)
        };
        let join = func.make_inst_named(data, &[(value, ty)]);
        func.layout.prepend_inst(join, after);
    }
    for (_, inst) in returns {
        let origin = func.inst(inst).origin;
        *func.inst_mut(inst) = InstData { origin, ..InstData::jump(after) };
    }
    func.register_arrays.extend(callee.register_arrays.iter().cloned());
    // An `alloca` in a loop would allocate in each iteration.
    let objects: Vec<Inst> =
        func.block_insts(copies[0]).filter(|&inst| func.inst(inst).op == Op::Alloca).collect();
    for inst in objects.into_iter().rev() {
        func.layout.remove_inst(inst);
        func.layout.prepend_inst(inst, entry);
    }
    copies
}

/// Splits a block after an instruction. Returns the new block, which holds the instructions after it.
pub(crate) fn split_after(func: &mut Function, inst: Inst) -> Block {
    let before = func.layout.block_of(inst).expect("the instruction stands in a block");
    let after = func.insert_block_after(before);
    while let Some(next) = func.layout.next_inst(inst) {
        func.layout.remove_inst(next);
        func.layout.append_inst(next, after);
    }
    let mut successors = func.successors(after).to_vec();
    successors.sort_unstable();
    successors.dedup();
    for successor in successors {
        let phis: Vec<Inst> = func.phis(successor).collect();
        for phi in phis {
            let data = func.inst_mut(phi);
            if let Detail::Phi(blocks) = &mut data.detail {
                for from in blocks.iter_mut().filter(|from| **from == before) {
                    *from = after;
                }
            }
        }
    }
    after
}
