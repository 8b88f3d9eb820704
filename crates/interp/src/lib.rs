//! The oracle: executes the lock-step IR by its definition, `W` lanes at a time.
//!
//! docs/ir.md is that definition. [`run`] runs a function of a module over a [`Memory`]; [`RunOptions`] choose the
//! lanes, what passive execution does to variables, and the scheduler. The oracle shares no code with analyses and
//! passes, so it shares none of their mistakes: its view of control flow (`control.rs`) is its own.
#![forbid(unsafe_code)]

mod run;
mod lanes;
mod program;
mod control;
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
