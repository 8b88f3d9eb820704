//! Kernels made ready to launch, and launches: what every driver shares, without an API of its own.
//!
//! A [`KernelModule`] is a module with kernels. A [`PreparedKernel`] is compiled when it is first launched in a way that needs code of
//! its own, and kept. A launch goes over an [`NdRange`] of work-groups; the workers of a [`Pool`] take them in chunks.
//! docs/runtime.md tells what compiled kernels look like.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod range;
pub mod pool;
mod processors;
pub mod processor_layout;
pub mod program;
pub mod launch;
pub mod exit;
pub mod memory;
pub mod transfer;
pub mod environment;

pub mod vector_code;

mod arena;
mod code;
mod code_choice;
mod compile_ahead;
mod second_forms;
mod kernel_facts;
pub mod faults;
pub mod machine_memory;
mod caller_pointers;
mod forced;
mod kept;
mod print;
mod selection;
mod statistics;
#[cfg(test)]
mod trial_tests;

pub use code::BuildError;
pub use forced::ForcedOptions;
pub use heddle_transform::{
    AxisOrder, DescriptorFields, KnownArgument, KnownImages, KnownStrides, LaunchPromises, SamplingModes,
    descriptor_offsets,
};
pub use kept::{COMPILER, KernelCache, user_caches};
pub use kernel_facts::{
    KernelFacts, KernelParameter, SUB_GROUP_SIZES, recursive_functions, sub_group_size_error,
    undefined_functions, with_callers,
};
pub use launch::{LaunchArgument, LaunchError, LaunchForecast, in_pieces};
pub use pool::Pool;
pub use program::{BuildOptions, BuildServices, KernelModule, PreparedKernel, ReportSink};
pub use range::{NdRange, RangeError};
pub use selection::Trials;
pub use statistics::{CacheSummary, summarize_cache};
pub use vector_code::{CodeVariant, GroupFunctions, VectorCode};
