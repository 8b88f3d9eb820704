//! Generated programs of one lane, compiled, against the oracle; and through LLVM IR and back.

use heddle_interp::{Datum, RunOptions, Scheduler};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Code, Module, Op};
use heddle_llvm::{CodegenLevel, EmitOptions, Jit, emit, import, read_ir, slot_bytes};
use heddle_testing::execution::{ObservedPart, RunObservation, difference, observe, options_with, prepare};
use heddle_testing::generate::{
    GeneratedProgram, GeneratorProfile, InputArgument, ProgramClass, ProgramInput, generate,
};
use std::collections::BTreeSet;

/// Programs whose lanes need no others.
fn profile() -> GeneratorProfile {
    let mut profile =
        GeneratorProfile { classes: GeneratorProfile::default().classes, ..GeneratorProfile::source() };
    for (class, weight) in &mut profile.classes {
        *weight = match class {
            ProgramClass::Lanes => 85,
            ProgramClass::Racy => 15,
            _ => 0,
        };
    }
    profile
}

/// The inputs that each lane of an input has if it runs alone.
fn lanes_of(input: &ProgramInput) -> Vec<ProgramInput> {
    let alone = |lane: usize| ProgramInput {
        brush: vec![1],
        args: input
            .args
            .iter()
            .map(|arg| match arg {
                InputArgument::Varying(values) => InputArgument::Uniform(values[lane]),
                InputArgument::Linear(base, _) => InputArgument::Uniform(*base),
                other => other.clone(),
            })
            .collect(),
        ..input.clone()
    };
    (0..input.lanes().min(2) as usize).map(alone).collect()
}

fn options(input: &ProgramInput, fused: bool) -> RunOptions {
    RunOptions { fused, ..options_with(input, Scheduler::Greedy) }
}

/// Runs the compiled entry on an input that the oracle has run without fault.
fn observe_native(
    jit: &Jit,
    case: &GeneratedProgram,
    input: &ProgramInput,
    oracle: &RunObservation,
) -> RunObservation {
    let func = case.module.function(&case.entry).expect("the entry is there");
    let (_, args) = prepare(case, input);
    let mut memory = oracle.memory.clone();
    let mut objects: Vec<Vec<u128>> = Vec::new();
    for bytes in &input.contents {
        let mut room = vec![0u128; bytes.len().div_ceil(16) + 1];
        // SAFETY: the buffer has at least as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), room.as_mut_ptr().cast::<u8>(), bytes.len()) };
        objects.push(room);
    }
    let mut arguments = Vec::new();
    for ((arg, shown), param) in input.args.iter().zip(&args).zip(&func.signature.params) {
        let bits = match (arg, shown) {
            (InputArgument::Object(index), _) => objects[*index].as_mut_ptr() as usize as u128,
            (_, heddle_interp::Argument::Uniform(Datum::Bits(bits))) => *bits,
            _ => panic!("arguments of one lane are uniform"),
        };
        let mut slot = bits.to_le_bytes().to_vec();
        slot.resize(slot_bytes(param.ty), 0);
        arguments.extend(slot);
    }
    let size: usize = func.signature.results.iter().map(|result| slot_bytes(result.ty)).sum();
    let mut results = vec![0u8; size];
    let entry = jit.entry(&case.entry).expect("the entry is compiled");
    // SAFETY: the oracle ran this program on this input without fault; slots and objects are as it had them.
    unsafe { entry.call(&arguments, &mut results) };
    let mut at = 0;
    let mut values = Vec::new();
    for result in &func.signature.results {
        let mut bytes = [0; 16];
        let size = result.ty.bytes() as usize;
        bytes[..size].copy_from_slice(&results[at..at + size]);
        values.push(vec![Datum::Bits(u128::from_le_bytes(bytes))]);
        at += slot_bytes(result.ty);
    }
    for ((object, room), bytes) in case.objects.iter().zip(&objects).zip(&input.contents) {
        let seen = memory.object_mut(&object.name).expect("the object is there");
        // SAFETY: the buffer has at least as many bytes.
        let room = unsafe { std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), bytes.len()) };
        seen.bytes.copy_from_slice(room);
        seen.poison.fill(false);
    }
    for global in &case.module.globals {
        let address = jit.address(&global.name).expect("the global is compiled") as usize as *const u8;
        let Some(seen) = memory.object_mut(&global.name) else { continue };
        // SAFETY: the global has as many bytes as the oracle's, and the JIT is live.
        let bytes = unsafe { std::slice::from_raw_parts(address, seen.bytes.len()) };
        seen.bytes.copy_from_slice(bytes);
        seen.poison.fill(false);
    }
    RunObservation { results: values, memory, ..oracle.clone() }
}

/// A symbol for each of these functions of one type.
macro_rules! symbols {
    ($table:ident, $ty:ty, $params:tt: $($name:ident)*) => {
        fn $table() -> Vec<(&'static str, usize)> {
            vec![$(symbols!(@one $name $ty $params)),*]
        }
    };
    (@one $name:ident $ty:ty [x]) => {{
        extern "C" fn $name(x: $ty) -> $ty { libm::$name(x) }
        let function: extern "C" fn($ty) -> $ty = $name;
        (stringify!($name), function as usize)
    }};
    (@one $name:ident $ty:ty [x, y]) => {{
        extern "C" fn $name(x: $ty, y: $ty) -> $ty { libm::$name(x, y) }
        let function: extern "C" fn($ty, $ty) -> $ty = $name;
        (stringify!($name), function as usize)
    }};
}

