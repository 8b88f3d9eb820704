//! CUDA driver, loaded as `libcuda.so.1`, that runs CUDA programs on the CPU.
//!
//! Two layers. `api` is the C interface: it checks pointers, handles and sizes and returns the error codes of `cuda.h`. `core`
//! implements CUDA's objects: contexts, memory, modules, streams, events, graphs. Each handle is looked up in a table before
//! use, so one that is null, destroyed or of another type is an error code.
//!
//! Invariant: a command is done when its call returns, unless it is captured or comes after a wait that is not met. So commands of a
//! stream keep their order, and a thread that waits for a stream waits for calls of other threads.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod cuda;
pub mod attributes;
pub mod core;
pub mod api;
