//! Trace of a run, step by step.

use crate::lanes::LaneSet;
use crate::run::Datum;
use heddle_ir::{Block, Value};

/// Successor of a lane after a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneSuccessor {
    /// This block.
    Block(Block),
    /// None: the lane has returned.
    Returned,
    /// None: the lane never started.
    Absent,
}

/// Executed block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep {
    /// Number of the brush in its group.
    pub brush: u32,
    /// Number of the group in the launch.
    pub group: u32,
    /// Number of the function in the module.
    pub func: u32,
    /// Depth of calls.
    pub depth: u32,
    /// Block.
    pub block: Block,
    /// Predecessor of each lane.
    pub from: Vec<Option<Block>>,
    /// Lanes in the block.
    pub control: LaneSet,
    /// Lanes whose predicate holds; all if the block has none.
    pub predicate: LaneSet,
    /// Active lanes: `control` and `predicate`.
    pub active: LaneSet,
    /// Successor of each lane at the end of the block.
    pub next: Vec<LaneSuccessor>,
    /// Values of the parameters in each lane, where the function is entered; empty elsewhere.
    pub args: Vec<(Value, Vec<Datum>)>,
    /// Values that the block defines, in each lane at its end.
    pub values: Vec<(Value, Vec<Datum>)>,
}

/// Trace of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trace {
    /// Number of lanes.
    pub lanes: u32,
    /// Steps.
    pub steps: Vec<TraceStep>,
}
