//! The pass `stream`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};

pub(super) const INFO: PassInfo =
    PassInfo::plain("stream", "stores of whole vectors to global memory bypass the caches", Stage::Wide, |_| Ok(Pass::Stream));

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    heddle_transform::stream_stores(module);
    Ok(())
}
