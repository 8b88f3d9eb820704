//! The pass `progress`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};
use heddle_transform::{Remark, keep_progress};

pub(super) const INFO: PassInfo =
    PassInfo::plain("progress", "loops that wait for another lane advance one block a round", Stage::Source, |_| Ok(Pass::Progress));

pub(super) fn run(module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    let remarks = keep_progress(module)?;
    let in_module = |remark: Remark| Remark { diagnostic: remark.diagnostic.in_module(module), ..remark };
    context.remarks.extend(remarks.into_iter().map(in_module));
    Ok(())
}
