//! Work that goes on where LLVM gives up.
//!
//! LLVM has errors that no return value tells: it calls a function, and ends the process when that comes back. What
//! compiles inside of other people's programs cannot have that. So the work is done by a thread of its own, which stays in
//! that function for ever, and the reason goes to the thread that waits. What the thread had is lost: memory, no locks.

use crate::jit::not_compiled;
use heddle_ir::Diagnostic;
use llvm_sys::error_handling::{LLVMInstallFatalErrorHandler, LLVMResetFatalErrorHandler};
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;

type FatalErrorHandler = Box<dyn FnOnce(String)>;

thread_local! {
    /// Whom an error of this thread is told.
    static TELL: RefCell<Option<FatalErrorHandler>> = const { RefCell::new(None) };
}

extern "C" fn give_up(reason: *const c_char) {
    // SAFETY: LLVM hands over a text that ends in a zero byte.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    match TELL.try_with(RefCell::take).ok().flatten() {
        Some(tell) => {
            tell(reason);
            loop {
                thread::park();
            }
        }
        // Of somebody else's thread: LLVM ends the process.
        None => eprintln!("LLVM ERROR: {reason}"),
    }
}

/// Does work with LLVM on a thread of its own with so much stack, and gives what it gives. The error says why LLVM gave up.
pub fn withstanding<T: Send + 'static>(
    stack: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Diagnostic> {
    static HANDLER: Once = Once::new();
    // SAFETY: the function is there as long as the process; LLVM guards the place where it is kept.
    HANDLER.call_once(|| unsafe {
        LLVMResetFatalErrorHandler();
        LLVMInstallFatalErrorHandler(Some(give_up));
    });
    let (result, done) = channel();
    let failure = result.clone();
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let own = Arc::clone(&work);
    let body = move || {
        let tell: FatalErrorHandler = Box::new(move |reason| {
            // Nothing waits where this fails.
            let _ = failure.send(Err(not_compiled(reason)));
        });
        TELL.set(Some(tell));
        if let Some(work) = take(&own) {
            let _ = result.send(Ok(work()));
        }
        TELL.set(None);
    };
    let started = thread::Builder::new().name("heddle-compiler".into()).stack_size(stack).spawn(body);
    if started.is_err()
        && let Some(work) = take(&work)
    {
        // Where the system has no more threads, the thread that asks does it.
        return Ok(work());
    }
    done.recv().unwrap_or_else(|_| Err(not_compiled("its thread came to an end".into())))
}
