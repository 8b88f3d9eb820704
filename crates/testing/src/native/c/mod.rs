//! Generated C as native vector code, against clang's scalar code: the topics `c` and `c-contract`.
//!
//! Each function is `void f(n, u, in, fin, mem, fio, out, id)`: all lanes share everything but `id`, read `in` and `fin`,
//! and write their own rows of `mem` and `fio` and their own column of `out`. The scalar code traps where behaviour is
//! undefined, so a mistake of the generator is not taken for one of ours.

mod tree;
mod expression;
mod statement;
mod generate;
mod lanes;
mod reduce;
pub mod loops;
mod nest_text;
pub mod nests;

use super::compile::{CodeQuality, WidePart, choices, compile_parts};
use super::hed::TargetWorkshops;
use super::tally::{NativeFind, NativeTally, Phase, TestedPair};
use super::target::InstructionSet;
use super::workshop::{CallOutcome, EntryCall, Workshop};
use crate::fuzz::quietly;
use generate::generate;
use heddle_analysis::{Cfg, CycleForest};
use heddle_compiler::Session;
use heddle_compiler::session::retain_reachable;
use heddle_interp::Scheduler;
use heddle_ir::module::DeclaredShape;
use heddle_ir::{Function, Module};
use heddle_llvm::{EmitOptions, compile, import, restore_indices};
use heddle_runs::wide_call::wide_form;
use lanes::{IDS, LaneMemory, choose_ids};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use tree::CProgram;

/// Contraction that clang may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FpContract {
    /// Nothing.
    Off,
    /// Products and sums of one expression.
    On,
}

const LANES: [u32; 3] = [4, 8, 16];
const LEVELS: [u8; 3] = [0, 1, 2];
const INPUTS: u64 = 2;
/// One program in this many also runs in the interpreter.
const SAMPLE: u64 = 4;
const PRELUDE: &str = include_str!("prelude.c");

/// Features that a minimum percentage of all programs must have.
const MINIMUM_SHARES: &[(&str, u32)] = &[
    ("nested loops", 20),
    ("loops with several exits", 20),
    ("early returns", 20),
    ("guarded divisions", 20),
    ("guarded loads", 5),
    ("local arrays", 20),
    ("structs", 20),
    ("pointers to locals", 20),
    ("helper functions", 15),
    ("floating point", 20),
    ("mathematical functions", 20),
    ("switches", 20),
    ("fallthrough", 5),
    ("switches into loops", 5),
    ("explicit stacks", 5),
    ("jumps forward", 15),
    ("jumps backward", 10),
    ("break", 5),
    ("continue", 5),
    ("short-circuit operators", 20),
    ("irreducible cycles", 5),
];
const TRACED: &str = "(programs traced)";
const DIVERGENT: &str = "divergent when run";
const LEAST_DIVERGENT: u32 = 40;

/// Expected results of a program, by rounding of contracted products and by input, or why scalar code failed.
type ScalarResults = Vec<Vec<Result<LaneMemory, String>>>;

/// Targets and options to test a program with.
struct CRunScope<'a> {
    targets: &'a [(InstructionSet, Workshop)],
    reference: &'a Workshop,
    contract: FpContract,
    quality: CodeQuality,
    /// Fault to inject into wide modules.
    spoil: fn(&mut Module),
}

/// Runs all specializations of the functions of these seeds.
pub fn run_batch(bench: &TargetWorkshops, seeds: Range<u64>, contract: FpContract) -> NativeTally {
    run_batch_by(bench, seeds, contract, |_| {})
}

/// As `run_batch`, with a fault injected into each wide module.
pub fn run_batch_by(
    bench: &TargetWorkshops,
    seeds: Range<u64>,
    contract: FpContract,
    spoil: fn(&mut Module),
) -> NativeTally {
    let mut tally = NativeTally::default();
    let quality = CodeQuality::of_batch(&seeds);
    let programs: Vec<CProgram> = tally.timed(Phase::Generate, || seeds.map(generate).collect());
    tally.programs = programs.len() as u64;
    for feature in programs.iter().flat_map(|program| &program.features) {
        *tally.features.entry(feature).or_default() += 1;
    }
    let scope = CRunScope { targets: &bench.shops, reference: &bench.reference, contract, quality, spoil };
    check_programs(&scope, &programs, &mut tally);
    tally
}

