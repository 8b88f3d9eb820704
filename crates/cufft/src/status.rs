//! Status codes.
#![allow(missing_docs)]

use heddle_hostcall::HostcallError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Answer of an entry: `cufftResult`.
pub type CufftStatus = i32;

pub const SUCCESS: CufftStatus = 0;
pub const INVALID_PLAN: CufftStatus = 1;
pub const ALLOC_FAILED: CufftStatus = 2;
pub const INVALID_TYPE: CufftStatus = 3;
pub const INVALID_VALUE: CufftStatus = 4;
pub const INTERNAL_ERROR: CufftStatus = 5;
pub const EXEC_FAILED: CufftStatus = 6;
pub const SETUP_FAILED: CufftStatus = 7;
pub const INVALID_SIZE: CufftStatus = 8;
pub const INVALID_DEVICE: CufftStatus = 11;
pub const NOT_SUPPORTED: CufftStatus = 16;

/// Status other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CufftError(pub CufftStatus);

/// Result of a call.
pub type CufftResult<T> = Result<T, CufftError>;

impl From<HostcallError> for CufftError {
    fn from(error: HostcallError) -> CufftError {
        CufftError(match error {
            HostcallError::NoDriver => SETUP_FAILED,
            HostcallError::OtherDriver => INVALID_DEVICE,
            HostcallError::Driver(_) => EXEC_FAILED,
        })
    }
}

/// Returns an error with this status unless something holds.
pub fn ensure(holds: bool, status: CufftStatus) -> CufftResult<()> {
    if holds { Ok(()) } else { Err(CufftError(status)) }
}

/// Runs an entry, and returns its status. A panic becomes a status, too.
pub fn answer(body: impl FnOnce() -> CufftResult<()>) -> CufftStatus {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(CufftError(status))) => status,
        Err(_) => INTERNAL_ERROR,
    }
}
