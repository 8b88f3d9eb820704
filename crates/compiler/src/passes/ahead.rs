//! The pass `ahead`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo =
    PassInfo::plain("ahead", "stores to several rows fetch the lines that their loop writes next", Stage::Wide, |_| Ok(Pass::Ahead));

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    heddle_transform::fetch_rows_ahead(module);
    Ok(())
}
