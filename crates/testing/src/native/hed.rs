//! Generated programs as native vector code, against the oracle's lanes: the topic `native`.

use super::compile::{CodeQuality, WidePart, choices, compile_parts};
use super::tally::{NativeFind, NativeTally, Phase, TestedPair};
use super::target::InstructionSet;
use super::workshop::{CallObject, CallOutcome, EntryCall, MOST_OBJECTS, ROOM, Workshop};
use crate::coverage::{Coverage, Feature, LEAST_MEDIAN};
use crate::differential::is_deterministic;
use crate::execution::{ObservedPart, RunObservation, difference, observe, options, prepare};
use crate::fuzz::quietly;
use crate::generate::{
    GeneratedProgram, GeneratorProfile, InputArgument, ObjectShape, Owner, ProgramClass, ProgramInput,
    generate,
};
use crate::shrink::{print, shrink};
use heddle_compiler::Session;
use heddle_interp::{Datum, Memory, RunOptions};
use heddle_ir::module::{Global, GlobalInit};
use heddle_ir::{Module, Op, Space, Type};
use heddle_llvm::{EmitOptions, slot_bytes};
use heddle_runs::wide_call::{wide_arguments, wide_form};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::path::Path;

/// Numbers of lanes in which every program runs, regardless of its inputs.
const LANES: [u32; 3] = [4, 8, 16];

/// Programs whose lanes need no others, and that are rather small: nearly all of the time is LLVM's.
pub fn profile() -> GeneratorProfile {
    let sizes = [((1, 3), 70), ((3, 8), 25), ((8, 30), 5)];
    let mut profile = GeneratorProfile { horizontals: 0, sizes, ..GeneratorProfile::source() };
    for (class, weight) in &mut profile.classes {
        *weight = u32::from(*class == ProgramClass::Lanes);
    }
    profile
}

/// Workshops for targets.
#[derive(Debug)]
pub struct TargetWorkshops {
    pub(super) shops: Vec<(InstructionSet, Workshop)>,
    /// Where scalar code runs on this machine.
    pub(super) reference: Workshop,
}

impl TargetWorkshops {
    /// Prepares a folder for these targets.
    pub fn new(folder: &Path, targets: &[InstructionSet]) -> Result<TargetWorkshops, String> {
        let shop = |target: InstructionSet| Workshop::new(&folder.join(target.name()), target);
        let shops = targets.iter().map(|&target| Ok((target, shop(target)?)));
        let shops = shops.collect::<Result<_, String>>()?;
        Ok(TargetWorkshops {
            shops,
            reference: Workshop::new(&folder.join("reference"), InstructionSet::Sse42)?,
        })
    }
}

/// Wide specialization of a program, with its inputs for these lanes.
struct WideSpecialization {
    /// Of which program.
    case: usize,
    brush: Vec<u32>,
    /// Inputs and the oracle's results.
    runs: Vec<(ProgramInput, RunObservation)>,
    fused: bool,
}

impl WideSpecialization {
    fn lanes(&self) -> String {
        self.brush.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
    }
}

/// True if a program can run natively: without cross-lane operations, launches, or functions of the system's math
/// library.
fn is_of_topic(case: &GeneratedProgram) -> bool {
    let asks = |op: Op| {
        matches!(
            op,
            Op::LocalId
                | Op::LocalSize
                | Op::EnqueuedSize
                | Op::GroupId
                | Op::NumGroups
                | Op::GlobalId
                | Op::GlobalSize
                | Op::GlobalOffset
                | Op::WorkDim
        )
    };
    let mut funcs = case.module.functions.iter();
    is_deterministic(case)
        && case.module.declarations.is_empty()
        && !funcs
            .any(|func| func.blocks().any(|block| func.block_insts(block).any(|i| asks(func.inst(i).op))))
}

/// Returns the program with these brushes, unless it is launched or sequential. Lane-owned data of its first input is
/// distributed anew.
pub fn in_brushes(case: &GeneratedProgram, brushes: &[&[u32]]) -> Option<GeneratedProgram> {
    let is_plain = matches!(case.traits.class, ProgramClass::Lanes | ProgramClass::Racy);
    let input = case.inputs.first().filter(|_| is_plain)?;
    let inputs = brushes.iter().map(|brush| in_brush(input, &case.objects, brush)).collect();
    Some(GeneratedProgram { inputs, ..case.clone() })
}

