//! Builder functions used in several files.

use super::{LlvmModule, intrinsic_id};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// Emits a shuffle of two vectors; none is a poison lane.
///
/// # Safety
/// A positioned builder, and live vectors of one type, which have these lanes.
pub(crate) unsafe fn shuffle(
    builder: LLVMBuilderRef,
    a: LLVMValueRef,
    b: LLVMValueRef,
    lanes: &[Option<u32>],
) -> LLVMValueRef {
    // SAFETY: live; the indices are a constant vector of i32.
    unsafe {
        let i32_ty = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(a)));
        let index = |lane: &Option<u32>| match lane {
            Some(lane) => LLVMConstInt(i32_ty, (*lane).into(), 0),
            None => LLVMGetPoison(i32_ty),
        };
        let mut indices: Vec<LLVMValueRef> = lanes.iter().map(index).collect();
        let indices = LLVMConstVector(indices.as_mut_ptr(), indices.len() as u32);
        LLVMBuildShuffleVector(builder, a, b, indices, c"".as_ptr())
    }
}

/// Emits an intrinsic call; `types` holds the overloaded types.
///
/// # Safety
/// A builder positioned in the module, and live values, as the intrinsic of these types requires.
pub(crate) unsafe fn call_intrinsic(
    module: &LlvmModule,
    builder: LLVMBuilderRef,
    name: &str,
    types: &mut [LLVMTypeRef],
    args: &mut [LLVMValueRef],
) -> LLVMValueRef {
    // SAFETY: the intrinsic is one of LLVM's, and the caller has its arguments.
    unsafe {
        let id = intrinsic_id(name);
        let (pointer, count) = (types.as_mut_ptr(), types.len());
        let func = LLVMGetIntrinsicDeclaration(module.raw(), id, pointer, count);
        let ty = LLVMIntrinsicGetType(module.context(), id, pointer, count);
        LLVMBuildCall2(builder, ty, func, args.as_mut_ptr(), args.len() as u32, c"".as_ptr())
    }
}
