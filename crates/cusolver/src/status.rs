//! Status codes.
#![allow(missing_docs)]

/// Answer of an entry: `cusolverStatus_t`.
pub type SolverStatus = i32;

pub const NOT_INITIALIZED: SolverStatus = 1;
pub const INVALID_VALUE: SolverStatus = 3;
pub const ARCH_MISMATCH: SolverStatus = 4;
pub const EXECUTION_FAILED: SolverStatus = 6;
pub const INTERNAL_ERROR: SolverStatus = 7;
pub const NOT_SUPPORTED: SolverStatus = 9;

heddle_hostcall::library_status! {
    SolverError, SolverResult,
    no_driver: NOT_INITIALIZED, other_driver: ARCH_MISMATCH, driver_failed: EXECUTION_FAILED,
    panicked: INTERNAL_ERROR, null: INVALID_VALUE,
}

/// An error unless an argument is valid.
pub fn valid(holds: bool) -> SolverResult<()> {
    ensure(holds, INVALID_VALUE)
}
