//! What calls answer, and what is said beside codes.

use crate::cuda::CUresult;
use rustc_hash::FxHashSet;
use std::fmt;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A code other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Error(pub CUresult);

/// What a call gives.
pub type Answer<T> = Result<T, Error>;

/// An error with this code unless something holds.
pub fn ensure(holds: bool, code: CUresult) -> Answer<()> {
    if holds { Ok(()) } else { Err(Error(code)) }
}

/// Tells what no code tells, on the standard error.
pub fn say(text: fmt::Arguments<'_>) {
    // Where it cannot be written there is no one to tell.
    let _ = writeln!(std::io::stderr().lock(), "heddle: {text}");
}

/// Whether `HEDDLE_REPORT=1` asks for what else may be worth knowing.
pub fn reports() -> bool {
    static REPORTS: OnceLock<bool> = OnceLock::new();
    *REPORTS.get_or_init(|| std::env::var_os("HEDDLE_REPORT").is_some_and(|value| value == "1"))
}

/// Tells once that an entry is called that the driver does not have, if that is asked for.
pub fn report_refused(entry: &'static str) {
    static TOLD: Mutex<Option<FxHashSet<&'static str>>> = Mutex::new(None);
    if reports() {
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        if told.get_or_insert_default().insert(entry) {
            say(format_args!("{entry} is not supported: it answers CUDA_ERROR_NOT_SUPPORTED"));
        }
    }
}
