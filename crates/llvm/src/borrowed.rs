//! Modules that somebody else owns: those of a compiler that called us.

use crate::view::LlvmModule;
use llvm_sys::core::LLVMGetModuleContext;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// A module of another owner, in a context of another owner; both stay when this goes.
#[derive(Debug)]
pub struct BorrowedModule(ManuallyDrop<LlvmModule>);

impl BorrowedModule {
    /// The module at this address.
    ///
    /// # Safety
    /// An `llvm::Module` of the same LLVM that lives longer than this, and that nothing else touches meanwhile.
    pub unsafe fn new(module: *mut c_void) -> BorrowedModule {
        let raw = module.cast();
        // SAFETY: the caller's promise; what is made of both is never dropped.
        let module = unsafe { LlvmModule::from_raw(LLVMGetModuleContext(raw), raw) };
        BorrowedModule(ManuallyDrop::new(module))
    }
}

impl Deref for BorrowedModule {
    type Target = LlvmModule;

    fn deref(&self) -> &LlvmModule {
        &self.0
    }
}