/// Restricts an input to these lanes.
fn in_brush(input: &ProgramInput, objects: &[ObjectShape], brush: &[u32]) -> ProgramInput {
    let lanes: u32 = brush.iter().product();
    let args = input.args.iter().map(|arg| match arg {
        InputArgument::Varying(values) => {
            InputArgument::Varying(values.iter().copied().cycle().take(lanes as usize).collect())
        }
        InputArgument::Linear(base, strides) => {
            InputArgument::Linear(*base, strides.iter().copied().take(1).collect())
        }
        other => other.clone(),
    });
    let contents = input.contents.iter().zip(objects).map(|(bytes, object)| match object.owner {
        Owner::Lane(size) => bytes.iter().copied().cycle().take((size * lanes) as usize).collect(),
        _ => bytes.clone(),
    });
    ProgramInput {
        brush: brush.to_vec(),
        args: args.collect(),
        contents: contents.collect(),
        ..input.clone()
    }
}

/// Returns a program's inputs by brush.
fn inputs_by_brush(case: &GeneratedProgram, lanes: &[u32]) -> Vec<(Vec<u32>, Vec<ProgramInput>)> {
    let mut forms: Vec<(Vec<u32>, Vec<ProgramInput>)> = Vec::new();
    let mut add = |input: ProgramInput| match forms.iter_mut().find(|(brush, _)| *brush == input.brush) {
        Some((_, inputs)) => inputs.push(input),
        None => forms.push((input.brush.clone(), vec![input])),
    };
    // LLVM 22.1 cannot always compile vectors of one bit, and vector code of one lane is of no use.
    case.inputs.iter().filter(|input| input.lanes() > 1).for_each(|input| add(input.clone()));
    if let Some(input) = case.inputs.first() {
        lanes.iter().for_each(|&lanes| add(in_brush(input, &case.objects, &[lanes])));
    }
    forms
}

fn widened(case: &GeneratedProgram, brush: &[u32]) -> Result<Module, String> {
    let brush: Vec<String> = brush.iter().map(u32::to_string).collect();
    let brush = format!("W={}", brush.join("x"));
    let mut module = case.module.clone();
    let [target, versions] = choices(case.seed);
    Session::default()
        .run_passes(&mut module, &["vectorize", &brush, "params=varying", target, versions], false, |_, _| {})
        .map_err(|error| error.to_string())?;
    Ok(module)
}

/// Runs all specializations of the programs of these seeds.
pub fn run_batch(bench: &TargetWorkshops, seeds: Range<u64>) -> NativeTally {
    run_batch_by(bench, seeds, |_| {})
}

/// As `run_batch`, with a fault injected into each wide module.
pub fn run_batch_by(bench: &TargetWorkshops, seeds: Range<u64>, spoil: fn(&mut Module)) -> NativeTally {
    let mut tally = NativeTally::default();
    let profile = profile();
    let quality = CodeQuality::of_batch(&seeds);
    let cases: Vec<GeneratedProgram> =
        tally.timed(Phase::Generate, || seeds.map(|seed| generate(seed, &profile)).collect());
    let (cases, others): (Vec<GeneratedProgram>, Vec<GeneratedProgram>) =
        cases.into_iter().partition(is_of_topic);
    tally.passed_by = others.len() as u64;
    tally.programs = cases.len() as u64;
    let mut coverage = Coverage::default();
    cases.iter().for_each(|case| coverage.note(case));
    tally.coverage = coverage;
    check_cases(bench, &cases, &LANES, quality, spoil, &mut tally);
    tally
}

