//! Modules owned by another compiler.

use crate::view::LlvmModule;
use llvm_sys::core::LLVMGetModuleContext;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// Borrowed module; dropping it frees neither module nor context.
#[derive(Debug)]
pub struct BorrowedModule(ManuallyDrop<LlvmModule>);

impl BorrowedModule {
    /// Borrows the module at this address.
    ///
    /// # Safety
    /// The address must be that of an `llvm::Module` of the same LLVM that outlives the result, and that nothing else
    /// uses meanwhile.
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
