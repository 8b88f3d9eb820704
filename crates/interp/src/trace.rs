//! The trace of a run, step by step.

use crate::lanes::LaneSet;
use crate::run::Datum;
use heddle_ir::{Block, Value};

/// Where a lane goes next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneSuccessor {
    /// To this block.
    Block(Block),
    /// Nowhere: it has returned.
    Returned,
    /// Nowhere: it never started.
    Absent,
}

/// One executed block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep {
    /// The number of the brush in its group.
    pub brush: u32,
    /// The number of the group in the launch.
    pub group: u32,
    /// The number of the function in the module.
    pub func: u32,
    /// How many calls lie around it.
    pub depth: u32,
    /// The block.
    pub block: Block,
    /// For each lane the block that it comes from.
    pub from: Vec<Option<Block>>,
    /// Which lanes are here.
    pub control: LaneSet,
    /// For which lanes the predicate holds; all where there is none.
    pub predicate: LaneSet,
    /// Which lanes are active: both.
    pub active: LaneSet,
    /// For each lane where it goes next, once the block is done.
    pub next: Vec<LaneSuccessor>,
    /// What the parameters hold in each lane, where the function is entered; empty elsewhere.
    pub args: Vec<(Value, Vec<Datum>)>,
    /// What the block defines, with its value in each lane behind the block.
    pub values: Vec<(Value, Vec<Datum>)>,
}

/// Every step of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trace {
    /// The number of lanes.
    pub lanes: u32,
    /// The steps.
    pub steps: Vec<TraceStep>,
}
