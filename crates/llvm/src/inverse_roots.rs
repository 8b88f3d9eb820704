//! Replaces inverse square roots by hardware estimates.
//!
//! `rsqrt` may err by two units in the last place. AVX-512 estimates it to 14 bits in one instruction of any width;
//! one Newton step brings that within 1.5 units:
//!
//! ```text
//!   %root = call @llvm.sqrt(%x)                     %guess = rsqrt14 %x
//!   %inverse = fdiv 1, %root, !heddle.rsqrt         %error = 1 - (%x * %guess) * %guess
//!                                                   %step = %guess + (%guess / 2) * %error
//!                                                   %inverse = %error is a number ? %step : %guess
//! ```
//!
//! `%error` is NaN where `x` is 0 or infinite; there the estimate itself is exact, infinity or 0. All vector widths
//! and scalars give the same results; CPUs without the instruction give others. The rewrite runs before LLVM's
//! passes, which would merge several roots or quotients into one vector and split them again.

use crate::cpu::Cpu;
use crate::view::{LlvmModule, Val, call_intrinsic, intrinsic_id, shuffle};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode as Code, LLVMRealPredicate};

const NO_NAME: *const std::ffi::c_char = c"".as_ptr();
/// Metadata kind on a quotient that stands for an inverse square root.
pub(crate) const INVERSE_ROOT: &str = "heddle.rsqrt";
/// Lane counts of the widest and narrowest estimate instruction.
const WIDEST: u32 = 16;
const NARROWEST: u32 = 4;

/// Replaces inverse square roots by estimates, if the CPU has them. Runs before LLVM's passes, from
/// [`optimize`](crate::optimize).
pub(crate) fn estimate_roots(module: &LlvmModule, cpu: &Cpu) {
    if !(cpu.is_x86() && cpu.vector_bits() >= 512) {
        return;
    }
    let kind = module.metadata_kind(INVERSE_ROOT);
    for func in module.functions().filter(|func| !func.is_declaration()) {
        let insts = func.blocks().into_iter().flat_map(|block| block.insts().collect::<Vec<_>>());
        let found: Vec<Val<'_>> = insts.filter(|inst| is_inverse_root(*inst, kind)).collect();
        found.into_iter().for_each(|inverse| estimate(module, inverse));
    }
}

/// True for `1 / sqrt(x)` marked as an inverse square root.
fn is_inverse_root(inst: Val<'_>, kind: u32) -> bool {
    if inst.opcode() != Code::LLVMFDiv || inst.metadata(kind).is_none() {
        return false;
    }
    let root = inst.operand(1);
    // SAFETY: live.
    let is_call = unsafe { !LLVMIsACallInst(root.0).is_null() };
    is_call && root.called().intrinsic_id() == intrinsic_id("llvm.sqrt")
}

/// Replaces an inverse square root by its estimate.
fn estimate(module: &LlvmModule, inverse: Val<'_>) {
    let root = inverse.operand(1);
    let x = root.operand(0);
    // SAFETY: the context is live; values and types are of the module. new instructions are inserted before the inverse, of whose type all
    // of it is, and the old one is unused when erased. An unused root has no other effect.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context());
        LLVMPositionBuilderBefore(builder, inverse.0);
        let ty = x.ty().0;
        let number = |value: f64| match x.ty().is_vector() {
            true => splat(LLVMConstReal(LLVMGetElementType(ty), value), x.ty().count() as u32),
            false => LLVMConstReal(ty, value),
        };
        let fma = |a: LLVMValueRef, b: LLVMValueRef, c: LLVMValueRef| {
            call_intrinsic(module, builder, "llvm.fma", &mut [ty], &mut [a, b, c])
        };
        let guess = guess(module, builder, x);
        let scaled = LLVMBuildFMul(builder, x.0, guess, NO_NAME);
        let error = fma(LLVMBuildFNeg(builder, scaled, NO_NAME), guess, number(1.0));
        let half = LLVMBuildFMul(builder, guess, number(0.5), NO_NAME);
        let step = fma(half, error, guess);
        let is_number = LLVMBuildFCmp(builder, LLVMRealPredicate::LLVMRealORD, error, error, NO_NAME);
        let result = LLVMBuildSelect(builder, is_number, step, guess, NO_NAME);
        LLVMDisposeBuilder(builder);
        LLVMReplaceAllUsesWith(inverse.0, result);
        LLVMInstructionEraseFromParent(inverse.0);
        if LLVMGetFirstUse(root.0).is_null() {
            LLVMInstructionEraseFromParent(root.0);
        }
    }
}

