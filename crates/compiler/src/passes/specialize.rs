//! The pass `specialize`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, store, word};
use crate::options::BrushExtents;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo = PassInfo {
    name: "specialize",
    doc: "one specialization of a function for each combination of argument shapes and masks",
    requires: Stage::Canonical,
    ensures: Some(Stage::Canonical),
    options: || describe(OPTIONS),
    parse: |brush| Ok(Pass::Specialize(brush.parse()?)),
};

const OPTIONS: &[OptionWord<BrushExtents>] = &[word("BRUSH", "lanes of a brush: `8`, or `8x2`", |brush, word| store(brush, word.parse()))];

pub(super) fn run(brush: &BrushExtents, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    heddle_transform::specialize(module, context.all_lanes(brush)?.extents());
    Ok(())
}
