//! Cleanup of unoptimized LLVM IR: promotes variables to registers, deletes dead loops.

use crate::jit::not_compiled;
use crate::read::read_ir;
use crate::view::{LlvmModule, take_error};
use heddle_ir::Diagnostic;
use llvm_sys::transforms::pass_builder::*;
use std::ffi::CStr;

/// Pass pipeline. None of the passes moves or duplicates calls: the source decides which lanes meet at a call.
const PASSES: &CStr = c"function(sroa,early-cse,loop(indvars,loop-deletion),adce)";

/// Returns a cleaned copy of a module; functions and globals keep their names. The original stays unchanged, since
/// vector code is linked into it.
pub fn cleaned_copy(module: &LlvmModule) -> Result<LlvmModule, Diagnostic> {
    let copy = read_ir("a copy", &module.bitcode())?;
    // SAFETY: module and options are live; an error is taken over once.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        let error = LLVMRunPasses(copy.raw(), PASSES.as_ptr(), std::ptr::null_mut(), options);
        LLVMDisposePassBuilderOptions(options);
        take_error(error).map_err(not_compiled)?;
    }
    Ok(copy)
}