/// Emits the estimate of `1 / sqrt(x)`, one instruction per vector register.
///
/// # Safety
/// A live value of one or several floats, and a builder positioned after it.
unsafe fn guess(module: &LlvmModule, builder: LLVMBuilderRef, x: Val<'_>) -> LLVMValueRef {
    // SAFETY: live; lane indices are in range, or the lanes unread.
    unsafe {
        let float = LLVMFloatTypeInContext(module.context());
        if !x.ty().is_vector() {
            let zero = LLVMConstInt(LLVMInt64TypeInContext(module.context()), 0, 0);
            let none = LLVMGetPoison(LLVMVectorType(float, NARROWEST));
            let vector = LLVMBuildInsertElement(builder, none, x.0, zero, NO_NAME);
            let guess = guess_of_piece(module, builder, vector, NARROWEST);
            return LLVMBuildExtractElement(builder, guess, zero, NO_NAME);
        }
        let count = x.ty().count() as u32;
        let size = count.next_power_of_two().clamp(NARROWEST, WIDEST);
        let mut pieces: Vec<LLVMValueRef> = (0..count.div_ceil(size))
            .map(|piece| {
                let lanes = piece * size..(piece + 1) * size;
                let lanes: Vec<_> = lanes.map(|lane| (lane < count).then_some(lane)).collect();
                let piece = shuffle(builder, x.0, x.0, &lanes);
                guess_of_piece(module, builder, piece, size)
            })
            .collect();
        let mut lanes = size;
        while pieces.len() > 1 {
            lanes *= 2;
            let all: Vec<_> = (0..lanes).map(Some).collect();
            let join = |pair: &[LLVMValueRef]| shuffle(builder, pair[0], pair[pair.len() - 1], &all);
            pieces = pieces.chunks(2).map(join).collect();
        }
        let all: Vec<_> = (0..count).map(Some).collect();
        shuffle(builder, pieces[0], pieces[0], &all)
    }
}

/// Emits the estimate of a vector that fits into a register.
///
/// # Safety
/// A live vector of so many floats.
unsafe fn guess_of_piece(
    module: &LlvmModule,
    builder: LLVMBuilderRef,
    x: LLVMValueRef,
    lanes: u32,
) -> LLVMValueRef {
    let name = match lanes {
        WIDEST => "llvm.x86.avx512.rsqrt14.ps.512",
        8 => "llvm.x86.avx512.rsqrt14.ps.256",
        _ => "llvm.x86.avx512.rsqrt14.ps.128",
    };
    // SAFETY: live; the mask has one bit per lane, at least eight.
    unsafe {
        let mask = LLVMConstAllOnes(LLVMIntTypeInContext(module.context(), lanes.max(8)));
        let other = LLVMGetPoison(LLVMTypeOf(x));
        call_intrinsic(module, builder, name, &mut [], &mut [x, other, mask])
    }
}

/// # Safety
/// A live constant.
unsafe fn splat(value: LLVMValueRef, lanes: u32) -> LLVMValueRef {
    let mut values = vec![value; lanes as usize];
    // SAFETY: live constants of one type.
    unsafe { LLVMConstVector(values.as_mut_ptr(), lanes) }
}
