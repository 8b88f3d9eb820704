//! Status codes and their texts.
#![allow(missing_docs)]

use std::ffi::{CStr, c_char};

/// Answer of an entry.
pub type Status = i32;

heddle_hostcall::library_status! {
    CublasError, CublasResult,
    no_driver: NOT_INITIALIZED, other_driver: ARCH_MISMATCH, driver_failed: EXECUTION_FAILED,
    panicked: INTERNAL_ERROR, null: INVALID_VALUE,
}

pub const SUCCESS: Status = 0;
pub const NOT_INITIALIZED: Status = 1;
pub const ALLOC_FAILED: Status = 3;
pub const INVALID_VALUE: Status = 7;
pub const ARCH_MISMATCH: Status = 8;
pub const MAPPING_ERROR: Status = 11;
pub const EXECUTION_FAILED: Status = 13;
pub const INTERNAL_ERROR: Status = 14;
pub const NOT_SUPPORTED: Status = 15;
pub const LICENSE_ERROR: Status = 16;

const TEXTS: [(Status, &CStr, &CStr); 10] = [
    (SUCCESS, c"CUBLAS_STATUS_SUCCESS", c"success"),
    (NOT_INITIALIZED, c"CUBLAS_STATUS_NOT_INITIALIZED", c"the library was not initialized"),
    (ALLOC_FAILED, c"CUBLAS_STATUS_ALLOC_FAILED", c"the resource allocation failed"),
    (INVALID_VALUE, c"CUBLAS_STATUS_INVALID_VALUE", c"an invalid value was used as an argument"),
    (ARCH_MISMATCH, c"CUBLAS_STATUS_ARCH_MISMATCH", c"an absent device architectural feature is required"),
    (MAPPING_ERROR, c"CUBLAS_STATUS_MAPPING_ERROR", c"an access to GPU memory space failed"),
    (EXECUTION_FAILED, c"CUBLAS_STATUS_EXECUTION_FAILED", c"the function failed to launch on the GPU"),
    (INTERNAL_ERROR, c"CUBLAS_STATUS_INTERNAL_ERROR", c"an internal operation failed"),
    (NOT_SUPPORTED, c"CUBLAS_STATUS_NOT_SUPPORTED", c"the functionality is not supported"),
    (LICENSE_ERROR, c"CUBLAS_STATUS_LICENSE_ERROR", c"the functionality requires a license"),
];

fn text(status: Status) -> (&'static CStr, &'static CStr) {
    let found = TEXTS.iter().find(|(known, _, _)| *known == status);
    found.map_or((c"CUBLAS_STATUS_UNKNOWN", c"unknown status"), |(_, name, text)| (name, text))
}

/// `cublasGetStatusName`.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusName(status: Status) -> *const c_char {
    text(status).0.as_ptr()
}

/// `cublasGetStatusString`.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusString(status: Status) -> *const c_char {
    text(status).1.as_ptr()
}

/// An error unless an argument is valid.
pub fn valid(holds: bool) -> CublasResult<()> {
    ensure(holds, INVALID_VALUE)
}
