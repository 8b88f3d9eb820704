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
mod parties;
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

pub use fault::{Fault, FaultKind};
pub use lanes::LaneSet;
pub use limits::{Limit, Limits};
pub use memory::{Memory, Object};
pub use profile::{
    AccessProfile, BlockProfile, BranchProfile, Cycles, FunctionProfile, LoopProfile, RunProfile, is_issued,
};
pub use race::Race;
pub use run::{Argument, Counters, Datum, LaunchGeometry, Outcome, RunOptions, Semantics, run};
pub use schedule::{Invocation, Origin, Schedule, Scheduler, Step};
pub use trace::{Next, Trace, TraceStep};
