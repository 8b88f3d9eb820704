//! Checks that programs become vector code and keep their meaning at each stage; property of the topic `widen`.

use crate::brushes::brushes_agree;
use crate::differential::{BOTH, SourceReference, is_deterministic};
use crate::execution::{ObservedPart, RunObservation, difference, observe, options, prepare};
use crate::generate::{GeneratedProgram, InputArgument, ProgramClass, ProgramInput, Random};
use heddle_compiler::Session;
use heddle_compiler::passes::{PassInfo, widen_module};
use heddle_interp::run;
use heddle_ir::module::{DeclaredShape, FunctionKind};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Diagnostic, Function, Module};
use heddle_runs::wide_call::{lanes_of_outcome, wide_arguments, wide_options};
use heddle_transform::target::{AccessCosts, VectorCost};
use heddle_transform::widen::RemarkKind;
use heddle_transform::{
    LockStepFunction, RaceSemantics, TargetInfo, VersioningPolicy, WidenOptions, lock_step_functions,
    simplify,
};
use std::collections::BTreeSet;

/// Machine with expensive gathers and scatters, which favours every alternative.
const FAR: TargetInfo = TargetInfo {
    name: "far",
    load: AccessCosts { scattered: MUCH, masked_scattered: MUCH, ..TargetInfo::AVX2.load },
    store: AccessCosts { scattered: MUCH, masked_scattered: MUCH, ..TargetInfo::AVX2.store },
    ..TargetInfo::AVX2
};
const MUCH: VectorCost = VectorCost { register: 0, lane: 1000 };

/// Checks that a program's wide form computes its linear form's results on each input, and that all earlier stages
/// refine the source.
///
/// For one program in four it also checks that two side-by-side brushes compute what each does alone.
pub fn widens(case: &GeneratedProgram) -> Result<(), String> {
    widens_with(case, &WideningFaults::NONE)?;
    if case.seed.is_multiple_of(4) { brushes_agree(case).map(drop) } else { Ok(()) }
}

/// Pass that replaces a module's functions by their wide functions for a brush.
pub type WidenPass = fn(&mut Module, &[u32], &WidenOptions) -> Result<(), Diagnostic>;

/// Faults to inject, to test that the checks notice them.
#[derive(Clone, Copy, Debug)]
pub struct WideningFaults {
    /// Fault in the module after `specialize`.
    pub specialized: fn(&mut Module),
    /// To each wide function.
    pub wide: fn(&mut Function),
    /// Pass that widens the module for a brush.
    pub widen: WidenPass,
}

impl WideningFaults {
    /// Nothing.
    pub const NONE: WideningFaults = WideningFaults {
        specialized: |_| {},
        wide: |_| {},
        widen: |module, brush, options| widen_module(module, brush, options).map(drop),
    };
}

/// As [`widens`] for one brush, with faults injected.
pub fn widens_with(case: &GeneratedProgram, faults: &WideningFaults) -> Result<(), String> {
    for (index, input) in case.inputs.iter().enumerate() {
        widens_on(case, input, faults).map_err(|reason| format!("input {index}: {reason}"))?;
    }
    Ok(())
}

/// Returns the kinds of access that a program's memory operations are lowered to, where there is a choice.
pub fn forms(case: &GeneratedProgram) -> Result<BTreeSet<RemarkKind>, String> {
    let mut forms = BTreeSet::new();
    let Some(input) = case.inputs.first() else { return Ok(forms) };
    let mut random = Random::new(case.seed ^ 0x51de);
    if let Some(mut module) = linear(case, input, &mut random, &WideningFaults::NONE)? {
        let options =
            WidenOptions { target: FAR, versions: VersioningPolicy::Force, ..WidenOptions::default() };
        let remarks = widen_module(&mut module, &input.brush, &options)?;
        forms.extend(remarks.iter().map(|remark| remark.kind));
    }
    Ok(forms)
}

/// Brings a program to stage Linear; `None` if it does not support that.
fn linear(
    case: &GeneratedProgram,
    input: &ProgramInput,
    random: &mut Random,
    faults: &WideningFaults,
) -> Result<Option<Module>, String> {
    let mut module = case.module.clone();
    declare(&mut module, case, input, random);
    if case.traits.class != ProgramClass::Predicated {
        bring_to_linear(&mut module, case, input, random, faults)?;
    } else if module.functions.len() > 1 {
        // Linear functions can no longer be specialized.
        return Ok(None);
    }
    Ok(Some(module))
}

