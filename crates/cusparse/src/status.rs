//! Status codes and their texts.
#![allow(missing_docs)]

use std::ffi::{CStr, c_char};

/// Answer of an entry: `cusparseStatus_t`.
pub type SparseStatus = i32;

pub const SUCCESS: SparseStatus = 0;
pub const NOT_INITIALIZED: SparseStatus = 1;
pub const ALLOC_FAILED: SparseStatus = 2;
pub const INVALID_VALUE: SparseStatus = 3;
pub const ARCH_MISMATCH: SparseStatus = 4;
pub const MAPPING_ERROR: SparseStatus = 5;
pub const EXECUTION_FAILED: SparseStatus = 6;
pub const INTERNAL_ERROR: SparseStatus = 7;
pub const MATRIX_TYPE_NOT_SUPPORTED: SparseStatus = 8;
pub const ZERO_PIVOT: SparseStatus = 9;
pub const NOT_SUPPORTED: SparseStatus = 10;
pub const INSUFFICIENT_RESOURCES: SparseStatus = 11;

heddle_hostcall::library_status! {
    SparseError, SparseResult,
    no_driver: NOT_INITIALIZED, other_driver: ARCH_MISMATCH, driver_failed: EXECUTION_FAILED,
    panicked: INTERNAL_ERROR, null: INVALID_VALUE,
}

const TEXTS: [(SparseStatus, &CStr, &CStr); 12] = [
    (SUCCESS, c"CUSPARSE_STATUS_SUCCESS", c"success"),
    (NOT_INITIALIZED, c"CUSPARSE_STATUS_NOT_INITIALIZED", c"the library was not initialized"),
    (ALLOC_FAILED, c"CUSPARSE_STATUS_ALLOC_FAILED", c"there is not enough memory"),
    (INVALID_VALUE, c"CUSPARSE_STATUS_INVALID_VALUE", c"an argument is invalid"),
    (ARCH_MISMATCH, c"CUSPARSE_STATUS_ARCH_MISMATCH", c"the device is not supported"),
    (MAPPING_ERROR, c"CUSPARSE_STATUS_MAPPING_ERROR", c"memory cannot be reached"),
    (EXECUTION_FAILED, c"CUSPARSE_STATUS_EXECUTION_FAILED", c"the work failed"),
    (INTERNAL_ERROR, c"CUSPARSE_STATUS_INTERNAL_ERROR", c"internal error"),
    (
        MATRIX_TYPE_NOT_SUPPORTED,
        c"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
        c"the matrix type is not supported",
    ),
    (ZERO_PIVOT, c"CUSPARSE_STATUS_ZERO_PIVOT", c"a pivot is zero"),
    (NOT_SUPPORTED, c"CUSPARSE_STATUS_NOT_SUPPORTED", c"the operation is not supported"),
    (INSUFFICIENT_RESOURCES, c"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", c"there are not enough resources"),
];

fn text(status: SparseStatus) -> (&'static CStr, &'static CStr) {
    let found = TEXTS.iter().find(|(known, _, _)| *known == status);
    found.map_or((c"unrecognized error code", c"unrecognized error code"), |(_, name, text)| (name, text))
}

/// `cusparseGetErrorName`.
#[unsafe(no_mangle)]
pub extern "C" fn cusparseGetErrorName(status: SparseStatus) -> *const c_char {
    text(status).0.as_ptr()
}

/// `cusparseGetErrorString`.
#[unsafe(no_mangle)]
pub extern "C" fn cusparseGetErrorString(status: SparseStatus) -> *const c_char {
    text(status).1.as_ptr()
}

/// An error unless an argument is valid.
pub fn valid(holds: bool) -> SparseResult<()> {
    ensure(holds, INVALID_VALUE)
}
