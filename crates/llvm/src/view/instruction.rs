//! Instructions and blocks: flags, memory, control flow, calls.

use super::{Bb, Ty, Val, chain, copy_text};
use llvm_sys::core::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMRealPredicate};
use std::marker::PhantomData;

/// Source location of an instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DebugLoc {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl<'m> Bb<'m> {
    pub(crate) fn insts(self) -> impl Iterator<Item = Val<'m>> {
        // SAFETY: live.
        let first = Val::of(unsafe { LLVMGetFirstInstruction(self.0) });
        // SAFETY: each is an instruction of the live block.
        first
            .map(|first| chain(first, |inst| unsafe { LLVMGetNextInstruction(inst.0) }))
            .into_iter()
            .flatten()
    }

    pub(crate) fn terminator(self) -> Option<Val<'m>> {
        // SAFETY: live.
        Val::of(unsafe { LLVMGetBasicBlockTerminator(self.0) })
    }
}

impl<'m> Val<'m> {
    pub(crate) fn int_predicate(self) -> LLVMIntPredicate {
        // SAFETY: live; an integer comparison.
        unsafe { LLVMGetICmpPredicate(self.0) }
    }

    pub(crate) fn float_predicate(self) -> LLVMRealPredicate {
        // SAFETY: live; a float comparison.
        unsafe { LLVMGetFCmpPredicate(self.0) }
    }

    pub(crate) fn has_nuw(self) -> bool {
        // SAFETY: live; an operation that may wrap.
        unsafe { LLVMGetNUW(self.0) != 0 }
    }

    pub(crate) fn has_nsw(self) -> bool {
        // SAFETY: live; an operation that may wrap.
        unsafe { LLVMGetNSW(self.0) != 0 }
    }

    pub(crate) fn is_exact(self) -> bool {
        // SAFETY: live; a division or right shift.
        unsafe { LLVMGetExact(self.0) != 0 }
    }

    pub(crate) fn is_disjoint(self) -> bool {
        // SAFETY: live; an `or`.
        unsafe { LLVMGetIsDisjoint(self.0) != 0 }
    }

    pub(crate) fn has_nneg(self) -> bool {
        // SAFETY: live; a `zext` or `uitofp`.
        unsafe { LLVMGetNNeg(self.0) != 0 }
    }

    /// Returns the fast-math flags; none on instructions without them.
    pub(crate) fn fast_math(self) -> u32 {
        // SAFETY: live; an instruction.
        unsafe { if LLVMCanValueUseFastMathFlags(self.0) != 0 { LLVMGetFastMathFlags(self.0) } else { 0 } }
    }

