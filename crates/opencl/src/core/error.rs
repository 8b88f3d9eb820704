//! Error codes of the specification.

use std::fmt;

/// A negative error code of the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClError(pub i32);

/// Result of a call, or its error code.
pub type ClResult<T> = Result<T, ClError>;

impl fmt::Display for ClError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenCL error {}", self.0)
    }
}

impl std::error::Error for ClError {}

/// Returns the error unless the condition holds.
pub fn ensure(condition: bool, code: i32) -> ClResult<()> {
    if condition { Ok(()) } else { Err(ClError(code)) }
}
