//! Exact semantics of every scalar operation, on bit patterns.
//!
//! A value of an integer type of `bits` bits, or of a float format, is a `u128` whose upper bits are zero. Upper bits of
//! arguments are ignored, and those of results are zero, so no pattern makes a function panic. A width outside of
//! 1..=128 does.
//!
//! Signatures distinguish three kinds of outcome:
//! * plain `u128` or `bool`: defined for all arguments;
//! * `Option`: `None` is poison;
//! * `Result<_, Trap>`: an error is immediate undefined behaviour, not a value.
//!
//! Where LLVM allows several results, the operation always returns the same one of them. A function named `…_allowed`
//! returns all of them, that one first. NaNs are the exception: an operation that computes a NaN returns
//! [`FloatFormat::canonical_nan`], and [`same_float`] compares results with all NaNs equal.
//!
//! After: LLVM 22 Language Reference. docs/scalar.md has tables of the corner cases.

pub mod bitwise;
pub mod compare;
pub mod convert;
pub mod fast_math;
pub mod float;
pub mod format;
pub mod integer;
pub mod integral;
pub mod minmax;
pub mod rounding;
pub mod shift;

pub use fast_math::FastMath;
pub use format::{FloatClass, FloatFormat, same_float};
pub use integer::Trap;
