//! Discrete Fourier transforms without a scale, of every size, over arrays with strides.
//!
//! Sizes whose prime factors are at most [`factors::LARGEST_RADIX`] are products of small transforms (Stockham's passes); others are
//! convolutions (Bluestein). Innermost loops run over lanes: each lane of a vector has a transform of its own.
//!
//! Decision: one long transform is a matrix, too. Its columns are transforms in lanes, its rows after a transposition are again;
//! so nothing but the transposition moves numbers between lanes, and each half stays in the cache.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod factors;
pub mod simd;
pub mod view;
pub mod passes;
pub mod block;
pub mod sequence;
pub mod real;
pub mod array;

pub use array::{ArrayLayout, ArrayTransform, TransformKind};
pub use simd::FftReal;
