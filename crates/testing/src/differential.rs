//! Whether a transformed program refines its source.
//!
//! The outcome of the result must be one that the source has under some legal schedule: the blocks that the result
//! executed with active lanes, as far as the source has them, are replayed on the source, call by call, and what both
//! leave behind is compared. Passes keep the numbers of blocks and calls; in a call that the result has no more, the
//! source is free. A program whose outcome no schedule decides must agree with its source under any.

use crate::execution::{Observed, Part, difference, observe, options_with};
use crate::generate::{Case, Class, Input};
use heddle_interp::{Options, Schedule, Scheduler, Semantics};
use heddle_ir::Module;

/// Whether no legal schedule may change what the program computes, going by how it was written.
pub fn is_deterministic(case: &Case) -> bool {
    !case.traits.order_dependent && !case.traits.horizontals
}

/// Checks that `after` refines `before` on every input of the case; `before` and `after` are modules whose entry is
/// the case's. Says what is wrong.
pub fn differential(case: &Case, before: &Module, after: &Module) -> Result<(), String> {
    let semantics = if case.traits.class == Class::Predicated { &BOTH[..] } else { &BOTH[..1] };
    differential_in(case, before, after, semantics)
}

/// Both semantics, in which programs from stage Uniform on do the same.
pub const BOTH: [Semantics; 2] = [Semantics::Freezing, Semantics::Oblivious];

/// The same, where the result is run in each of these semantics.
pub fn differential_in(
    case: &Case,
    before: &Module,
    after: &Module,
    semantics: &[Semantics],
) -> Result<(), String> {
    for (index, input) in case.inputs.iter().enumerate() {
        Reference::new(case, before, input)
            .and_then(|reference| reference.check(after, semantics))
            .map_err(|reason| format!("input {index}: {reason}"))?;
    }
    Ok(())
}

/// What a program does on an input, to hold what passes make of it against.
#[expect(missing_debug_implementations, reason = "it holds a closure")]
pub struct Reference<'a> {
    case: &'a Case,
    source: &'a Module,
    input: &'a Input,
    /// What no schedule changes, for each way to round.
    observed: Vec<Observed>,
    /// Takes out of a schedule of the result what it does not tell of the source.
    project: Project,
}

/// What makes a schedule of a result one to replay on its source.
pub type Project = Box<dyn Fn(&mut Schedule)>;

impl<'a> Reference<'a> {
    /// The case's entry in this module, on this input.
    pub fn new(case: &'a Case, source: &'a Module, input: &'a Input) -> Result<Reference<'a>, String> {
        Reference::projecting(case, source, input, Box::new(|_| ()))
    }

    /// The same, where the schedule of the result is changed before it is replayed.
    pub fn projecting(
        case: &'a Case,
        source: &'a Module,
        input: &'a Input,
        project: Project,
    ) -> Result<Reference<'a>, String> {
        let mut reference = Reference { case, source, input, observed: Vec::new(), project };
        if is_deterministic(case) {
            for &fused in reference.roundings() {
                reference.observed.push(reference.observe_source(fused, Scheduler::Greedy)?);
            }
        }
        Ok(reference)
    }

    /// Each `fmuladd` may round either way; a pass keeps or fixes the choice, so one of the two must agree.
    fn roundings(&self) -> &'static [bool] {
        if self.case.traits.fmuladd { &[false, true] } else { &[false] }
    }

    fn observe_source(&self, fused: bool, scheduler: Scheduler) -> Result<Observed, String> {
        let options = Options { fused, ..options_with(self.input, scheduler) };
        observe(self.case, self.source, self.input, &options)
            .map_err(|fault| format!("the source fails: {fault}"))
    }

    /// Checks that a module made from the source refines it, run in each of these semantics.
    pub fn check(&self, after: &Module, semantics: &[Semantics]) -> Result<(), String> {
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
        semantics: Semantics,
        scheduler: &Scheduler,
    ) -> Result<Option<String>, String> {
        let is_deterministic = is_deterministic(self.case);
        let options = Options {
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
                (self.project)(&mut schedule);
                replayed = self.observe_source(fused, Scheduler::Replay(schedule))?;
                &replayed
            }
        };
        Ok(difference(self.case, source, &result, Part::Whole))
    }
}
