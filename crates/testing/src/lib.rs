//! Test infrastructure: file tests, the program generator, the differential harness.
#![forbid(unsafe_code)]

pub mod say;
mod counts;
pub mod profiled;
pub mod file_test;
pub mod generate;
pub mod execution;
pub mod differential;
pub mod uniformity;
pub mod bytes;
pub mod wide;
pub mod kernels;
pub mod launches;
pub mod cuda_kernels;
pub mod ptx;
pub mod brushes;
pub mod inlined;
pub mod fused;
pub mod uniform_loops;
pub mod flattening;
pub mod linear;
pub mod retained;
mod levels_oracle;
pub mod scalars;
pub mod shapes_oracle;
pub mod annotations;
pub mod arrays;
pub mod baselines_oracle;
pub mod baseline_annotations;
pub mod spill;
pub mod properties;
pub mod coverage;
pub mod shrink;
pub mod fuzz;
pub mod native;
pub mod not_run;
pub mod bench;