fn whole_batch(programs: &[CProgram], target: InstructionSet, reason: String) -> NativeFind {
    let seed = programs.first().map_or(0, |program| program.seed);
    NativeFind {
        pair: TestedPair { seed, target, form: "the whole batch".into() },
        reason: format!("the batch of {}: {reason}", programs.len()),
    }
}

fn check_programs(scope: &CRunScope<'_>, programs: &[CProgram], tally: &mut NativeTally) {
    let text = text_of(programs);
    let target = scope.targets[0].0;
    let expected = match expected(scope, programs, &text, tally) {
        Ok(expected) => expected,
        Err(reason) => {
            tally.finds.push(whole_batch(programs, target, reason));
            return;
        }
    };
    let mut parts: Vec<(u8, u32, WidePart)> = Vec::new();
    for level in LEVELS {
        let module = match imported(scope, level, tally) {
            Ok(module) => module,
            Err(reason) => {
                tally.finds.push(whole_batch(programs, target, reason));
                return;
            }
        };
        if level == 1 {
            trace_some(scope, programs, &module, &expected, tally);
        }
        for lanes in LANES {
            for (number, mut module) in
                vectorized(programs, &module, lanes, scope, tally).into_iter().enumerate()
            {
                (scope.spoil)(&mut module);
                let prefix = format!("O{level}.w{lanes}.{number}.");
                parts.push((level, lanes, WidePart { prefix, module }));
            }
        }
    }
    for (target, shop) in scope.targets {
        if let Err(reason) = run_parts(scope, programs, (*target, shop), &parts, &expected, tally) {
            tally.finds.push(whole_batch(programs, *target, reason));
        }
    }
}

fn clang_flags(contract: FpContract) -> [&'static str; 3] {
    match contract {
        FpContract::Off => ["-w", "-g0", "-ffp-contract=off"],
        FpContract::On => ["-w", "-g0", "-ffp-contract=on"],
    }
}

/// Runs clang's scalar code for all ids.
fn expected(
    scope: &CRunScope<'_>,
    programs: &[CProgram],
    text: &str,
    tally: &mut NativeTally,
) -> Result<ScalarResults, String> {
    let shop = scope.reference;
    let mut with_entries = text.to_string();
    for program in programs {
        let _ = writeln!(
            with_entries,
            "void r{0}(const char *a, char *r) {{ f{0}(*(uint32_t *)a, *(uint32_t *)(a + 16), *(void **)(a + 32), \
             *(void **)(a + 48), *(void **)(a + 64), *(void **)(a + 80), *(void **)(a + 96), *(uint32_t *)(a + 112)); }}",
            program.seed
        );
    }
    shop.write("batch.c", text.as_bytes())?;
    shop.write("reference.c", with_entries.as_bytes())?;
    let entries: Vec<String> = programs.iter().map(|program| format!("r{}", program.seed)).collect();
    let mut calls = Vec::new();
    for (entry, program) in (0..).zip(programs) {
        for input in 0..INPUTS {
            let room = LaneMemory::new(program.seed, input);
            for id in 0..IDS {
                let (args, pointers) = room.arguments(&[id], false);
                let keeps = id > 0;
                calls.push(EntryCall {
                    entry,
                    args,
                    pointers,
                    objects: if keeps { Vec::new() } else { room.objects() },
                    results: 0,
                    keeps,
                    is_silent: id + 1 < IDS,
                });
            }
        }
    }
    let roundings: &[&[&str]] = match scope.contract {
        FpContract::Off => &[&[]],
        FpContract::On => &[&[], &["-mfma"]],
    };
    let mut all: ScalarResults = programs.iter().map(|_| Vec::new()).collect();
    for rounding in roundings {
        tally.timed(Phase::Clang, || {
            let checks =
                ["-fsanitize=undefined,float-cast-overflow", "-fsanitize-trap=all", "-fno-math-errno"];
            let own = ["-O0", "-c", "reference.c", "-o", "reference.o"];
            shop.clang(clang_flags(scope.contract).iter().chain(*rounding).chain(&checks).chain(&own))
        })?;
        tally.timed(Phase::Link, || shop.link(&["reference.o"], &entries, &[]))?;
        let outcomes = tally.timed(Phase::Run, || shop.run(&calls))?;
        let mut answered = outcomes.into_iter().skip(IDS as usize - 1).step_by(IDS as usize);
        for (of_program, program) in all.iter_mut().zip(programs) {
            for input in 0..INPUTS {
                of_program.push(match answered.next() {
                    Some(CallOutcome::Done { objects, is_damaged: false, .. }) => {
                        Ok(LaneMemory::new(program.seed, input).with(objects))
                    }
                    other => Err(format!("the generator is wrong: scalar code gives {other:?}")),
                });
            }
        }
    }
    Ok(all)
}

