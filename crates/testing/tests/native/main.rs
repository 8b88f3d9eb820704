//! What LLVM makes of wide code computes what the oracle says.

mod c_programs;
mod files;
mod llvm_files;
mod marked_loops;
mod object_cache;
mod pipeline;
mod progress;
mod run;
mod topics;
mod wide;
mod wide_brushes;