fn check_cases(
    bench: &TargetWorkshops,
    cases: &[GeneratedProgram],
    lanes: &[u32],
    quality: CodeQuality,
    spoil: fn(&mut Module),
    tally: &mut NativeTally,
) {
    let (mut forms, mut parts) = (Vec::new(), Vec::new());
    for (index, case) in cases.iter().enumerate() {
        let fused = case.traits.fmuladd && case.seed.is_multiple_of(2);
        for (brush, inputs) in inputs_by_brush(case, lanes) {
            let mut module = match tally.timed(Phase::Vectorize, || quietly(|| widened(case, &brush))) {
                Ok(Ok(module)) => module,
                Ok(Err(reason)) => {
                    tally.refuse(&reason);
                    continue;
                }
                Err(panic) => {
                    for &(target, _) in &bench.shops[..1] {
                        let form = format!("{brush:?} lanes");
                        let pair = TestedPair { seed: case.seed, target, form: form.clone() };
                        tally.note(pair, &form, Some(format!("panic: {panic}")));
                    }
                    continue;
                }
            };
            spoil(&mut module);
            let runs = tally.timed(Phase::Expect, || {
                let options = |input: &ProgramInput| RunOptions { fused, ..options(input) };
                let run = |input: ProgramInput| {
                    let oracle = observe(case, &case.module, &input, &options(&input)).ok()?;
                    fits(&input).then_some((input, oracle))
                };
                inputs.into_iter().filter_map(run).collect::<Vec<_>>()
            });
            let form = WideSpecialization { case: index, brush, runs, fused };
            if !form.runs.is_empty() {
                parts.push(WidePart { prefix: format!("s{index}.{}.", form.lanes()), module });
                forms.push(form);
            }
        }
    }
    for (target, shop) in &bench.shops {
        let mut wrong = vec![None; forms.len()];
        // The rounding of `fmuladd` is fixed per module.
        for fused in [false, true] {
            let of_this: Vec<usize> = (0..forms.len()).filter(|&form| forms[form].fused == fused).collect();
            if !of_this.is_empty() {
                check_forms(shop, *target, quality, (cases, &forms, &parts), &of_this, &mut wrong, tally);
            }
        }
        for (form, wrong) in forms.iter().zip(wrong) {
            let lanes = form.lanes();
            let pair =
                TestedPair { seed: cases[form.case].seed, target: *target, form: format!("{lanes} lanes") };
            tally.note(pair, &lanes, wrong);
        }
    }
}

fn fits(input: &ProgramInput) -> bool {
    input.contents.len() < MOST_OBJECTS - 8 && input.contents.iter().all(|bytes| bytes.len() <= ROOM)
}

type SpecializationBatch<'a> = (&'a [GeneratedProgram], &'a [WideSpecialization], &'a [WidePart]);

/// Compiles and runs some specializations; records errors by specialization.
fn check_forms(
    shop: &Workshop,
    target: InstructionSet,
    quality: CodeQuality,
    (cases, forms, parts): SpecializationBatch<'_>,
    of_this: &[usize],
    wrong: &mut [Option<String>],
    tally: &mut NativeTally,
) {
    let chosen: Vec<WidePart> = of_this
        .iter()
        .map(|&form| WidePart { prefix: parts[form].prefix.clone(), module: parts[form].module.clone() })
        .collect();
    let fused = forms[of_this[0]].fused;
    let options = EmitOptions { canonical_nans: true, fused: Some(fused), exact_roots: true, entries: true };
    let object = match compile_parts(tally, &chosen, options, target, quality) {
        Ok(object) => object,
        Err((culprit, reason)) => return fail(culprit, reason, of_this, wrong),
    };
    let (mut entries, mut symbols, mut calls, mut called) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (&index, part) in of_this.iter().zip(&chosen) {
        let form = &forms[index];
        let case = &cases[form.case];
        let Some(func) = wide_form(&part.module, &case.entry, &form.brush) else {
            wrong[index] = Some("the entry has no wide form".into());
            continue;
        };
        let globals: Vec<(u32, &Global)> = part
            .module
            .globals
            .iter()
            .filter(|global| global.space == Space::Global)
            .map(|global| {
                symbols.push(format!("{}{}", part.prefix, global.name));
                (symbols.len() as u32 - 1, global)
            })
            .collect();
        for (run, (input, _)) in form.runs.iter().enumerate() {
            let entry = entries.len() as u32;
            let (args, pointers) = arguments(case, input, func);
            let mut objects: Vec<CallObject> = input
                .contents
                .iter()
                .map(|bytes| CallObject { symbol: None, bytes: bytes.clone() })
                .collect();
            objects.extend(
                globals
                    .iter()
                    .map(|(symbol, global)| CallObject { symbol: Some(*symbol), bytes: initial(global) }),
            );
            let results = func.signature.results.iter().map(|result| slot_bytes(result.ty)).sum();
            calls.push(EntryCall { entry, args, pointers, objects, results, ..EntryCall::default() });
            called.push((index, run));
        }
        entries.push(part.entry(&func.name));
    }
    let linked = tally.timed(Phase::Link, || {
        shop.write("batch.o", &object)?;
        shop.link(&["batch.o"], &entries, &symbols)
    });
    let outcomes = match linked.and_then(|()| tally.timed(Phase::Run, || shop.run(&calls))) {
        Ok(outcomes) => outcomes,
        Err(reason) => return fail(None, reason, of_this, wrong),
    };
    tally.timed(Phase::Compare, || {
        for (&(index, run), outcome) in called.iter().zip(outcomes) {
            let form = &forms[index];
            let (case, (input, oracle)) = (&cases[form.case], &form.runs[run]);
            let found = match outcome {
                CallOutcome::Done { is_damaged: true, .. } => {
                    Some("memory next to the objects is written".into())
                }
                CallOutcome::Done { results, objects, .. } => {
                    let part = of_this.iter().position(|&form| form == index).map(|at| &chosen[at]);
                    part.and_then(|part| wide_form(&part.module, &case.entry, &form.brush))
                        .map(|func| observed(case, input, oracle, func, &results, &objects))
                        .and_then(|native| difference(case, oracle, &native, ObservedPart::Whole))
                }
                CallOutcome::Silent => Some("was not answered".into()),
                CallOutcome::Died(how) => Some(how),
            };
            if wrong[index].is_none() {
                wrong[index] = found.map(|reason| format!("input {run}: {reason}"));
            }
        }
    });
}

