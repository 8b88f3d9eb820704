//! Linking of separately compiled modules into one.

use crate::fatal_errors::{catch_fatal_errors, handle_diagnostics};
use crate::opencl::{
    OpenClLibrary, OpenClOptions, STACK, delete_unreached_functions, finish_alike, finish_functions,
};
use crate::read::read_ir;
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

/// Program to link: a library, or an object with the options that it was compiled with.
#[derive(Clone, Debug)]
pub struct LinkInput {
    /// Its module.
    pub bitcode: Vec<u8>,
    /// Words of the build options of an object, whose functions are not optimized yet.
    pub words: Option<Vec<String>>,
}

/// Links programs to a library or an executable, and optimizes objects: those of a library and those whose options differ one by one, before they are
/// joined; others together, without the functions that no kernel reaches.
pub fn link_programs(
    inputs: Vec<LinkInput>,
    libraries: &'static [OpenClLibrary],
    is_library: bool,
) -> Result<LlvmModule, String> {
    let link = move || -> Result<LlvmModule, String> {
        let options_of = |words: Vec<String>| OpenClOptions { words, libraries, ..OpenClOptions::default() };
        let objects: Vec<OpenClOptions> =
            inputs.iter().filter_map(|input| input.words.clone()).map(options_of).collect();
        let is_joined_first = !is_library && objects.windows(2).all(|two| finish_alike(&two[0], &two[1]));
        let mut pieces = Vec::new();
        for input in inputs {
            pieces.push(match input.words.filter(|_| !is_joined_first) {
                Some(words) => {
                    let module = read_ir("program", &input.bitcode).map_err(|reason| reason.to_string())?;
                    finish_functions(&module, &options_of(words))?;
                    module.bitcode()
                }
                None => input.bitcode,
            });
        }
        let (first, others) = pieces.split_first().ok_or("there is no program to link")?;
        let first = read_ir("program", first).map_err(|reason| reason.to_string())?;
        let others: Vec<&[u8]> = others.iter().map(Vec::as_slice).collect();
        let module = join(first, &others)?;
        if !is_library {
            delete_unreached_functions(&module)?;
        }
        if let Some(options) = objects.first().filter(|_| is_joined_first) {
            finish_functions(&module, options)?;
        }
        Ok(module)
    };
    catch_fatal_errors(STACK, link).map_err(|reason| reason.to_string())?
}

/// Links bitcode modules into the first one. The error is LLVM's linker message.
fn join(first: LlvmModule, others: &[&[u8]]) -> Result<LlvmModule, String> {
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
