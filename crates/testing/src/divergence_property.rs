//! The property of the divergence analysis: runs do not contradict its claims.
//!
//! `heddle-faults` compiles a copy of this file for an analysis with planted faults, so all types of `heddle-analysis` are named here.

use crate::execution::{options_with, prepare};
use crate::generate::{GeneratedProgram, InputArgument, ProgramClass, ProgramInput};
use crate::properties::brush_of;
use crate::shapes_oracle::{CheckCounts, Claims, check_trace};
use crate::spill::spill_phis;
use heddle_analysis::shape::{Geometry, GroupExtent, TransferContext, declared_fact};
use heddle_analysis::{Activation, InitialShapes, ResultSummaries};
use heddle_interp::{PassiveSemantics, RunOptions, Scheduler};
use heddle_ir::module::DeclaredShape;
use heddle_ir::{Function, Module};
use heddle_transform::canonicalize;

/// Checks the divergence analysis' claims about the canonicalized program on each input, under several schedules, with
/// known and unknown numbers of lanes, and parameters shaped as in the input or as declared.
pub fn divergence_holds(case: &GeneratedProgram) -> Result<CheckCounts, String> {
    let is_predicated = case.traits.class == ProgramClass::Predicated;
    let mut module = case.module.clone();
    if !is_predicated {
        module.functions.iter_mut().for_each(canonicalize);
    }
    let mut checked = divergence_holds_of(case, &module)?;
    // As above, with some or all joins demoted to private memory.
    if !case.seed.is_multiple_of(3) {
        let all = case.seed.is_multiple_of(2);
        module.functions.iter_mut().for_each(|func| spill_phis(func, |number| all || number % 3 != 0));
        let spilled = divergence_holds_of(case, &module);
        checked.add(&spilled.map_err(|reason| format!("φs spilled: {reason}"))?);
    }
    Ok(checked)
}

fn divergence_holds_of(case: &GeneratedProgram, module: &Module) -> Result<CheckCounts, String> {
    let is_predicated = case.traits.class == ProgramClass::Predicated;
    let semantics = if is_predicated { PassiveSemantics::Oblivious } else { PassiveSemantics::Freezing };
    let mut checked = CheckCounts::default();
    for (index, input) in case.inputs.iter().enumerate() {
        let choice = index as u64 + case.seed;
        let claims: Vec<Option<Claims<'_>>> = module
            .functions
            .iter()
            .map(|func| {
                let brush = brush_of(module, func, input)?;
                let initial = initial_shapes(case, func, input, &brush, choice);
                let callees = ResultSummaries::infer(module, &initial.geometry);
                Claims::new(func, initial.with_summaries(&callees), &brush)
            })
            .collect();
        let seeds = (0..3).map(|seed| Scheduler::Random(case.seed.wrapping_mul(7).wrapping_add(seed)));
        for scheduler in std::iter::once(Scheduler::Greedy).chain(seeds) {
            let options = RunOptions { semantics, trace: true, ..options_with(input, scheduler.clone()) };
            let (mut memory, args) = prepare(case, input);
            // Other properties report failing programs.
            let Ok(outcome) = heddle_interp::run(module, &case.entry, &args, &mut memory, &options) else {
                continue;
            };
            // LinearEdges code has no divergent branch; shrunk or spilled it may, and then means nothing under OBLIVIOUS.
            if is_predicated && outcome.counters.divergent_branches > 0 {
                continue;
            }
            let found = check_trace(module, &claims, &outcome.trace)
                .map_err(|reason| format!("input {index}, {scheduler:?}: {reason}"))?;
            checked.add(&found);
        }
    }
    Ok(checked)
}

/// Chooses shapes that hold for a function on an input; `choice` selects how many.
pub fn initial_shapes(
    case: &GeneratedProgram,
    func: &Function,
    input: &ProgramInput,
    brush: &[u32],
    choice: u64,
) -> InitialShapes {
    let known = Geometry::brush(brush);
    let mut geometry = match choice % 3 {
        0 => Geometry { brush: None, ..known },
        _ => known,
    };
    if let Some(group) = input.group.filter(|_| choice.is_multiple_of(2)) {
        geometry.local = group.map(GroupExtent::Known);
    }
    let mut initial = InitialShapes::declared(func, geometry.clone());
    if func.name != case.entry {
        return initial;
    }
    if input.is_whole() && !matches!(case.traits.class, ProgramClass::Launch) {
        initial = initial.with_entry(Activation::Full);
    }
    let context = TransferContext::new(geometry);
    for (index, argument) in input.args.iter().enumerate() {
        let param = &func.signature.params[index];
        let shape = match argument {
            InputArgument::Object(_) | InputArgument::Uniform(_) => DeclaredShape::Uniform,
            InputArgument::Linear(_, strides) => DeclaredShape::Linear(strides.iter().copied().collect()),
            InputArgument::Varying(_) => DeclaredShape::Varying,
        };
        if param.shape.is_none() && (!choice.is_multiple_of(5) || shape == DeclaredShape::Varying) {
            initial.params[index] = declared_fact(param.ty, Some(&shape), 1, &context);
        }
    }
    initial
}
