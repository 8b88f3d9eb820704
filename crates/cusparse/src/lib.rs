//! cuSPARSE: what programs open as `libcusparse.so.12`, of CUDA 12 and 13, over Heddle's CUDA driver.
//!
//! Entries check their arguments in the call, and compute in the order of the handle's stream ([`heddle_hostcall`]). Routines that
//! tell the host a number of elements need it in their call, and are refused while the stream is captured.
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(non_snake_case)]

pub mod status;
pub mod context;
pub mod descriptor;
pub mod elements;
pub mod api;

/// All entries of `cusparse.h`, of CUDA 12 and 13.
pub const ENTRIES: &str = include_str!("../entries.txt");

/// Version of the interface: major, minor, patch.
pub const VERSION: [i32; 3] = [12, 9, 4];
