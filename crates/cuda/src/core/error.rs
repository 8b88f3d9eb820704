//! What calls answer, and what is said beside codes.

use crate::cuda::CUresult;
use rustc_hash::FxHashSet;
use std::fmt;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

/// A code other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CudaError(pub CUresult);

/// What a call gives.
pub type CudaResult<T> = Result<T, CudaError>;

/// An error with this code unless something holds.
pub fn ensure(holds: bool, code: CUresult) -> CudaResult<()> {
    if holds { Ok(()) } else { Err(CudaError(code)) }
}

/// Tells what no code tells, on the standard error.
pub fn say(text: fmt::Arguments<'_>) {
    // Where it cannot be written there is no one to tell.
    let _ = writeln!(std::io::stderr().lock(), "heddle: {text}");
}

/// Tells once that an entry is called that the driver does not have, if that is asked for.
pub fn report_refused(entry: &'static str) {
    static TOLD: Mutex<Option<FxHashSet<&'static str>>> = Mutex::new(None);
    if heddle_runtime::environment::reports() {
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        if told.get_or_insert_default().insert(entry) {
            say(format_args!("{entry} is not supported: it answers CUDA_ERROR_NOT_SUPPORTED"));
        }
    }
}
