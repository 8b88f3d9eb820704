//! The OpenCL driver: what an ICD loader opens to run OpenCL programs on the CPU.
//!
//! Two layers. `api` is the C interface: it looks at pointers, handles and sizes, and gives the specification's error
//! codes. `core` is what OpenCL's objects are: contexts, memory, programs, kernels, queues, events. A handle is looked up
//! in a table before anything is done with it, so one that is null, freed or of somebody else is an error code.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod cl;
pub mod core;
pub mod api;
