//! Published divergence analyses as baselines, each as in its paper.
//!
//! They know two shapes, uniform and varying; values loaded from private memory always vary. All use [`transfer`] for data
//! dependence and differ in their treatment of control flow. None handles predicates, so functions must be at most at stage
//! Canonical. Each module head states where the analysis is unsound; tests/baselines has a minimal program for that.

use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Inst, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashSet;
use std::borrow::Cow;

use crate::control_tables::ControlTables;
use crate::divergence::{Divergence, InitialShapes, divergence};
use crate::shape::{Congruence, Fact, MemoryUniformity, Shape, TransferContext, transfer};
use crate::uses::UseLists;

mod stratton;

mod coutinho;
mod karrenberg;

pub use coutinho::coutinho;
pub use karrenberg::{divergent_blocks, karrenberg};
pub use stratton::stratton;

/// Result of a published analysis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaselineResult {
    /// Values whose lanes may differ at their definition.
    pub varying: EntitySet<Value>,
    /// Blocks with a divergent branch.
    pub divergent: EntitySet<Block>,
}

/// Uniformity analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UniformityAnalysis {
    /// Our analysis, reduced to uniform and varying.
    Heddle,
    /// Coutinho et al., PACT 2011.
    Coutinho,
    /// Karrenberg and Hack, CC 2012.
    Karrenberg,
    /// Stratton et al., CGO 2010.
    Stratton,
}

impl UniformityAnalysis {
    /// All analyses, ours first.
    pub const ALL: [UniformityAnalysis; 4] = [
        UniformityAnalysis::Heddle,
        UniformityAnalysis::Coutinho,
        UniformityAnalysis::Karrenberg,
        UniformityAnalysis::Stratton,
    ];

    /// Returns the name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            UniformityAnalysis::Heddle => "heddle",
            UniformityAnalysis::Coutinho => "coutinho",
            UniformityAnalysis::Karrenberg => "karrenberg",
            UniformityAnalysis::Stratton => "stratton",
        }
    }

    /// Returns the analysis with this name.
    pub fn from_name(name: &str) -> Option<UniformityAnalysis> {
        UniformityAnalysis::ALL.into_iter().find(|analysis| analysis.name() == name)
    }

    /// Analyzes a function. All analyses call a value uniform that no lane holds.
    pub fn run(self, func: &Function, control: &ControlTables, initial: &InitialShapes) -> BaselineResult {
        match self {
            UniformityAnalysis::Heddle => without_strides(func, control, &divergence(func, control, initial)),
            UniformityAnalysis::Coutinho => coutinho(func, control, initial),
            UniformityAnalysis::Karrenberg => karrenberg(func, control, initial),
            UniformityAnalysis::Stratton => stratton(func, control, initial),
        }
    }
}

/// Reduces our result to uniform and varying.
pub fn without_strides(func: &Function, control: &ControlTables, divergence: &Divergence) -> BaselineResult {
    let mut baseline = BaselineResult { varying: EntitySet::new(), divergent: EntitySet::new() };
    for &block in control.index.order() {
        if divergence.is_divergent_branch(block) {
            baseline.divergent.insert(block);
        }
        for inst in func.block_insts(block) {
            for &value in func.results(inst) {
                let shape = divergence.shape(value);
                if !shape.is_uniform() && !shape.is_undefined() {
                    baseline.varying.insert(value);
                }
            }
        }
    }
    baseline
}

