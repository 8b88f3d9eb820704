//! cuRAND's host interface: what programs open as `libcurand.so.10`, over Heddle's CUDA driver.
//!
//! XORWOW, MRG32k3a and Philox give the sequences of the device interface in the arrangement of the host interface: outputs are
//! dealt to a number of sequences in turn, so that a number of device threads could write them. MT19937 is the published generator as
//! one sequence. Sobol sequences have the direction numbers of Joe and Kuo for 1000 dimensions.
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(non_snake_case)]

pub mod xorwow;
pub mod mrg32k3a;
pub mod philox;
pub mod mt19937;
pub mod sequences;
pub mod sobol;
pub mod distributions;
pub mod poisson;
pub mod generator;
pub mod status;
pub mod api;