fn widens_on(case: &GeneratedProgram, input: &ProgramInput, faults: &WideningFaults) -> Result<(), String> {
    let mut random = Random::new(case.seed ^ 0x51de);
    let Some(module) = linear(case, input, &mut random, faults)? else { return Ok(()) };
    verify_module(&module, Stage::Linear).map_err(|violations| format!("not linear:\n{violations}"))?;
    let linear = GeneratedProgram { module: module.clone(), ..case.clone() };
    let expected =
        observe(&linear, &module, input, &options(input)).map_err(|fault| format!("linear: {fault}"))?;
    let lock_step = lock_step_functions(&module, &input.brush)?;
    let mut wide = module;
    // Generated programs keep to constructs with a wide form: a refusal is a find.
    let target =
        [FAR, TargetInfo::AVX512, TargetInfo::AVX2, TargetInfo::SSE42, TargetInfo::NEON][random.below(5)];
    let versions = [VersioningPolicy::Model, VersioningPolicy::Force, VersioningPolicy::None]
        [random.weighted(&[(0, 30), (1, 60), (2, 10)])];
    let races = if is_deterministic(case) { RaceSemantics::Excluded } else { RaceSemantics::Ordered };
    let options = WidenOptions { target, versions, races };
    (faults.widen)(&mut wide, &input.brush, &options)?;
    for func in &mut wide.functions {
        (faults.wide)(func);
        // Wide code is one thread's: what holds of one lane holds of it.
        if case.seed.is_multiple_of(3) {
            simplify(func);
        }
    }
    verify_module(&wide, Stage::Wide).map_err(|violations| format!("not wide:\n{violations}"))?;
    let found = observe_wide(case, &wide, &lock_step, input)?;
    if let Some(difference) = difference(case, &expected, &found, ObservedPart::Whole) {
        return Err(difference);
    }
    Ok(())
}

/// Declares the shapes of some parameters of the entry as in the input, and the group size of some kernels.
fn declare(module: &mut Module, case: &GeneratedProgram, input: &ProgramInput, random: &mut Random) {
    let share = [0, 60, 100][random.below(3)];
    let Some(func) = module.function_mut(&case.entry) else { return };
    // A kernel's parameter without a declared shape is uniform for the launch.
    let is_kernel = matches!(func.kind, FunctionKind::Kernel(_));
    if is_kernel && case.seed.is_multiple_of(2) {
        func.kind = FunctionKind::Kernel(input.group);
    }
    for (param, argument) in func.signature.params.iter_mut().zip(&input.args) {
        if param.shape.is_some() || !(random.chance(share) || is_kernel) {
            continue;
        }
        param.shape = match argument {
            InputArgument::Object(_) | InputArgument::Uniform(_) => Some(DeclaredShape::Uniform),
            InputArgument::Linear(_, strides) => {
                Some(DeclaredShape::Linear(strides.iter().copied().collect()))
            }
            InputArgument::Varying(_) => Some(DeclaredShape::Varying),
        };
    }
}

/// Runs the passes that make a module linear for this brush, and compares each result with the source.
fn bring_to_linear(
    module: &mut Module,
    case: &GeneratedProgram,
    input: &ProgramInput,
    random: &mut Random,
    faults: &WideningFaults,
) -> Result<(), String> {
    let brush: Vec<String> = input.brush.iter().map(u32::to_string).collect();
    let specialize = format!("specialize:{}", brush.join("x"));
    let guards = ["boscc:needed", "boscc", "boscc:force"][random.below(3)];
    let mut passes = vec!["canonicalize", &specialize, "loops", guards, "linearize"];
    if random.chance(50) {
        passes.insert(0, "simplify");
    }
    if random.chance(50) {
        passes.push("tidy");
    }
    // A schedule-dependent run is compared with the source on the same schedule. After `tidy`, which removes empty
    // blocks, that schedule is unknown.
    let tells_schedule = |pass: &str| pass != "tidy";
    let reference = SourceReference::new(case, &case.module, input)?;
    let mut stage = Stage::Source;
    let mut checked = Ok(());
    let mut check = |pass: &PassInfo, module: &Module| {
        stage = pass.ensures.unwrap_or(stage);
        if checked.is_ok() && (is_deterministic(case) || tells_schedule(pass.name)) {
            let semantics = if stage < Stage::Uniform { &BOTH[..1] } else { &BOTH[..] };
            checked = reference
                .check(module, semantics)
                .map_err(|reason| format!("after `{}`: {reason}", pass.name));
        }
    };
    let specialized = passes.iter().position(|pass| *pass == specialize).map_or(0, |at| at + 1);
    let (before, behind) = passes.split_at(specialized);
    Session::default().run_passes(module, before, true, &mut check).map_err(|error| error.to_string())?;
    (faults.specialized)(module);
    Session::default().run_passes(module, behind, true, &mut check).map_err(|error| error.to_string())?;
    checked
}

fn observe_wide(
    case: &GeneratedProgram,
    wide: &Module,
    lock_step: &[LockStepFunction],
    input: &ProgramInput,
) -> Result<RunObservation, String> {
    let Some(form) = lock_step.iter().find(|form| form.name == case.entry) else {
        return observe(case, wide, input, &options(input)).map_err(|fault| format!("wide: {fault}"));
    };
    let (mut memory, args) = prepare(case, input);
    let name = form.wide_name();
    let func = wide.function(&name).ok_or("the entry has no wide form")?;
    let args = wide_arguments(args, func, &input.brush);
    let outcome = run(wide, &name, &args, &mut memory, &wide_options(&options(input)))
        .map_err(|fault| format!("wide: {fault}\n{func}"))?;
    let outcome = lanes_of_outcome(outcome, &input.brush);
    Ok(RunObservation {
        results: outcome.results,
        memory,
        race: None,
        schedule: outcome.schedule,
        counters: outcome.counters,
    })
}
