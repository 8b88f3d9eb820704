//! Everything that a package contains, in one library: OpenCL and CUDA driver, C interface and command.
//!
//! LLVM and clang are most of each library that contains them: a package has them once.

use heddle_capi as _;
use heddle_cuda as _;
use heddle_opencl as _;
use std::ffi::c_int;

/// Runs the command `heddle` with the arguments of the process, and returns its exit code.
#[unsafe(no_mangle)]
pub extern "C" fn heddle_command() -> c_int {
    // A panic must not unwind into C. 101 is what Rust's programs return after one.
    std::panic::catch_unwind(heddle_cli::run).map_or(101, c_int::from)
}