/// The batch as clang compiles it at this level, in our IR.
fn imported(scope: &CRunScope<'_>, level: u8, tally: &mut NativeTally) -> Result<Module, String> {
    let path = scope.reference.path("batch.c");
    let llvm = tally.timed(Phase::Clang, || compile(&path, level, &clang_flags(scope.contract)));
    let llvm = llvm.map_err(|error| error.to_string())?;
    // Most of the 64-bit counters that LLVM makes of 32-bit ones are at -O2.
    if level == 2 {
        restore_indices(&llvm);
    }
    let imported = tally.timed(Phase::Import, || import(&llvm));
    for refusal in &imported.refused {
        tally.refuse(&format!("import: {refusal}"));
    }
    Ok(imported.module)
}

/// Returns the functions of these seeds as one C file.
pub(crate) fn source(seeds: Range<u64>) -> String {
    text_of(&seeds.map(generate).collect::<Vec<_>>())
}

/// Declares the parameters that the lanes of these functions share.
pub(crate) fn declare_shapes(module: &mut Module, seeds: Range<u64>) {
    declare(module, &seeds.map(generate).collect::<Vec<_>>());
}

fn text_of(programs: &[CProgram]) -> String {
    programs.iter().fold(PRELUDE.to_string(), |text, program| text + &program.text())
}

fn declare(module: &mut Module, programs: &[CProgram]) {
    for program in programs {
        let Some(func) = module.function_mut(&program.name()) else { continue };
        for param in &mut func.signature.params {
            param.shape = Some(DeclaredShape::Uniform);
        }
        if let Some(id) = func.signature.params.last_mut() {
            id.shape = Some(match program.is_linear {
                true => DeclaredShape::Linear([1].into_iter().collect()),
                false => DeclaredShape::Varying,
            });
        }
    }
}

/// Vectorizes all functions: in one module, or each in its own if one is refused.
fn vectorized(
    programs: &[CProgram],
    module: &Module,
    lanes: u32,
    scope: &CRunScope<'_>,
    tally: &mut NativeTally,
) -> Vec<Module> {
    let width = format!("W={lanes}");
    let chosen = choices(programs.first().map_or(0, |program| program.seed) + u64::from(lanes / 4));
    let widen = |mut module: Module| {
        quietly(|| {
            let words = ["vectorize", &*width, "params=varying", chosen[0], chosen[1]];
            Session::default()
                .run_passes(&mut module, &words, false, |_, _| {})
                .map_err(|error| error.to_string())?;
            Ok(module)
        })
        .unwrap_or_else(|panic| Err(format!("PANIC {panic}")))
    };
    let mut whole = module.clone();
    declare(&mut whole, programs);
    let known: Vec<String> = programs.iter().map(CProgram::name).collect();
    whole.functions.retain(|func| !func.name.starts_with('f') || known.contains(&func.name));
    if let Ok(done) = tally.timed(Phase::Vectorize, || widen(whole.clone())) {
        return vec![done];
    }
    let mut modules = Vec::new();
    for program in programs {
        let mut alone = whole.clone();
        retain_reachable(&mut alone, &program.name());
        if alone.functions.is_empty() {
            continue;
        }
        match tally.timed(Phase::Vectorize, || widen(alone)) {
            Ok(done) => modules.push(done),
            Err(reason) if reason.starts_with("PANIC") => {
                let pair = TestedPair {
                    seed: program.seed,
                    target: scope.targets[0].0,
                    form: format!("{lanes} lanes"),
                };
                tally.note(pair, &lanes.to_string(), Some(reason));
            }
            Err(reason) => tally.refuse(&reason),
        }
    }
    modules
}

