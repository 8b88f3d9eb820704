//! Private arrays of a function's source: found among its variables, and located for reports.

use crate::view::{LlvmModule, Val};
use llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Private arrays of a function: variables in its entry block, of array or structure type.
pub(crate) fn arrays_of<'m>(func: Val<'m>) -> impl Iterator<Item = Val<'m>> {
    let entry = func.blocks().into_iter().take(1);
    let is_array = |inst: &Val<'m>| {
        inst.opcode() == LLVMOpcode::LLVMAlloca
            && matches!(
                inst.allocated_type().kind(),
                LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMStructTypeKind
            )
    };
    entry.flat_map(|block| block.insts().collect::<Vec<_>>()).filter(is_array)
}

/// Name of the function attribute that lists the private arrays of the source.
pub(crate) const ARRAYS: &str = "heddle-arrays";

/// Gives each private array the source location of its declaration, where clang says that its lifetime starts. Lists the
/// arrays of each function and its callees in an attribute, a line each: name, line, column, bytes, file.
pub(crate) fn locate_arrays(module: &LlvmModule) {
    const MOST_USERS: usize = 256;
    const MOST_ARRAYS: usize = 64;
    let functions: Vec<Val<'_>> = module.functions().filter(|func| !func.is_declaration()).collect();
    let defined: FxHashSet<Val<'_>> = functions.iter().copied().collect();
    let mut own: FxHashMap<Val<'_>, Vec<String>> = FxHashMap::default();
    for &func in &functions {
        for array in arrays_of(func) {
            let starts = |user: &Val<'_>| {
                user.opcode() == LLVMOpcode::LLVMCall
                    && user.called().name().starts_with("llvm.lifetime.start")
            };
            let Some(start) = array.users(MOST_USERS).into_iter().find(starts) else { continue };
            // SAFETY: both instructions are live, and in one function.
            unsafe {
                let loc = LLVMInstructionGetDebugLoc(start.0);
                if !loc.is_null() {
                    LLVMInstructionSetDebugLoc(array.0, loc);
                }
            }
            let Some(loc) = array.debug_loc() else { continue };
            let bytes = module.layout().size(array.allocated_type());
            own.entry(func).or_default().push(format!(
                "{}\t{}\t{}\t{bytes}\t{}",
                array.name(),
                loc.line,
                loc.column,
                loc.file
            ));
        }
    }
    if own.is_empty() {
        return;
    }
    for &func in &functions {
        let (mut seen, mut work, mut listed) = (FxHashSet::default(), vec![func], Vec::new());
        while let Some(next) = work.pop().filter(|_| listed.len() < MOST_ARRAYS) {
            if seen.insert(next) {
                listed.extend(own.get(&next).into_iter().flatten().map(String::as_str));
                let calls = next.blocks().into_iter().flat_map(|block| block.insts());
                let calls = calls.filter(|inst| inst.opcode() == LLVMOpcode::LLVMCall);
                work.extend(calls.map(Val::called).filter(|callee| defined.contains(callee)));
            }
        }
        if !listed.is_empty() {
            func.set_text_attribute(ARRAYS, &listed.join("\n"));
        }
    }
}