fn fail(culprit: Option<usize>, reason: String, of_this: &[usize], wrong: &mut [Option<String>]) {
    let at = culprit.unwrap_or(0);
    wrong[of_this[at]] = Some(match culprit {
        Some(_) => reason,
        None => format!("the whole batch of {}: {reason}", of_this.len()),
    });
}

/// The arguments of a wide function, one slot each, and where among them addresses of objects go.
fn arguments(
    case: &GeneratedProgram,
    input: &ProgramInput,
    func: &heddle_ir::Function,
) -> (Vec<u8>, Vec<(u32, u32)>) {
    let (memory, args) = prepare(case, input);
    let places: FxHashMap<u64, u32> = (0..)
        .zip(&case.objects)
        .filter_map(|(number, object)| Some((memory.object(&object.name)?.address, number)))
        .collect();
    let (mut bytes, mut pointers) = (Vec::new(), Vec::new());
    for (arg, param) in wide_arguments(args, func, &input.brush).iter().zip(&func.signature.params) {
        let start = bytes.len();
        let one;
        let data: &[Datum] = match arg {
            heddle_interp::Argument::Uniform(datum) => {
                one = [*datum];
                &one
            }
            heddle_interp::Argument::Vector(data) => data,
            _ => &[],
        };
        let scalar = param.ty.scalar();
        for datum in data {
            let bits = datum.bits().unwrap_or(0);
            if let Some(&object) = places.get(&(bits as u64)).filter(|_| scalar.is_ptr()) {
                pointers.push((bytes.len() as u32, object));
            }
            bytes.extend_from_slice(&bits.to_le_bytes()[..scalar.bytes() as usize]);
        }
        bytes.resize(start + slot_bytes(param.ty), 0);
    }
    (bytes, pointers)
}

/// The bytes of a global at the start.
fn initial(global: &Global) -> Vec<u8> {
    let mut bytes = Vec::new();
    for init in &global.init {
        match init {
            GlobalInit::Values(scalar, values) => {
                for value in values {
                    bytes.extend_from_slice(&value.to_le_bytes()[..scalar.bytes() as usize]);
                }
            }
            other => bytes.resize(bytes.len() + other.bytes() as usize, 0),
        }
    }
    bytes
}

/// Converts a call's results and memory to an observation comparable with the oracle's.
fn observed(
    case: &GeneratedProgram,
    input: &ProgramInput,
    oracle: &RunObservation,
    func: &heddle_ir::Function,
    results: &[u8],
    objects: &[Vec<u8>],
) -> RunObservation {
    let lanes = input.lanes() as usize;
    let mut at = 0;
    let mut values = Vec::new();
    for result in &func.signature.results {
        let ty: Type = result.ty;
        let size = ty.scalar().bytes() as usize;
        let value = |lane: usize| {
            let mut bytes = [0; 16];
            let from = at + if ty.is_vector() { lane * size } else { 0 };
            bytes[..size].copy_from_slice(&results[from..from + size]);
            Datum::Bits(u128::from_le_bytes(bytes))
        };
        values.push((0..lanes).map(value).collect());
        at += slot_bytes(ty);
    }
    let mut memory: Memory = oracle.memory.clone();
    let globals = case.module.globals.iter().filter(|global| global.space == Space::Global);
    let names = case.objects.iter().map(|object| &*object.name).chain(globals.map(|global| &*global.name));
    for (name, bytes) in names.zip(objects) {
        if let Some(seen) = memory.object_mut(name) {
            seen.bytes.copy_from_slice(bytes);
            seen.poison.fill(false);
        }
    }
    RunObservation { results: values, memory, ..oracle.clone() }
}