fn run_parts(
    scope: &CRunScope<'_>,
    programs: &[CProgram],
    (target, shop): (InstructionSet, &Workshop),
    parts: &[(u8, u32, WidePart)],
    expected: &ScalarResults,
    tally: &mut NativeTally,
) -> Result<(), String> {
    let options = EmitOptions { entries: true, ..EmitOptions::default() };
    let (mut entries, mut calls, mut called) = (Vec::new(), Vec::new(), Vec::new());
    let mut objects = Vec::new();
    for level in LEVELS {
        let of_level: Vec<WidePart> = parts
            .iter()
            .filter(|(of, ..)| *of == level)
            .map(|(_, _, part)| WidePart { prefix: part.prefix.clone(), module: part.module.clone() })
            .collect();
        if of_level.is_empty() {
            continue;
        }
        let object = compile_parts(tally, &of_level, options, target, scope.quality)
            .map_err(|(_, reason)| format!("at -O{level}: {reason}"))?;
        let name = format!("O{level}.o");
        shop.write(&name, &object)?;
        objects.push(name);
    }
    for (level, lanes, part) in parts {
        for (number, program) in programs.iter().enumerate() {
            let Some(func) = wide_form(&part.module, &program.name(), &[*lanes]) else { continue };
            for input in 0..INPUTS {
                let room = LaneMemory::new(program.seed, input);
                let ids = choose_ids(program.seed ^ input, *lanes, program.is_linear);
                let (args, pointers) = room.arguments(&ids, takes_vector(func));
                let entry = entries.len() as u32;
                calls.push(EntryCall {
                    entry,
                    args,
                    pointers,
                    objects: room.objects(),
                    ..EntryCall::default()
                });
                called.push((number, *level, *lanes, input, ids));
            }
            entries.push(part.entry(&func.name));
        }
    }
    tally.timed(Phase::Link, || {
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        shop.link(&objects, &entries, &[])
    })?;
    let outcomes = tally.timed(Phase::Run, || shop.run(&calls))?;
    let mut wrong: Vec<Option<String>> = vec![None; entries.len()];
    tally.timed(Phase::Compare, || {
        for ((call, (number, _, _, input, ids)), outcome) in calls.iter().zip(&called).zip(outcomes) {
            let program = &programs[*number];
            let found = verdict(program, *input, ids, &expected[*number], outcome);
            let wrong = &mut wrong[call.entry as usize];
            if wrong.is_none() {
                *wrong = found.map(|reason| format!("input {input}, ids {ids:?}: {reason}"));
            }
        }
    });
    for ((call, (number, level, lanes, ..)), _) in
        calls.iter().zip(&called).zip(0..).filter(|(_, place)| place % INPUTS == 0)
    {
        let reason = wrong[call.entry as usize].take();
        let pair =
            TestedPair { seed: programs[*number].seed, target, form: format!("-O{level}, {lanes} lanes") };
        tally.note(pair, &format!("{lanes} of -O{level}"), reason);
    }
    Ok(())
}

fn takes_vector(func: &Function) -> bool {
    func.signature.params.last().is_some_and(|param| param.ty.is_vector())
}

/// Describes the error in an outcome.
fn verdict(
    program: &CProgram,
    input: u64,
    ids: &[u32],
    expected: &[Result<LaneMemory, String>],
    outcome: CallOutcome,
) -> Option<String> {
    let objects = match outcome {
        CallOutcome::Done { is_damaged: true, .. } => {
            return Some("memory next to the objects is written".into());
        }
        CallOutcome::Done { objects, .. } => objects,
        CallOutcome::Silent => return Some("was not answered".into()),
        CallOutcome::Died(how) => return Some(how),
    };
    let before = LaneMemory::new(program.seed, input);
    let found = before.clone().with(objects);
    // Each rounding has an outcome for each input.
    let mut allowed = Vec::new();
    for expected in expected.iter().skip(input as usize).step_by(INPUTS as usize) {
        match expected {
            Ok(room) => allowed.push(room),
            Err(reason) => return Some(reason.clone()),
        }
    }
    found.difference(&before, &allowed, ids)
}

