//! Heddle as a library: the pipeline, its options and its diagnostics.
#![forbid(unsafe_code)]

pub mod pipeline;
pub mod whole_function;
pub mod vector_abi;

pub use heddle_analysis as analysis;
pub use heddle_ir as ir;
pub use heddle_llvm as llvm;
pub use heddle_math as math;
pub use heddle_transform as transform;
