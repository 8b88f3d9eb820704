//! cuSOLVER: what programs open as `libcusolver.so.11` (CUDA 12) or `libcusolver.so.12` (CUDA 13), over Heddle's CUDA driver.
//!
//! Entries check their arguments in the call, and compute in the order of the handle's stream ([`heddle_hostcall`]). Factorizations
//! work on copies ([`heddle_solver`]), and need no work area of the program.
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(non_snake_case)]

pub mod status;
pub mod context;
pub mod memory;
pub mod api;

/// All entries of `cusolverDn.h`, `cusolverSp.h` and `cusolverRf.h`, of CUDA 12 and 13.
pub const ENTRIES: &str = include_str!("../entries.txt");

/// Version of the interface: major, minor, patch.
pub const VERSION: [i32; 3] =
    if matches!(env!("HEDDLE_CUSOLVER").as_bytes(), b"11") { [11, 7, 5] } else { [12, 4, 1] };
