//! Replaces single-lane vector parameters by scalars.
//!
//! LLVM fails to copy registers in some functions with `<1 x i1>` parameters. A single lane is a scalar everywhere
//! else, so internal functions take the scalar:
//!
//! ```text
//!     define internal @f(<1 x i1> %m)        define internal @f(i1 %lane)
//!                                              %m = insertelement poison, %lane, 0
//!     call @f(<1 x i1> %n)                   call @f(i1 extractelement %n, 0)
//! ```

use crate::view::{LlvmModule, Val};
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMGetSubprogram, LLVMSetSubprogram};
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeIndex, LLVMLinkage};

const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

/// True for single-lane vector parameters.
fn has_one_lane(param: Val<'_>) -> bool {
    param.ty().is_vector() && param.ty().count() == 1
}

/// Replaces single-lane vector parameters of internal functions that are only called.
pub(crate) fn pass_single_lanes(module: &LlvmModule) {
    let functions: Vec<Val<'_>> = module.functions().filter(|func| !func.is_declaration()).collect();
    for func in functions {
        // SAFETY: a live function.
        let is_own = unsafe { LLVMGetLinkage(func.0) } == LLVMLinkage::LLVMInternalLinkage;
        if is_own
            && !func.value_type().is_var_arg()
            && func.params().into_iter().any(has_one_lane)
            && !func.has_address_taken()
        {
            // SAFETY: the function is of this module, calls are all that uses it, and nothing keeps it.
            unsafe { replace(module, func) };
        }
    }
}

/// Collects a list of attributes.
fn listed(count: u32, list: impl Fn(*mut LLVMAttributeRef)) -> Vec<LLVMAttributeRef> {
    let mut all = vec![std::ptr::null_mut(); count as usize];
    list(all.as_mut_ptr());
    all
}

/// # Safety
/// The function is live, of this module and only called; the caller keeps no reference to it.
unsafe fn replace(module: &LlvmModule, old: Val<'_>) {
    let params = old.params();
    // SAFETY: all are live; types and attributes are of one context. Blocks go over as they are, and what named a parameter
    // names what it became. Each call is replaced by one of the same types but for vectors of one lane, which give that.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context());
        let first = LLVMConstInt(LLVMInt64TypeInContext(module.context()), 0, 0);
        let types = params.iter().map(|&it| if has_one_lane(it) { it.ty().element().0 } else { it.ty().0 });
        let mut types: Vec<LLVMTypeRef> = types.collect();
        let result = old.value_type().result().0;
        let ty = LLVMFunctionType(result, types.as_mut_ptr(), types.len() as u32, 0);
        let new = LLVMAddFunction(module.raw(), NO_NAME, ty);
        LLVMSetLinkage(new, LLVMLinkage::LLVMInternalLinkage);
        LLVMSetFunctionCallConv(new, LLVMGetFunctionCallConv(old.0));
        LLVMSetUnnamedAddress(new, LLVMGetUnnamedAddress(old.0));
        // Attributes of a vector may be invalid on its lane.
        let is_of_vector = |index: &LLVMAttributeIndex| {
            let param = (*index as usize).checked_sub(1).and_then(|at| params.get(at));
            param.is_some_and(|&param| has_one_lane(param))
        };
        let indices = 0..=params.len() as LLVMAttributeIndex;
        let indices = indices.filter(|index| !is_of_vector(index)).chain([LLVMAttributeFunctionIndex]);
        for index in indices.clone() {
            let count = LLVMGetAttributeCountAtIndex(old.0, index);
            for attribute in listed(count, |into| LLVMGetAttributesAtIndex(old.0, index, into)) {
                LLVMAddAttributeAtIndex(new, index, attribute);
            }
        }
        let subprogram = LLVMGetSubprogram(old.0);
        if !subprogram.is_null() {
            LLVMSetSubprogram(old.0, std::ptr::null_mut());
            LLVMSetSubprogram(new, subprogram);
        }
        for block in old.blocks() {
            LLVMRemoveBasicBlockFromParent(block.0);
            LLVMAppendExistingBasicBlock(new, block.0);
        }
        LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(LLVMGetFirstBasicBlock(new)));
        for (at, &param) in (0..).zip(&params) {
            let mut given = LLVMGetParam(new, at);
            if has_one_lane(param) {
                given = LLVMBuildInsertElement(builder, LLVMGetPoison(param.ty().0), given, first, NO_NAME);
            }
            LLVMReplaceAllUsesWith(param.0, given);
        }
        loop {
            let usage = LLVMGetFirstUse(old.0);
            if usage.is_null() {
                break;
            }
            let call = LLVMGetUser(usage);
            LLVMPositionBuilderBefore(builder, call);
            let mut arguments = Vec::new();
            for (at, &param) in (0..).zip(&params) {
                let given = LLVMGetOperand(call, at);
                let is_vector = has_one_lane(param);
                let lane = || LLVMBuildExtractElement(builder, given, first, NO_NAME);
                arguments.push(if is_vector { lane() } else { given });
            }
            let count = arguments.len() as u32;
            let new_call = LLVMBuildCall2(builder, ty, new, arguments.as_mut_ptr(), count, NO_NAME);
            LLVMSetInstructionCallConv(new_call, LLVMGetInstructionCallConv(call));
            LLVMSetTailCallKind(new_call, LLVMGetTailCallKind(call));
            if LLVMCanValueUseFastMathFlags(call) != 0 {
                LLVMSetFastMathFlags(new_call, LLVMGetFastMathFlags(call));
            }
            for index in indices.clone() {
                let count = LLVMGetCallSiteAttributeCount(call, index);
                for attribute in listed(count, |into| LLVMGetCallSiteAttributes(call, index, into)) {
                    LLVMAddCallSiteAttribute(new_call, index, attribute);
                }
            }
            LLVMReplaceAllUsesWith(call, new_call);
            LLVMInstructionEraseFromParent(call);
        }
        let name = old.name();
        LLVMDeleteFunction(old.0);
        LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
        LLVMDisposeBuilder(builder);
    }
}
