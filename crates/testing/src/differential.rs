//! Whether a transformed program refines its source.
//!
//! The outcome of the result must be one that the source has under some legal schedule: the blocks that the result
//! executed, as far as the source has them, are replayed on the source, and what both leave behind is compared. A
//! program whose outcome no schedule decides must agree with its source under any.

use crate::execution::{Observed, Part, difference, observe, options_with};
use crate::generate::{Case, Input};
use heddle_interp::{Options, Scheduler, Step};
use heddle_ir::Module;

/// Whether no legal schedule may change what the program computes, going by how it was written.
pub fn is_deterministic(case: &Case) -> bool {
    !case.traits.order_dependent && !case.traits.horizontals
}

/// Checks that `after` refines `before` on every input of the case; `before` and `after` are modules whose entry is
/// the case's. Says what is wrong.
pub fn differential(case: &Case, before: &Module, after: &Module) -> Result<(), String> {
    for (index, input) in case.inputs.iter().enumerate() {
        check_input(case, before, after, input).map_err(|reason| format!("input {index}: {reason}"))?;
    }
    Ok(())
}

fn check_input(case: &Case, before: &Module, after: &Module, input: &Input) -> Result<(), String> {
    let roundings: &[bool] = if case.traits.fmuladd { &[false, true] } else { &[false] };
    let schedulers = [Scheduler::Greedy, Scheduler::Random(case.seed)];
    for scheduler in schedulers {
        let mut differences = Vec::new();
        for &fused in roundings {
            let run_with = |module: &Module, scheduler: Scheduler| {
                let options = Options { fused, ..options_with(input, scheduler) };
                observe(case, module, input, &options)
            };
            let result = run_with(after, scheduler.clone())
                .map_err(|fault| format!("the result fails under {scheduler:?}: {fault}"))?;
            let steps = if is_deterministic(case) {
                Scheduler::Greedy
            } else {
                Scheduler::Replay(project(before, &result))
            };
            let source = run_with(before, steps).map_err(|fault| format!("the source fails: {fault}"))?;
            differences.extend(difference(case, &source, &result, Part::Whole));
        }
        // Each `fmuladd` may round either way; a pass keeps or fixes the choice, so one of the two must agree.
        if differences.len() == roundings.len() {
            return Err(format!("under {scheduler:?}: {}", differences.swap_remove(0)));
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
