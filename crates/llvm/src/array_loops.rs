//! Unrolls small loops of functions with private arrays, before LLVM turns them into copies.
//!
//! ```text
//!     for (k = 0; k < 5; k++) o[k] = a[k];      loop idiom: memcpy(o, a, 20)      the arrays stay in memory
//!                                               unrolled: five assignments        LLVM promotes both arrays
//! ```
//!
//! Only functions that still have arrays after inlining are changed, so that other code keeps its loops.

use crate::view::{LlvmModule, Val, attribute_kind, take_error};
use llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use llvm_sys::error::LLVMErrorRef;
use llvm_sys::transforms::pass_builder::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMOpcode, LLVMTypeKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::CStr;

/// Passes that inline helpers, so that arrays passed to them are accessed in one function.
const INLINING: &CStr =
    c"always-inline,function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>),cgscc(inline)";
/// Passes that unroll loops of constant trip count, up to LLVM's size limit.
const UNROLLING: &CStr =
    c"sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop(loop-rotate,indvars,loop-unroll-full),sroa";

/// Unrolls the small loops of functions that have private arrays.
pub(crate) fn unroll_array_loops(module: &LlvmModule) -> Result<(), String> {
    if !module.functions().any(has_array) {
        return Ok(());
    }
    // SAFETY: module and options are live; the passes see the module only.
    run(INLINING, |passes, options| unsafe {
        LLVMRunPasses(module.raw(), passes, std::ptr::null_mut(), options)
    })?;
    let is_optimized = |func: &Val<'_>| {
        let kind = attribute_kind("optnone");
        func.attribute(LLVMAttributeFunctionIndex, kind).is_none()
    };
    let functions: Vec<Val<'_>> =
        module.functions().filter(|func| has_array(*func)).filter(is_optimized).collect();
    for func in functions {
        // SAFETY: function and options are live.
        run(UNROLLING, |passes, options| unsafe {
            LLVMRunPassesOnFunction(func.0, passes, std::ptr::null_mut(), options)
        })?;
    }
    Ok(())
}

/// Runs passes with default options; the error is LLVM's message.
fn run(
    passes: &CStr,
    on: impl FnOnce(*const std::ffi::c_char, LLVMPassBuilderOptionsRef) -> LLVMErrorRef,
) -> Result<(), String> {
    // SAFETY: the options live during the call; an error is taken over once.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        let error = on(passes.as_ptr(), options);
        LLVMDisposePassBuilderOptions(options);
        take_error(error)
    }
}

/// True if a function has a private array, alone or in a structure.
fn has_array(func: Val<'_>) -> bool {
    !func.is_declaration() && arrays_of(func).next().is_some()
}

/// Private arrays of a function: variables in its entry block, of array or structure type.
fn arrays_of<'m>(func: Val<'m>) -> impl Iterator<Item = Val<'m>> {
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
