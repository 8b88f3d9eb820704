//! Replaces masked stores of a single lane by scalar stores.
//!
//! On AVX-512, LLVM 22.1 turns a masked store of truncated lanes into a truncating store. If the mask is a known
//! single lane, it then stores that lane untruncated: `masked_store (trunc <4 x i32>, <4 x i64>), p, <1,0,0,0>`
//! writes eight bytes. So no such store reaches the code generator. Instruction selection simplifies masks as
//! `instcombine` does, so that pass runs first.

use crate::generate::{run_pass, simplify};
use crate::jit::CodegenLevel;
use crate::lane_indices::freeze_lane_indices;
use crate::single_lane_params::pass_single_lanes;
use crate::view::{LlvmModule, Val, attribute_kind};
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// Name prefix of the masked store intrinsics.
pub(crate) const MASKED_STORE: &str = "llvm.masked.store.";

/// Prepares a module for code generation: simplifies masks of truncated lanes, and replaces single-lane stores and
/// single-lane vector parameters. Modules compiled at the minimal level have been through none of LLVM's passes.
pub(crate) fn prepare_for_codegen(module: &LlvmModule, level: CodegenLevel) {
    // SAFETY: each is a live call of a masked store.
    unsafe {
        let is_open = |&call: &LLVMValueRef| {
            !LLVMIsATruncInst(LLVMGetOperand(call, 0)).is_null()
                && LLVMIsConstant(LLVMGetOperand(call, 2)) == 0
        };
        if module.calls_of(MASKED_STORE).iter().any(is_open) {
            // One round suffices; a further change must not be a fatal error.
            run_pass(module, c"instcombine<no-verify-fixpoint>");
        } else if level == CodegenLevel::Minimal {
            simplify(module);
        }
    }
    store_single_lanes(module);
    pass_single_lanes(module);
    if level == CodegenLevel::Minimal {
        freeze_lane_indices(module);
    }
}

/// Replaces masked stores with a known single-lane mask by scalar stores.
pub(crate) fn store_single_lanes(module: &LlvmModule) {
    // SAFETY: each is a live call of a masked store, and is erased once.
    module.calls_of(MASKED_STORE).into_iter().for_each(|call| unsafe { store_single_lane(module, call) });
}

/// # Safety
/// A live call of a masked store in this module, which nothing keeps.
unsafe fn store_single_lane(module: &LlvmModule, call: LLVMValueRef) {
    // SAFETY: live; a masked store has a value, an address, and a mask. new instructions are inserted before it, and nothing
    // reads what it gives, as that is nothing.
    unsafe {
        let [value, address, mask] = [0, 1, 2].map(|index| LLVMGetOperand(call, index));
        let element = LLVMGetElementType(LLVMTypeOf(value));
        let (Some(lane), Some(bytes)) = (only_lane(mask), bytes_of(element)) else { return };
        let align =
            Val::of(call).and_then(|call| call.call_attribute(2, attribute_kind("align"))).unwrap_or(1);
        let offset = u64::from(lane) * u64::from(bytes);
        let align = if offset == 0 { align } else { align.min(1 << offset.trailing_zeros()) };
        let builder = LLVMCreateBuilderInContext(module.context());
        LLVMPositionBuilderBefore(builder, call);
        let i64_ty = LLVMInt64TypeInContext(module.context());
        let index = LLVMConstInt(i64_ty, lane.into(), 0);
        let stored = LLVMBuildExtractElement(builder, value, index, c"".as_ptr());
        let address = LLVMBuildGEP2(builder, element, address, [index].as_mut_ptr(), 1, c"".as_ptr());
        // The builder uses the call's debug location.
        let store = LLVMBuildStore(builder, stored, address);
        LLVMSetAlignment(store, align as u32);
        LLVMDisposeBuilder(builder);
        LLVMInstructionEraseFromParent(call);
    }
}

/// Returns the only set lane of a constant mask.
///
/// # Safety
/// A live vector of bits.
unsafe fn only_lane(mask: LLVMValueRef) -> Option<u32> {
    // SAFETY: live; elements of a constant are there below its length.
    unsafe {
        if LLVMIsConstant(mask) == 0 || LLVMGetTypeKind(LLVMTypeOf(mask)) != LLVMTypeKind::LLVMVectorTypeKind
        {
            return None;
        }
        let mut only = None;
        for lane in 0..LLVMGetVectorSize(LLVMTypeOf(mask)) {
            let bit = LLVMGetAggregateElement(mask, lane);
            if bit.is_null() || LLVMIsAConstantInt(bit).is_null() {
                return None;
            }
            if LLVMConstIntGetZExtValue(bit) != 0 && only.replace(lane).is_some() {
                return None;
            }
        }
        only
    }
}

/// Returns the size of an element type if it is a whole number of bytes.
///
/// # Safety
/// A live type.
unsafe fn bytes_of(element: LLVMTypeRef) -> Option<u32> {
    // SAFETY: live.
    unsafe {
        match LLVMGetTypeKind(element) {
            LLVMTypeKind::LLVMIntegerTypeKind => match LLVMGetIntTypeWidth(element) {
                bits @ (8 | 16 | 32 | 64 | 128) => Some(bits / 8),
                _ => None,
            },
            LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => Some(2),
            LLVMTypeKind::LLVMFloatTypeKind => Some(4),
            LLVMTypeKind::LLVMDoubleTypeKind | LLVMTypeKind::LLVMPointerTypeKind => Some(8),
            _ => None,
        }
    }
}
