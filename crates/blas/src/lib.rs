//! Dense linear algebra on matrices that are stored by columns, generic over four kinds of numbers.
//!
//! Every routine takes raw pointers and element strides, as BLAS does, and trusts them: its caller promises that what the
//! arguments describe is there, and that what is written overlaps nothing else that is read.
//!
//! Decision: products of structured matrices (symmetric, Hermitian, triangular) are one general product whose packing reads the
//! structure, and symmetric updates are one general product that writes a triangle. Packed and banded matrices are one list of
//! columns. So there is one implementation of each routine instead of one per storage.
#![deny(unsafe_op_in_unsafe_fn)]
// Indices name rows and columns of several arrays at once.
#![allow(clippy::needless_range_loop)]

pub mod number;
pub mod vectors;
pub mod level1;
pub mod columns;
pub mod level2;
pub mod view;
pub mod kernel;
pub mod gemm;
pub mod level3;
pub mod batch;
pub mod factor;
pub mod convert;

pub use number::{C32, C64, Complex, Number, Re, Real};

/// Choice of a transposed operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transpose {
    /// The matrix itself.
    No,
    /// Its transpose.
    Yes,
    /// Its conjugate transpose.
    Conjugate,
}

/// Triangle of a matrix that is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Triangle {
    /// The elements at and below the diagonal.
    Lower,
    /// The elements at and above the diagonal.
    Upper,
}

impl Triangle {
    /// Returns the triangle of the transpose.
    pub fn transposed(self) -> Triangle {
        if self == Triangle::Lower { Triangle::Upper } else { Triangle::Lower }
    }
}
