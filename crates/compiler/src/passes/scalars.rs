//! The pass `ssrqp`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, parse_options, store, word};
use crate::options::{BrushExtents, MachineChoice, parse_races, parse_variant};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::verify::Stage;
use heddle_ir::{Code, Diagnostic, Module};
use heddle_transform::scalar_replacement::{ReplacementOptions, ReplacementStatistics};
use heddle_transform::widen::RemarkKind;
use heddle_transform::{Remark, replace_scalars};

pub(super) const INFO: PassInfo = PassInfo {
    name: "ssrqp",
    doc: "scalar replacement: keep values that lanes have loaded, stored or computed, also across iterations",
    requires: Stage::Canonical,
    ensures: None,
    options: || describe(OPTIONS),
    parse: |words| {
        let ReplacementArgument { options, machine } = parse_options(OPTIONS, words, Default::default())?;
        Ok(Pass::Scalars(ReplacementOptions { machine: machine.model(), ..options }))
    },
};

#[derive(Default)]
struct ReplacementArgument {
    options: ReplacementOptions,
    machine: MachineChoice,
}

const OPTIONS: &[OptionWord<ReplacementArgument>] = &[
    word("VARIANT", "where values may be inserted and hoisted: `srqp`, `esrqp`, `ssrqp_s`, `ssrqp`, `cost`; or the lanes for `cost`", |argument, word| {
            match word.starts_with(|first: char| first.is_ascii_digit()) {
                true => argument.machine.lanes = word.parse::<BrushExtents>()?.lanes(),
                false => argument.options.variant = parse_variant(word)?,
            }
            Ok(())
        }),
    word("target=NAME", "machine of the cost model: `avx512`, …, or `warps`", |argument, name| argument.machine.set_target(name)),
    word("races=SEMANTICS", "`excluded`: lanes do not race; `ordered` (default)", |argument, word| store(&mut argument.options.races, parse_races(word))),
];

/// Runs scalar replacement on all functions, with a remark for each function that changes.
pub(super) fn run(options: &ReplacementOptions, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    for func in &mut module.functions {
        let replaced = replace_scalars(func, options);
        if replaced != ReplacementStatistics::default() {
            let diagnostic = Diagnostic::remark(Code::Scalars, replaced.to_string())
                .at(DiagnosticLocation::of_func(&func.name));
            context.remarks.push(Remark { kind: RemarkKind::ScalarReplacement, accesses: 0, diagnostic });
        }
    }
    Ok(())
}
