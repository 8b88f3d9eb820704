//! The pass `brushes`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, store, word};
use crate::options::BrushCount;
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::module::FunctionKind;
use heddle_ir::verify::Stage;
use heddle_ir::{Code, Diagnostic, Function, Inst, Module, Op};
use heddle_transform::find_brush_observer;

pub(super) const INFO: PassInfo = PassInfo {
    name: "brushes",
    doc: "check that several brushes may run next to each other in one call: no function may observe the lanes of its brush",
    requires: Stage::Source,
    ensures: None,
    options: || describe(OPTIONS),
    parse: |words| Ok(Pass::Brushes(words.parse()?)),
};

const OPTIONS: &[OptionWord<BrushCount>] = &[word("COUNT", "number of brushes; `auto`: as many as the cost model prefers", |count, word| store(count, word.parse()))];

/// Refuses several brushes side by side in a program that observes its lanes.
pub(super) fn run(count: &BrushCount, module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    let Some((func, inst)) = find_module_brush_observer(module).filter(|_| *count != BrushCount::Count(1))
    else {
        return Ok(());
    };
    let text =
        format!("the result depends on the lanes of the brush, and {count} brushes would be observed as one");
    Err(Diagnostic::error(Code::SeesBrush, text)
        .at(DiagnosticLocation::of_inst(func, inst))
        .help("run one brush at a time, or write one wide brush"))
}

/// Returns the first instruction of lock-step code that observes the lanes of its brush.
pub(crate) fn find_module_brush_observer(module: &Module) -> Option<(&Function, Inst)> {
    let launches = |func: &Function| {
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        insts.any(|inst| func.inst(inst).op == Op::Launch)
    };
    let is_launched = module.functions.iter().any(|func| matches!(func.kind, FunctionKind::Kernel(_)));
    let defined = module.functions.iter().map(|func| &*func.name).collect();
    let mut functions = module.functions.iter().filter(|func| !launches(func));
    functions.find_map(|func| Some((func, find_brush_observer(func, is_launched, &defined)?)))
}
