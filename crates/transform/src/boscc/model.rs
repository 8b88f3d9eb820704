//! What a guard costs and saves.
//!
//! A region costs what its instructions cost, those in loops several times. It is empty if none of the lanes goes there.
//! A profile tells how often that was. Without one, how many lanes go there is told by the branch's weights; without weights
//! half of them, and none where the program ends. Lanes are more alike than dice: a brush counts as if it had [`INDEPENDENT_LANES`]
//! lanes that decide for themselves.

use std::collections::BTreeMap;

use heddle_analysis::ControlTables;
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Op};

/// As many lanes decide for themselves.
const INDEPENDENT_LANES: i32 = 4;
/// Times that a loop is thought to go round.
const ASSUMED_TRIPS: f64 = 8.0;
/// The deepest loop that counts.
const MAX_DEPTH: usize = 6;
/// What a question and a branch cost.
const VOTE_COST: f64 = 3.0;
/// What a branch costs that goes another way than last time.
const MISPREDICTION_COST: f64 = 15.0;

pub(super) struct GuardCostModel<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    /// What all blocks cost up to one, in the pre-order of the dominator tree.
    before: Vec<f64>,
    /// Position in that order.
    position: SecondaryMap<Block, u32>,
    /// What a profile tells of branches.
    untaken: &'a BTreeMap<Block, [f64; 2]>,
}

impl<'a> GuardCostModel<'a> {
    pub(super) fn new(
        func: &'a Function,
        control: &'a ControlTables,
        untaken: &'a BTreeMap<Block, [f64; 2]>,
    ) -> Self {
        let mut position = SecondaryMap::with_len(control.cfg.num_blocks());
        let mut before = vec![0.0];
        let mut sum = 0.0;
        for (number, &block) in control.dominators.pre_order().iter().enumerate() {
            position[block] = number as u32;
            let once: f64 = func.block_insts(block).map(|inst| cost(func.inst(inst))).sum();
            sum += once * executions(control, block);
            before.push(sum);
        }
        Self { func, control, before, position, untaken }
    }

    /// Whether it pays to guard this target of a branch.
    pub(super) fn pays(&self, arm: Block, from: Block, slot: usize) -> bool {
        let first = self.position[arm] as usize;
        let last = first + self.control.dominators.dominated(arm).len();
        let cost = (self.before[last] - self.before[first]) / executions(self.control, arm);
        let empty = self.empty_probability(from, slot);
        empty * cost > VOTE_COST + MISPREDICTION_COST * empty.min(1.0 - empty)
    }

    /// How likely no lane takes this target of a branch.
    pub(super) fn empty_probability(&self, from: Block, slot: usize) -> f64 {
        match self.untaken.get(&from) {
            Some(untaken) => untaken[slot],
            None => (1.0 - self.lane_share(from, slot)).powi(INDEPENDENT_LANES),
        }
    }

    /// The share of lanes that take this target of a branch.
    fn lane_share(&self, from: Block, slot: usize) -> f64 {
        let branch = self.func.terminator(from).map(|inst| self.func.inst(inst));
        if let Some(Detail::Branch(_, Some(weights))) = branch.map(|data| &data.detail) {
            let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
            if sum > 0.0 {
                return f64::from(weights[slot]) / sum;
            }
        }
        let ends = |slot: usize| {
            let to = self.control.cfg.succs(from).get(slot).copied();
            to.and_then(|to| self.func.terminator(to))
                .is_some_and(|inst| self.func.inst(inst).op == Op::Unreachable)
        };
        match [ends(slot), ends(1 - slot)] {
            [true, false] => 0.0,
            [false, true] => 1.0,
            _ => 0.5,
        }
    }
}

fn executions(control: &ControlTables, block: Block) -> f64 {
    ASSUMED_TRIPS.powi(control.cycles.depth_of_block(block).min(MAX_DEPTH) as i32)
}

/// About how many plain vector operations an instruction is worth.
fn cost(data: &InstData) -> f64 {
    match (data.op, data.op.info().effect) {
        (Op::Phi | Op::Br, _) => 0.0,
        (_, Effect::Callee) => 40.0,
        (_, Effect::Traps) => 12.0,
        (_, Effect::Reads | Effect::Writes) => 4.0,
        (_, Effect::ReadsWrites) => 20.0,
        (_, Effect::Horizontal) => 3.0,
        _ => 1.0,
    }
}
