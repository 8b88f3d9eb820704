//! Cost model under divergence: sums the costs of instructions, weighted by the block frequencies of a brush.
//!
//! A brush passes both sides of a divergent branch each time and one side of a uniform branch every second time; loops have a
//! fixed trip count. Loop-carried values that exceed the registers are spilled.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{ControlTables, Edge};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Detail, Function, Inst, Op};

use crate::address_pattern::AddressPattern;
use crate::fuse::MachineModel;
use crate::target::{AccessDirection, AccessLanes};

/// Assumed trip count of loops.
const TRIPS: f64 = 8.0;
/// Cost of a loop-carried value.
const CARRIED: f64 = 2.0;
/// Cost of a spilled loop-carried value.
const SPILLED: f64 = 25.0;
/// Assumed number of registers of a warp for loop-carried values.
const WARP_REGISTERS: i64 = 64;

/// Executions of each block by a brush.
pub(super) type BlockFrequencies = SecondaryMap<Block, f64>;

/// Computes the executions of each block per entry of a brush into the function.
pub(super) fn frequencies(func: &Function, control: &ControlTables, facts: &Divergence) -> BlockFrequencies {
    let ControlTables { cfg, dominators, cycles, index } = control;
    let mut frequency: BlockFrequencies = SecondaryMap::with_len(func.block_count());
    let depth = |block: Block| cycles.depth_of_block(block) as i32;
    for &block in index.order() {
        let mut comes = if block == func.entry() { 1.0 } else { 0.0 };
        for &from in cfg.preds(block) {
            let edge = Edge { from, to: block };
            if !cycles.is_retreating(edge) {
                comes += frequency[from] * share(func, control, facts, edge);
            }
        }
        // Diverged lanes reconverge.
        if let Some(above) = dominators.idom(block) {
            let left = (depth(above) - (depth(block) - i32::from(cycles.headed_by(block).is_some()))).max(0);
            comes = f64::min(comes, frequency[above] / TRIPS.powi(left));
        }
        frequency[block] = if cycles.headed_by(block).is_some() { comes * TRIPS } else { comes };
    }
    frequency
}

/// Returns the probability that a brush at a branch takes an edge.
fn share(func: &Function, control: &ControlTables, facts: &Divergence, edge: Edge) -> f64 {
    let ControlTables { cfg, cycles, .. } = control;
    let depth = |block: Block| cycles.depth_of_block(block) as i32;
    let leaves = |to: Block| cycles.innermost(edge.from).is_some_and(|cycle| !cycles.contains(cycle, to));
    if leaves(edge.to) {
        return TRIPS.powi(depth(edge.to) - depth(edge.from)).min(1.0);
    }
    let succs = cfg.succs(edge.from);
    if succs.len() < 2 || facts.is_divergent_branch(edge.from) || succs.iter().any(|&to| leaves(to)) {
        return 1.0;
    }
    let weights = func.terminator(edge.from).map(|branch| &func.inst(branch).detail);
    match weights {
        Some(Detail::Branch(targets, Some(weights))) if weights.iter().any(|&weight| weight > 0) => {
            let index = usize::from(targets[0] != edge.to);
            f64::from(weights[index]) / (f64::from(weights[0]) + f64::from(weights[1]))
        }
        _ => 1.0 / succs.len() as f64,
    }
}

/// Estimates a function's cost on a machine, in tenths of a plain operation.
pub(super) fn cost(
    func: &Function,
    control: &ControlTables,
    facts: &Divergence,
    machine: MachineModel,
) -> f64 {
    let frequency = frequencies(func, control, facts);
    let convergent_blocks = facts.region_of_nondivergence(control);
    let mut sum = 0.0;
    for &block in control.index.order() {
        let is_header = control.cycles.headed_by(block).is_some();
        let insts = func.block_insts(block);
        let cost: f64 = insts
            .map(|inst| inst_cost(func, facts, machine, &convergent_blocks, (block, is_header), inst))
            .sum();
        sum += frequency[block] * (cost + if is_header { spills(func, facts, machine, block) } else { 0.0 });
    }
    sum
}

fn inst_cost(
    func: &Function,
    facts: &Divergence,
    machine: MachineModel,
    convergent_blocks: &EntitySet<Block>,
    (block, is_header): (Block, bool),
    inst: Inst,
) -> f64 {
    let data = func.inst(inst);
    let cost = match data.op.info().effect {
        Effect::Joins => {
            let is_uniform = func.result(inst).is_some_and(|value| facts.fact(value).is_uniform());
            return match func.result(inst) {
                // φs with one operand and uniform φs are free.
                _ if data.args.len() < 2 || is_uniform => 0.0,
                _ if is_header => CARRIED,
                Some(value) => machine.select(func.value_type(value)) as f64,
                None => 0.0,
            };
        }
        Effect::Reads | Effect::Writes if data.address().is_some() => {
            let value = if data.op == Op::Load { func.result(inst) } else { data.args.first().copied() };
            let (Some(value), Some(address)) = (value, data.address()) else { return 0.0 };
            let ty = func.value_type(value);
            let pattern = AddressPattern::estimated(facts, address, ty.scalar());
            let active = AccessLanes::under(!convergent_blocks.contains(block));
            machine.access_of(AccessDirection::of(data.op), ty, pattern, active)
        }
        _ => machine.inst(func, facts, inst, None),
    };
    cost as f64
}

/// Returns the spill cost of the loop-carried values of a header.
fn spills(func: &Function, facts: &Divergence, machine: MachineModel, header: Block) -> f64 {
    let registers = |inst: Inst| {
        let value = func.result(inst).filter(|&value| !facts.fact(value).is_uniform());
        value.map_or(0, |value| machine.registers(func.value_type(value)))
    };
    let carried: i64 = func.phis(header).map(registers).sum();
    let known = match machine {
        // Half of the registers are left for temporaries.
        MachineModel::Vectors(target, _) => i64::from(target.registers / 2),
        MachineModel::Warps => WARP_REGISTERS,
    };
    (carried - known).max(0) as f64 * SPILLED
}
