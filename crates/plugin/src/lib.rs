//! The pass plugin: LLVM's C++ on one side (`cpp/`), the pipeline on the other.
//!
//! `cpp/pass.cpp` takes marked loops out of a copy of the module and hands that over as bitcode; [`loops`] makes vector code
//! of each, or says why not; what came out is linked into the module and takes the place of the loop.
#![deny(unsafe_op_in_unsafe_fn)]

mod loops;
pub mod edge;
