//! Heddle in a program: kernels in OpenCL C, compiled for this machine's vector units and launched over its threads.
//!
//! ```toml
//! [dependencies]
//! heddle = { package = "heddle-library", path = "heddle/crates/library" }
//! ```
//!
//! ```
//! # extern crate heddle_library as heddle;
//! use heddle::Program;
//! # fn main() -> Result<(), heddle::DiagnosticError> {
//! let program = Program::from_opencl_c(
//!     "kernel void saxpy(float a, global const float *x, global float *y) {
//!          size_t i = get_global_id(0);
//!          y[i] += a * x[i];
//!      }",
//! )?;
//! let x = [1.0f32, 2.0, 3.0];
//! let mut y = [10.0f32; 3];
//! // SAFETY: each work-item reads and writes its own element, and there are as many work-items as elements.
//! unsafe { program.kernel("saxpy")?.launch(3, (2.0f32, &x, &mut y))? };
//! assert_eq!(y, [12.0, 14.0, 16.0]);
//! # Ok(())
//! # }
//! ```
//!
//! Arguments are checked against the kernel's parameters: their number, their types, what is written to, how it is aligned.
//! What only the kernel knows is not checked, where it goes in its slices above all: so launches are unsafe.
#![deny(unsafe_op_in_unsafe_fn)]

mod program;
mod argument;
mod buffer;
mod elementwise;

pub use argument::{Arguments, Element, IntoArgument, KernelArgument, Local, local};
pub use buffer::Buffer;
pub use elementwise::ElementwiseFunction;
pub use heddle_compiler::{DiagnosticError, KernelReport};
pub use heddle_ir::Diagnostic;
pub use heddle_llvm::{KernelParam, ParamPassing};
pub use heddle_runtime::{NdRange, RangeError};
pub use program::{IntoRange, Kernel, Program};
