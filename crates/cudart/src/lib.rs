//! The CUDA runtime: what programs in CUDA C++ open as `libcudart.so.12` or `libcudart.so.13`.
//!
//! It stands on a CUDA driver, `libcuda.so.1` next to it or else that of the loader, and has little of its own: which kernels and
//! variables the program has registered, the last error of each thread, and that each thread is in the primary context.
//!
//! Pointers of the program are handed on to the driver, which looks at them; what the runtime reads and writes itself is by
//! the promise of an entry's caller: pointers lead to what the interface says, or are null.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod driver;
pub mod errors;
pub mod state;
pub mod program;
pub mod api;

/// The version of CUDA that the programs were compiled for: 12 or 13.
pub const MAJOR: i32 = if matches!(env!("HEDDLE_CUDART").as_bytes(), b"12") { 12 } else { 13 };
