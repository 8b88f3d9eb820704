//! Facts about loops: which are divergent, and which exits are uniform.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{Cfg, ControlTables, CycleForest, DominatorTree};
use heddle_ir::entity::EntitySet;
use heddle_ir::module::DeclaredShape;
use heddle_ir::ops::{Effect, Observed};
use heddle_ir::{Block, Constant, Function, InstData, Op, Value, ValueDef};

/// Divergent loops and uniform exits of a function.
///
/// The facts must be conservative: a divergent loop that is not listed stays divergent. Every loop may be listed; a loop
/// whose exits are all uniform and on every path through it is left unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopFacts {
    /// Headers of loops that lanes may leave in different iterations or by different exits.
    pub divergent_loops: EntitySet<Block>,
    /// Blocks with an exit edge whose active lanes all take the same successor.
    pub uniform_exits: EntitySet<Block>,
}

impl LoopFacts {
    /// Returns pessimistic facts: every loop is divergent unless all its exits depend on literals.
    pub fn pessimistic(func: &Function) -> LoopFacts {
        Self::from_uniform_branches(func, |_, condition| is_literal(func, condition))
    }

    /// Returns facts without an analysis: constants, uniform parameters, horizontals, and operations on these are uniform. φs
    /// are not. Requires Stage::Canonical.
    pub fn obvious(func: &Function) -> LoopFacts {
        let uniform = obviously_uniform(func);
        Self::from_uniform_branches(func, |_, condition| {
            is_literal(func, condition) || uniform.contains(condition)
        })
    }

    /// Returns facts without any divergent loop.
    pub fn none() -> LoopFacts {
        LoopFacts { divergent_loops: EntitySet::new(), uniform_exits: EntitySet::new() }
    }

    /// Returns facts from the divergence analysis: a loop is divergent if lanes may leave it in different iterations, and an exit
    /// is uniform if its branch is uniform among its active lanes.
    pub fn by_divergence(control: &ControlTables, divergence: &Divergence) -> LoopFacts {
        let mut facts = Self::none();
        let loops = control.cycles.cycles().filter(|&cycle| divergence.is_divergent_loop(cycle));
        loops.for_each(|cycle| _ = facts.divergent_loops.insert(control.cycles.header(cycle)));
        for &block in control.index.order() {
            let Some(block_of_def) = control.cycles.innermost(block) else { continue };
            let leaves =
                control.cfg.succs(block).iter().any(|&to| !control.cycles.contains(block_of_def, to));
            if leaves && !divergence.is_divergent_branch(block) {
                facts.uniform_exits.insert(block);
            }
        }
        facts
    }

    /// Returns the facts that follow from uniform branches, given a block and its condition: a loop is divergent if it has an exit
    /// whose branch is not uniform, or one that some path through the loop bypasses.
    pub fn from_uniform_branches(
        func: &Function,
        mut is_uniform: impl FnMut(Block, Value) -> bool,
    ) -> LoopFacts {
        let mut facts = Self::none();
        let cfg = Cfg::new(func);
        let forest = CycleForest::new(&cfg);
        let dominators = DominatorTree::new(&cfg);
        for from in cfg.blocks() {
            let Some(block_of_def) = forest.innermost(from) else { continue };
            let condition = func.terminator(from).and_then(|inst| func.inst(inst).args.first().copied());
            let is_uniform = condition.is_none_or(|condition| is_uniform(from, condition));
            if is_uniform && cfg.succs(from).iter().any(|&to| !forest.contains(block_of_def, to)) {
                facts.uniform_exits.insert(from);
            }
            for &to in cfg.succs(from) {
                let mut left = Some(block_of_def).filter(|&cycle| !forest.contains(cycle, to));
                while let Some(cycle) = left {
                    let latch = forest.unique_latch(&cfg, cycle);
                    let is_met = latch.is_some_and(|latch| dominators.dominates(from, latch));
                    if !(is_uniform && cycle == block_of_def && is_met) {
                        facts.divergent_loops.insert(forest.header(cycle));
                    }
                    left = forest.parent(cycle).filter(|&cycle| !forest.contains(cycle, to));
                }
            }
        }
        facts
    }
}

fn is_literal(func: &Function, value: Value) -> bool {
    matches!(func.constant(value), Some(Constant::Scalar(..)))
}

/// Returns values that are equal in all lanes computing them together, judged by operands alone.
fn obviously_uniform(func: &Function) -> EntitySet<Value> {
    let mut uniform = EntitySet::new();
    for (&value, param) in func.params().iter().zip(&func.signature.params) {
        if param.shape == Some(DeclaredShape::Uniform) {
            uniform.insert(value);
        }
    }
    let dominators = DominatorTree::new(&Cfg::new(func));
    for &block in dominators.pre_order() {
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            let agrees = |&value: &Value| uniform.contains(value) || func.value_def(value) == ValueDef::Const;
            if is_always_uniform(data) || (preserves_uniformity(data) && data.args.iter().all(agrees)) {
                func.results(inst).iter().for_each(|&value| _ = uniform.insert(value));
            }
        }
    }
    uniform
}

/// True if all lanes get one result, whatever their operands.
fn is_always_uniform(data: &InstData) -> bool {
    matches!(data.op, Op::Any | Op::All | Op::Ballot | Op::Popcount | Op::Reduce | Op::First)
}

/// True if equal operands give equal results: `freeze` may choose differently for each lane.
fn preserves_uniformity(data: &InstData) -> bool {
    let info = data.op.info();
    matches!(info.effect, Effect::Pure | Effect::Traps)
        && !data.op.observes(Observed::Position)
        && !matches!(data.op, Op::Phi | Op::Freeze | Op::Call)
}
