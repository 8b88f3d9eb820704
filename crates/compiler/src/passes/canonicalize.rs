//! The pass `canonicalize`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use heddle_ir::verify::Stage;
use heddle_ir::{Code, Diagnostic, Function, Module};

pub(super) const INFO: PassInfo = PassInfo { ensures: Some(Stage::Canonical), ..PassInfo::plain("canonicalize", "reducible control flow, one return, simple loops, LCSSA, no switch", Stage::Source, |_| Ok(Pass::Canonicalize)) };

pub(super) fn run(module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    for func in &mut module.functions {
        refuse_predicates(func)?;
        heddle_transform::canonicalize(func);
    }
    Ok(())
}

fn refuse_predicates(func: &Function) -> Result<(), Diagnostic> {
    let Some(block) = func.blocks().find(|&block| func.predicate(block).is_some()) else { return Ok(()) };
    let text = format!("{block} has a predicate before `linearize`");
    Err(Diagnostic::error(Code::EarlyPredicate, text).of_func(&func.name).help("write a branch around it"))
}
