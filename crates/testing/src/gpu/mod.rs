//! PTX for a comparison with hardware: programs, their inputs, and the memory that the oracle leaves, in one file of JSON lines
//! that `tests/cuda/gpu.py` runs on any CUDA driver.
//!
//! A line is a module: the text that its kernels share, and its cases. A case is the text of a kernel, a launch, and what each
//! object holds before and after it. Results in columns have types, so that NaNs compare equal and approximations count units
//! in the last place.

mod case;
mod sources;
mod timed;

pub use case::GpuModule;
pub use sources::{ExportPlan, export};
pub use timed::export_timed;
