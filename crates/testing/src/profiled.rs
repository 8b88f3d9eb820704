//! Profile of a run, as one line: instructions that lanes execute together, estimated cycles, active lanes, divergent
//! branches.

use heddle_interp::{CycleCosts, RunOptions, Scheduler};
use heddle_ir::Module;
use heddle_runs::line::RunLine;
use std::fmt::Write as _;

/// Profiles a run under a reconvergence stack.
pub fn summary(module: &Module, run: &RunLine) -> Result<String, String> {
    let options = RunOptions { profile: true, scheduler: Scheduler::Ipdom, ..run.options.clone() };
    let ran = run.run(module, &options).map_err(|error| error.to_string())?;
    let outcome = ran.outcome.map_err(|fault| fault.to_string())?;
    let profile = outcome.profile.unwrap_or_default();
    let (mut instructions, mut cycles, mut active, mut lanes) = (0, 0, 0, 0);
    let (mut branches, mut loads) = (String::new(), 0);
    for (func, profile) in module.functions.iter().zip(&profile.functions) {
        let total = profile.total(func, &CycleCosts::default());
        (instructions, cycles) = (instructions + total.0, cycles + total.1);
        for block in func.blocks() {
            let counts = &profile.blocks[block];
            let issued = profile.cost(func, block, &CycleCosts::default()).0 / counts.executions().max(1);
            active += counts.active_lanes() * issued;
            lanes += counts.lanes * issued;
            loads += func.block_insts(block).map(|inst| profile.accesses[inst].executed).sum::<u64>();
            let branch = &profile.branches[block];
            if branch.diverged > 0 {
                let _ =
                    write!(branches, "; lanes part in {block} ({} of {})", branch.diverged, branch.executed);
            }
        }
    }
    let share = 100.0 * active as f64 / f64::max(lanes as f64, 1.0);
    Ok(format!(
        "{instructions} instructions, {cycles} cycles, {loads} accesses, {share:.1} % of lanes active{branches}"
    ))
}
