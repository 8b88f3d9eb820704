//! Lowers saturating float-to-integer conversions of vectors on x86.
//!
//! LLVM 22.1 converts lane by lane on x86: 118 instructions for 16 floats to `i32`. OpenCL's `convert_…_sat`, Rust's
//! casts and CUDA's `cvt` use these conversions. If the float format holds both bounds, clamping precedes the
//! conversion; otherwise the smallest float beyond the upper bound selects the result:
//!
//! ```text
//!   %r = call <16 x i8> @llvm.fptoui.sat(<16 x float> %x)      %r = call <16 x i32> @llvm.fptosi.sat(<16 x float> %x)
//!
//!   %low = select (%x ogt 0), %x, 0      a NaN becomes 0        %low = select (%x ogt -0x1p31), %x, -0x1p31
//!   %fit = select (%low olt 255), %low, 255                     %int = fptosi %low
//!   %int = fptosi <16 x i32> %fit                               %fit = select (%x oge 0x1p31), 0x7fffffff, %int
//!   %r = trunc <16 x i8> %int                                   %r = select (%x ord %x), %fit, 0
//! ```

use crate::cpu::Cpu;
use crate::view::LlvmModule;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMRealPredicate, LLVMTypeKind};

const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

/// Lowers saturating vector conversions to x86 instructions. Runs before LLVM's passes, from
/// [`optimize`](crate::optimize).
pub(crate) fn saturate_vectors(module: &LlvmModule, cpu: &Cpu) {
    if !cpu.is_x86() {
        return;
    }
    for (name, is_signed) in [("llvm.fptosi.sat.", true), ("llvm.fptoui.sat.", false)] {
        for call in module.calls_of(name) {
            // SAFETY: a live call of one of these, which takes a float or a vector of them, and is erased once.
            unsafe { saturate(module, call, is_signed) };
        }
    }
}

/// # Safety
/// A live call of `llvm.fptosi.sat` or `llvm.fptoui.sat` in this module, which nothing keeps.
unsafe fn saturate(module: &LlvmModule, call: LLVMValueRef, is_signed: bool) {
    // SAFETY: live; new instructions precede the call and have its type, and nothing uses the call when it is erased. What is
    // converted out of range is not selected.
    unsafe {
        let (to, x) = (LLVMTypeOf(call), LLVMGetOperand(call, 0));
        let from = LLVMTypeOf(x);
        if LLVMGetTypeKind(to) != LLVMTypeKind::LLVMVectorTypeKind {
            return;
        }
        // Precision of the float format in bits.
        let digits = match LLVMGetTypeKind(LLVMGetElementType(from)) {
            LLVMTypeKind::LLVMFloatTypeKind => 24,
            LLVMTypeKind::LLVMDoubleTypeKind => 53,
            _ => return,
        };
        let bits = LLVMGetIntTypeWidth(LLVMGetElementType(to));
        if !matches!(bits, 8 | 16 | 32 | 64) {
            return;
        }
        let lanes = LLVMGetVectorSize(to);
        let splat = |one: LLVMValueRef| LLVMConstVector(vec![one; lanes as usize].as_mut_ptr(), lanes);
        let float = |value: f64| splat(LLVMConstReal(LLVMGetElementType(from), value));
        let builder = LLVMCreateBuilderInContext(module.context());
        LLVMPositionBuilderBefore(builder, call);
        let chosen = |predicate, bound: LLVMValueRef, value: LLVMValueRef| {
            LLVMBuildSelect(
                builder,
                LLVMBuildFCmp(builder, predicate, value, bound, NO_NAME),
                value,
                bound,
                NO_NAME,
            )
        };
        let converted = |value, ty: LLVMTypeRef, is_signed| match is_signed {
            true => LLVMBuildFPToSI(builder, value, ty, NO_NAME),
            false => LLVMBuildFPToUI(builder, value, ty, NO_NAME),
        };

        let value_bits = bits - u32::from(is_signed);
        let beyond = 2f64.powi(value_bits as i32);
        let low = chosen(LLVMRealPredicate::LLVMRealOGT, float(if is_signed { -beyond } else { 0.0 }), x);
        let fit = if value_bits <= digits {
            let fit = chosen(LLVMRealPredicate::LLVMRealOLT, float(beyond - 1.0), low);
            if bits < 32 {
                let word = LLVMVectorType(LLVMInt32TypeInContext(module.context()), lanes);
                LLVMBuildTrunc(builder, converted(fit, word, true), to, NO_NAME)
            } else {
                converted(fit, to, is_signed)
            }
        } else {
            let is_beyond = LLVMBuildFCmp(builder, LLVMRealPredicate::LLVMRealOGE, x, float(beyond), NO_NAME);
            let most = LLVMConstInt(LLVMGetElementType(to), u64::MAX >> (64 - value_bits), 0);
            LLVMBuildSelect(builder, is_beyond, splat(most), converted(low, to, is_signed), NO_NAME)
        };
        let result = if is_signed {
            let is_number = LLVMBuildFCmp(builder, LLVMRealPredicate::LLVMRealORD, x, x, NO_NAME);
            LLVMBuildSelect(builder, is_number, fit, LLVMConstNull(to), NO_NAME)
        } else {
            fit
        };
        LLVMDisposeBuilder(builder);
        LLVMReplaceAllUsesWith(call, result);
        LLVMInstructionEraseFromParent(call);
    }
}
