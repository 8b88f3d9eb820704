//! LLVM's code for wide functions computes the interpreter's results.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "it calls machine code")]
mod c_programs;
#[allow(unsafe_code, reason = "it calls machine code")]
mod files;
mod llvm_files;
mod marked_loops;
mod marked_nests;
mod object_cache;
#[allow(unsafe_code, reason = "it calls machine code")]
mod pipeline;
mod progress;
mod run;
mod topics;
#[allow(unsafe_code, reason = "it calls machine code")]
mod wide;
mod wide_brushes;
