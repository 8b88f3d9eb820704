//! Plans how work-items leave the continuation states: all together, or some at the end of the kernel and others at a barrier.
//!
//! A barrier waits for the work-items that have not exited. Work-items that exit early must not run the later states, and the
//! others must run them all. A state whose exits the work-items of a group take together needs nothing. In the others:
//!
//! ```text
//!     brushes diverge, lanes agree    the region returns its brush's successor; the group function merges those of all brushes
//!     lanes diverge                   the region reduces the lanes' successors first
//!     some exit                       an exit flag per brush or per lane, which later regions test at their start
//! ```
//!
//! Work-items that wait at different barriers are an error of the launch: the group function leaves it in its status word.

use super::continuations::{ContinuationGraph, ContinuationState};
use heddle_analysis::divergence::ALL_AGREE;
use heddle_analysis::shape::UniformityLevel;
use heddle_analysis::{Agreement, Cfg, Divergence, PostDominatorTree};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::{Detail, InstData, SwitchDetail};
use heddle_ir::module::Signature;
use heddle_ir::{Block, Function, Op, Scalar};

/// Exits that the work-items of a state take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StateExits {
    /// Widest level at which they take the same exit; none if the lanes of a brush may not.
    pub(super) agreement: Agreement,
    /// True if some work-items may have exited in an earlier state.
    pub(super) tests_flag: bool,
}

impl StateExits {
    /// All work-items of a group take the same exit.
    pub(super) const TOGETHER: StateExits = StateExits { agreement: ALL_AGREE, tests_flag: false };

    /// True if brushes may take different exits.
    pub(super) fn diverges(&self) -> bool {
        self.agreement < Some(UniformityLevel::Group)
    }

    /// True if lanes of a brush may take different exits.
    pub(super) fn lanes_diverge(&self) -> bool {
        self.agreement.is_none()
    }
}

/// Exits of all states.
pub(super) struct ExitPlan {
    pub(super) states: Vec<StateExits>,
    /// True if there is an exit flag for each lane, false if there is one for each brush; none if no work-item exits early.
    pub(super) flag_per_lane: Option<bool>,
    /// True if work-items may wait at different barriers.
    pub(super) may_wait_apart: bool,
}

/// Plans the exits of the states of a kernel. `facts` are those of the kernel with its barriers as jumps.
pub(super) fn plan_exits(kernel: &Function, states: &ContinuationGraph, facts: &Divergence) -> ExitPlan {
    let mut plan = ExitPlan {
        states: vec![StateExits::TOGETHER; states.all.len()],
        flag_per_lane: None,
        may_wait_apart: false,
    };
    let mut work: Vec<usize> = Vec::new();
    for (number, state) in states.all.iter().enumerate() {
        let agreement = exit_agreement(kernel, states, state, facts);
        let exits = StateExits { agreement, tests_flag: false };
        plan.states[number] = exits;
        plan.may_wait_apart |= exits.diverges() && state.successors.len() > 1;
        if exits.diverges() && state.may_return {
            plan.flag_per_lane = Some(plan.flag_per_lane == Some(true) || exits.lanes_diverge());
            work.extend(&state.successors);
        }
    }
    while let Some(number) = work.pop() {
        if !std::mem::replace(&mut plan.states[number].tests_flag, true) {
            work.extend(&states.all[number].successors);
        }
    }
    // Work-items that have exited agree with no other.
    let of_exited = if plan.flag_per_lane == Some(true) { None } else { Some(UniformityLevel::Brush) };
    for (exits, state) in plan.states.iter_mut().zip(&states.all) {
        if exits.tests_flag && exit_count(state) > 1 {
            exits.agreement = exits.agreement.min(of_exited);
        }
    }
    plan
}

/// Number of exits of a state.
pub(super) fn exit_count(state: &ContinuationState) -> usize {
    state.successors.len() + usize::from(state.may_return)
}

/// Returns the widest level at which work-items that start a state together take the same exit: that of the branches whose sides
/// do not meet again before the state ends.
fn exit_agreement(
    kernel: &Function,
    states: &ContinuationGraph,
    state: &ContinuationState,
    facts: &Divergence,
) -> Agreement {
    if exit_count(state) < 2 {
        return ALL_AGREE;
    }
    let disagree = |&&block: &&Block| {
        states.state_after[block].is_none()
            && kernel.successors(block).len() > 1
            && facts.branch_agreement(block) < Some(UniformityLevel::Group)
    };
    let branches: Vec<Block> = state.blocks.iter().filter(disagree).copied().collect();
    if branches.is_empty() {
        return ALL_AGREE;
    }
    let (skeleton, copies) = skeleton(kernel, states, state);
    let post_dominators = PostDominatorTree::new(&Cfg::new(&skeleton));
    let splits = |block: &Block| {
        copies[*block]
            .is_some_and(|copy| skeleton.successors(copy).len() > 1 && post_dominators.ipdom(copy).is_none())
    };
    branches.into_iter().filter(splits).map(|block| facts.branch_agreement(block)).min().unwrap_or(ALL_AGREE)
}

/// Builds the control flow graph of a state, without paths that lead to none of its exits.
fn skeleton(
    kernel: &Function,
    states: &ContinuationGraph,
    state: &ContinuationState,
) -> (Function, SecondaryMap<Block, Option<Block>>) {
    let is_exit = |block: Block| {
        states.state_after[block].is_some()
            || kernel.terminator(block).is_some_and(|inst| kernel.inst(inst).op == Op::Ret)
    };
    let mut predecessors: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for &block in state.blocks.iter().filter(|&&block| !is_exit(block)) {
        kernel.successors(block).iter().for_each(|&next| predecessors[next].push(block));
    }
    let mut leads_out: EntitySet<Block> = EntitySet::new();
    let mut work: Vec<Block> = state.blocks.iter().copied().filter(|&block| is_exit(block)).collect();
    while let Some(block) = work.pop() {
        if leads_out.insert(block) {
            work.extend(&predecessors[block]);
        }
    }
    let mut func = Function::new(String::new(), Signature::new(&[], &[]));
    let mut copies: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    let entry = func.append_block();
    for &block in state.blocks.iter().filter(|&&block| leads_out.contains(block)) {
        copies[block] = Some(func.append_block());
    }
    let condition = func.make_int(Scalar::I32, 0);
    let mut end = |from: Block, targets: &[Block]| {
        let data = match *targets {
            [] => InstData::plain(Op::Ret, []),
            [target] => InstData::jump(target),
            _ => {
                let cases = (1..targets.len() as u128).collect();
                let switch = SwitchDetail { cases, targets: targets.to_vec() };
                InstData::new(Op::Switch, [condition], Detail::Switch(Box::new(switch)))
            }
        };
        let inst = func.make_inst(data, &[]);
        func.layout.append_inst(inst, from);
    };
    end(entry, copies[state.start].as_slice());
    for &block in &state.blocks {
        let Some(copy) = copies[block] else { continue };
        let mut targets: Vec<Block> = match is_exit(block) {
            true => Vec::new(),
            false => kernel.successors(block).iter().filter_map(|&next| copies[next]).collect(),
        };
        targets.sort_unstable();
        targets.dedup();
        end(copy, &targets);
    }
    (func, copies)
}
