//! Unrolls small loops before LLVM's own pipeline runs, which unrolls none.
//!
//! ```text
//!     for (y = -1; y <= 1; y++)                 the loop: one load for each tap of each work-item
//!       for (x = -1; x <= 1; x++)               unrolled: one block, whose offsets in a row are constants
//!         sum += image[(r + y) * w + c + x];
//!
//!     for (k = 0; k < 5; k++) o[k] = a[k];      loop idiom: memcpy(o, a, 20), and both arrays stay in memory
//!                                               unrolled: five assignments, and LLVM promotes both arrays
//! ```

use crate::import::work_items::is_barrier;
use crate::private_arrays::arrays_of;
use crate::view::{LlvmModule, Val, attribute_kind, take_error};
use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::error::LLVMErrorRef;
use llvm_sys::transforms::pass_builder::*;
use rustc_hash::FxHashSet;
use std::ffi::CStr;

/// Passes that inline helpers, so that trip counts and arrays passed to them are known in one function.
const INLINING: &CStr =
    c"always-inline,function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>),cgscc(inline)";
/// Passes that unroll loops of constant trip count, up to LLVM's size limit.
const UNROLLING: &CStr =
    c"sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop(loop-rotate,indvars,loop-unroll-full),sroa";

/// Attribute that keeps LLVM from duplicating calls, and so from unrolling loops round them.
const UNIQUE: &str = "noduplicate";

/// Unrolls the small loops of constant trip count of all functions. Loops round barriers stay: each copy of a barrier
/// would be a state of its own, which costs compile time and gains nothing.
pub(crate) fn unroll_small_loops(module: &LlvmModule) -> Result<(), String> {
    if !module.functions().any(may_gain) {
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
        module.functions().filter(|func| may_gain(*func)).filter(is_optimized).collect();
    let barriers: Vec<Val<'_>> = module.functions().filter(|func| is_barrier(&func.name())).collect();
    barriers.iter().for_each(|barrier| barrier.set_attribute(UNIQUE));
    let unrolled = functions.iter().try_for_each(|func| {
        // SAFETY: function and options are live.
        run(UNROLLING, |passes, options| unsafe {
            LLVMRunPassesOnFunction(func.0, passes, std::ptr::null_mut(), options)
        })
    });
    barriers.iter().for_each(|barrier| barrier.remove_attribute(UNIQUE));
    unrolled
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

/// True if a function has a loop, or an array that a caller's loop may use.
fn may_gain(func: Val<'_>) -> bool {
    !func.is_declaration() && (has_loop(func) || arrays_of(func).next().is_some())
}

/// True if a branch leads to its own block or to an earlier one, as clang emits each loop.
fn has_loop(func: Val<'_>) -> bool {
    let mut seen = FxHashSet::default();
    func.blocks().into_iter().any(|block| {
        seen.insert(block);
        let successors = block.terminator().map(Val::successors).unwrap_or_default();
        successors.iter().any(|successor| seen.contains(successor))
    })
}
