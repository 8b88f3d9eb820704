//! Checks that programs keep their meaning when calls are inlined; property of the topic `inline`.

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

/// As `inlines`, with `fault` applied to the result.
pub fn inlines_with(case: &GeneratedProgram, fault: fn(&mut Module)) -> Result<usize, String> {
    let mut module = case.module.clone();
    let count = inline_calls(&mut module, |_| true);
    fault(&mut module);
    verify_module(&module, stage(case)).map_err(|violations| violations.to_string())?;
    // An inlined body may interleave what the source executes in one piece; the source has no such schedule.
    if is_deterministic(case) {
        differential(case, &case.module, &module)?;
    }
    Ok(count)
}
