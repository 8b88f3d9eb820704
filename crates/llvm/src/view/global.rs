//! Globals and functions: initializers, parameters, blocks.

use super::{Bb, Ty, Val};
use llvm_sys::core::*;
use rustc_hash::FxHashSet;
use std::marker::PhantomData;

impl<'m> Val<'m> {
    pub(crate) fn value_type(self) -> Ty<'m> {
        // SAFETY: live; a global value.
        Ty(unsafe { LLVMGlobalGetValueType(self.0) }, PhantomData)
    }

    pub(crate) fn is_declaration(self) -> bool {
        // SAFETY: live; a global value.
        unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    pub(crate) fn initializer(self) -> Option<Val<'m>> {
        // SAFETY: live; a global variable.
        Val::of(unsafe { LLVMGetInitializer(self.0) })
    }

    pub(crate) fn is_global_constant(self) -> bool {
        // SAFETY: live; a global variable.
        unsafe { LLVMIsGlobalConstant(self.0) != 0 }
    }

    pub(crate) fn is_thread_local(self) -> bool {
        // SAFETY: live; a global variable.
        unsafe { LLVMIsThreadLocal(self.0) != 0 }
    }

    pub(crate) fn aliasee(self) -> Val<'m> {
        // SAFETY: live; an alias.
        Val(unsafe { LLVMAliasGetAliasee(self.0) }, PhantomData)
    }

    pub(crate) fn alignment(self) -> u32 {
        // SAFETY: live; a global, an alloca, a load, a store or an atomic.
        unsafe { LLVMGetAlignment(self.0) }
    }

    pub(crate) fn params(self) -> Vec<Val<'m>> {
        // SAFETY: live; a function, and the index is below the count.
        unsafe {
            (0..LLVMCountParams(self.0)).map(|index| Val(LLVMGetParam(self.0, index), PhantomData)).collect()
        }
    }

    /// Returns the reachable blocks in reverse postorder.
    pub(crate) fn reverse_postorder(self) -> Vec<Bb<'m>> {
        let successors =
            |block: Bb<'m>| block.terminator().map_or(Vec::new(), |inst| inst.successors()).into_iter();
        let mut order = Vec::new();
        let Some(&entry) = self.blocks().first() else { return order };
        let mut seen = FxHashSet::from_iter([entry]);
        let mut stack = vec![(entry, successors(entry))];
        while let Some((block, rest)) = stack.last_mut() {
            match rest.next() {
                Some(next) if seen.insert(next) => stack.push((next, successors(next))),
                Some(_) => {}
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    pub(crate) fn blocks(self) -> Vec<Bb<'m>> {
        // SAFETY: live; a function, whose blocks follow each other until null.
        unsafe {
            std::iter::successors(
                Some(LLVMGetFirstBasicBlock(self.0)).filter(|block| !block.is_null()),
                |&block| Some(LLVMGetNextBasicBlock(block)).filter(|block| !block.is_null()),
            )
            .map(|block| Bb(block, PhantomData))
            .collect()
        }
    }

    pub(crate) fn call_conv(self) -> u32 {
        // SAFETY: live; a function.
        unsafe { LLVMGetFunctionCallConv(self.0) }
    }

    pub(crate) fn intrinsic_id(self) -> u32 {
        // SAFETY: live; a function.
        unsafe { LLVMGetIntrinsicID(self.0) }
    }

    /// True if a function has uses other than direct calls.
    pub(crate) fn has_address_taken(self) -> bool {
        // SAFETY: live; uses of a function, each by a live user.
        unsafe {
            let mut at = LLVMGetFirstUse(self.0);
            while !at.is_null() {
                let user = LLVMGetUser(at);
                let is_call = !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == self.0;
                let is_passed =
                    || (0..LLVMGetNumArgOperands(user)).any(|at| LLVMGetOperand(user, at) == self.0);
                if !is_call || is_passed() {
                    return true;
                }
                at = LLVMGetNextUse(at);
            }
        }
        false
    }
}
