//! The pass `tidy`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo =
    PassInfo::plain("tidy", "simplify masks and blends, hoist masks, remove dead φs and empty regions", Stage::Linear, |_| Ok(Pass::Tidy));

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    module.functions.iter_mut().for_each(|func| _ = heddle_transform::tidy(func));
    Ok(())
}