/// Formats a find as a small file test, shrunk as long as the same target fails.
pub fn shrunk(folder: &Path, find: &NativeFind) -> String {
    let case = generate(find.pair.seed, &profile());
    let Ok(bench) = TargetWorkshops::new(folder, &[find.pair.target]) else { return String::new() };
    let wrong = |case: &GeneratedProgram, quality: CodeQuality| {
        let mut tally = NativeTally::default();
        check_cases(&bench, std::slice::from_ref(case), &[], quality, |_| {}, &mut tally);
        tally.finds.first().map(|find| find.reason.clone())
    };
    let forms = inputs_by_brush(&case, &LANES).into_iter().flat_map(|(_, inputs)| inputs);
    for input in forms {
        // A single input with its own lanes is tried separately.
        let alone = GeneratedProgram { inputs: vec![input], ..case.clone() };
        for quality in [CodeQuality::Quick, CodeQuality::Optimized] {
            if wrong(&alone, quality).is_some() {
                let small = shrink(&alone, &|case| wrong(case, quality).is_some());
                let reason = wrong(&small, quality).unwrap_or_default();
                return print(&small, "verify", &format!("{}: {reason}", find.pair.target.name()));
            }
        }
    }
    format!("; not again, alone: {}\n{}", find.reason, case.module)
}

/// Features that programs without cross-lane operations may have.
fn expected_features() -> impl Iterator<Item = Feature> {
    let meets = |feature: &Feature| {
        matches!(feature, Feature::Horizontals | Feature::Barriers | Feature::GroupsEndInBrushes)
    };
    Feature::ALL.into_iter().filter(move |feature| !meets(feature))
}

/// Returns the features that too few programs have.
pub fn lacks(tally: &NativeTally) -> Vec<String> {
    let coverage = &tally.coverage;
    let mut lacks = Vec::new();
    for feature in expected_features() {
        if coverage.share(feature) < feature.least().into() {
            lacks.push(format!(
                "{} {:.1} % < {} %",
                feature.name(),
                coverage.share(feature),
                feature.least()
            ));
        }
    }
    if coverage.median() < LEAST_MEDIAN {
        lacks.push(format!("median {} < {LEAST_MEDIAN} instructions", coverage.median()));
    }
    lacks
}

/// Formats the coverage of the programs, line by line.
pub fn covered(tally: &NativeTally) -> Vec<String> {
    let coverage = &tally.coverage;
    let mut lines: Vec<String> = expected_features()
        .map(|feature| format!("{:<28} {:>6.1} %", feature.name(), coverage.share(feature)))
        .collect();
    lines.push(format!("{:<28} {:>6}", "median instructions", coverage.median()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::ProgramTraits;

    /// Runs a program of four lanes on each available instruction set; returns the errors and the number of pairs.
    fn wrong(name: &str, text: &str, args: [[u128; 4]; 2]) -> (Vec<String>, u64) {
        let module = heddle_ir::parse_module(text).expect("it parses");
        let args = args.map(|values| InputArgument::Varying(values.to_vec())).to_vec();
        let input = ProgramInput { brush: vec![4], group: None, groups: [1; 3], args, contents: Vec::new() };
        let traits = ProgramTraits {
            early_exits: false,
            class: ProgramClass::Lanes,
            order_dependent: false,
            horizontals: false,
            barriers: false,
            fmuladd: false,
            counters: false,
        };
        let (entry, objects) = ("main".into(), Vec::new());
        let case = GeneratedProgram { seed: 1, module, entry, traits, objects, inputs: vec![input] };
        let folder = std::env::temp_dir().join(format!("heddle-{name}-{}", std::process::id()));
        let bench =
            TargetWorkshops::new(&folder, &InstructionSet::of_this_machine()).expect("a folder and clang");
        let mut tally = NativeTally::default();
        check_cases(&bench, &[case], &[8, 16], CodeQuality::Quick, |_| {}, &mut tally);
        let _ = std::fs::remove_dir_all(&folder);
        (
            tally.finds.iter().map(|find| format!("{:?}: {}", find.pair, find.reason)).collect(),
            tally.all_pairs(),
        )
    }

    #[test]
    fn halves_are_scaled_by_exponents() {
        let text = "func @main(v0: f16 varying, v1: i32 varying) -> f16 {\nblock0:\n  v2 = ldexp v0, v1\n  ret v2\n}\n";
        let exponents = [0x7fff_ffff, 3, 0, 0xffff_fff0];
        let (wrong, pairs) = wrong("halves", text, [[0x3457, 0x3c00, 0, 0x7bff], exponents]);
        assert!(wrong.is_empty() && pairs >= 3, "{pairs} pairs\n{}", wrong.join("\n"));
    }
}
