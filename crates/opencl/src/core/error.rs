//! What a call answers when it does not do what it was asked for.

use std::fmt;

/// A negative error code of the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClError(pub i32);

/// What a call gives, or its error code.
pub type ClResult<T> = Result<T, ClError>;

impl fmt::Display for ClError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenCL error {}", self.0)
    }
}

impl std::error::Error for ClError {}

/// The error, unless a condition holds.
pub fn ensure(condition: bool, code: i32) -> ClResult<()> {
    if condition { Ok(()) } else { Err(ClError(code)) }
}
