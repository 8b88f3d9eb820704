//! What the transformation needs to know of lanes: which loops they leave apart, and where they leave together.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{Cfg, ControlTables, CycleForest, DominatorTree};
use heddle_ir::entity::EntitySet;
use heddle_ir::module::DeclaredShape;
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Constant, Function, InstData, Op, Value, ValueDef};

/// Which loops are divergent, and how.
///
/// Facts must be right: a divergent loop that is not listed stays divergent. Every loop may be listed; one whose exits
/// are all uniform and lie on all ways through it is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopFacts {
    /// The headers of loops that lanes may leave in different iterations or by different exits.
    pub divergent_loops: EntitySet<Block>,
    /// The blocks with an edge out of a loop at whose branch the lanes that are active there all go the same way.
    pub uniform_exits: EntitySet<Block>,
}

impl LoopFacts {
    /// Nothing is known but literals: every loop is divergent whose exits do not all depend on constants.
    pub fn pessimistic(func: &Function) -> LoopFacts {
        Self::from_uniform_branches(func, |_, condition| is_literal(func, condition))
    }

    /// What can be seen without an analysis: operations on constants, on parameters that are declared uniform, and on
    /// horizontals give one value for all lanes. φs may not. The function is at stage Canonical.
    pub fn obvious(func: &Function) -> LoopFacts {
        let uniform = obviously_uniform(func);
        Self::from_uniform_branches(func, |_, condition| {
            is_literal(func, condition) || uniform.contains(condition)
        })
    }

    /// No loop is divergent.
    pub fn none() -> LoopFacts {
        LoopFacts { divergent_loops: EntitySet::new(), uniform_exits: EntitySet::new() }
    }

    /// What the divergence analysis says: a loop is divergent if lanes may leave it in different rounds, and an exit is
    /// uniform if its branch is, among those that are there.
    pub fn by_divergence(control: &ControlTables, divergence: &Divergence) -> LoopFacts {
        let mut facts = Self::none();
        let loops = control.cycles.cycles().filter(|&cycle| divergence.is_divergent_loop(cycle));
        loops.for_each(|cycle| _ = facts.divergent_loops.insert(control.cycles.header(cycle)));
        for &block in control.index.order() {
            let Some(home) = control.cycles.innermost(block) else { continue };
            let leaves = control.cfg.succs(block).iter().any(|&to| !control.cycles.contains(home, to));
            if leaves && !divergence.is_divergent_branch(block) {
                facts.uniform_exits.insert(block);
            }
        }
        facts
    }

    /// The facts that follow from uniform branches alone, given for a block and its condition: a loop is divergent
    /// if it has an exit whose branch is not uniform, or one that not every way through the loop comes to.
    pub fn from_uniform_branches(
        func: &Function,
        mut is_uniform: impl FnMut(Block, Value) -> bool,
    ) -> LoopFacts {
        let mut facts = Self::none();
        let cfg = Cfg::new(func);
        let forest = CycleForest::new(&cfg);
        let dominators = DominatorTree::new(&cfg);
        for from in cfg.blocks() {
            let Some(home) = forest.innermost(from) else { continue };
            let condition = func.terminator(from).and_then(|inst| func.inst(inst).args.first().copied());
            let is_uniform = condition.is_none_or(|condition| is_uniform(from, condition));
            if is_uniform && cfg.succs(from).iter().any(|&to| !forest.contains(home, to)) {
                facts.uniform_exits.insert(from);
            }
            for &to in cfg.succs(from) {
                let mut left = Some(home).filter(|&cycle| !forest.contains(cycle, to));
                while let Some(cycle) = left {
                    let latch = forest.unique_latch(&cfg, cycle);
                    let is_met = latch.is_some_and(|latch| dominators.dominates(from, latch));
                    if !(is_uniform && cycle == home && is_met) {
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

/// Values that all lanes that compute them together agree on, as far as operands tell.
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
            if gives_one_value(data) || (keeps_one_value(data) && data.args.iter().all(agrees)) {
                func.results(inst).iter().for_each(|&value| _ = uniform.insert(value));
            }
        }
    }
    uniform
}

/// Whether all lanes get the same, whatever they bring.
fn gives_one_value(data: &InstData) -> bool {
    matches!(data.op, Op::Any | Op::All | Op::Ballot | Op::Popcount | Op::Reduce | Op::First)
}

/// Whether lanes that bring the same get the same: `freeze` may choose for each lane.
fn keeps_one_value(data: &InstData) -> bool {
    let info = data.op.info();
    let asks_for_lanes = matches!(data.op, Op::Lane | Op::Mask | Op::LocalId | Op::GlobalId);
    matches!(info.effect, Effect::Pure | Effect::Traps)
        && !asks_for_lanes
        && !matches!(data.op, Op::Phi | Op::Freeze | Op::Call)
}
