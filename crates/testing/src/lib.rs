//! What tells a right pass from a wrong one: file tests, the program generator, the differential harness.
#![forbid(unsafe_code)]

pub mod file_test;
pub mod bench;
