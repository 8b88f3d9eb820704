//! The pass `flatten`: parses its options and turns its decisions into remarks.

use crate::context::PassContext;
use crate::divergence::analyze_divergence;
use crate::options::invalid_option;
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::types::MAX_LANES;
use heddle_ir::{Block, Code, Diagnostic, Module};
use heddle_transform::RaceSemantics;
use heddle_transform::flatten::{
    FlattenOptions, FlattenPolicy, FlattenVerdict, TripCounts, flatten, has_nests,
};
use heddle_transform::fuse::MachineModel;
use heddle_transform::widen::{Remark, RemarkKind};
use std::collections::BTreeSet;

/// Parses options separated by `+`: `force`, `none`, `races=excluded`, `lanes=32`; `block1` forces the nest with the outer
/// header `block1`, an error where that is illegal; `block2=1x31/64x1` gives an inner loop's trip counts: one iteration in
/// 31 of 32 lanes, 64 in the other.
pub(crate) fn parse_flatten_options(words: &str) -> Result<FlattenOptions, Diagnostic> {
    let (mut options, mut requested) = (FlattenOptions::default(), BTreeSet::new());
    for word in words.split('+').filter(|word| !word.is_empty()) {
        let block = |name: &str| name.strip_prefix("block")?.parse().ok().map(Block::from_u32);
        match (word, word.split_once('=')) {
            ("force", _) => options.policy = FlattenPolicy::Force,
            ("none", _) => options.policy = FlattenPolicy::None,
            ("model", _) => options.policy = FlattenPolicy::Model,
            ("races=excluded", _) => options.races = RaceSemantics::Excluded,
            ("races=ordered", _) => options.races = RaceSemantics::Ordered,
            (_, Some(("lanes", count))) => {
                let count = count.parse().ok().filter(|count| (1..=MAX_LANES).contains(count));
                let help = format!("write the number of lanes, 1 to {MAX_LANES}: `lanes=32`");
                options.lanes = count.ok_or_else(|| invalid_option(word, &help))?;
            }
            (_, Some((name, counts))) if let Some(header) = block(name) => {
                let trips = TripCounts::parse(counts).ok_or_else(|| {
                    invalid_option(counts, "write iterations and their frequency: `1x31/64x1`")
                })?;
                options.trips.insert(header, trips);
            }
            (name, None) if let Some(header) = block(name) => _ = requested.insert(header),
            _ => {
                let help = "write `force`, `none`, `model`, `races=excluded`, `lanes=32`, `block1` or `block2=1x31/64x1`";
                return Err(invalid_option(word, help));
            }
        }
    }
    options.requested = requested.into_iter().collect();
    Ok(options)
}

/// Flattens the nests of all functions; returns remarks on the decisions.
pub(crate) fn flatten_module(
    module: &mut Module,
    options: &FlattenOptions,
    context: &mut PassContext<'_>,
) -> Result<Vec<Remark>, Diagnostic> {
    let mut remarks = Vec::new();
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
            remarks.push(Remark { kind: RemarkKind::Nest, accesses: 0, diagnostic });
        }
    }
    match options.requested.iter().find(|block| !met.contains(block)) {
        Some(block) => {
            let text = format!("{block} is not the header of a nest of loops in any function");
            Err(Diagnostic::error(Code::Nest, text))
        }
        None => Ok(remarks),
    }
}
