//! The pass `dead`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo = PassInfo::plain(
    "dead",
    "dead code alone, for programs that otherwise stay as they are",
    Stage::Source,
    |_| Ok(Pass::Dead),
);

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    module.functions.iter_mut().for_each(|func| _ = heddle_transform::remove_dead(func));
    Ok(())
}
