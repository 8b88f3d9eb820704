//! The pass `widen`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, parse_options, store, word};
use crate::options::{BrushExtents, invalid_option, parse_races, parse_target, parse_versions};
use crate::vector_abi::{declared_variants, define_call_adapters};
use heddle_analysis::shape::Activation;
use heddle_analysis::{AccessGroups, ControlTables, InitialShapes, divergence};
use heddle_ir::verify::Stage;
use heddle_ir::module::loop_hint;
use heddle_ir::words::Flag;
use heddle_ir::{Code, Diagnostic, Function, Module};
use heddle_transform::{
    Remark, WidenContext, WidenOptions, geometry_of, lock_step_functions, replace_launches, widen,
};

/// Brush and options of widening.
#[derive(Clone, Debug)]
pub struct BrushWidening {
    /// Lanes of a brush.
    pub brush: BrushExtents,
    /// Options of the pass.
    pub options: WidenOptions,
}

pub(super) const INFO: PassInfo = PassInfo {
    name: "widen",
    doc: "vector code for one thread",
    requires: Stage::Linear,
    ensures: Some(Stage::Wide),
    options: || describe(OPTIONS),
    parse: |words| {
        let (brush, words) = words.split_once('+').unwrap_or((words, ""));
        let options = parse_options(OPTIONS, words, WidenOptions::default())?;
        Ok(Pass::Widen(BrushWidening { brush: brush.parse()?, options }))
    },
};

const OPTIONS: &[OptionWord<WidenOptions>] = &[
    word("BRUSH", "lanes of a brush, first: `8`, or `8x2`", |_, word| Err(invalid_option(word, "write the brush first: `widen:8+target=avx512`"))),
    word("target=NAME", "machine of the cost model", |options, name| store(&mut options.target, parse_target(name))),
    word("races=SEMANTICS", "`excluded`: lanes do not race; `ordered` (default)", |options, word| store(&mut options.races, parse_races(word))),
    word("versions=POLICY", "run-time versions of accesses wherever possible (`force`), or nowhere (`none`)", |options, word| store(&mut options.versions, parse_versions(word))),
];

pub(super) fn run(argument: &BrushWidening, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    let brush = context.all_lanes(&argument.brush)?;
    context.remarks.extend(widen_module(module, brush.extents(), &argument.options)?);
    Ok(())
}

/// Number of atomic and volatile accesses from which a function's loops over lanes stay loops: unrolled, each is a copy per lane.
const MANY_LANE_LOOPS: usize = 12;

/// Returns the number of a function's atomic and volatile accesses. Most of them run one lane at a time.
fn serial_accesses(func: &Function) -> usize {
    let insts = func.blocks().flat_map(|block| func.block_insts(block)).map(|inst| func.inst(inst));
    insts
        .filter(|data| {
            data.flags.has(Flag::Volatile) || data.access().is_some_and(|access| access.atomic.is_some())
        })
        .count()
}

/// Replaces lock-step functions by their wide functions. Returns remarks on how accesses were lowered.
pub fn widen_module(
    module: &mut Module,
    brush: &[u32],
    options: &WidenOptions,
) -> Result<Vec<Remark>, Diagnostic> {
    let functions =
        lock_step_functions(module, brush).map_err(|reason| Diagnostic::error(Code::NoVectorForm, reason))?;
    let has_many = |func: &Function| serial_accesses(func) >= MANY_LANE_LOOPS;
    let is_needed = module.functions.iter().any(has_many);
    let keep_loops = is_needed.then(|| loop_hint(&mut module.facts, "llvm.loop.unroll.disable"));
    let defined = module.functions.iter().map(|func| &*func.name).collect();
    let vector_variants = declared_variants(module, brush);
    let mut around = WidenContext { defined, is_region: false, vector_variants, keep_lane_loops: None };
    let (mut wide, mut remarks) = (Vec::new(), Vec::new());
    for form in &functions {
        let Some(func) = module.function(&form.name) else { continue };
        let control = ControlTables::new(func);
        let geometry = geometry_of(func, &form.brush, form.is_region);
        let initial = InitialShapes::declared(func, geometry).with_entry(Activation::Full);
        let facts = divergence(func, &control, &initial);
        let accesses = AccessGroups::new(func, &control, &facts, &initial.geometry);
        around.is_region = form.is_region;
        around.keep_lane_loops = keep_loops.filter(|_| has_many(func));
        let made = widen(func, &facts, &accesses, &form.brush, &around, options)?;
        wide.push(made.func);
        remarks.extend(made.remarks);
    }
    drop(around);
    for (form, new) in functions.iter().zip(wide) {
        if let Some(func) = module.function_mut(&form.name) {
            *func = new;
        }
    }
    define_call_adapters(module);
    module.functions.iter_mut().try_for_each(replace_launches)?;
    Ok(remarks)
}
