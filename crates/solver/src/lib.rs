//! Factorizations, eigenvalues and singular values of dense matrices, generic over four kinds of numbers.
//!
//! Routines work on matrices of their own ([`dense::DenseMatrix`]): copies take n² of n³ steps, and leave no pointers in the
//! algorithms. Products of large blocks are those of [`heddle_blas`].
//!
//! Invariant: every routine ends, whatever the numbers are. Iterations count their steps, and report what did not converge.
#![deny(unsafe_op_in_unsafe_fn)]
// Indices name rows and columns of several arrays at once.
#![allow(clippy::needless_range_loop)]

pub mod dense;
pub mod reflector;
pub mod orthogonal;
pub mod cholesky;
pub mod plane_rotation;
pub mod spectrum;
pub mod singular;
pub mod sparse_system;
pub mod sparse_rows;

use heddle_blas::{Number, Real};

/// Returns the distance from one to the next number of a precision.
pub fn unit<R: Real>() -> f64 {
    if size_of::<R>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// Returns a number of double precision in another one.
pub(crate) fn real<T: Number>(value: f64) -> T::Real {
    T::Real::from_f64(value)
}

/// Returns a power of two that brings the largest magnitude of a matrix near one; one for zeros and numbers that are not finite.
pub(crate) fn scale_of<T: Number>(matrix: &dense::DenseMatrix<T>) -> f64 {
    let largest = matrix.elements().iter().map(|it| it.re().to_f64().abs().max(it.im().to_f64().abs()));
    let largest = largest.fold(0.0, f64::max);
    // Beyond these bounds, squares of elements may leave the range of the precision.
    let (low, high) = if size_of::<T::Real>() == 4 { (1e-12, 1e12) } else { (1e-120, 1e120) };
    if largest == 0.0 || !largest.is_finite() || (low..high).contains(&largest) {
        return 1.0;
    }
    // Exponents stay where both the factor and its inverse are normal numbers.
    let limit = if size_of::<T::Real>() == 4 { 125 } else { 1020 };
    2.0_f64.powi(-(largest.log2().floor() as i32).clamp(-limit, limit))
}
