//! The pass `strips`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::divergence::analyze_divergence_of;
use crate::option_words::{OptionWord, describe, flag, parse_options, store, word};
use crate::options::{BrushExtents, PassPolicy, invalid_option, parse_races, parse_target};
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};
use heddle_transform::row_strips::{StripOptions, StripPolicy, strip_rows};
use heddle_transform::{RaceSemantics, TargetInfo};

pub(super) const INFO: PassInfo = PassInfo {
    name: "strips",
    doc: "strip-mine loops in which each lane walks along a row of its own, where the cost model predicts a gain",
    requires: Stage::Canonical,
    ensures: Some(Stage::Canonical),
    options: || describe(OPTIONS),
    parse: |words| {
        let StripArgument { brush, policy, target, races } = parse_options(OPTIONS, words, StripArgument::default())?;
        let brush = brush.map_or_else(|| BrushExtents::new(&[8]), Ok)?;
        strip_options(&brush, policy, target, races)
            .map(Pass::Strips)
            .ok_or_else(|| invalid_option(words, "write a brush of one dimension: `strips:8`"))
    },
};

struct StripArgument {
    brush: Option<BrushExtents>,
    policy: PassPolicy,
    target: TargetInfo,
    races: RaceSemantics,
}

impl Default for StripArgument {
    fn default() -> StripArgument {
        StripArgument {
            brush: None,
            policy: PassPolicy::IfProfitable,
            target: TargetInfo::default(),
            races: RaceSemantics::default(),
        }
    }
}

const OPTIONS: &[OptionWord<StripArgument>] = &[
    word("LANES", "lanes of a brush (default: 8)", |argument, word| store(&mut argument.brush, word.parse().map(Some))),
    word("target=NAME", "machine of the cost model: `avx512`, …", |argument, name| store(&mut argument.target, parse_target(name))),
    word("races=SEMANTICS", "`excluded`: lanes do not race; `ordered` (default)", |argument, word| store(&mut argument.races, parse_races(word))),
    flag("force", "wherever possible", |argument| argument.policy = PassPolicy::Always),
];

/// Options of the pass in the pipeline; none if it does not run: brushes of several dimensions have rows of lanes.
pub(crate) fn strip_options(
    brush: &BrushExtents,
    policy: PassPolicy,
    target: TargetInfo,
    races: RaceSemantics,
) -> Option<StripOptions> {
    let policy = match policy {
        PassPolicy::Never => return None,
        PassPolicy::IfProfitable => StripPolicy::Model,
        PassPolicy::Always => StripPolicy::Force,
    };
    let &[lanes] = brush.extents() else { return None };
    Some(StripOptions { policy, lanes, target, races })
}

/// Strip-mines the loops of all lock-step functions.
pub(super) fn run(options: &StripOptions, module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    for func in &mut module.functions {
        strip_rows(func, |func| analyze_divergence_of(func, &[options.lanes]), options);
    }
    Ok(())
}
