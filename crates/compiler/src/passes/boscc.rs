//! The pass `boscc`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::divergence::analyze_divergence;
use crate::option_words::{OptionWord, describe, flag, parse_options, word};
use crate::options::{invalid_option, parse_block};
use heddle_ir::verify::Stage;
use heddle_ir::{Block, Diagnostic, Function, Module};
use heddle_transform::boscc::{GuardOptions, GuardPolicy, GuardRequest, guard_by_uniform_factors, has_factors};
use heddle_transform::guard_regions;
use std::collections::BTreeMap;

pub(super) const INFO: PassInfo = PassInfo {
    name: "boscc",
    doc: "insert guards around regions without active lanes, where the cost model predicts a gain",
    requires: Stage::Uniform,
    ensures: Some(Stage::Uniform),
    options: || describe(OPTIONS),
    parse: |words| Ok(Pass::Boscc(parse_options(OPTIONS, words, GuardOptions::default())?)),
};

const OPTIONS: &[OptionWord<GuardOptions>] = &[
    flag("force", "wherever possible", |options| options.policy = GuardPolicy::Force),
    flag("needed", "where code must not run without lanes", |options| options.policy = GuardPolicy::Needed),
    word("registers=N", "vector registers that a 32-bit value of a brush fills (default: 1)", set_registers),
    word("BLOCK=GUARD", "guard of one block: `block3`, `block3=all-true`, `block3=none`", request_guard),
];

fn set_registers(options: &mut GuardOptions, count: &str) -> Result<(), Diagnostic> {
    let count = count.parse().ok().filter(|count| (1..=1024).contains(count));
    options.registers = count.ok_or_else(|| invalid_option("registers", "write a number from 1 to 1024"))?;
    Ok(())
}

fn request_guard(options: &mut GuardOptions, word: &str) -> Result<(), Diagnostic> {
    let (name, requested) = word.split_once('=').unwrap_or((word, "all-false"));
    let requested = match requested {
        "all-false" => GuardRequest::AllFalse,
        "all-true" => GuardRequest::AllTrue,
        "none" => GuardRequest::None,
        _ => return Err(invalid_option(requested, "write `all-false`, `all-true` or `none`")),
    };
    options.requests.insert(parse_block(name)?, requested);
    Ok(())
}

pub(super) fn run(options: &GuardOptions, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    for func in &mut module.functions {
        let mut divergent = context.analyses.divergent_branches(func)?;
        let options = GuardOptions { untaken: untaken_rates(context, func), ..options.clone() };
        if options.policy != GuardPolicy::Needed
            && has_factors(func, &divergent)
            && let Some((control, facts)) = analyze_divergence(func)
        {
            guard_by_uniform_factors(func, (&control, &facts), &mut divergent, &options);
        }
        if guard_regions(func, &divergent, &options)?.is_empty() {
            context.analyses.preserve_divergent_branches(func, divergent);
        }
    }
    Ok(())
}

/// Returns the profiled fraction of visits with no active lane on each edge, unless passes have changed the order of lanes.
fn untaken_rates(context: &PassContext<'_>, func: &Function) -> BTreeMap<Block, [f64; 2]> {
    let mut names = std::iter::successors(Some(&*func.name), |name| name.rsplit_once('.').map(|(of, _)| of));
    let is_rearranged = names.any(|name| context.reordered_functions.contains(name));
    let profile = context.profile.as_ref().filter(|_| !is_rearranged);
    profile.map(|profile| profile.untaken_rates(func)).unwrap_or_default()
}
