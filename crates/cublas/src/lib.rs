//! cuBLAS: what programs open as `libcublas.so.12` or `libcublas.so.13`, over Heddle's CUDA driver.
//!
//! Entries check their arguments in the call, and do their work in the order of the handle's stream ([`heddle_hostcall`]).
//! Pointers are by the promise of an entry's caller: they lead to what the interface says, or are null.
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(non_snake_case)]

pub mod status;
pub mod context;
pub mod arguments;
pub mod api;

/// All entries of `cublas_api.h`, of CUDA 12 and 13.
pub const ENTRIES: &str = include_str!("../entries.txt");

/// The version of CUDA that the programs were compiled for: 12 or 13.
pub const MAJOR: i32 = if matches!(env!("HEDDLE_CUBLAS").as_bytes(), b"12") { 12 } else { 13 };
