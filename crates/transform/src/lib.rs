//! Transformation passes. Each takes a function, and ensures the stage that its module head names.
#![forbid(unsafe_code)]

pub mod boscc;
pub mod brushes;
pub mod code_estimate;
mod loop_throughput;
mod regular_exits;
pub mod canonicalize;
pub mod flatten;
pub mod fuse;
pub mod linearize;
pub mod divergent_loops;
pub mod inline;
pub mod kernels;
pub mod marked_loop;
mod meeting_points;
pub mod private_arrays;
pub mod progress;
pub mod row_strips;
pub mod inverse_roots;
pub mod scalar_replacement;
pub mod simplify;
pub mod specialize;
pub mod stream;
pub mod rows_ahead;
pub mod target;
pub mod jump_threading;
pub mod tidy;
pub mod widen;

mod address_pattern;
mod edges;
mod block_copier;
mod induction;
mod cfg_analyses;
mod races;
mod ssa_builder;
mod ssa_repair;
mod timing;

pub use boscc::guard_regions;
pub use brushes::{
    LoopEstimate, choose_brushes, compare_with_scalars, estimate_hottest_loop, find_brush_observer,
};
pub use canonicalize::{canonicalize, split_critical_edges};
pub use code_estimate::{estimate_regions, has_vectorized_loops, instruction_count};
pub use divergent_loops::{LoopFacts, make_loops_uniform};
pub use fuse::{BranchFusion, FuseOptions, FusionResult, fuse, fuse_profiled};
pub use inline::{inline_calls, inline_small};
pub use inverse_roots::invert_roots;
pub use jump_threading::thread_jumps;
pub use kernels::{
    AxisOrder, DescriptorFields, GroupExecution, GroupFunction, KernelOptions, KnownArgument, KnownImages,
    KnownStrides, LaunchPromises, SamplingModes, WorkItemLayout, descriptor_offsets, lower_kernels,
};
pub use linearize::linearize;
pub use loop_throughput::innermost_time;
pub use marked_loop::{LoopPromises, NestLevels, NestProjection, refill_lanes, spread_loop, spread_nest};
pub use private_arrays::lower_private_arrays;
pub use progress::keep_progress;
pub use races::RaceSemantics;
pub use row_strips::strip_rows;
pub use rows_ahead::fetch_rows_ahead;
pub use scalar_replacement::replace_scalars;
pub use simplify::dead::remove_dead;
pub use simplify::simplify;
pub use specialize::{LockStepFunction, geometry_of, lock_step_functions, specialize};
pub use stream::stream_stores;
pub use target::TargetInfo;
pub use tidy::tidy;
pub use widen::{Remark, VersioningPolicy, WidenContext, WidenOptions, replace_launches, widen};
