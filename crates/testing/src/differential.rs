//! Checks that a transformed program refines its source.
//!
//! The result's outcome must be an outcome of the source under some legal schedule. The blocks that the result executed
//! with active lanes, where the source has them, are replayed on the source, call by call, and both outcomes are
//! compared. Passes keep the numbers of blocks and calls; calls that the result no longer has are unconstrained. A
//! schedule-independent program must agree with its source under any schedule.

use crate::execution::{ObservedPart, RunObservation, difference, observe, options_with};
use crate::generate::{GeneratedProgram, ProgramClass, ProgramInput};
use heddle_interp::{
    Invocation, InvocationOrigin, PassiveSemantics, RunOptions, Schedule, ScheduleStep, Scheduler,
};
use heddle_ir::{Block, Module};
use std::collections::BTreeMap;

/// True if, by construction, no legal schedule changes the program's result.
pub fn is_deterministic(case: &GeneratedProgram) -> bool {
    !case.traits.order_dependent && !case.traits.horizontals
}

/// Checks that `after` refines `before` on every input of the case; both are modules with the case's entry. Returns the
/// error.
pub fn differential(case: &GeneratedProgram, before: &Module, after: &Module) -> Result<(), String> {
    let semantics = if case.traits.class == ProgramClass::Predicated { &BOTH[..] } else { &BOTH[..1] };
    differential_in(case, before, after, semantics)
}

/// Both semantics, in which programs from stage Uniform on do the same.
pub const BOTH: [PassiveSemantics; 2] = [PassiveSemantics::Freezing, PassiveSemantics::Oblivious];

/// As [`differential`], with the result run under each of these semantics.
pub fn differential_in(
    case: &GeneratedProgram,
    before: &Module,
    after: &Module,
    semantics: &[PassiveSemantics],
) -> Result<(), String> {
    for (index, input) in case.inputs.iter().enumerate() {
        SourceReference::new(case, before, input)
            .and_then(|reference| reference.check(after, semantics))
            .map_err(|reason| format!("input {index}: {reason}"))?;
    }
    Ok(())
}

/// Behaviour of a program on an input, to compare transformed programs with.
#[expect(missing_debug_implementations, reason = "it holds a closure")]
pub struct SourceReference<'a> {
    case: &'a GeneratedProgram,
    source: &'a Module,
    input: &'a ProgramInput,
    /// Schedule-independent outcomes, one per rounding of `fmuladd`.
    observed: Vec<RunObservation>,
    /// Makes a schedule of a result one to replay on the source.
    project: ProjectSchedule<'a>,
}

/// Blocks of the source that a block of the result stands for, per function; identity where absent.
#[derive(Clone, Default, Debug)]
pub struct BlockProjection {
    /// By the number of the function.
    pub passed: Vec<BTreeMap<Block, Vec<Block>>>,
}

impl BlockProjection {
    /// Returns the source schedule of a result's schedule that starts at this function. Calls of a merged block belong
    /// to its first source block.
    pub fn apply(&self, after: &Module, entry: &str, schedule: &Schedule) -> Schedule {
        let number = |name: &str| after.functions.iter().position(|func| func.name == name);
        let mut known: Vec<(Option<usize>, Vec<u32>)> = Vec::new();
        let mut invocations = Vec::new();
        for invocation in &schedule.invocations {
            let (func, origin) = match invocation.origin {
                InvocationOrigin::Run { .. } => (number(entry), invocation.origin),
                InvocationOrigin::Inst { invocation, step, inst } => {
                    let (caller, steps) = &known[invocation as usize];
                    let callee = caller.and_then(|caller| {
                        let func = &after.functions[caller];
                        number(&func.callee_of(func.inst(inst))?.name)
                    });
                    let step = steps.get(step as usize).copied().unwrap_or(u32::MAX);
                    (callee, InvocationOrigin::Inst { invocation, step, inst })
                }
            };
            let mut steps = Vec::with_capacity(invocation.steps.len());
            let mut numbers = Vec::with_capacity(invocation.steps.len());
            for step in &invocation.steps {
                numbers.push(steps.len() as u32);
                let passed = func.and_then(|func| self.passed.get(func)?.get(&step.block));
                match passed {
                    Some(passed) => steps.extend(passed.iter().map(|&block| ScheduleStep { block, ..*step })),
                    None => steps.push(*step),
                }
            }
            known.push((func, numbers));
            invocations.push(Invocation { origin, steps });
        }
        Schedule { invocations }
    }
}

