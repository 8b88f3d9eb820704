//! The CUDA driver: what applications open as `libcuda.so.1` to run CUDA programs on the CPU.
//!
//! Two layers. `api` is the C interface: it looks at pointers, handles and sizes, and gives the error codes of `cuda.h`. `core`
//! is what CUDA's objects are: contexts, memory, modules, streams, events, graphs. A handle is looked up in a table before
//! anything is done with it, so one that is null, destroyed or of something else is an error code.
//!
//! Invariant: a command is done when its call returns, unless it is captured. So commands of a stream keep their order, and
//! a thread that waits for a stream waits for calls of other threads.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod cuda;
pub mod core;
pub mod api;
