//! The pass `loops`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::divergence::make_all_loops_uniform;
use crate::option_words::{OptionWord, describe, parse_options, store, word};
use crate::options::{IfConversion, parse_branches};
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo = PassInfo {
    name: "loops",
    doc: "make divergent loops uniform: lanes that have left wait in the loop, and their live-outs and exits are tracked",
    requires: Stage::Canonical,
    ensures: Some(Stage::Uniform),
    options: || describe(OPTIONS),
    parse: |words| Ok(Pass::Loops(parse_options(OPTIONS, words, IfConversion::default())?)),
};

const OPTIONS: &[OptionWord<IfConversion>] = &[word("BRANCHES", "`fold`: later passes if-convert uniform branches, too; `keep` (default)", |branches, word| store(branches, parse_branches(word)))];

pub(super) fn run(branches: &IfConversion, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    context.analyses.converts_uniform_branches = *branches == IfConversion::AllPossible;
    for func in &mut module.functions {
        let found = make_all_loops_uniform(func)?;
        if let Some(branches) = found.filter(|_| !context.analyses.converts_uniform_branches) {
            context.analyses.preserve_divergent_branches(func, branches);
        }
    }
    Ok(())
}
