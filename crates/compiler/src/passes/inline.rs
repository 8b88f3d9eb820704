//! The pass `inline`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo =
    PassInfo::plain("inline", "inline small functions, larger ones that are called once, and long ones that take a private array", Stage::Source, |_| Ok(Pass::Inline));

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    heddle_transform::inline_small(module);
    Ok(())
}
