//! Builder of integer and pointer code next to existing instructions.

use crate::view::{Bb, LlvmModule, Ty, Val};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

/// Flags of an addition or extension.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct WrapFlags {
    pub(super) nuw: bool,
    pub(super) nsw: bool,
}

/// Position and builder of new code. All values passed in belong to its module.
#[derive(Debug)]
pub(super) struct Rewriter<'m> {
    builder: LLVMBuilderRef,
    module: &'m LlvmModule,
}

impl Drop for Rewriter<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and freed once.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}

impl<'m> Rewriter<'m> {
    pub(super) fn new(module: &'m LlvmModule) -> Rewriter<'m> {
        // SAFETY: the context outlives the builder.
        let builder = unsafe { LLVMCreateBuilderInContext(module.context()) };
        Rewriter { builder, module }
    }

    fn value(&self, raw: LLVMValueRef) -> Val<'m> {
        Val::of(raw).expect("LLVM builds a value")
    }

    /// Continues before an instruction.
    pub(super) fn before(&self, inst: Val<'m>) -> &Self {
        // SAFETY: a live instruction in a block.
        unsafe { LLVMPositionBuilderBefore(self.builder, inst.0) };
        self
    }

    /// Continues after the φs of a block.
    pub(super) fn after_phis(&self, block: Bb<'m>) -> &Self {
        let first = block.insts().find(|inst| inst.opcode() != LLVMOpcode::LLVMPHI);
        self.before(first.expect("blocks end in a terminator"))
    }

    /// Continues at the end of a block.
    pub(super) fn at_end(&self, block: Bb<'m>) -> &Self {
        self.before(block.terminator().expect("blocks end in a terminator"))
    }

    pub(super) fn int(&self, bits: u32) -> Ty<'m> {
        Ty::int(self.module, bits)
    }

    /// Returns the bytes between elements of a type.
    pub(super) fn size(&self, ty: Ty<'m>) -> u64 {
        self.module.layout().size(ty)
    }

    pub(super) fn constant(&self, bits: u32, value: i64) -> Val<'m> {
        let mask = u64::MAX >> (64 - bits.clamp(1, 64));
        // SAFETY: an integer type, and a number that fits.
        self.value(unsafe { LLVMConstInt(self.int(bits).0, value as u64 & mask, 0) })
    }

    /// Emits an integer operation.
    pub(super) fn binary(&self, op: LLVMOpcode, a: Val<'m>, b: Val<'m>, flags: WrapFlags) -> Val<'m> {
        // SAFETY: live operands of one type; only instructions of operations that wrap have flags.
        unsafe {
            let result = LLVMBuildBinOp(self.builder, op, a.0, b.0, NO_NAME);
            if !LLVMIsAInstruction(result).is_null() && (flags.nuw || flags.nsw) {
                LLVMSetNUW(result, flags.nuw.into());
                LLVMSetNSW(result, flags.nsw.into());
            }
            self.value(result)
        }
    }

    /// Emits a truncation or extension to an integer type.
    pub(super) fn cast(&self, op: LLVMOpcode, value: Val<'m>, bits: u32) -> Val<'m> {
        // SAFETY: a live integer and a type that the cast permits.
        self.value(unsafe { LLVMBuildCast(self.builder, op, value.0, self.int(bits).0, NO_NAME) })
    }

    /// Emits a zero extension of a number that is not negative.
    pub(super) fn extend_nonnegative(&self, value: Val<'m>, bits: u32) -> Val<'m> {
        let extended = self.cast(LLVMOpcode::LLVMZExt, value, bits);
        // SAFETY: only instructions have the flag.
        unsafe {
            if !LLVMIsAInstruction(extended.0).is_null() {
                LLVMSetNNeg(extended.0, 1);
            }
        }
        extended
    }

    pub(super) fn compare(&self, predicate: LLVMIntPredicate, a: Val<'m>, b: Val<'m>) -> Val<'m> {
        // SAFETY: live operands of one integer type.
        self.value(unsafe { LLVMBuildICmp(self.builder, predicate, a.0, b.0, NO_NAME) })
    }

    /// Emits the address some bytes after a pointer.
    pub(super) fn offset(&self, pointer: Val<'m>, bytes: Val<'m>) -> Val<'m> {
        let mut index = [bytes.0];
        // SAFETY: a live pointer, and an index of 64 bits.
        self.value(unsafe {
            LLVMBuildGEP2(self.builder, self.int(8).0, pointer.0, index.as_mut_ptr(), 1, NO_NAME)
        })
    }

    /// Emits a φ at the start of a block.
    pub(super) fn phi(&self, block: Bb<'m>, ty: Ty<'m>, incoming: &[(Val<'m>, Bb<'m>)]) -> Val<'m> {
        self.before(block.insts().next().expect("blocks end in a terminator"));
        // SAFETY: the builder is at the start of the block.
        let phi = self.value(unsafe { LLVMBuildPhi(self.builder, ty.0, NO_NAME) });
        incoming.iter().for_each(|&(value, from)| self.add_incoming(phi, value, from));
        phi
    }

    pub(super) fn add_incoming(&self, phi: Val<'m>, value: Val<'m>, from: Bb<'m>) {
        let (mut value, mut from) = ([value.0], [from.0]);
        // SAFETY: a live φ, a value of its type, and a predecessor of its block.
        unsafe { LLVMAddIncoming(phi.0, value.as_mut_ptr(), from.as_mut_ptr(), 1) };
    }

    pub(super) fn set_operand(&self, inst: Val<'m>, index: u32, value: Val<'m>) {
        // SAFETY: a live instruction, and a value of the operand's type that dominates it.
        unsafe { LLVMSetOperand(inst.0, index, value.0) };
    }

    /// Removes the promises of an operation not to wrap.
    pub(super) fn permit_wrapping(&self, inst: Val<'m>) {
        use LLVMOpcode::{LLVMAdd, LLVMMul, LLVMShl, LLVMSub};
        if matches!(inst.opcode(), LLVMAdd | LLVMSub | LLVMMul | LLVMShl) {
            // SAFETY: a live operation that has both flags.
            unsafe {
                LLVMSetNUW(inst.0, 0);
                LLVMSetNSW(inst.0, 0);
            }
        }
    }

    /// Replaces all uses of an instruction and deletes it.
    pub(super) fn replace(&self, old: Val<'m>, new: Val<'m>) {
        // SAFETY: live, of one type; nothing keeps the old one.
        unsafe {
            LLVMReplaceAllUsesWith(old.0, new.0);
            LLVMInstructionEraseFromParent(old.0);
        }
    }

    /// Replaces all uses of an instruction by poison and deletes it.
    pub(super) fn delete(&self, inst: Val<'m>) {
        // SAFETY: a type that is live.
        let poison = self.value(unsafe { LLVMGetPoison(inst.ty().0) });
        self.replace(inst, poison);
    }
}
