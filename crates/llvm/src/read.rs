//! Parser of LLVM IR, text or bitcode, into a verified module.

use crate::child_process::{ChildFailure, run_in_child};
use crate::fatal_errors::handle_diagnostics;
use crate::view::{LlvmModule, c_text, take_message, version};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::{Code, Diagnostic};
use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::*;
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use llvm_sys::prelude::*;
use std::ffi::c_void;
use std::time::Duration;

/// Reports that a file is no LLVM module.
fn unreadable(file: &str, text: String, help: String) -> Diagnostic {
    Diagnostic::error(Code::Unreadable, text).at(DiagnosticLocation::of_line(Some(file), 0, 0)).help(help)
}

extern "C" fn collect(info: LLVMDiagnosticInfoRef, messages: *mut c_void) {
    // SAFETY: LLVM hands back the pointer that was registered with this function, which lives while the context has
    // it, and a live diagnostic.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError {
            let messages = &mut *messages.cast::<Vec<String>>();
            messages.push(take_message(LLVMGetDiagInfoDescription(info)));
        }
    }
}

/// Seconds that a child process reads bitcode.
const LIMIT: Duration = Duration::from_secs(60);

/// Reads text or bitcode that another program wrote; `file` is the name in diagnostics. LLVM's reader crashes on some damaged
/// bitcode: a child process reads it first.
pub fn read_foreign_ir(file: &str, bytes: &[u8]) -> Result<LlvmModule, Diagnostic> {
    let is_bitcode = bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b]);
    let read = || {
        // The parent reports errors: it reads the file again.
        // SAFETY: this runs in the child process alone, which opens no file afterwards.
        unsafe { libc::close(libc::STDERR_FILENO) };
        drop(read_ir(file, bytes));
    };
    match is_bitcode.then(|| run_in_child(Some(LIMIT), read)) {
        Some(Err(ChildFailure::Signal { .. } | ChildFailure::Exit(_))) => {
            let (major, minor, patch) = version();
            let text =
                format!("the bitcode is damaged: the reader of LLVM {major}.{minor}.{patch} crashes on it");
            Err(unreadable(file, text, "write the file again".into()))
        }
        _ => read_ir(file, bytes),
    }
}

/// Reads text or bitcode; `file` is the name in diagnostics.
pub fn read_ir(file: &str, bytes: &[u8]) -> Result<LlvmModule, Diagnostic> {
    let mut messages: Vec<String> = Vec::new();
    let name = c_text(file);
    let (mut raw, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the buffer is a copy with a zero byte at its end, and is freed after parsing, which does not keep it.
    // Without a handler of its own the context would end the process at an error; this one is replaced before
    // `messages` goes.
    let (context, failed) = unsafe {
        let context = LLVMContextCreate();
        LLVMContextSetDiagnosticHandler(context, Some(collect), (&raw mut messages).cast());
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.as_ptr().cast(), bytes.len(), name.as_ptr());
        let failed = LLVMParseIRInContext2(context, buffer, &mut raw, &mut message) != 0;
        LLVMDisposeMemoryBuffer(buffer);
        handle_diagnostics(context);
        (context, failed)
    };
    // SAFETY: the parser allocated it, or left it null.
    let message = unsafe { take_message(message) };
    let (major, minor, patch) = version();
    if failed || raw.is_null() {
        // SAFETY: the context is owned here, and nothing lives in it.
        unsafe { LLVMContextDispose(context) };
        messages.extend((!message.is_empty()).then_some(message));
        let reason = messages.into_iter().next().unwrap_or_else(|| "empty file".into());
        let reason = reason.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string();
        let text = format!("not LLVM IR of LLVM {major}.{minor}.{patch}: {reason}");
        let help = format!("write it with clang-{major}, or with a rustc of that LLVM");
        return Err(unreadable(file, text, help));
    }
    // SAFETY: both were made here and go nowhere else.
    let module = unsafe { LlvmModule::from_raw(context, raw) };
    match (module.verify(), messages.into_iter().next()) {
        (Ok(()), None) => Ok(module),
        (Err(reason), _) | (Ok(()), Some(reason)) => {
            let text = format!("LLVM's verifier rejects it: {}", reason.trim_end());
            Err(unreadable(file, text, "correct the tool that wrote it".into()))
        }
    }
}
