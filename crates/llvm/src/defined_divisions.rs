//! Defines integer divisions by zero, before LLVM's passes.
//!
//! OpenCL leaves the value of a division by zero unspecified and permits no other effect; in LLVM IR it is undefined
//! behavior. LLVM deletes paths that lead to it, and machines trap. Therefore each divisor that may be 0 becomes 1:
//!
//! ```text
//!   udiv %a, %b        udiv %a, umax(%b, 1)
//!   sdiv %a, %b        sdiv %a, umax(%b, 1)        negative divisors are large unsigned numbers
//!   sdiv %a, -1        sub 0, %a                   without `nsw`
//! ```
//!
//! A remainder next to the quotient of the same numbers is what the quotient leaves, `%a - %a / umax(%b, 1) * %b`. It is `%a` where `%b`
//! is 0, and LLVM finds `i` in `i / n * n + i % n`, the index of an element by row and column: its terms cancel. With the other divisor
//! they would not.
//!
//! LLVM's passes remove what ranges and conditions make unnecessary.
//! Decision: the divisor depends on the divisor only. A test for the minimum divided by -1 would make a uniform divisor
//! vary with the dividend, so rows and columns of `i / n` would no longer be known; emission guards against it instead
//! (`emit/table.rs`).

use crate::view::{LlvmModule, Val, intrinsic_id};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind, LLVMValueKind};
use rustc_hash::FxHashSet;

/// Depth of operands that are compared, and the number of operands of each.
const EXPRESSION_DEPTH: u32 = 4;
const MAX_OPERANDS: u32 = 3;
const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

/// Makes all integer divisions of a module defined for a zero divisor, and for the constant divisor -1.
pub(crate) fn define_divisions(module: &LlvmModule) {
    use LLVMOpcode::{LLVMSDiv, LLVMSRem, LLVMUDiv, LLVMURem};
    for func in module.functions().filter(|func| !func.is_declaration()) {
        let insts: Vec<Val<'_>> =
            func.blocks().into_iter().flat_map(|block| block.insts().collect::<Vec<_>>()).collect();
        let is_quotient = |inst: &&Val<'_>| matches!(inst.opcode(), LLVMUDiv | LLVMSDiv);
        let quotients: FxHashSet<Vec<usize>> =
            insts.iter().filter(is_quotient).map(|&inst| key_of(inst)).collect();
        let leaves = |&inst: &Val<'_>| {
            matches!(inst.opcode(), LLVMURem | LLVMSRem) && quotients.contains(&key_of(inst))
        };
        // Keys are of the source, before a division changes.
        let has_quotient: Vec<bool> = insts.iter().map(leaves).collect();
        for (inst, has_quotient) in insts.into_iter().zip(has_quotient) {
            define_folded(inst);
            let opcode = inst.opcode();
            if matches!(opcode, LLVMUDiv | LLVMURem | LLVMSDiv | LLVMSRem) {
                let is_signed = matches!(opcode, LLVMSDiv | LLVMSRem);
                // SAFETY: a live division of this module, which nothing keeps.
                unsafe { define(module, inst, is_signed, has_quotient) };
            }
        }
    }
}

/// Signedness and operands of a division as the source has them: clang loads a variable for each of its uses. Divisions with one key need
/// not have the same numbers.
fn key_of(division: Val<'_>) -> Vec<usize> {
    let is_signed = matches!(division.opcode(), LLVMOpcode::LLVMSDiv | LLVMOpcode::LLVMSRem);
    let mut key = vec![usize::from(is_signed)];
    for index in 0..2 {
        add_expression(division.operand(index), EXPRESSION_DEPTH, &mut key);
    }
    key
}

fn add_expression(value: Val<'_>, depth: u32, key: &mut Vec<usize>) {
    use LLVMOpcode::{LLVMAlloca, LLVMPHI};
    let is_inner = value.kind() == LLVMValueKind::LLVMInstructionValueKind
        && !matches!(value.opcode(), LLVMAlloca | LLVMPHI)
        && value.operand_count() <= MAX_OPERANDS;
    if depth == 0 || !is_inner {
        key.push(value.0 as usize);
        return;
    }
    key.push(value.opcode() as usize);
    for index in 0..value.operand_count() {
        add_expression(value.operand(index), depth - 1, key);
    }
}

