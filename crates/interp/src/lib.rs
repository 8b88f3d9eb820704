//! Reference interpreter of the lock-step IR: executes it by its definition, `W` lanes at a time.
//!
//! docs/ir.md is that definition. [`run`] executes a function of a module over a [`Memory`]. [`RunOptions`] select the
//! lanes, the semantics of passive lanes and the scheduler.
//! Invariant: shares no code with analyses and passes, and so none of their mistakes. `control_graph.rs` is its own view of
//! control flow.
#![forbid(unsafe_code)]

mod run;
mod lanes;
mod program;
mod control_graph;
mod schedule;
mod brush;
mod frame;
mod lane_partition;
mod next_block;
mod reconvergence;
mod post_dominators;
mod calls;
mod region;
mod execute;
mod access;
mod horizontal;
mod elementwise;
pub mod scalar;
mod math;
mod memory;
mod race;
mod trace;
mod profile;
mod limits;
mod fault;

pub use fault::{ExecutionFault, FaultKind};
pub use lanes::LaneSet;
pub use limits::{LimitKind, RunLimits};
pub use memory::{Memory, MemoryObject};
pub use profile::{
    AccessProfile, BlockProfile, BranchProfile, CycleCosts, FunctionProfile, LoopProfile, RunProfile,
    is_issued,
};
pub use race::Race;
pub use run::{Argument, Datum, LaunchGeometry, PassiveSemantics, RunCounters, RunOptions, RunOutcome, run};
pub use schedule::{Invocation, InvocationOrigin, Schedule, ScheduleStep, Scheduler};
pub use trace::{LaneSuccessor, Trace, TraceStep};
