//! Heddle's compiler as a library; every interface and driver goes through it.
//!
//! A [`Session`] reads sources (`.hed`, LLVM IR, C, C++, OpenCL C, PTX). For a [`VectorizeRequest`] it compiles a function to
//! an [`Artifact`]: IR, LLVM IR, an object, or callable code. Failures are diagnostics.
#![forbid(unsafe_code)]

pub mod options;
pub mod option_words;
pub mod context;
pub mod passes;
pub mod profile;
mod pipeline;
pub mod divergence;
mod scalar_wins;
mod ptx;
pub mod session;
mod divergence_statistics;
pub mod loop_nest;
pub mod marked_loop;
pub mod report;
pub mod vector_abi;

pub use divergence_statistics::DivergenceStatistics;
pub use loop_nest::{NestBrush, NestExtents, NestRequest, NestTrips, VectorNest};
pub use marked_loop::{LoopCode, LoopLanes, LoopRequest, VectorLoop, slice_length};
pub use options::{
    BrushCount, BrushExtents, IfConversion, PassPolicy, RootPrecision, StorePolicy, VectorizeOptions,
};
pub use profile::Profile;
pub use report::{KernelReport, VectorReport, merge_access_remarks};
pub use session::{Artifact, DiagnosticError, Session, SourceModule, VectorizeRequest};

pub use heddle_analysis as analysis;
pub use heddle_builtins as builtins;
pub use heddle_ir as ir;
pub use heddle_llvm as llvm;
pub use heddle_math as math;
pub use heddle_transform as transform;