/// Propagates data dependence from the sources of divergence, and calls `at_branch` for each divergent branch.
fn propagate(
    func: &Function,
    control: &ControlTables,
    initial: &InitialShapes,
    at_branch: impl FnMut(&mut VaryingMarks<'_>, Block),
) -> BaselineResult {
    let mut marks = VaryingMarks {
        func,
        initial,
        uses: UseLists::new(func, control),
        varying: EntitySet::new(),
        renamed: FxHashSet::default(),
        divergent: EntitySet::new(),
        queue: Vec::new(),
        is_queued: SecondaryMap::with_len(func.inst_count()),
    };
    for (&param, fact) in func.params().iter().zip(&initial.params) {
        if !fact.is_uniform() {
            marks.varying.insert(param);
        }
    }
    for &block in control.index.order().iter().rev() {
        let insts: Vec<Inst> = func.block_insts(block).collect();
        insts.into_iter().rev().for_each(|inst| marks.push(inst));
    }
    marks.run(at_branch);
    BaselineResult { varying: marks.varying, divergent: marks.divergent }
}

/// Marks of varying values, and the worklist.
struct VaryingMarks<'a> {
    func: &'a Function,
    initial: &'a InitialShapes,
    uses: UseLists,
    varying: EntitySet<Value>,
    /// Uses that see a varying value although its definition is uniform.
    renamed: FxHashSet<(Inst, Value)>,
    divergent: EntitySet<Block>,
    queue: Vec<Inst>,
    is_queued: SecondaryMap<Inst, bool>,
}

impl VaryingMarks<'_> {
    fn push(&mut self, inst: Inst) {
        if !std::mem::replace(&mut self.is_queued[inst], true) {
            self.queue.push(inst);
        }
    }

    /// Marks the value as varying.
    fn mark(&mut self, value: Value) {
        if self.varying.insert(value) {
            for at in 0..self.uses.of(value).len() {
                self.push(self.uses.of(value)[at]);
            }
        }
    }

    /// Marks the results of the instruction as varying.
    fn mark_results(&mut self, inst: Inst) {
        for &result in self.func.results(inst) {
            self.mark(result);
        }
    }

    /// Marks the value as varying in this use.
    fn mark_use(&mut self, inst: Inst, value: Value) {
        if self.renamed.insert((inst, value)) {
            self.push(inst);
        }
    }

    fn run(&mut self, mut at_branch: impl FnMut(&mut Self, Block)) {
        while let Some(inst) = self.queue.pop() {
            self.is_queued[inst] = false;
            let data = self.func.inst(inst);
            let sees =
                |value: &Value| self.varying.contains(*value) || self.renamed.contains(&(inst, *value));
            match data.op {
                Op::Br | Op::Switch => {
                    let block = self.func.layout.block_of(inst).expect("a queued instruction is in a block");
                    let parts = data.targets().iter().any(|target| *target != data.targets()[0]);
                    if parts && data.args.iter().any(sees) && self.divergent.insert(block) {
                        at_branch(self, block);
                    }
                }
                op => {
                    let varies = match op {
                        Op::Phi => data.shadow().is_some() || data.args.iter().any(sees),
                        _ => self.computes_varying(inst, sees),
                    };
                    if varies {
                        self.mark_results(inst);
                    }
                }
            }
        }
    }

    /// True if lanes may get different results of an instruction other than a φ.
    fn computes_varying(&self, inst: Inst, sees: impl Fn(&Value) -> bool) -> bool {
        let data = self.func.inst(inst);
        if self.func.results(inst).is_empty() {
            return false;
        }
        if data.op.info().effect != Effect::Horizontal && data.args.iter().any(&sees) {
            return true;
        }
        let operands: Vec<Fact> = data
            .args
            .iter()
            .map(|value| match self.func.constant(*value) {
                Some(constant) => Fact::of_constant(constant),
                None if sees(value) => Fact::TOP,
                None => Fact::of_shape(Shape::uniform(Congruence::ANY)),
            })
            .collect();
        let is_shared = |pointer: &Value| {
            let ty = self.func.value_type(*pointer);
            matches!(ty, Type::Scalar(Scalar::Ptr(Space::Global | Space::Local | Space::Constant)))
        };
        let memory = if data.args.first().is_some_and(is_shared) {
            MemoryUniformity::Uniform
        } else {
            MemoryUniformity::PerLane
        };
        let geometry = Cow::Borrowed(&self.initial.geometry);
        let context = TransferContext { geometry, memory, ..TransferContext::default() };
        let facts = transfer(self.func, inst, &operands, &context);
        facts.iter().any(|fact| !fact.is_uniform() && !fact.shape.is_undefined())
    }
}
