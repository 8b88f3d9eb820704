//! cuFFT: what programs open as `libcufft.so.11` (CUDA 12) or `libcufft.so.12` (CUDA 13), over Heddle's CUDA driver.
//!
//! Entries check their arguments in the call, and transform in the order of the plan's stream ([`heddle_hostcall`]).
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(non_snake_case)]

pub mod status;
pub mod plan;
pub mod api;
pub mod refused;

/// All entries of `cufft.h` and `cufftXt.h`, of CUDA 13; those of CUDA 12 are among them.
pub const ENTRIES: &str = include_str!("../entries.txt");

/// Version of the interface: major, minor, patch.
pub const VERSION: [i32; 3] =
    if matches!(env!("HEDDLE_CUFFT").as_bytes(), b"11") { [11, 4, 1] } else { [12, 5, 0] };
