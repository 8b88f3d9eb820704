//! Cost model of guards.
//!
//! The cost of a region is that of its instructions on all registers of a brush, weighted by loop depth. A region is
//! empty if no lane goes there; a profile gives the probability. Without one, branch weights give the share of lanes;
//! without weights it is none for an arm that ends the program, or follows from the form of the condition
//! (`likelihood`), or is one half. Lanes of a brush correlate: it counts as [`INDEPENDENT_LANES`] lanes that decide
//! independently. On conditions of indices alone almost all brushes agree, and one after the other goes the same way.

use super::GuardOptions;
use super::likelihood::{differs_between_brushes, expected_share, is_of_indices};
use heddle_analysis::ControlTables;
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Op, Value};

/// Number of statistically independent lanes in a brush.
const INDEPENDENT_LANES: i32 = 4;
/// Share of brushes of which no lane takes the larger arm of a condition of indices.
const EMPTY_BY_INDICES: f64 = 0.125;
/// Assumed trip count of loops.
const ASSUMED_TRIPS: f64 = 8.0;
/// Maximum loop depth that counts.
const MAX_DEPTH: usize = 6;
/// Cost of a vote on one register and a branch.
const VOTE_COST: f64 = 3.0;
/// Cost of a branch misprediction.
const MISPREDICTION_COST: f64 = 15.0;

pub(super) struct GuardCostModel<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    /// Prefix sums of block costs, in the pre-order of the dominator tree.
    before: Vec<f64>,
    /// Position in that order.
    position: SecondaryMap<Block, u32>,
    options: &'a GuardOptions,
}

impl<'a> GuardCostModel<'a> {
    pub(super) fn new(func: &'a Function, control: &'a ControlTables, options: &'a GuardOptions) -> Self {
        let mut position = SecondaryMap::with_len(control.cfg.num_blocks());
        let mut before = vec![0.0];
        let mut sum = 0.0;
        for (number, &block) in control.dominators.pre_order().iter().enumerate() {
            position[block] = number as u32;
            let once: f64 = func.block_insts(block).map(|inst| cost(func.inst(inst))).sum();
            sum += once * executions(control, block);
            before.push(sum);
        }
        Self { func, control, before, position, options }
    }

    /// True if guarding this target of a branch pays.
    pub(super) fn pays(&self, arm: Block, from: Block, slot: usize) -> bool {
        // Lanes mostly agree on conditions of indices, and then rather on the larger arm: the vote rarely skips it.
        let condition = self.condition(from);
        let is_of_indices = condition.is_some_and(|it| is_of_indices(self.func, it));
        let registers = if is_of_indices { 1.0 } else { f64::from(self.options.registers.max(1)) };
        let cost = registers * self.region_cost(arm);
        let vote = VOTE_COST + registers - 1.0;
        let empty = self.empty_probability(from, slot);
        // Such a vote costs no mispredictions: one brush after the other goes the same way.
        let may_be_empty = || {
            is_of_indices
                && !self.options.untaken.contains_key(&from)
                && self.weights(from).is_none()
                && condition.is_some_and(|it| differs_between_brushes(self.func, it))
        };
        if EMPTY_BY_INDICES * cost > vote && may_be_empty() {
            return true;
        }
        empty * cost > vote + MISPREDICTION_COST * empty.min(1.0 - empty)
    }

    /// Cost of what a block dominates, on one register, each time that the block runs.
    pub(super) fn region_cost(&self, block: Block) -> f64 {
        let first = self.position[block] as usize;
        let last = first + self.control.dominators.dominated(block).len();
        (self.before[last] - self.before[first]) / executions(self.control, block)
    }

    /// Probability that no lane takes this target of a branch.
    pub(super) fn empty_probability(&self, from: Block, slot: usize) -> f64 {
        match self.options.untaken.get(&from) {
            Some(untaken) => untaken[slot],
            None => (1.0 - self.lane_share(from, slot)).powi(INDEPENDENT_LANES),
        }
    }

    pub(super) fn condition(&self, from: Block) -> Option<Value> {
        let branch = self.func.terminator(from).map(|inst| self.func.inst(inst))?;
        branch.args.first().copied()
    }

    fn weights(&self, from: Block) -> Option<&[u32; 2]> {
        match &self.func.inst(self.func.terminator(from)?).detail {
            Detail::Branch(_, weights) => weights.as_deref(),
            _ => None,
        }
    }

    /// Share of lanes that take this target of a branch.
    fn lane_share(&self, from: Block, slot: usize) -> f64 {
        if let Some(weights) = self.weights(from) {
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
            [true, false] => return 0.0,
            [false, true] => return 1.0,
            _ => {}
        }
        let share = self.condition(from).and_then(|it| expected_share(self.func, it)).unwrap_or(0.5);
        if slot == 0 { share } else { 1.0 - share }
    }
}

fn executions(control: &ControlTables, block: Block) -> f64 {
    ASSUMED_TRIPS.powi(control.cycles.depth_of_block(block).min(MAX_DEPTH) as i32)
}

/// Cost of an instruction, in plain vector operations.
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
