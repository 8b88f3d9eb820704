//! Checks the published uniformity analyses against runs, and counts the uniform values and branches that they prove.
//!
//! The published analyses distinguish only uniform and varying, so this checks less than
//! [`shapes_oracle`](crate::shapes_oracle): the lanes that execute an instruction together hold one value, and take the
//! same edge at its branch. A claim that no run contradicts may still be wrong.

use crate::execution::{options_with, prepare};
use crate::generate::{GeneratedProgram, InputArgument, ProgramClass};
use crate::properties::brush_of;
use heddle_analysis::baselines::BaselineResult;
use heddle_analysis::shape::{Geometry, TransferContext, declared_fact};
use heddle_analysis::{ControlTables, InitialShapes};
use heddle_interp::{RunOptions, Scheduler, Trace};
use heddle_ir::entity::EntitySet;
use heddle_ir::module::DeclaredShape;
use heddle_ir::ops::Op;
use heddle_ir::{Block, Function, Module, Value};
use heddle_transform::canonicalize;

/// A claim that a run contradicts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ContradictedClaim {
    /// Lanes hold different values.
    Value(Value),
    /// Lanes diverge.
    Branch(Block),
}

/// Values and branches of one function, as observed in runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UniformityObservation {
    /// Values that at least two lanes held together.
    pub seen: EntitySet<Value>,
    /// Those of them that lanes once disagreed on.
    pub differing: EntitySet<Value>,
    /// Branches that at least two lanes executed together.
    pub reached: EntitySet<Block>,
    /// Branches in `reached` where lanes diverged.
    pub diverged: EntitySet<Block>,
}

impl Default for UniformityObservation {
    fn default() -> UniformityObservation {
        UniformityObservation {
            seen: EntitySet::new(),
            differing: EntitySet::new(),
            reached: EntitySet::new(),
            diverged: EntitySet::new(),
        }
    }
}

impl UniformityObservation {
    /// Adds what a run shows of the function of this number. Active lanes count, at φs those that come.
    pub fn add(&mut self, func: &Function, number: usize, trace: &Trace) {
        for step in trace.steps.iter().filter(|step| step.func as usize == number && !step.next.is_empty()) {
            for (value, data) in &step.values {
                let Some(inst) = func.def_inst(*value) else { continue };
                let instruction = func.inst(inst);
                if func.value_type(*value).is_vector() {
                    continue;
                }
                let mask = if instruction.op == Op::Phi { step.control } else { step.active };
                let mut held = mask.iter().filter_map(|lane| data.get(lane)?.bits());
                let Some(first) = held.next() else { continue };
                let others: Vec<u128> = held.collect();
                if !others.is_empty() {
                    self.seen.insert(*value);
                }
                if others.iter().any(|&other| other != first) {
                    self.differing.insert(*value);
                }
            }
            let mut going = step.active.iter().filter_map(|lane| step.next.get(lane).copied());
            let Some(first) = going.next() else { continue };
            if func.successors(step.block).len() > 1 && going.clone().next().is_some() {
                self.reached.insert(step.block);
                if going.any(|next| next != first) {
                    self.diverged.insert(step.block);
                }
            }
        }
    }

    /// The claims of an analysis that are contradicted.
    pub fn contradicts(&self, claims: &BaselineResult) -> Vec<ContradictedClaim> {
        let values = self.differing.iter().filter(|&value| !claims.varying.contains(value));
        let blocks = self.diverged.iter().filter(|&block| !claims.divergent.contains(block));
        values.map(ContradictedClaim::Value).chain(blocks.map(ContradictedClaim::Branch)).collect()
    }

    /// The values on which lanes always agreed.
    pub fn uniform(&self) -> impl Iterator<Item = Value> + '_ {
        self.seen.iter().filter(|&value| !self.differing.contains(value))
    }

    /// The branches at which lanes always stayed together.
    pub fn staying(&self) -> impl Iterator<Item = Block> + '_ {
        self.reached.iter().filter(|&block| !self.diverged.contains(block))
    }
}

/// A function of a generated program, canonical, and what all of the program's inputs showed of it.
#[derive(Clone, Debug)]
pub struct ObservedFunction {
    /// The function.
    pub func: Function,
    /// Its control flow.
    pub control: ControlTables,
    /// Shapes that hold for every input.
    pub initial: InitialShapes,
    /// Observations of all runs.
    pub observed: UniformityObservation,
}

/// The functions of a case, canonicalized and run on each input under several schedules. None of a case with
/// predicates, which the published analyses do not know.
pub fn subjects(case: &GeneratedProgram) -> Vec<ObservedFunction> {
    if case.traits.class == ProgramClass::Predicated {
        return Vec::new();
    }
    let mut module = case.module.clone();
    module.functions.iter_mut().for_each(canonicalize);
    let mut observed = vec![UniformityObservation::default(); module.functions.len()];
    for input in &case.inputs {
        let seeds = (0..3).map(|seed| Scheduler::Random(case.seed.wrapping_mul(7).wrapping_add(seed)));
        for scheduler in std::iter::once(Scheduler::Greedy).chain(seeds) {
            let options = RunOptions { trace: true, ..options_with(input, scheduler) };
            let (mut memory, args) = prepare(case, input);
            if let Ok(outcome) = heddle_interp::run(&module, &case.entry, &args, &mut memory, &options) {
                for (number, (func, observed)) in module.functions.iter().zip(&mut observed).enumerate() {
                    observed.add(func, number, &outcome.trace);
                }
            }
        }
    }
    let initial: Vec<Option<InitialShapes>> =
        module.functions.iter().map(|func| initial_shapes(case, &module, func)).collect();
    let functions = module.functions.into_iter().zip(observed).zip(initial);
    functions
        .filter_map(|((func, observed), initial)| {
            let control = ControlTables::new(&func);
            Some(ObservedFunction { initial: initial?, func, control, observed })
        })
        .collect()
}

/// Returns the shapes common to all inputs of a program; `None` for a function that runs with different brushes.
fn initial_shapes(case: &GeneratedProgram, module: &Module, func: &Function) -> Option<InitialShapes> {
    let mut brushes = case.inputs.iter().map(|input| brush_of(module, func, input));
    let brush = brushes.next()??;
    if brushes.any(|other| other.as_ref() != Some(&brush)) {
        return None;
    }
    let geometry = Geometry::brush(&brush);
    let mut initial = InitialShapes::declared(func, geometry.clone());
    if func.name != case.entry {
        return Some(initial);
    }
    let context = TransferContext::new(geometry);
    for (index, param) in func.signature.params.iter().enumerate().filter(|(_, param)| param.shape.is_none())
    {
        let mut shapes = case.inputs.iter().map(|input| match &input.args[index] {
            InputArgument::Object(_) | InputArgument::Uniform(_) => DeclaredShape::Uniform,
            InputArgument::Linear(_, strides) => DeclaredShape::Linear(strides.iter().copied().collect()),
            InputArgument::Varying(_) => DeclaredShape::Varying,
        });
        let shape = shapes.next().filter(|first| shapes.all(|shape| shape == *first));
        initial.params[index] = declared_fact(param.ty, shape.as_ref(), 1, &context);
    }
    Some(initial)
}
