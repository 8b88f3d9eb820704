//! Heddle as a library: the compiler behind every door.
//!
//! A [`Session`] reads sources (`.hed`, LLVM IR, C, C++, OpenCL C), takes a [`VectorizeRequest`] for a function in lanes, and makes an
//! [`Artifact`] of it: IR, LLVM's IR, an object, or code that can be called. What it can't do comes back as diagnostics.
#![forbid(unsafe_code)]

pub mod options;
pub mod context;
pub mod passes;
pub mod profile;
mod flattening;
mod scalar_replacement;
mod pipeline;
pub mod verdicts;
mod scalar_wins;
mod ptx;
pub mod session;
mod divergence_statistics;
pub mod marked_loop;
pub mod report;
pub mod vector_abi;

pub use divergence_statistics::DivergenceStatistics;
pub use marked_loop::{LoopCode, LoopLanes, LoopRequest, VectorLoop};
pub use options::{
    BrushCount, BrushExtents, IfConversion, PassPolicy, RootPrecision, StorePolicy, VectorizeOptions,
};
pub use profile::Profile;
pub use report::{KernelReport, VectorReport};
pub use session::{Artifact, DiagnosticError, Session, SourceModule, VectorizeRequest};

pub use heddle_analysis as analysis;
pub use heddle_ir as ir;
pub use heddle_llvm as llvm;
pub use heddle_math as math;
pub use heddle_transform as transform;
