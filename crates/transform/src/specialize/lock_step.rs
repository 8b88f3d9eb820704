//! Finds the lock-step functions of a module and the brushes that enter them.

use heddle_ir::inst::Detail;
use heddle_ir::module::FunctionKind;
use heddle_ir::{Function, Inst, Module, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::widen::wide_name;

/// Lock-step function and the brush that enters it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockStepFunction {
    /// Name of the function.
    pub name: String,
    /// Extents of the brush.
    pub brush: SmallVec<[u32; 3]>,
    /// True if the brush is a work-group of its own: the function is reached from a region that sequential code launches.
    pub is_region: bool,
}

impl LockStepFunction {
    /// Returns the name of its vector code.
    pub fn wide_name(&self) -> String {
        wide_name(&self.name, &self.brush)
    }
}

/// Returns the lock-step functions of a module that is specialized or has no calls. `brush` enters those that nothing launches or
/// calls. Fails if two brushes enter one function.
pub fn lock_step_functions(module: &Module, brush: &[u32]) -> Result<Vec<LockStepFunction>, String> {
    let sequential = sequential_functions(module);
    let mut work: Vec<LockStepFunction> = roots(module, &sequential)
        .into_iter()
        .map(|name| LockStepFunction { name, brush: SmallVec::from_slice(brush), is_region: false })
        .collect();
    for func in module.functions.iter().filter(|func| sequential.contains(&func.name)) {
        for inst in insts_with_op(func, Op::Launch) {
            let Detail::Launch(launch) = &func.inst(inst).detail else { continue };
            let name = func.callees[launch.callee].name.clone();
            work.push(LockStepFunction { name, brush: launch.brush.clone(), is_region: true });
        }
    }
    let mut found: FxHashMap<String, LockStepFunction> = FxHashMap::default();
    while let Some(next) = work.pop() {
        let Some(func) = module.function(&next.name) else { continue };
        match found.get(&next.name) {
            Some(known) if *known == next => continue,
            Some(_) => {
                return Err(format!(
                    "@{} is entered by different brushes: run `specialize` first",
                    next.name
                ));
            }
            None => {}
        }
        let called = insts_with_op(func, Op::Call);
        work.extend(called.iter().filter_map(|&inst| {
            Some(LockStepFunction { name: func.callee_of(func.inst(inst))?.name.clone(), ..next.clone() })
        }));
        found.insert(next.name.clone(), next);
    }
    Ok(module.functions.iter().filter_map(|func| found.remove(&func.name)).collect())
}

/// Returns the lock-step functions that code outside of the module enters.
pub fn root_functions(module: &Module) -> Vec<String> {
    roots(module, &sequential_functions(module))
}

pub(super) fn insts_with_op(func: &Function, op: Op) -> Vec<Inst> {
    if func.callees.is_empty() && matches!(op, Op::Call | Op::Launch) {
        return Vec::new();
    }
    func.blocks().flat_map(|block| func.block_insts(block)).filter(|&inst| func.inst(inst).op == op).collect()
}

/// Returns the functions that a single thread executes: those that launch, and their callees.
pub(crate) fn sequential_functions(module: &Module) -> FxHashSet<String> {
    let mut found: FxHashSet<String> = FxHashSet::default();
    let mut work: Vec<&Function> =
        module.functions.iter().filter(|func| !insts_with_op(func, Op::Launch).is_empty()).collect();
    while let Some(func) = work.pop() {
        if !found.insert(func.name.clone()) {
            continue;
        }
        let callees = insts_with_op(func, Op::Call);
        work.extend(
            callees.iter().filter_map(|&inst| module.function(&func.callee_of(func.inst(inst))?.name)),
        );
    }
    found
}

/// Returns the lock-step functions that outside code enters: kernels and functions without callers. Of a cycle of functions without
/// other callers, the first one counts.
pub(crate) fn roots(module: &Module, sequential: &FxHashSet<String>) -> Vec<String> {
    let mut called: FxHashSet<String> = FxHashSet::default();
    for func in &module.functions {
        // Recursion does not count as a caller.
        called.extend(callees(func).filter(|name| *name != func.name));
    }
    let is_root =
        |func: &&Function| matches!(func.kind, FunctionKind::Kernel(_)) || !called.contains(&func.name);
    let candidates: Vec<&Function> =
        module.functions.iter().filter(|func| !sequential.contains(&func.name)).collect();
    let mut roots: Vec<String> =
        candidates.iter().copied().filter(is_root).map(|func| func.name.clone()).collect();
    let launched = module.functions.iter().filter(|func| sequential.contains(&func.name)).flat_map(callees);
    let mut work: Vec<String> = roots.iter().cloned().chain(launched).collect();
    let mut reached: FxHashSet<String> = FxHashSet::default();
    let mut rest = candidates.iter();
    loop {
        while let Some(name) = work.pop() {
            if let Some(func) = module.function(&name).filter(|_| reached.insert(name)) {
                work.extend(callees(func));
            }
        }
        let Some(left) = rest.find(|func| !reached.contains(&func.name)) else { return roots };
        roots.push(left.name.clone());
        work.push(left.name.clone());
    }
}

/// Returns the callees of calls and launches.
fn callees(func: &Function) -> impl Iterator<Item = String> + '_ {
    let all = insts_with_op(func, Op::Call).into_iter().chain(insts_with_op(func, Op::Launch));
    all.filter_map(|inst| Some(func.callee_of(func.inst(inst))?.name.clone()))
}