/// Replaces poison operands by zeros: clang folds a division of constants by zero to poison.
fn define_folded(inst: Val<'_>) {
    use LLVMOpcode::{LLVMExtractElement, LLVMInsertElement, LLVMInsertValue, LLVMShuffleVector};
    // Their poison operands are parts that are never read.
    if matches!(inst.opcode(), LLVMInsertElement | LLVMInsertValue | LLVMShuffleVector | LLVMExtractElement) {
        return;
    }
    for index in 0..inst.operand_count() {
        let operand = inst.operand(index);
        let is_int = operand.ty().kind() == LLVMTypeKind::LLVMIntegerTypeKind
            || operand.ty().is_vector() && operand.ty().element().kind() == LLVMTypeKind::LLVMIntegerTypeKind;
        if operand.kind() == LLVMValueKind::LLVMPoisonValueKind && is_int {
            // SAFETY: a live instruction; the operand keeps its type.
            unsafe { LLVMSetOperand(inst.0, index, LLVMConstNull(operand.ty().0)) };
        }
    }
}

/// True if all elements of a constant meet a condition; the second argument of the condition is all ones.
fn all_elements(value: Val<'_>, meets: &impl Fn(u128, u128) -> bool) -> bool {
    if !value.is_constant() {
        return false;
    }
    let ty = value.ty();
    if ty.is_vector() {
        let is_one = |index| value.aggregate_element(index).is_some_and(|one| all_elements(one, meets));
        return (0..ty.count() as u32).all(is_one);
    }
    let ones = u128::MAX >> (128 - ty.int_bits().clamp(1, 128));
    value.kind() == LLVMValueKind::LLVMConstantIntValueKind
        && value.bits().is_some_and(|bits| meets(bits, ones))
}

/// # Safety
/// A live integer division of this module, which nothing keeps.
unsafe fn define(module: &LlvmModule, inst: Val<'_>, is_signed: bool, has_quotient: bool) {
    let divisor = inst.operand(1);
    if all_elements(divisor, &|bits, ones| bits != 0 && !(is_signed && bits == ones)) {
        return;
    }
    // SAFETY: live; new instructions precede the division and have its type, and nothing uses the division when it is erased.
    unsafe {
        let ty = divisor.ty().0;
        let builder = LLVMCreateBuilderInContext(module.context());
        LLVMPositionBuilderBefore(builder, inst.0);
        if is_signed && all_elements(divisor, &|bits, ones| bits == ones) {
            let result = match inst.opcode() {
                LLVMOpcode::LLVMSDiv => LLVMBuildNeg(builder, inst.operand(0).0, NO_NAME),
                _ => LLVMConstNull(ty),
            };
            LLVMReplaceAllUsesWith(inst.0, result);
            LLVMInstructionEraseFromParent(inst.0);
        } else if has_quotient {
            let (a, by) = (inst.operand(0).0, nonzero(module, builder, divisor));
            let quotient = match is_signed {
                true => LLVMBuildSDiv(builder, a, by, NO_NAME),
                false => LLVMBuildUDiv(builder, a, by, NO_NAME),
            };
            let product = LLVMBuildMul(builder, quotient, divisor.0, NO_NAME);
            LLVMReplaceAllUsesWith(inst.0, LLVMBuildSub(builder, a, product, NO_NAME));
            LLVMInstructionEraseFromParent(inst.0);
        } else {
            LLVMSetOperand(inst.0, 1, nonzero(module, builder, divisor));
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Builds the divisor, or 1 where it is 0.
///
/// # Safety
/// The builder is live and positioned after the divisor's definition.
unsafe fn nonzero(module: &LlvmModule, builder: LLVMBuilderRef, divisor: Val<'_>) -> LLVMValueRef {
    let ty = divisor.ty();
    // SAFETY: live; the constants have the divisor's type, for which the intrinsic is declared.
    unsafe {
        let one = if ty.is_vector() {
            let lanes = ty.count() as u32;
            let mut ones = vec![LLVMConstInt(ty.element().0, 1, 0); lanes as usize];
            LLVMConstVector(ones.as_mut_ptr(), lanes)
        } else {
            LLVMConstInt(ty.0, 1, 0)
        };
        let id = intrinsic_id("llvm.umax");
        let mut open = [ty.0];
        let callee = LLVMGetIntrinsicDeclaration(module.raw(), id, open.as_mut_ptr(), 1);
        let signature = LLVMGlobalGetValueType(callee);
        let mut args = [divisor.0, one];
        LLVMBuildCall2(builder, signature, callee, args.as_mut_ptr(), 2, NO_NAME)
    }
}
