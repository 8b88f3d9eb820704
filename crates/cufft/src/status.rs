//! Status codes.
#![allow(missing_docs)]

/// Answer of an entry: `cufftResult`.
pub type CufftStatus = i32;

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

heddle_hostcall::library_status! {
    CufftError, CufftResult,
    no_driver: SETUP_FAILED, other_driver: INVALID_DEVICE, driver_failed: EXEC_FAILED,
    panicked: INTERNAL_ERROR, null: INVALID_VALUE,
}
