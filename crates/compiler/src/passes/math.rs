//! The pass `math`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, parse_options, store, word};
use crate::options::parse_accuracy;
use heddle_ir::verify::Stage;
use heddle_ir::{Code, Diagnostic, Module};
use heddle_math::{Accuracy, provide};

pub(super) const INFO: PassInfo = PassInfo {
    name: "math",
    doc: "bodies of the mathematical functions that are called",
    requires: Stage::Source,
    ensures: None,
    options: || describe(OPTIONS),
    parse: |words| Ok(Pass::Math(parse_options(OPTIONS, words, Accuracy::Exact)?)),
};

const OPTIONS: &[OptionWord<Accuracy>] = &[word("ACCURACY", "`exact` (default), `fast`, or `libm`: no bodies", |accuracy, word| store(accuracy, parse_accuracy(word)))];

pub(super) fn run(accuracy: &Accuracy, module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    provide(module, *accuracy).map_err(|broken| Diagnostic::error(Code::Internal, broken.to_string()))
}
