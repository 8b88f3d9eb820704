//! The pass `simplify`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo =
    PassInfo::plain("simplify", "constant folding, dead code, trivial φs, common subexpressions", Stage::Source, |_| Ok(Pass::Simplify));

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    module.functions.iter_mut().for_each(|func| _ = heddle_transform::simplify(func));
    Ok(())
}
