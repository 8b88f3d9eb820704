//! LLVM IR that no optimizer has seen, as clang would hand it over: variables in registers, and no loops that do nothing.

use crate::jit::not_compiled;
use crate::read::read_ir;
use crate::view::LlvmModule;
use heddle_ir::Diagnostic;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::transforms::pass_builder::*;
use std::ffi::CStr;

/// What is run. None of it moves or copies calls: which lanes are together at a call is for the source to say.
const PASSES: &CStr = c"function(sroa,early-cse,loop(indvars,loop-deletion),adce)";

/// A copy of a module that these passes have been through; functions and globals keep their names. The module itself
/// stays as it is, since it is what vector code is put beside.
pub fn cleaned(module: &LlvmModule) -> Result<LlvmModule, Diagnostic> {
    let copy = read_ir("a copy", &module.bitcode())?;
    // SAFETY: module and options are live; an error is taken over once.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        let error = LLVMRunPasses(copy.raw(), PASSES.as_ptr(), std::ptr::null_mut(), options);
        LLVMDisposePassBuilderOptions(options);
        if !error.is_null() {
            let text = LLVMGetErrorMessage(error);
            let reason = CStr::from_ptr(text).to_string_lossy().into_owned();
            LLVMDisposeErrorMessage(text);
            return Err(not_compiled(reason));
        }
    }
    Ok(copy)
}
