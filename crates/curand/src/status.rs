//! Status codes.
#![allow(missing_docs)]

use crate::generator::LengthError;

/// Answer of an entry: `curandStatus`.
pub type CurandStatus = i32;

pub const NOT_INITIALIZED: CurandStatus = 101;
pub const TYPE_ERROR: CurandStatus = 103;
pub const OUT_OF_RANGE: CurandStatus = 104;
pub const LENGTH_NOT_MULTIPLE: CurandStatus = 105;
pub const LAUNCH_FAILURE: CurandStatus = 201;
pub const INITIALIZATION_FAILED: CurandStatus = 203;
pub const ARCH_MISMATCH: CurandStatus = 204;
pub const INTERNAL_ERROR: CurandStatus = 999;

heddle_hostcall::library_status! {
    CurandError, CurandResult,
    no_driver: INITIALIZATION_FAILED, other_driver: ARCH_MISMATCH, driver_failed: LAUNCH_FAILURE,
    panicked: INTERNAL_ERROR, null: OUT_OF_RANGE,
}

impl From<LengthError> for CurandError {
    fn from(_: LengthError) -> CurandError {
        CurandError(LENGTH_NOT_MULTIPLE)
    }
}
