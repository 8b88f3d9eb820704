//! The exact meaning of every scalar operation, on bit patterns.
//!
//! A value of an integer type of `bits` bits, or of a float format, is a `u128` whose upper bits are zero. Upper
//! bits of an argument are ignored, those of a result are always zero, so no pattern makes a function panic; a
//! width outside of 1..=128 does.
//!
//! Three kinds of outcome are kept apart in the signatures:
//! * a plain `u128` or `bool`: the operation is defined for all arguments;
//! * `Option`: `None` is poison, ⊤ of the lane;
//! * `Result<_, Trap>`: immediate undefined behaviour, an error of the program and not a value.
//!
//! Where LLVM allows more than one result, the operation returns one of them, always the same one, and a
//! function whose name ends in `_allowed` returns all of them, the chosen one first. NaNs are the exception: an
//! operation that computes a NaN returns [`FloatFormat::canonical_nan`], and results are compared with
//! [`same_float`], which takes all NaNs for one.
//!
//! After: LLVM 22 Language Reference. docs/scalar.md has the corner cases as tables.

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
