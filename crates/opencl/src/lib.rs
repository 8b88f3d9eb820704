//! OpenCL driver (ICD) that runs OpenCL programs on the CPU.
//!
//! Two layers. `api` is the C interface: it checks pointers, handles and sizes and returns the specification's error
//! codes. `core` implements OpenCL's objects: contexts, memory, programs, kernels, queues, events. Each handle is looked
//! up in a table before use, so one that is null, released or foreign is an error code.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod cl;
pub mod core;
pub mod api;
