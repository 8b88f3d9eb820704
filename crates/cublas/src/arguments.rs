//! Arguments of entries: integers of both sizes, and choices.

use crate::status::{CublasResult, valid};
use heddle_blas::{Transpose, Triangle};

/// Integer of an entry: 32 bits, or 64 where the name ends in `_64`.
pub trait Index: Copy + 'static {
    /// Returns the value with 64 bits.
    fn wide(self) -> i64;
    /// Returns a value as such an integer.
    fn narrow(value: i64) -> Self;

    /// Returns a length; negative ones are errors.
    fn length(self) -> CublasResult<usize> {
        let wide = self.wide();
        valid(wide >= 0)?;
        Ok(wide as usize)
    }

    /// Returns an increment; zero is an error.
    fn increment(self) -> CublasResult<isize> {
        valid(self.wide() != 0)?;
        Ok(self.wide() as isize)
    }

    /// Returns the distance of a matrix' columns; it is an error if they are shorter than their rows.
    fn leading(self, rows: usize) -> CublasResult<isize> {
        valid(self.wide() >= 1 && self.wide() as usize >= rows)?;
        Ok(self.wide() as isize)
    }
}

impl Index for i32 {
    fn wide(self) -> i64 {
        self.into()
    }
    fn narrow(value: i64) -> i32 {
        i32::try_from(value).unwrap_or(i32::MAX)
    }
}

impl Index for i64 {
    fn wide(self) -> i64 {
        self
    }
    fn narrow(value: i64) -> i64 {
        value
    }
}

/// Reads `cublasOperation_t`.
pub fn transpose(value: i32) -> CublasResult<Transpose> {
    valid((0..=2).contains(&value))?;
    Ok([Transpose::No, Transpose::Yes, Transpose::Conjugate][value as usize])
}

/// Reads `cublasFillMode_t`.
pub fn triangle(value: i32) -> CublasResult<Triangle> {
    valid((0..=1).contains(&value))?;
    Ok([Triangle::Lower, Triangle::Upper][value as usize])
}

/// Reads `cublasSideMode_t`: true for the right.
pub fn is_right(value: i32) -> CublasResult<bool> {
    valid((0..=1).contains(&value))?;
    Ok(value == 1)
}

/// Reads `cublasDiagType_t`: true for a diagonal of ones.
pub fn is_unit(value: i32) -> CublasResult<bool> {
    valid((0..=1).contains(&value))?;
    Ok(value == 1)
}
