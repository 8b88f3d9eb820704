//! Recovery from LLVM's fatal errors.
//!
//! On a fatal error LLVM calls a handler, and ends the process when that returns. A library in somebody else's
//! process must not do that. So the work runs on its own thread, which parks in the handler forever after sending the
//! reason to the waiting thread. The parked thread leaks its memory; it holds no locks.

use crate::compiler_threads::{CompilerThread, leave, while_waiting};
use crate::jit::not_compiled;
use crate::view::take_message;
use heddle_ir::Diagnostic;
use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::{LLVMContextSetDiagnosticHandler, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity};
use llvm_sys::error_handling::{LLVMInstallFatalErrorHandler, LLVMResetFatalErrorHandler};
use llvm_sys::prelude::{LLVMContextRef, LLVMDiagnosticInfoRef};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;

/// Variable that has a panic end the process if it is 1. Otherwise the caller goes on without the result, and no test would notice.
const ABORT_VARIABLE: &str = "HEDDLE_ABORT";

type FatalErrorHandler = Box<dyn FnOnce(String)>;

thread_local! {
    /// Receiver of this thread's fatal error.
    static ERROR_HANDLER: RefCell<Option<FatalErrorHandler>> = const { RefCell::new(None) };
}

extern "C" fn on_fatal_error(reason: *const c_char) {
    // SAFETY: LLVM hands over a text that ends in a zero byte.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    match ERROR_HANDLER.try_with(RefCell::take).ok().flatten() {
        Some(handler) => {
            handler(reason);
            leave();
            loop {
                thread::park();
            }
        }
        // A thread of another library: LLVM ends the process.
        None => eprintln!("LLVM ERROR: {reason}"),
    }
}

extern "C" fn on_diagnostic(info: LLVMDiagnosticInfoRef, _: *mut c_void) {
    // SAFETY: LLVM hands over a live diagnostic, and a description that it allocated.
    let error = unsafe {
        let is_error = LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError;
        is_error.then(|| take_message(LLVMGetDiagInfoDescription(info)))
    };
    if let Some(error) = error {
        match CString::new(error) {
            Ok(error) => on_fatal_error(error.as_ptr()),
            Err(_) => on_fatal_error(c"LLVM reports an error".as_ptr()),
        }
        std::process::exit(1);
    }
}

/// Has errors that LLVM reports in a context end the work like fatal ones, and nothing printed: warnings are about code that a kernel became, not
/// about its source.
pub(crate) fn handle_diagnostics(context: LLVMContextRef) {
    // SAFETY: the context is live, and the handler takes no data.
    unsafe { LLVMContextSetDiagnosticHandler(context, Some(on_diagnostic), std::ptr::null_mut()) };
}

/// Runs work on a thread with a stack of so many bytes, and returns its result. The error holds LLVM's reason.
pub fn catch_fatal_errors<T: Send + 'static>(
    stack: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Diagnostic> {
    static HANDLER: Once = Once::new();
    // SAFETY: the handler lives as long as the process; LLVM guards its registration.
    HANDLER.call_once(|| unsafe {
        LLVMResetFatalErrorHandler();
        LLVMInstallFatalErrorHandler(Some(on_fatal_error));
    });
    let (result, done) = channel();
    let failure = result.clone();
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let own = Arc::clone(&work);
    let body = move || {
        let handler: FatalErrorHandler = Box::new(move |reason| {
            // Sending fails only if nobody waits.
            let _ = failure.send(Err(not_compiled(reason)));
        });
        ERROR_HANDLER.set(Some(handler));
        let registered = CompilerThread::enter();
        if let Some(work) = take(&own) {
            let worked = work();
            // The waiting thread may end the process at once.
            drop(registered);
            let _ = result.send(Ok(worked));
        }
        ERROR_HANDLER.set(None);
    };
    let started = thread::Builder::new().name("heddle-compiler".into()).stack_size(stack).spawn(body);
    if started.is_err()
        && let Some(work) = take(&work)
    {
        // Without another thread, run the work here.
        return Ok(work());
    }
    while_waiting(|| done.recv()).unwrap_or_else(|_| {
        if std::env::var_os(ABORT_VARIABLE).is_some_and(|value| value == "1") {
            std::process::abort();
        }
        Err(not_compiled("its thread came to an end".into()))
    })
}
