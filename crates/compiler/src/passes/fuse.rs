//! The pass `fuse`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, flag, parse_options, store, word};
use crate::options::{BrushExtents, MachineChoice, parse_races};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::verify::Stage;
use heddle_ir::{Block, Code, Diagnostic, Function, Module};
use heddle_transform::widen::RemarkKind;
use heddle_transform::{BranchFusion, FuseOptions, Remark, fuse_profiled};
use std::collections::BTreeMap;

pub(super) const INFO: PassInfo = PassInfo {
    name: "fuse",
    doc: "branch fusion: run code that both sides of a divergent branch share once, where the cost model predicts a gain",
    requires: Stage::Canonical,
    ensures: None,
    options: || describe(OPTIONS),
    parse: |words| {
        let FuseArgument { options, machine } = parse_options(OPTIONS, words, Default::default())?;
        Ok(Pass::Fuse(FuseOptions { machine: machine.model(), ..options }))
    },
};

#[derive(Default)]
struct FuseArgument {
    options: FuseOptions,
    machine: MachineChoice,
}

const OPTIONS: &[OptionWord<FuseArgument>] = &[
    word("LANES", "lanes of a brush (default: 8)", |argument, word| store(&mut argument.machine.lanes, word.parse::<BrushExtents>().map(|brush| brush.lanes()))),
    word("target=NAME", "machine of the cost model: `avx512`, …, or `warps`", |argument, name| argument.machine.set_target(name)),
    word("races=SEMANTICS", "`excluded`: lanes do not race; `ordered` (default)", |argument, word| store(&mut argument.options.races, parse_races(word))),
    flag("force", "wherever possible", |argument| argument.options.force = true),
    flag("explain", "profitability matrices in the remarks", |argument| argument.options.explain = true),
];

pub(super) fn run(options: &FuseOptions, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    for func in &mut module.functions {
        let parted = divergence_rates(context, func);
        let branches = fuse_profiled(func, options, &parted).branches;
        // Refusals are remarks on request only.
        let is_reported = |branch: &BranchFusion| branch.refused.is_none() || options.explain;
        for branch in branches.into_iter().filter(is_reported) {
            let kind = if branch.refused.is_some() { RemarkKind::KeptBranch } else { RemarkKind::Fused };
            let place = DiagnosticLocation::of_func(&func.name).at(branch.loc);
            let diagnostic = Diagnostic::remark(Code::Fusion, branch.text).at(place);
            context.remarks.push(Remark { kind, accesses: 0, diagnostic });
        }
    }
    Ok(())
}

/// Returns the profiled fraction of divergent executions by branch.
fn divergence_rates(context: &PassContext<'_>, func: &Function) -> BTreeMap<Block, f64> {
    context.profile.as_ref().map(|profile| profile.divergence_rates(func)).unwrap_or_default()
}
