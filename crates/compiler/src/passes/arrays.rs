//! The pass `arrays`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo =
    PassInfo::plain("arrays", "private arrays: copies and fills split by element, bytes of words by shifts, arrays with constant indices in registers", Stage::Source, |_| Ok(Pass::PrivateArrays));

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    module.functions.iter_mut().for_each(|func| _ = heddle_transform::lower_private_arrays(func));
    Ok(())
}
