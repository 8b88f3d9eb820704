//! PTX: read, lowered, and written.
#![forbid(unsafe_code)]

mod assembler;
mod compile;
mod generated;
mod kernels;
mod lanes;
mod matrices;
mod round;
mod tables;