    pub(crate) fn gep_type(self) -> Ty<'m> {
        // SAFETY: live; a `getelementptr`, instruction or constant.
        Ty(unsafe { LLVMGetGEPSourceElementType(self.0) }, PhantomData)
    }

    /// 1: inbounds, 2: nusw, 4: nuw.
    pub(crate) fn gep_flags(self) -> u32 {
        // SAFETY: live; a `getelementptr`, instruction or constant.
        unsafe { LLVMGEPGetNoWrapFlags(self.0) as u32 }
    }

    pub(crate) fn is_volatile(self) -> bool {
        // SAFETY: live; a memory access.
        unsafe { LLVMGetVolatile(self.0) != 0 }
    }

    pub(crate) fn ordering(self) -> LLVMAtomicOrdering {
        // SAFETY: live; a load, store, fence or `atomicrmw`.
        unsafe { LLVMGetOrdering(self.0) }
    }

    pub(crate) fn exchange_orderings(self) -> (LLVMAtomicOrdering, LLVMAtomicOrdering) {
        // SAFETY: live; a `cmpxchg`.
        unsafe { (LLVMGetCmpXchgSuccessOrdering(self.0), LLVMGetCmpXchgFailureOrdering(self.0)) }
    }

    pub(crate) fn scope_id(self) -> u32 {
        // SAFETY: live; an atomic instruction.
        unsafe { LLVMGetAtomicSyncScopeID(self.0) }
    }

    pub(crate) fn rmw_op(self) -> LLVMAtomicRMWBinOp {
        // SAFETY: live; an `atomicrmw`.
        unsafe { LLVMGetAtomicRMWBinOp(self.0) }
    }

    pub(crate) fn allocated_type(self) -> Ty<'m> {
        // SAFETY: live; an `alloca`.
        Ty(unsafe { LLVMGetAllocatedType(self.0) }, PhantomData)
    }

    pub(crate) fn indices(self) -> Vec<u32> {
        // SAFETY: live; an `extractvalue` or `insertvalue`, which keeps this many indices.
        unsafe {
            let count = LLVMGetNumIndices(self.0) as usize;
            std::slice::from_raw_parts(LLVMGetIndices(self.0), count).to_vec()
        }
    }

    /// Returns the lanes of a `shufflevector`; none for poison.
    pub(crate) fn shuffle_mask(self) -> Vec<Option<u32>> {
        // SAFETY: live; a `shufflevector`, and the index is below the count.
        unsafe {
            (0..LLVMGetNumMaskElements(self.0))
                .map(|lane| u32::try_from(LLVMGetMaskValue(self.0, lane)).ok())
                .collect()
        }
    }

    pub(crate) fn incoming(self) -> Vec<(Val<'m>, Bb<'m>)> {
        // SAFETY: live; a φ, and the index is below the count.
        unsafe {
            (0..LLVMCountIncoming(self.0))
                .map(|index| {
                    let value = Val(LLVMGetIncomingValue(self.0, index), PhantomData);
                    (value, Bb(LLVMGetIncomingBlock(self.0, index), PhantomData))
                })
                .collect()
        }
    }

    pub(crate) fn successors(self) -> Vec<Bb<'m>> {
        // SAFETY: live; a terminator, and the index is below the count.
        unsafe {
            (0..LLVMGetNumSuccessors(self.0))
                .map(|index| Bb(LLVMGetSuccessor(self.0, index), PhantomData))
                .collect()
        }
    }

    /// Returns the condition of a conditional branch.
    pub(crate) fn condition(self) -> Option<Val<'m>> {
        // SAFETY: live; a `br`.
        unsafe { if LLVMIsConditional(self.0) != 0 { Val::of(LLVMGetCondition(self.0)) } else { None } }
    }

    /// Returns the case value of a successor other than the default (index 0).
    pub(crate) fn case_value(self, successor: u32) -> Val<'m> {
        // SAFETY: live; a `switch`, and the index is above 0 and below the number of successors.
        Val(unsafe { LLVMGetSwitchCaseValue(self.0, successor) }, PhantomData)
    }

    pub(crate) fn called(self) -> Val<'m> {
        // SAFETY: live; a call.
        Val(unsafe { LLVMGetCalledValue(self.0) }, PhantomData)
    }

    pub(crate) fn called_type(self) -> Ty<'m> {
        // SAFETY: live; a call.
        Ty(unsafe { LLVMGetCalledFunctionType(self.0) }, PhantomData)
    }

    pub(crate) fn arguments(self) -> Vec<Val<'m>> {
        // SAFETY: live; a call, and its arguments are its first operands.
        let count = unsafe { LLVMGetNumArgOperands(self.0) };
        (0..count).map(|index| self.operand(index)).collect()
    }

    pub(crate) fn bundle_count(self) -> u32 {
        // SAFETY: live; a call.
        unsafe { LLVMGetNumOperandBundles(self.0) }
    }

    pub(crate) fn debug_loc(self) -> Option<DebugLoc> {
        let mut len = 0;
        // SAFETY: live; an instruction. The text is kept by the module.
        unsafe {
            let line = LLVMGetDebugLocLine(self.0);
            if line == 0 {
                return None;
            }
            let file = LLVMGetDebugLocFilename(self.0, &mut len);
            let file = copy_text(file, len as usize);
            Some(DebugLoc { file, line, column: LLVMGetDebugLocColumn(self.0) })
        }
    }
}
