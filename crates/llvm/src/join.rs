//! Linking of separately compiled modules into one.

use crate::fatal_errors::handle_diagnostics;
use crate::view::LlvmModule;
use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::*;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use std::ffi::c_void;

extern "C" fn collect(info: LLVMDiagnosticInfoRef, messages: *mut c_void) {
    // SAFETY: LLVM hands back the pointer that was registered with this function, which lives while the context has
    // it, and a live diagnostic.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError {
            let messages = &mut *messages.cast::<Vec<String>>();
            messages.push(crate::view::take_message(LLVMGetDiagInfoDescription(info)));
        }
    }
}

/// Returns the multiply defined symbol in an error of LLVM's linker.
fn defined_twice(reason: &str) -> Option<&str> {
    reason.strip_prefix("Linking globals named '")?.strip_suffix("': symbol multiply defined!")
}

/// Links bitcode modules into the first one. The error is LLVM's linker message.
pub fn join(first: LlvmModule, others: &[&[u8]]) -> Result<LlvmModule, String> {
    let mut messages: Vec<String> = Vec::new();
    for bitcode in others {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the buffer is a copy, freed after parsing; the parsed module lives in the first one's context,
        // and the linker takes it over. The handler is replaced before `messages` is dropped.
        let failed = unsafe {
            LLVMContextSetDiagnosticHandler(first.context(), Some(collect), (&raw mut messages).cast());
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                bitcode.as_ptr().cast(),
                bitcode.len(),
                c"program".as_ptr(),
            );
            let failed =
                llvm_sys::bit_reader::LLVMParseBitcodeInContext2(first.context(), buffer, &mut raw) != 0;
            LLVMDisposeMemoryBuffer(buffer);
            let failed = failed || raw.is_null() || LLVMLinkModules2(first.raw(), raw) != 0;
            handle_diagnostics(first.context());
            failed
        };
        if failed || !messages.is_empty() {
            let reason = messages.first().map_or("a program cannot be read", |reason| reason);
            return Err(match defined_twice(reason) {
                Some(name) => format!("several programs define @{name}; link one that does"),
                None => reason.into(),
            });
        }
    }
    first.verify()?;
    Ok(first)
}