/// Maps a schedule of a result to one that can be replayed on its source.
pub type ProjectSchedule<'a> = Box<dyn Fn(&Module, &mut Schedule) + 'a>;

impl<'a> SourceReference<'a> {
    /// The case's entry in this module, on this input.
    pub fn new(
        case: &'a GeneratedProgram,
        source: &'a Module,
        input: &'a ProgramInput,
    ) -> Result<SourceReference<'a>, String> {
        let mut reference =
            SourceReference { case, source, input, observed: Vec::new(), project: Box::new(|_, _| ()) };
        if is_deterministic(case) {
            for &fused in reference.roundings() {
                reference.observed.push(reference.observe_source(fused, Scheduler::Greedy)?);
            }
        }
        Ok(reference)
    }

    /// Sets the projection of schedules onto the source.
    #[must_use]
    pub fn projected(self, project: ProjectSchedule<'a>) -> SourceReference<'a> {
        SourceReference { project, ..self }
    }

    /// Each `fmuladd` may round either way; a pass keeps or fixes the choice, so one of the two must agree.
    fn roundings(&self) -> &'static [bool] {
        if self.case.traits.fmuladd { &[false, true] } else { &[false] }
    }

    fn observe_source(&self, fused: bool, scheduler: Scheduler) -> Result<RunObservation, String> {
        let options = RunOptions { fused, ..options_with(self.input, scheduler) };
        observe(self.case, self.source, self.input, &options)
            .map_err(|fault| format!("the source fails: {fault}"))
    }

    /// Checks that a module made from the source refines it, in each of these semantics.
    pub fn check(&self, after: &Module, semantics: &[PassiveSemantics]) -> Result<(), String> {
        for scheduler in [Scheduler::Greedy, Scheduler::Random(self.case.seed)] {
            for &semantics in semantics {
                let mut differences = Vec::new();
                for (index, &fused) in self.roundings().iter().enumerate() {
                    differences.extend(self.difference(after, index, fused, semantics, &scheduler)?);
                }
                if differences.len() == self.roundings().len() {
                    return Err(format!(
                        "under {scheduler:?}, {semantics:?}: {}",
                        differences.swap_remove(0)
                    ));
                }
            }
        }
        Ok(())
    }

    fn difference(
        &self,
        after: &Module,
        index: usize,
        fused: bool,
        semantics: PassiveSemantics,
        scheduler: &Scheduler,
    ) -> Result<Option<String>, String> {
        let is_deterministic = is_deterministic(self.case);
        let options = RunOptions {
            fused,
            semantics,
            detect_races: is_deterministic && *scheduler == Scheduler::Greedy,
            ..options_with(self.input, scheduler.clone())
        };
        let result = observe(self.case, after, self.input, &options)
            .map_err(|fault| format!("the result fails under {scheduler:?}: {fault}"))?;
        if let Some(race) = &result.race {
            return Err(format!("the result has a race: {race}"));
        }
        let replayed;
        let source = match self.observed.get(index) {
            Some(source) => source,
            None => {
                let mut schedule = result.schedule.clone();
                (self.project)(after, &mut schedule);
                replayed = self.observe_source(fused, Scheduler::Replay(schedule))?;
                &replayed
            }
        };
        Ok(difference(self.case, source, &result, ObservedPart::Whole))
    }
}