/// Takes down what loops look like, and has the oracle run some of the programs, in lanes.
fn trace_some(
    scope: &CRunScope<'_>,
    programs: &[CProgram],
    module: &Module,
    expected: &ScalarResults,
    tally: &mut NativeTally,
) {
    for (program, expected) in programs.iter().zip(expected) {
        let Some(func) = module.function(&program.name()) else { continue };
        let cfg = Cfg::new(func);
        let forest = CycleForest::new(&cfg);
        if forest.cycles().any(|cycle| !forest.is_reducible(cycle)) {
            *tally.features.entry("irreducible cycles").or_default() += 1;
        }
        if forest.cycles().any(|cycle| forest.exiting_edges(&cfg, cycle).count() > 1) {
            *tally.features.entry("loops with several exits").or_default() += 1;
        }
        if !program.seed.is_multiple_of(SAMPLE) || scope.contract == FpContract::On {
            continue;
        }
        let mut alone = module.clone();
        retain_reachable(&mut alone, &program.name());
        let ids = choose_ids(program.seed, 8, program.is_linear);
        let room = LaneMemory::new(program.seed, 0);
        let ran =
            tally.timed(Phase::Expect, || room.interpreted(&alone, &program.name(), &ids, Scheduler::Greedy));
        *tally.features.entry(TRACED).or_default() += 1;
        let wrong = match ran {
            Ok((after, counters)) => {
                if counters.divergent_branches > 0 {
                    *tally.features.entry(DIVERGENT).or_default() += 1;
                }
                match &expected[0] {
                    Ok(right) => after.difference(&room, &[right], &ids),
                    Err(_) => None,
                }
            }
            Err(fault) => Some(fault),
        };
        if let Some(reason) = wrong {
            let form = "-O1 on the oracle, 8 lanes".to_string();
            let pair = TestedPair { seed: program.seed, target: scope.targets[0].0, form };
            tally.finds.push(NativeFind { pair, reason });
        }
    }
}

/// The find as a small program.
pub(super) fn reduced(folder: &Path, find: &NativeFind, contract: FpContract) -> String {
    let program = generate(find.pair.seed);
    let Ok(bench) = TargetWorkshops::new(folder, &[find.pair.target]) else { return program.text() };
    let wrong = |program: &CProgram, quality: CodeQuality| {
        let mut tally = NativeTally::default();
        let scope = CRunScope {
            targets: &bench.shops,
            reference: &bench.reference,
            contract,
            quality,
            spoil: |_| {},
        };
        check_programs(&scope, std::slice::from_ref(program), &mut tally);
        tally.finds.first().map(|find| (find.pair.form.clone(), find.reason.clone()))
    };
    // Distinguishes rejection by clang, traps in scalar code, and wrong vector code.
    let sort = |reason: &str| ["the generator is wrong", "the batch of"].map(|words| reason.contains(words));
    for quality in [CodeQuality::Quick, CodeQuality::Optimized] {
        let Some((form, reason)) = wrong(&program, quality) else { continue };
        let first = sort(&reason);
        let still =
            |program: &CProgram| wrong(program, quality).is_some_and(|(_, reason)| sort(&reason) == first);
        let small = reduce::reduce(&program, &still);
        let (form, reason) = wrong(&small, quality).unwrap_or((form, reason));
        return format!("// {} {form}: {reason}\n{PRELUDE}{}", find.pair.target.name(), small.text());
    }
    format!("// not again, alone: {} {}\n{PRELUDE}{}", find.pair.form, find.reason, program.text())
}

/// Returns the features that too few programs have.
pub fn lacks(tally: &NativeTally) -> Vec<String> {
    let share = |name: &str, of: u64| {
        100.0 * tally.features.get(name).copied().unwrap_or(0) as f64 / of.max(1) as f64
    };
    let mut lacks: Vec<String> = MINIMUM_SHARES
        .iter()
        .map(|&(name, least)| (name, share(name, tally.programs), least))
        .filter(|(_, share, least)| *share < f64::from(*least))
        .map(|(name, share, least)| format!("{name} {share:.1} % < {least} %"))
        .collect();
    let traced = tally.features.get(TRACED).copied().unwrap_or(0);
    let divergent = share(DIVERGENT, traced);
    if traced > 0 && divergent < f64::from(LEAST_DIVERGENT) {
        lacks.push(format!("{DIVERGENT} {divergent:.1} % < {LEAST_DIVERGENT} %"));
    }
    lacks
}

/// Formats the coverage of the programs, line by line.
pub fn covered(tally: &NativeTally) -> Vec<String> {
    let traced = tally.features.get(TRACED).copied().unwrap_or(0);
    let lines = tally.features.iter().map(|(name, count)| {
        let of = if *name == DIVERGENT { traced } else { tally.programs };
        format!("{name:<28} {:>6.1} %", 100.0 * *count as f64 / of.max(1) as f64)
    });
    lines.collect()
}