symbols!(unary64, f64, [x]: acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 log log10
    log1p log2 sin sinh tan tanh tgamma lgamma);
symbols!(unary32, f32, [x]: acosf acoshf asinf asinhf atanf atanhf cbrtf cosf coshf erff erfcf expf exp10f exp2f
    expm1f logf log10f log1pf log2f sinf sinhf tanf tanhf tgammaf lgammaf);
symbols!(binary64, f64, [x, y]: atan2 fdim hypot pow remainder nextafter);
symbols!(binary32, f32, [x, y]: atan2f fdimf hypotf powf remainderf nextafterf);

/// The mathematical functions as the oracle computes them.
fn symbols() -> Vec<(&'static str, usize)> {
    [unary64(), unary32(), binary64(), binary32()].concat()
}

/// Counts of tested features, so that a run that tests little fails.
#[derive(Default)]
struct Met {
    programs: usize,
    runs: usize,
    ops: BTreeSet<Op>,
}

impl Met {
    fn note(&mut self, case: &GeneratedProgram) {
        self.programs += 1;
        for func in &case.module.functions {
            for block in func.blocks() {
                self.ops.extend(func.block_insts(block).map(|inst| func.inst(inst).op));
            }
        }
    }
}

/// Runs programs of these seeds lane by lane; `check` compares one with the interpreter's result.
fn each_lane(
    seeds: std::ops::Range<u64>,
    mut check: impl FnMut(
        &GeneratedProgram,
        &mut dyn FnMut(&dyn Fn(&GeneratedProgram, &ProgramInput, bool, &RunObservation) -> Result<(), String>),
    ),
) -> Met {
    let mut met = Met::default();
    for seed in seeds {
        let case = generate(seed, &profile());
        met.note(&case);
        check(&case, &mut |compare| {
            for input in case.inputs.iter().flat_map(lanes_of) {
                for &fused in if case.traits.fmuladd { &[false, true][..] } else { &[false] } {
                    // A program whose lanes look at each other may have no meaning for one of them.
                    let Ok(oracle) = observe(&case, &case.module, &input, &options(&input, fused)) else {
                        continue;
                    };
                    met.runs += 1;
                    if let Err(reason) = compare(&case, &input, fused, &oracle) {
                        panic!("seed {seed}, fused {fused}, {input:?}: {reason}\n{}", case.module);
                    }
                }
            }
        });
    }
    met
}

/// Compiles a program; `None` if it queries its position in a launch.
fn compiled(case: &GeneratedProgram, fused: bool, level: CodegenLevel) -> Option<Jit> {
    let options = EmitOptions { canonical_nans: true, fused: Some(fused), exact_roots: true, entries: true };
    let llvm = match emit(&case.module, options) {
        Err(message) if message.code == Code::NeedsLaunch => return None,
        emitted => emitted.unwrap_or_else(|error| panic!("{error}\n{}", case.module)),
    };
    Some(Jit::new(llvm, level, &symbols()).unwrap_or_else(|error| panic!("{error}\n{}", case.module)))
}

fn agree_with_native(seeds: std::ops::Range<u64>, level: CodegenLevel) -> Met {
    each_lane(seeds, |case, run| {
        let jits = [compiled(case, false, level), compiled(case, true, level)];
        let [Some(once), Some(twice)] = jits else { return };
        let jits = [once, twice];
        run(&|case, input, fused, oracle| {
            let native = observe_native(&jits[usize::from(fused)], case, input, oracle);
            difference(case, oracle, &native, ObservedPart::Whole).map_or(Ok(()), Err)
        });
    })
}

#[test]
fn native_code_computes_what_the_oracle_says() {
    let met = agree_with_native(0..1500, CodegenLevel::Minimal);
    assert!(met.runs > 2000, "{} runs of {} programs", met.runs, met.programs);
    let vector_ops =
        [Op::Splat, Op::Extract, Op::Insert, Op::Permute, Op::Compress, Op::Expand, Op::MaskedLoad];
    assert!(met.ops.len() > 70 && vector_ops.iter().all(|op| !met.ops.contains(op)), "{:?}", met.ops);
}

#[test]
fn optimized_native_code_computes_it_too() {
    agree_with_native(10_000..10_400, CodegenLevel::Default);
}

/// Out as text, and in again.
fn round_trip(module: &Module) -> Option<Module> {
    let options = EmitOptions::default();
    let llvm = match emit(module, options) {
        Err(message) if message.code == Code::NeedsLaunch => return None,
        emitted => emitted.unwrap_or_else(|error| panic!("{error}\n{module}")),
    };
    let text = llvm.to_string();
    let again = read_ir("round.ll", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let imported = import(&again);
    match imported.refused.first() {
        Some(refusal) if refusal.to_string().contains("volatile") => return None,
        Some(refusal) => panic!("{refusal}\n{text}"),
        None => {}
    }
    verify_module(&imported.module, Stage::Source).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Some(imported.module)
}

#[test]
fn what_goes_out_and_comes_in_again_computes_the_same() {
    let met = each_lane(20_000..23_000, |case, run| {
        let Some(again) = round_trip(&case.module) else { return };
        run(&|case, input, fused, oracle| {
            let result = observe(case, &again, input, &options(input, fused))
                .map_err(|fault| format!("{fault}\n{again}"))?;
            difference(case, oracle, &result, ObservedPart::Whole)
                .map_or(Ok(()), |reason| Err(format!("{reason}\n{again}")))
        });
    });
    assert!(met.runs > 4000, "{} runs of {} programs", met.runs, met.programs);
}
