//! Error codes and messages on stderr.

use crate::cuda::CUresult;
use rustc_hash::FxHashSet;
use std::fmt;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

/// Error code other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CudaError(pub CUresult);

/// Result of a call.
pub type CudaResult<T> = Result<T, CudaError>;

/// Returns an error with this code unless the condition holds.
pub fn ensure(holds: bool, code: CUresult) -> CudaResult<()> {
    if holds { Ok(()) } else { Err(CudaError(code)) }
}

/// Prints a message on stderr.
pub fn say(text: fmt::Arguments<'_>) {
    // Ignore write errors: nobody can receive the message.
    let _ = writeln!(std::io::stderr().lock(), "heddle: {text}");
}

/// Reports the first call of an unsupported entry if reports are enabled.
pub fn report_refused(entry: &'static str) {
    static REPORTED: Mutex<Option<FxHashSet<&'static str>>> = Mutex::new(None);
    if heddle_runtime::environment::reports() {
        let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.get_or_insert_default().insert(entry) {
            say(format_args!("{entry} is not supported: it returns CUDA_ERROR_NOT_SUPPORTED"));
        }
    }
}
