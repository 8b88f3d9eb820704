//! Vectors of one lane go from function to function as their lane.
//!
//! LLVM has no code for some functions that take `<1 x i1>`: it gives up where it copies registers. What has one lane is a scalar
//! in all else, so a function that no other module sees gets that.
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

/// Whether a parameter is a vector of one lane.
fn has_one_lane(param: Val<'_>) -> bool {
    param.ty().is_vector() && param.ty().count() == 1
}

/// Has single lanes passed in the place of vectors to functions that are only called, and only from this module.
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

/// So many attributes, as they are listed.
fn listed(count: u32, list: impl Fn(*mut LLVMAttributeRef)) -> Vec<LLVMAttributeRef> {
    let mut all = vec![std::ptr::null_mut(); count as usize];
    list(all.as_mut_ptr());
    all
}

/// # Safety
/// A live function of this module that is called and nothing else, and which nothing keeps.
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
        // What is said of a vector may be nothing that can be said of its lane.
        let is_of_vector = |index: &LLVMAttributeIndex| {
            let param = (*index as usize).checked_sub(1).and_then(|at| params.get(at));
            param.is_some_and(|&param| has_one_lane(param))
        };
        let places = 0..=params.len() as LLVMAttributeIndex;
        let places = places.filter(|index| !is_of_vector(index)).chain([LLVMAttributeFunctionIndex]);
        for index in places.clone() {
            let count = LLVMGetAttributeCountAtIndex(old.0, index);
            for said in listed(count, |into| LLVMGetAttributesAtIndex(old.0, index, into)) {
                LLVMAddAttributeAtIndex(new, index, said);
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
            let again = LLVMBuildCall2(builder, ty, new, arguments.as_mut_ptr(), count, NO_NAME);
            LLVMSetInstructionCallConv(again, LLVMGetInstructionCallConv(call));
            LLVMSetTailCallKind(again, LLVMGetTailCallKind(call));
            if LLVMCanValueUseFastMathFlags(call) != 0 {
                LLVMSetFastMathFlags(again, LLVMGetFastMathFlags(call));
            }
            for index in places.clone() {
                let count = LLVMGetCallSiteAttributeCount(call, index);
                for said in listed(count, |into| LLVMGetCallSiteAttributes(call, index, into)) {
                    LLVMAddCallSiteAttribute(again, index, said);
                }
            }
            LLVMReplaceAllUsesWith(call, again);
            LLVMInstructionEraseFromParent(call);
        }
        let name = old.name();
        LLVMDeleteFunction(old.0);
        LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
        LLVMDisposeBuilder(builder);
    }
}
