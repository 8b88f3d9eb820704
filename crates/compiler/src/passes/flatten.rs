//! The pass `flatten`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::divergence::analyze_divergence;
use crate::option_words::{OptionWord, describe, flag, parse_options, store, word};
use crate::options::{invalid_option, parse_block, parse_races};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::types::MAX_LANES;
use heddle_ir::verify::Stage;
use heddle_ir::{Block, Code, Diagnostic, Module};
use heddle_transform::Remark;
use heddle_transform::flatten::{
    FlattenOptions, FlattenPolicy, FlattenVerdict, TripCounts, flatten, has_nests,
};
use heddle_transform::fuse::MachineModel;
use heddle_transform::widen::RemarkKind;
use std::collections::BTreeSet;

pub(super) const INFO: PassInfo = PassInfo {
    name: "flatten",
    doc: "flatten nests of divergent loops, where the cost model predicts a gain",
    requires: Stage::Canonical,
    ensures: Some(Stage::Canonical),
    options: || describe(OPTIONS),
    parse: |words| Ok(Pass::Flatten(parse_options(OPTIONS, words, FlattenOptions::default())?)),
};

const OPTIONS: &[OptionWord<FlattenOptions>] = &[
    flag("force", "wherever it is legal", |options| options.policy = FlattenPolicy::Force),
    flag("none", "nowhere", |options| options.policy = FlattenPolicy::None),
    flag("model", "where the cost model predicts a gain (default)", |options| options.policy = FlattenPolicy::Model),
    word("races=SEMANTICS", "`excluded`: lanes do not race; `ordered` (default)", |options, word| store(&mut options.races, parse_races(word))),
    word("lanes=COUNT", "lanes for the cost model", set_lanes),
    word("BLOCK", "nest to flatten, by its outer header: an error where that is illegal", request_nest),
    word("BLOCK=TRIPS", "trip counts of an inner loop: `block2=1x31/64x1`, 1 in 31 of 32 lanes, 64 in the other", request_nest),
];

fn set_lanes(options: &mut FlattenOptions, word: &str) -> Result<(), Diagnostic> {
    let count = word.parse().ok().filter(|count| (1..=MAX_LANES).contains(count));
    let help = || format!("write the number of lanes, 1 to {MAX_LANES}: `lanes=32`");
    store(&mut options.lanes, count.ok_or_else(|| invalid_option(word, help())))
}

/// Requests a nest, or states the trip counts of a loop.
fn request_nest(options: &mut FlattenOptions, word: &str) -> Result<(), Diagnostic> {
    let Some((name, counts)) = word.split_once('=') else {
        options.requested.insert(parse_block(word)?);
        return Ok(());
    };
    let trips = TripCounts::parse(counts)
        .ok_or_else(|| invalid_option(counts, "write iterations and their frequency: `1x31/64x1`"))?;
    options.trips.insert(parse_block(name)?, trips);
    Ok(())
}

/// Flattens the nests of all functions, with remarks on the decisions.
pub(super) fn run(options: &FlattenOptions, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    let mut met: BTreeSet<Block> = BTreeSet::new();
    for func in module.functions.iter_mut().filter(|func| has_nests(func)) {
        let source = func.clone();
        let mut options = options.clone();
        if let Some(profile) = &context.profile {
            // Options override the profile.
            let stated = std::mem::replace(&mut options.trips, profile.trips(func));
            options.trips.extend(stated);
        }
        for decision in flatten(func, analyze_divergence, &options) {
            if decision.verdict == FlattenVerdict::Flattened {
                context.reordered_functions.insert(source.name.clone());
            }
            let place = match source.terminator(decision.outer) {
                Some(branch) => DiagnosticLocation::line_of(&source, branch),
                None => DiagnosticLocation::of_func(&source.name),
            };
            if options.requested.contains(decision.outer) {
                if let FlattenVerdict::Refused(_) = decision.verdict {
                    return Err(Diagnostic::error(Code::Nest, decision.describe(&source)).at(place));
                }
                met.insert(decision.outer);
            }
            // Refusals are remarks on request only.
            let is_requested = options.machine == MachineModel::Warps || context.profile.is_some();
            if decision.verdict != FlattenVerdict::Flattened && !is_requested {
                continue;
            }
            let diagnostic = Diagnostic::remark(Code::Nest, decision.describe(&source)).at(place);
            context.remarks.push(Remark { kind: RemarkKind::Nest, accesses: 0, diagnostic });
        }
    }
    match options.requested.iter().find(|block| !met.contains(block)) {
        Some(block) => {
            let text = format!("{block} is not the header of a nest of loops in any function");
            Err(Diagnostic::error(Code::Nest, text))
        }
        None => Ok(()),
    }
}
