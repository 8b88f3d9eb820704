//! Whether a transformed program refines its source.
//!
//! The outcome of the result must be one that the source has under some legal schedule: the blocks that the result
//! executed, as far as the source has them, are replayed on the source, and what both leave behind is compared. A
//! program whose outcome no schedule decides must agree with its source under any.

use crate::execution::{Observed, Part, difference, observe, options_with};
use crate::generate::{Case, Class, Input};
use heddle_interp::{Options, Scheduler, Semantics, Step};
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
        check_input(case, before, after, input, semantics)
            .map_err(|reason| format!("input {index}: {reason}"))?;
    }
    Ok(())
}

fn check_input(
    case: &Case,
    before: &Module,
    after: &Module,
    input: &Input,
    semantics: &[Semantics],
) -> Result<(), String> {
    let roundings: &[bool] = if case.traits.fmuladd { &[false, true] } else { &[false] };
    let is_deterministic = is_deterministic(case);
    let observe_source = |fused: bool, scheduler: Scheduler| {
        let options = Options { fused, ..options_with(input, scheduler) };
        observe(case, before, input, &options).map_err(|fault| format!("the source fails: {fault}"))
    };
    // What no schedule changes is computed once.
    let mut sources = Vec::new();
    for &fused in roundings.iter().filter(|_| is_deterministic) {
        sources.push(observe_source(fused, Scheduler::Greedy)?);
    }
    for scheduler in [Scheduler::Greedy, Scheduler::Random(case.seed)] {
        for &semantics in semantics {
            let mut differences = Vec::new();
            for (index, &fused) in roundings.iter().enumerate() {
                let detect_races = is_deterministic && scheduler == Scheduler::Greedy;
                // A block that runs without lanes is no step of the source's schedule: the trace tells.
                let trace = !is_deterministic;
                let options = Options {
                    fused,
                    semantics,
                    detect_races,
                    trace,
                    ..options_with(input, scheduler.clone())
                };
                let result = observe(case, after, input, &options)
                    .map_err(|fault| format!("the result fails under {scheduler:?}: {fault}"))?;
                if let Some(race) = &result.race {
                    return Err(format!("the result has a race: {race}"));
                }
                let replayed;
                let source = match sources.get(index) {
                    Some(source) => source,
                    None => {
                        let steps = project(before, &result);
                        replayed = observe_source(fused, Scheduler::Replay(steps))?;
                        &replayed
                    }
                };
                differences.extend(difference(case, source, &result, Part::Whole));
            }
            // Each `fmuladd` may round either way; a pass keeps or fixes the choice, so one of the two must agree.
            if differences.len() == roundings.len() {
                return Err(format!("under {scheduler:?}, {semantics:?}: {}", differences.swap_remove(0)));
            }
        }
    }
    Ok(())
}

/// The steps of the result that the source has too: passes keep the numbers of blocks, and new blocks drop out.
fn project(source: &Module, result: &Observed) -> Vec<Step> {
    let is_known = |step: &&Step| {
        let func = source.functions.get(step.func as usize);
        func.is_some_and(|func| func.layout.is_placed(step.block))
    };
    result.schedule.iter().filter(is_known).copied().collect()
}
