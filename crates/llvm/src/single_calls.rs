//! Inlines functions with a single call before LLVM's passes.
//!
//! LLVM would inline them anyway, but optimizes each before and the whole again afterwards: for a group function, its
//! regions and its entry that triples the work.

use crate::cpu::Cpu;
use crate::generate::LlvmPasses;
use crate::view::{LlvmModule, Val, attribute_kind};
use heddle_ir::Diagnostic;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMOpcode};

/// True if a function's only use is one non-recursive call.
fn is_called_once(func: Val<'_>) -> bool {
    // SAFETY: a live function; what uses it is live, too.
    unsafe {
        let usage = LLVMGetFirstUse(func.0);
        if usage.is_null() || !LLVMGetNextUse(usage).is_null() {
            return false;
        }
        let user = LLVMGetUser(usage);
        let is_call = !LLVMIsAInstruction(user).is_null()
            && LLVMGetInstructionOpcode(user) == LLVMOpcode::LLVMCall
            && LLVMGetCalledValue(user) == func.0;
        let is_recursive = || LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)) == func.0;
        is_call && !is_recursive()
    }
}

/// Inlines internal functions with a single call.
pub fn inline_single_calls(module: &LlvmModule, cpu: &Cpu) -> Result<(), Diagnostic> {
    let never = attribute_kind("noinline");
    for func in module.functions().filter(|func| !func.is_declaration()) {
        // SAFETY: a live function, of this module's context.
        unsafe {
            let is_own = LLVMGetLinkage(func.0) == LLVMLinkage::LLVMInternalLinkage;
            let is_kept = !LLVMGetEnumAttributeAtIndex(func.0, LLVMAttributeFunctionIndex, never).is_null();
            if is_own && !is_kept && is_called_once(func) {
                let context = LLVMGetModuleContext(module.raw());
                let attribute = LLVMCreateEnumAttribute(context, attribute_kind("alwaysinline"), 0);
                LLVMAddAttributeAtIndex(func.0, LLVMAttributeFunctionIndex, attribute);
            }
        }
    }
    LlvmPasses::of_inlining(cpu)?.run(module)
}
