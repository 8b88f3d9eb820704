//! Whether programs still mean what they did when bodies stand in the place of calls: the property behind the topic
//! `inline`.

use crate::differential::{differential, is_deterministic};
use crate::generate::GeneratedProgram;
use crate::properties::stage;
use heddle_ir::Module;
use heddle_ir::verify::verify_module;
use heddle_transform::inline_calls;

/// Checks that a program with all calls inlined that can be refines its source. Gives how many were.
pub fn inlines(case: &GeneratedProgram) -> Result<usize, String> {
    inlines_with(case, |_| {})
}

/// The same, with something wrong in what comes out.
pub fn inlines_with(case: &GeneratedProgram, fault: fn(&mut Module)) -> Result<usize, String> {
    let mut module = case.module.clone();
    let count = inline_calls(&mut module, |_| true);
    fault(&mut module);
    verify_module(&module, stage(case)).map_err(|violations| violations.to_string())?;
    // What a callee does may come between what the source does in one piece: that is no schedule of the source.
    if is_deterministic(case) {
        differential(case, &case.module, &module)?;
    }
    Ok(count)
}
