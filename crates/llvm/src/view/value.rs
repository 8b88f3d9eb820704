//! Values: names, types, operands, constants.

use super::{Bb, Ty, Val, copy_text, take_message};
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;
use llvm_sys::{LLVMOpcode, LLVMTypeKind, LLVMValueKind};
use std::marker::PhantomData;

impl<'m> Val<'m> {
    pub(crate) fn of(raw: LLVMValueRef) -> Option<Val<'m>> {
        (!raw.is_null()).then_some(Val(raw, PhantomData))
    }

    pub(crate) fn kind(self) -> LLVMValueKind {
        // SAFETY: live.
        unsafe { LLVMGetValueKind(self.0) }
    }

    pub(crate) fn ty(self) -> Ty<'m> {
        // SAFETY: live.
        Ty(unsafe { LLVMTypeOf(self.0) }, PhantomData)
    }

    pub(crate) fn name(self) -> String {
        let mut len = 0;
        // SAFETY: live, and keeps its name.
        unsafe { copy_text(LLVMGetValueName2(self.0, &mut len), len) }
    }

    /// Returns the value's text on one line, without metadata.
    pub(crate) fn text(self) -> String {
        // SAFETY: live; the text is taken over.
        let text = unsafe { take_message(LLVMPrintValueToString(self.0)) };
        let line = text.trim().lines().next().unwrap_or_default();
        let line = line.split(", !").next().unwrap_or(line);
        line.split(" #").next().unwrap_or(line).chars().take(200).collect()
    }

    /// Returns the value's full text.
    pub(crate) fn full_text(self) -> String {
        // SAFETY: live; the text is taken over.
        unsafe { take_message(LLVMPrintValueToString(self.0)) }
    }

    pub(crate) fn opcode(self) -> LLVMOpcode {
        // SAFETY: live; callers pass instructions only.
        unsafe { LLVMGetInstructionOpcode(self.0) }
    }

    /// Returns the block of an instruction.
    pub(crate) fn block(self) -> Bb<'m> {
        // SAFETY: live; callers pass instructions only, which stand in blocks.
        Bb(unsafe { LLVMGetInstructionParent(self.0) }, PhantomData)
    }

    /// Returns up to `most` users of the value.
    pub(crate) fn users(self, most: usize) -> Vec<Val<'m>> {
        let mut found = Vec::new();
        // SAFETY: live; so are its uses, which nothing changes meanwhile.
        unsafe {
            let mut usage = LLVMGetFirstUse(self.0);
            while !usage.is_null() && found.len() < most {
                found.extend(Val::of(LLVMGetUser(usage)));
                usage = LLVMGetNextUse(usage);
            }
        }
        found
    }

    pub(crate) fn const_opcode(self) -> LLVMOpcode {
        // SAFETY: live; callers pass constant expressions only.
        unsafe { LLVMGetConstOpcode(self.0) }
    }

    pub(crate) fn operand_count(self) -> u32 {
        // SAFETY: live; callers pass users only.
        unsafe { LLVMGetNumOperands(self.0).max(0) as u32 }
    }

    /// Returns an operand; panics if the index is out of range.
    pub(crate) fn operand(self, index: u32) -> Val<'m> {
        assert!(index < self.operand_count(), "operand {index} of `{}`", self.text());
        // SAFETY: live, and the index is below the count.
        Val(unsafe { LLVMGetOperand(self.0, index) }, PhantomData)
    }

    pub(crate) fn operands(self) -> impl Iterator<Item = Val<'m>> {
        (0..self.operand_count()).map(move |index| self.operand(index))
    }

    // Constants.

    pub(crate) fn is_constant(self) -> bool {
        // SAFETY: live.
        unsafe { LLVMIsConstant(self.0) != 0 }
    }

    /// Returns the bits of an integer or float constant of at most 128 bits.
    pub(crate) fn bits(self) -> Option<u128> {
        let int = match self.kind() {
            LLVMValueKind::LLVMConstantIntValueKind => self,
            LLVMValueKind::LLVMConstantFPValueKind => {
                let bits = match self.ty().kind() {
                    LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => 16,
                    LLVMTypeKind::LLVMFloatTypeKind => 32,
                    LLVMTypeKind::LLVMDoubleTypeKind => 64,
                    _ => return None,
                };
                let int = self.ty().same_bits_int(bits);
                // SAFETY: live; a float constant casts to the integer of as many bits, and LLVM folds that.
                Val(unsafe { LLVMConstBitCast(self.0, int.0) }, PhantomData)
            }
            _ => return None,
        };
        if int.kind() != LLVMValueKind::LLVMConstantIntValueKind {
            return None;
        }
        let bits = int.ty().int_bits();
        if bits <= 64 {
            // SAFETY: live; an integer constant that fits.
            return Some(unsafe { LLVMConstIntGetZExtValue(int.0) }.into());
        }
        // The C interface returns 64 bits; parse wider constants from the text.
        let text = int.full_text();
        let value: i128 = text.rsplit(' ').next()?.parse().ok()?;
        let mask = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
        (bits <= 128).then_some(value as u128 & mask)
    }

    /// Returns an element of a constant aggregate or vector.
    pub(crate) fn aggregate_element(self, index: u32) -> Option<Val<'m>> {
        // SAFETY: live; a constant.
        Val::of(unsafe { LLVMGetAggregateElement(self.0, index) })
    }

    // Globals and functions.
}
