//! Modules: contents, text and bitcode.

use super::{DataLayout, LlvmModule, Val, chain, take_message};
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMContextRef, LLVMModuleRef, LLVMValueRef};
use llvm_sys::target::LLVMGetModuleDataLayout;
use std::ffi::{CStr, c_uint};
use std::marker::PhantomData;

impl Drop for LlvmModule {
    fn drop(&mut self) {
        // SAFETY: both are owned by this value alone, and the module is freed before the context that it lives in.
        unsafe {
            LLVMDisposeModule(self.raw);
            LLVMContextDispose(self.context);
        }
    }
}

impl LlvmModule {
    /// Takes ownership of a module and its context.
    ///
    /// # Safety
    /// Nothing else uses or frees either.
    pub(crate) unsafe fn from_raw(context: LLVMContextRef, raw: LLVMModuleRef) -> LlvmModule {
        LlvmModule { context, raw }
    }

    pub(crate) fn raw(&self) -> LLVMModuleRef {
        self.raw
    }

    pub(crate) fn context(&self) -> LLVMContextRef {
        self.context
    }

    /// Runs LLVM's verifier; the error is its message.
    pub fn verify(&self) -> Result<(), String> {
        let mut message = std::ptr::null_mut();
        // SAFETY: the module is live; the message is taken over.
        let broken = unsafe {
            LLVMVerifyModule(self.raw, LLVMVerifierFailureAction::LLVMReturnStatusAction, &mut message)
        };
        // SAFETY: the verifier allocated it, or left it null.
        let message = unsafe { take_message(message) };
        if broken == 0 { Ok(()) } else { Err(message.trim().to_string()) }
    }

    /// Strips debug info.
    pub fn strip_debug_info(&self) {
        // SAFETY: the module is live.
        unsafe { llvm_sys::debuginfo::LLVMStripModuleDebugInfo(self.raw) };
    }

    /// Returns the module as text.
    pub fn text(&self) -> String {
        // SAFETY: the module is live; the text is taken over and freed.
        unsafe { take_message(LLVMPrintModuleToString(self.raw())) }
    }

    /// Returns the module as bitcode.
    pub fn bitcode(&self) -> Vec<u8> {
        // SAFETY: the module is live; the buffer is copied and freed here.
        unsafe {
            let buffer = LLVMWriteBitcodeToMemoryBuffer(self.raw);
            let (start, size) = (LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer));
            let bytes = std::slice::from_raw_parts(start, size).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            bytes
        }
    }

    /// Returns the target triple.
    pub fn triple(&self) -> String {
        // SAFETY: the module is live and keeps the text.
        unsafe { CStr::from_ptr(LLVMGetTarget(self.raw)).to_string_lossy().into_owned() }
    }

    pub(crate) fn layout(&self) -> DataLayout<'_> {
        // SAFETY: the module is live and owns the layout.
        DataLayout(unsafe { LLVMGetModuleDataLayout(self.raw) }, PhantomData)
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = Val<'_>> {
        // SAFETY: the module is live.
        let first = unsafe { LLVMGetFirstFunction(self.raw) };
        // SAFETY: each is a function of the live module.
        Val::of(first)
            .map(|first| chain(first, |func| unsafe { LLVMGetNextFunction(func.0) }))
            .into_iter()
            .flatten()
    }

    /// Returns all calls of intrinsics with this name prefix.
    pub(crate) fn calls_of(&self, prefix: &str) -> Vec<LLVMValueRef> {
        let mut calls = Vec::new();
        for func in self.functions().filter(|func| func.is_declaration() && func.name().starts_with(prefix)) {
            // SAFETY: uses of a live function, each by a live user.
            unsafe {
                let mut at = LLVMGetFirstUse(func.0);
                while !at.is_null() {
                    let user = LLVMGetUser(at);
                    if !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == func.0 {
                        calls.push(user);
                    }
                    at = LLVMGetNextUse(at);
                }
            }
        }
        calls
    }

    pub(crate) fn globals(&self) -> impl Iterator<Item = Val<'_>> {
        // SAFETY: the module is live.
        let first = unsafe { LLVMGetFirstGlobal(self.raw) };
        // SAFETY: each is a global of the live module.
        Val::of(first)
            .map(|first| chain(first, |global| unsafe { LLVMGetNextGlobal(global.0) }))
            .into_iter()
            .flatten()
    }

    pub(crate) fn aliases(&self) -> impl Iterator<Item = Val<'_>> {
        // SAFETY: the module is live.
        let first = unsafe { LLVMGetFirstGlobalAlias(self.raw) };
        // SAFETY: each is an alias of the live module.
        Val::of(first)
            .map(|first| chain(first, |alias| unsafe { LLVMGetNextGlobalAlias(alias.0) }))
            .into_iter()
            .flatten()
    }

    /// True for CPU targets, false for GPUs.
    pub fn is_for_host(&self) -> bool {
        let triple = self.triple();
        !["spir", "nvptx", "amdgcn"].iter().any(|gpu| triple.starts_with(gpu))
    }

    /// True for x86-64; a module without triple counts as one for the host.
    pub fn is_x86(&self) -> bool {
        let triple = self.triple();
        triple.starts_with("x86_64") || triple.is_empty() && cfg!(target_arch = "x86_64")
    }

    /// Returns the id of a synchronization scope.
    pub(crate) fn sync_scope(&self, name: &str) -> u32 {
        // SAFETY: the context is live; the text is `len` bytes.
        unsafe { LLVMGetSyncScopeID(self.context, name.as_ptr().cast(), name.len()) }
    }

    pub(crate) fn metadata_kind(&self, name: &str) -> u32 {
        // SAFETY: the context is live; the text is `len` bytes.
        unsafe { LLVMGetMDKindIDInContext(self.context, name.as_ptr().cast(), name.len() as c_uint) }
    }
}

impl std::fmt::Display for LlvmModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: the module is live; the text is taken over.
        f.write_str(&unsafe { take_message(LLVMPrintModuleToString(self.raw)) })
    }
}
