//! The whole pipeline: programs of lanes, vectorized and compiled, compared with the interpreter.

use heddle_compiler::Session;
use heddle_interp::{Argument, Datum};
use heddle_ir::{Code, Module, Type};
use heddle_llvm::{CodegenLevel, EmitOptions, Jit, emit, slot_bytes};
use heddle_runs::wide_call::{wide_arguments, wide_form};
use heddle_testing::differential::is_deterministic;
use heddle_testing::execution::{ObservedPart, RunObservation, difference, observe, options, prepare};
use heddle_testing::generate::{GeneratedProgram, GeneratorProfile, ProgramClass, ProgramInput, generate};

/// Programs whose lanes need no others.
fn profile() -> GeneratorProfile {
    let mut profile = GeneratorProfile { horizontals: 0, ..GeneratorProfile::source() };
    for (class, weight) in &mut profile.classes {
        *weight = u32::from(*class == ProgramClass::Lanes);
    }
    profile
}

/// Vectorizes the module for this brush; `None` if the pipeline refuses it.
fn widened(case: &GeneratedProgram, brush: &[u32]) -> Option<Module> {
    let brush: Vec<String> = brush.iter().map(u32::to_string).collect();
    let brush = format!("W={}", brush.join("x"));
    // Any target's choices must do, whatever they cost here.
    let target = ["target=avx512", "target=avx2", "target=sse4.2", "target=neon"][case.seed as usize % 4];
    let versions = ["versions=force", "versions=none"][usize::from(case.seed.is_multiple_of(5))];
    let mut module = case.module.clone();
    Session::default()
        .run_passes(&mut module, &["vectorize", &brush, "params=varying", target, versions], false, |_, _| {})
        .ok()?;
    Some(module)
}

/// Native copies of the oracle's objects.
struct Room {
    /// The oracle's address, and ours.
    moved: Vec<(u64, Vec<u128>, usize)>,
}

impl Room {
    fn new(case: &GeneratedProgram, input: &ProgramInput, memory: &heddle_interp::Memory) -> Room {
        let moved = case.objects.iter().zip(&input.contents).map(|(object, bytes)| {
            let mut room = vec![0u128; bytes.len().div_ceil(16) + 4];
            for (at, &byte) in bytes.iter().enumerate() {
                room[at / 16] |= u128::from(byte) << (at % 16 * 8);
            }
            (memory.object(&object.name).expect("the object is there").address, room, bytes.len())
        });
        Room { moved: moved.collect() }
    }

    fn address(&mut self, theirs: u64) -> u64 {
        let object = self.moved.iter_mut().find(|(address, ..)| *address == theirs);
        object.map_or(0, |(_, room, _)| room.as_mut_ptr() as u64)
    }
}

fn in_slots(arg: &Argument, ty: Type, room: &mut Room) -> Vec<u8> {
    let data = match arg {
        Argument::Uniform(datum) => vec![*datum],
        Argument::Vector(data) => data.clone(),
        other => panic!("{other:?} is no argument of wide code"),
    };
    let mut slot = Vec::new();
    for datum in data {
        let bits = datum.bits().unwrap_or(0);
        let bits = if ty.scalar().is_ptr() { room.address(bits as u64).into() } else { bits };
        slot.extend_from_slice(&bits.to_le_bytes()[..ty.scalar().bytes() as usize]);
    }
    slot.resize(slot_bytes(ty), 0);
    slot
}

/// Runs the wide form natively; `None` if it queries its position in a launch.
fn observe_native(
    case: &GeneratedProgram,
    wide: &Module,
    input: &ProgramInput,
    oracle: &RunObservation,
    level: CodegenLevel,
) -> Option<RunObservation> {
    let func = wide_form(wide, &case.entry, &input.brush)?;
    let emit_options =
        EmitOptions { canonical_nans: true, fused: Some(false), exact_roots: true, entries: true };
    let llvm = match emit(wide, emit_options) {
        Err(message) if message.code == Code::NeedsLaunch => return None,
        emitted => emitted.unwrap_or_else(|error| panic!("{error}\n{func}")),
    };
    let jit = Jit::new(llvm, level, &[]).unwrap_or_else(|error| panic!("{error}\n{func}"));
    let entry = jit.entry(&func.name).unwrap_or_else(|error| panic!("{error}\n{func}"));
    let (before, args) = prepare(case, input);
    let mut room = Room::new(case, input, &before);
    let args = wide_arguments(args, func, &input.brush);
    let params = func.signature.params.iter();
    let arguments: Vec<u8> =
        args.iter().zip(params).flat_map(|(arg, param)| in_slots(arg, param.ty, &mut room)).collect();
    let mut results = vec![0u8; func.signature.results.iter().map(|result| slot_bytes(result.ty)).sum()];
    // SAFETY: the oracle ran the program on this input without fault; slots and objects are as it had them.
    unsafe { entry.call(&arguments, &mut results) };
    let lanes = input.lanes() as usize;
    let mut at = 0;
    let mut values = Vec::new();
    for result in &func.signature.results {
        let size = result.ty.scalar().bytes() as usize;
        let value = |lane: usize| {
            let mut bytes = [0; 16];
            bytes[..size].copy_from_slice(&results[at + lane * size..at + (lane + 1) * size]);
            Datum::Bits(u128::from_le_bytes(bytes))
        };
        let is_vector = result.ty.is_vector();
        values.push((0..lanes).map(|lane| value(if is_vector { lane } else { 0 })).collect());
        at += slot_bytes(result.ty);
    }
    let mut memory = oracle.memory.clone();
    for (object, (_, room, len)) in case.objects.iter().zip(&room.moved) {
        let seen = memory.object_mut(&object.name).expect("the object is there");
        for at in 0..*len {
            seen.bytes[at] = (room[at / 16] >> (at % 16 * 8)) as u8;
        }
        seen.poison.fill(false);
    }
    Some(RunObservation { results: values, memory, ..oracle.clone() })
}

fn agree(seeds: std::ops::Range<u64>, level: CodegenLevel) -> (usize, usize) {
    let (mut runs, mut passed_by) = (0, 0);
    for seed in seeds {
        let case = generate(seed, &profile());
        // Calls of the C library's functions are the machine's own here.
        if !is_deterministic(&case) || case.traits.fmuladd || !case.module.declarations.is_empty() {
            continue;
        }
        // LLVM 22.1 cannot always compile vectors of one bit, and vector code of one lane is of no use.
        for input in case.inputs.iter().filter(|input| input.lanes() > 1) {
            let oracle =
                observe(&case, &case.module, input, &options(input)).expect("generated programs run");
            let wide = widened(&case, &input.brush);
            let native = wide.as_ref().and_then(|wide| observe_native(&case, wide, input, &oracle, level));
            match native {
                None => passed_by += 1,
                Some(native) => {
                    runs += 1;
                    if let Some(reason) = difference(&case, &oracle, &native, ObservedPart::Whole) {
                        panic!("seed {seed}, {:?}: {reason}\n{}", input.brush, case.module);
                    }
                }
            }
        }
    }
    (runs, passed_by)
}

#[test]
fn vector_code_of_the_pipeline_computes_natively_what_each_lane_does() {
    let (runs, passed_by) = agree(40_000..40_700, CodegenLevel::Minimal);
    assert!(runs > 500, "{runs} runs, {passed_by} passed by");
}

#[test]
fn optimized_too() {
    let (runs, passed_by) = agree(50_000..50_150, CodegenLevel::Default);
    assert!(runs > 100, "{runs} runs, {passed_by} passed by");
}
