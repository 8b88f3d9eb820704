//! The pass `thread`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};
use heddle_transform::{simplify, thread_jumps};

pub(super) const INFO: PassInfo =
    PassInfo::plain("thread", "jump threading past blocks whose branch is already decided, as clang leaves at a loop's `break`", Stage::Source, |_| Ok(Pass::Thread));

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    // Threading turns conditions into constants.
    for func in &mut module.functions {
        if thread_jumps(func) > 0 {
            simplify(func);
        }
    }
    Ok(())
}
