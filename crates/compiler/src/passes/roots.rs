//! The pass `roots`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo =
    PassInfo::plain("roots", "quotients by square roots become products by inverse roots, where the source permits the error (`fpmath`)", Stage::Source, |_| Ok(Pass::Roots));

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    heddle_transform::invert_roots(module);
    Ok(())
}
