//! Generated loops with pragmas, through the plugin: the topic `marked-loops`.
//!
//! The body of a loop calls a generated function for its iteration, which updates what is that iteration's own, and does what
//! goes from one iteration to the next: reductions, a last value, a linear one. What the loop leaves in memory and returns
//! must be what clang's scalar code gives, to the bit. Some loops have a dependence: those must be refused, or guarded.

use super::super::hed::TargetWorkshops;
use super::super::tally::{NativeFind, NativeTally, Phase, TestedPair};
use super::super::target::InstructionSet;
use super::super::workshop::{CallOutcome, EntryCall, Workshop};
use super::generate::{CProgramSize, generate, generate_of};
use super::lanes::LaneMemory;
use super::reduce::reduce;
use super::tree::CProgram;
use super::{INPUTS, PRELUDE, whole_batch};
use crate::generate::Random;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Iterations that may run together; 0 leaves it to the plugin.
const WIDTHS: [u32; 4] = [0, 4, 8, 16];
/// Rows and columns: more than iterations.
const ROWS: u32 = 72;
/// Trip counts.
const TRIPS: [u32; 16] = [0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 47, 64, 66, 70];
/// Bytes that a loop returns.
const RESULTS: usize = 64;
/// Features that a minimum percentage of all loops must have.
const MINIMUM_SHARES: &[(&str, u32)] = &[
    ("omp simd", 20),
    ("safelen", 4),
    ("assume_safety", 20),
    ("vectorize(enable)", 1),
    ("sums", 15),
    ("least and greatest", 10),
    ("bits", 10),
    ("last values", 10),
    ("linear values", 10),
    ("steps", 10),
    ("downwards", 10),
    ("continue", 10),
    ("dependences", 5),
];
/// Loops whose mark promises independence, and the minimum that must be vectorized.
const PROMISED: &str = "promised to be independent";
const VECTORIZED: &str = "vector code of those, in all forms";
/// LLVM drops the mark of a call whose callee's parameters it changes.
const LEAST_VECTORIZED: u64 = 65;

/// Wrong loop mark, as a planted fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopMark {
    /// As it should be.
    Right,
    /// Says of every loop that it has no dependences.
    Careless,
}

/// Required lowering of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ExpectedLowering {
    /// It has vector code, as a rule.
    Vector,
    /// It is refused.
    Scalar,
    /// Vectorization is optional if dependence analysis or a run-time check decides.
    Either,
}

/// A loop around the function of a program.
struct CLoop {
    program: CProgram,
    /// Its pragma for each width.
    marks: [String; 4],
    /// Declarations before the loop, its head and body, and its return statement.
    before: String,
    text: String,
    after: String,
    wanted: ExpectedLowering,
    features: Vec<&'static str>,
}

/// Returns the plugin's path: next to the running program or in the parent folder.
pub fn plugin() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|reason| reason.to_string())?;
    let name = "libheddle_plugin.so";
    let sibling = here.with_file_name(name);
    let all = [Some(sibling.clone()), here.parent().map(|folder| folder.join("deps").join(name))];
    let above = here.parent().and_then(Path::parent).map(|folder| folder.join(name));
    let found = all.into_iter().chain([above]).flatten().find(|path| path.exists());
    found.ok_or_else(|| format!("{} is missing: `cargo build -p heddle-plugin` makes it", sibling.display()))
}

/// Vector code of a program with marks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum VectorizedLevels {
    /// Of one level.
    Loop,
    /// Of two levels of a nest.
    Nest,
}

/// Reads the plugin's remarks: the vector code of each program, or why there is none. Programs begin at these lines.
pub(super) fn became_of(stated: &str, begins: &[usize]) -> Vec<Result<VectorizedLevels, String>> {
    let mut became: Vec<Result<VectorizedLevels, String>> = vec![Err("no remark".into()); begins.len()];
    for line in stated.lines() {
        let Some((place, what)) = line.split_once(": remark: ") else { continue };
        let made = if what.starts_with("nest ") { VectorizedLevels::Nest } else { VectorizedLevels::Loop };
        let Some(what) = what.strip_prefix("loop ").or_else(|| what.strip_prefix("nest ")) else { continue };
        let Some(line) = place.split(':').nth(1).and_then(|number| number.parse::<usize>().ok()) else {
            continue;
        };
        let at = begins.partition_point(|&begin| begin < line);
        let Some(one) = at.checked_sub(1).and_then(|at| became.get_mut(at)) else { continue };
        if what.starts_with("vectorized") {
            *one = Ok(one.as_ref().map_or(made, |&before| before.max(made)));
        } else if one.is_err() {
            *one = Err(what.to_string());
        }
    }
    became
}

/// A loop with a dependence: its pragma, its body, what must become of it.
fn dependent(random: &mut Random) -> (&'static str, &'static str, ExpectedLowering) {
    random.pick(&[
        (
            "clang loop vectorize(enable)",
            "mem[(i + 1) * 16 + 2] = mem[i * 16 + 2] * 3 + u;",
            ExpectedLowering::Scalar,
        ),
        ("omp simd", "c = c * 5 + out[i]; out[n + i] = c;", ExpectedLowering::Scalar),
        ("omp simd", "s += out[i]; out[n + i] = s;", ExpectedLowering::Scalar),
        ("omp simd", "if (in[i & 31] > 3) c = c ^ (c >> 3) ^ out[i];", ExpectedLowering::Scalar),
        ("clang loop vectorize(enable)", "mem[i + (u & 7)] += mem[i] + 1;", ExpectedLowering::Either),
        ("clang loop vectorize(enable)", "mem[i] = mem[i + 1] + out[i];", ExpectedLowering::Either),
        ("omp simd safelen(4)", "mem[i + 5] = mem[i] * 7 + 1;", ExpectedLowering::Either),
    ])
}

/// The function that the loop of this seed calls: of four one of the usual size, since many small loops find more than few large ones.
fn program_of(seed: u64) -> CProgram {
    if seed.is_multiple_of(4) { generate(seed) } else { generate_of(seed, CProgramSize::SMALL) }
}

/// The loop of this seed.
fn marked_loop(seed: u64, mark: LoopMark) -> CLoop {
    let program = program_of(seed);
    let mut random = Random::new(seed ^ 0x100b);
    let mut features: Vec<&'static str> = Vec::new();
    let before = "uint64_t s = u, c = 3, p = 1, o = 0, x = 9, a = ~0ull; int64_t least = 99, most = -99; uint32_t last = 4, k = u;\n\
        uint64_t hits = 0; double f = 0.5;\n"
        .to_string();
    let after =
        "uint64_t all[8] = {s + hits, c, p ^ a, o, x, (uint64_t)least ^ (uint64_t)most << 9, last, 0};\n\
        __builtin_memcpy(all + 7, &f, 8);\n__builtin_memcpy(r, all, 64);\n"
            .to_string();
    let name = program.name();
    let carries = random.chance(12);
    let (head, head_feature) = random.pick(&[
        ("for (uint32_t i = 0; i < trip; i++)", None),
        ("for (int32_t i = 0; i < (int32_t)trip; i++)", None),
        ("for (uint64_t i = 0; i != trip; ++i)", None),
        ("for (int64_t i = 0; i < (int64_t)trip; i += 3)", Some("steps")),
        ("for (int32_t i = 2; i < (int32_t)trip; i += 2)", Some("steps")),
        ("for (int32_t i = (int32_t)trip - 1; i >= 0; i--)", Some("downwards")),
        ("for (int64_t i = (int64_t)trip - 1; i >= 0; i -= 2)", Some("downwards")),
    ]);
    if carries {
        features.push("dependences");
        let (pragma, body, wanted) = dependent(&mut random);
        if pragma.contains("enable") {
            features.push("vectorize(enable)");
        }
        let pragma = match mark {
            LoopMark::Right => pragma.to_string(),
            LoopMark::Careless => "clang loop vectorize(assume_safety)".to_string(),
        };
        let text = format!("for (uint32_t i = 0; i < trip; i++) {{\n{body}\n}}\n");
        let marks = [(); 4].map(|()| format!("#pragma {pragma}\n"));
        return CLoop { program, marks, before, text, after, wanted, features };
    }
    features.extend(head_feature);
    let mut body = String::new();
    let skips = random.chance(25);
    if skips {
        features.push("continue");
        body += "if (in[(i * 7 + u) & 31] & 1) continue;\n";
    }
    let _ = writeln!(body, "{name}(n, u, in, fin, mem, fio, out, (uint32_t)i);");
    let mut clauses = String::new();
    let column = random.below(6);
    let mut carry = |random: &mut Random, chance: u32, feature: &'static str, one: &[(&str, &str)]| {
        if random.chance(chance) {
            features.push(feature);
            let (clause, text) = random.pick(one);
            clauses += clause;
            body += &text.replace('@', &format!("out[{column} * n + i]"));
            body.push('\n');
        }
    };
    carry(
        &mut random,
        40,
        "sums",
        &[
            (" reduction(+ : s)", "s += @;"),
            (" reduction(+ : s)", "if (in[i & 31] > 0) s += @;"),
            (" reduction(- : s)", "s -= @ & 255;"),
            (" reduction(* : p)", "p *= @ | 1;"),
            (" reduction(+ : hits)", "if (@ & 2) hits++;"),
            (" reduction(+ : f)", "f += (double)(@ & 1023);"),
        ],
    );
    carry(
        &mut random,
        30,
        "least and greatest",
        &[
            (" reduction(min : least)", "least = (int64_t)@ < least ? (int64_t)@ : least;"),
            (" reduction(max : most)", "if ((int64_t)@ > most) most = (int64_t)@;"),
        ],
    );
    carry(
        &mut random,
        30,
        "bits",
        &[
            (" reduction(| : o)", "o |= @;"),
            (" reduction(^ : x)", "x ^= @ + i;"),
            (" reduction(& : a)", "a &= @ | 15;"),
        ],
    );
    if !skips {
        carry(
            &mut random,
            30,
            "last values",
            &[(" lastprivate(last)", "last = mem[i * 16 + 3] + (uint32_t)i;")],
        );
        carry(&mut random, 30, "linear values", &[(" linear(k : 3)", "mem[i * 16 + 5] ^= k; k += 3;")]);
    }
    let kind = random.weighted(&[(0, 40), (1, 10), (2, 50)]);
    let pragma = |width: u32| match (kind, width) {
        (0, 0) => format!("omp simd{clauses}"),
        (0, width) => format!("omp simd simdlen({width}){clauses}"),
        (1, 0) => format!("omp simd safelen(32){clauses}"),
        (1, width) => format!("omp simd safelen({width}){clauses}"),
        (_, 0) => "clang loop vectorize(assume_safety)".into(),
        (_, width) => format!("clang loop vectorize(assume_safety) vectorize_width({width})"),
    };
    let marks = WIDTHS.map(|width| format!("#pragma {}\n", pragma(width)));
    features.push(["omp simd", "safelen", "assume_safety"][kind]);
    // With `safelen` or `reduction` dependences are to be excluded by what is in the loop.
    let is_promised = kind == 2 || kind == 0 && !clauses.contains("reduction");
    if is_promised {
        features.push(PROMISED);
    }
    let wanted = if is_promised { ExpectedLowering::Vector } else { ExpectedLowering::Either };
    let text = format!("{head} {{\n{body}}}\n");
    CLoop { program, marks, before, text, after, wanted, features }
}

impl CLoop {
    /// Returns the loop's text, with separate functions per width and `marked` as the mark's number.
    fn text(&self, suffix: &str, mark: &str) -> String {
        let (name, seed) = (self.program.name(), self.program.seed);
        let inner =
            if seed.is_multiple_of(3) { "static __attribute__((noinline)) void" } else { "static void" };
        let function = self.program.text().replace(&format!("void {name}("), &format!("{inner} {name}("));
        format!(
            "{function}void l{seed}{suffix}(const char *args, char *r) {{\nuint32_t n = *(uint32_t *)args, u = *(uint32_t *)(args + 16);\n\
             const int32_t *in = *(void **)(args + 32); const double *fin = *(void **)(args + 48);\n\
             uint32_t *mem = *(void **)(args + 64); float *fio = *(void **)(args + 80); uint64_t *out = *(void **)(args + 96);\n\
             uint32_t trip = *(uint32_t *)(args + 112);\n{}{mark}{}{}}}\n",
            self.before, self.text, self.after
        )
    }
}

/// Returns the trip count of a loop on an input.
fn trip(seed: u64, input: u64) -> u32 {
    Random::new(seed.wrapping_mul(7) ^ input ^ 0x721b).pick(&TRIPS)
}

fn calls(loops: &[CLoop]) -> Vec<EntryCall> {
    let mut calls = Vec::new();
    for (entry, one) in (0..).zip(loops) {
        for input in 0..INPUTS {
            let room = LaneMemory::of_ids(one.program.seed, input, ROWS);
            let (args, pointers) = room.arguments(&[trip(one.program.seed, input)], false);
            calls.push(EntryCall {
                entry,
                args,
                pointers,
                objects: room.objects(),
                results: RESULTS,
                ..EntryCall::default()
            });
        }
    }
    calls
}

/// Checks the loops of these seeds in all widths.
pub fn run_batch(bench: &TargetWorkshops, seeds: Range<u64>, mark: LoopMark) -> NativeTally {
    let mut tally = NativeTally::default();
    let level = 1 + (seeds.start / 8) % 3;
    let mut loops: Vec<CLoop> =
        tally.timed(Phase::Generate, || seeds.map(|seed| marked_loop(seed, mark)).collect());
    if mark == LoopMark::Careless {
        // The mark of the others is right.
        loops.retain(|one| one.features.contains(&"dependences"));
    }
    tally.programs = loops.len() as u64;
    for feature in loops.iter().flat_map(|one| &one.features) {
        *tally.features.entry(feature).or_default() += 1;
    }
    check(bench, &loops, level, &mut tally);
    tally
}

fn check(bench: &TargetWorkshops, loops: &[CLoop], level: u64, tally: &mut NativeTally) {
    let fail = |tally: &mut NativeTally, target: InstructionSet, reason: String| {
        let programs: Vec<CProgram> = loops.iter().map(|one| one.program.clone()).collect();
        tally.finds.push(whole_batch(&programs, target, reason));
    };
    let calls = calls(loops);
    let expected = match expected(&bench.reference, loops, &calls, tally) {
        Ok(expected) => expected,
        Err(reason) => return fail(tally, bench.shops[0].0, reason),
    };
    for (target, shop) in &bench.shops {
        for (at, width) in WIDTHS.into_iter().enumerate() {
            let ran = run(shop, *target, loops, at, level, &calls, tally);
            match ran {
                Ok((outcomes, became)) => {
                    let form = if width == 0 { "any width".into() } else { format!("width {width}") };
                    judge(loops, *target, &form, &expected, outcomes, &became, tally);
                }
                Err(reason) => fail(tally, *target, reason),
            }
        }
    }
}

/// Memory and results that scalar code leaves.
type ScalarLoopResult = Result<(LaneMemory, Vec<u8>), String>;

/// Runs scalar code for each call.
fn expected(
    shop: &Workshop,
    loops: &[CLoop],
    calls: &[EntryCall],
    tally: &mut NativeTally,
) -> Result<Vec<ScalarLoopResult>, String> {
    let text = loops.iter().fold(PRELUDE.to_string(), |text, one| text + &one.text("", ""));
    shop.write("reference.c", text.as_bytes())?;
    tally.timed(Phase::Clang, || {
        let checks = ["-fsanitize=undefined,float-cast-overflow", "-fsanitize-trap=all", "-fno-math-errno"];
        let own = ["-w", "-ffp-contract=off", "-O0", "-c", "reference.c", "-o", "reference.o"];
        shop.clang(own.iter().chain(&checks))
    })?;
    let entries: Vec<String> = loops.iter().map(|one| format!("l{}", one.program.seed)).collect();
    tally.timed(Phase::Link, || shop.link(&["reference.o"], &entries, &[]))?;
    let outcomes = tally.timed(Phase::Run, || shop.run(calls))?;
    let of_call = |(place, outcome): (usize, CallOutcome)| match outcome {
        CallOutcome::Done { objects, results, is_damaged: false } => {
            let seed = loops[place / INPUTS as usize].program.seed;
            Ok((LaneMemory::of_ids(seed, place as u64 % INPUTS, ROWS).with(objects), results))
        }
        other => Err(format!("the generator is wrong: scalar code gives {other:?}")),
    };
    Ok(outcomes.into_iter().enumerate().map(of_call).collect())
}

/// Outcomes with the plugin, and of each loop whether it has become vector code, or why not.
type LoopRunResult = (Vec<CallOutcome>, Vec<Result<VectorizedLevels, String>>);

fn run(
    shop: &Workshop,
    target: InstructionSet,
    loops: &[CLoop],
    width: usize,
    level: u64,
    calls: &[EntryCall],
    tally: &mut NativeTally,
) -> Result<LoopRunResult, String> {
    let suffix = format!("_{width}");
    let mut text = PRELUDE.to_string();
    let mut begins = Vec::new();
    for one in loops {
        begins.push(text.lines().count());
        text += &one.text(&suffix, &one.marks[width]);
    }
    shop.write("loops.c", text.as_bytes())?;
    let plugin = format!("-fpass-plugin={}", plugin()?.display());
    let level = format!("-O{level}");
    let options = [
        "-w",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fopenmp-simd",
        "-Rpass=heddle",
        "-Rpass-missed=heddle",
    ];
    let own = [target.clang_cpu(), &*level, &*plugin, "-c", "loops.c", "-o", "loops.o"];
    let stated = tally.timed(Phase::Clang, || shop.clang_output(options.into_iter().chain(own)))?;
    let became = became_of(&stated, &begins);
    let entries: Vec<String> = loops.iter().map(|one| format!("l{}{suffix}", one.program.seed)).collect();
    tally.timed(Phase::Link, || shop.link(&["loops.o"], &entries, &[]))?;
    let outcomes = tally.timed(Phase::Run, || shop.run(calls))?;
    Ok((outcomes, became))
}

fn judge(
    loops: &[CLoop],
    target: InstructionSet,
    form: &str,
    expected: &[ScalarLoopResult],
    outcomes: Vec<CallOutcome>,
    became: &[Result<VectorizedLevels, String>],
    tally: &mut NativeTally,
) {
    let mut outcomes = outcomes.into_iter().zip(expected);
    for (one, became) in loops.iter().zip(became) {
        let seed = one.program.seed;
        let mut wrong = None;
        for input in 0..INPUTS {
            let Some((outcome, expected)) = outcomes.next() else { break };
            let found = verdict(seed, input, expected, outcome);
            wrong = wrong
                .or(found.map(|reason| format!("input {input}, {} iterations: {reason}", trip(seed, input))));
        }
        match (became, one.wanted) {
            (Ok(_), ExpectedLowering::Scalar) => {
                wrong = wrong.or(Some("a loop with a dependence has become vector code".into()));
            }
            (Ok(_), ExpectedLowering::Vector) => *tally.features.entry(VECTORIZED).or_default() += 1,
            (Err(reason), _) => tally.refuse(reason),
            _ => {}
        }
        tally.note(TestedPair { seed, target, form: form.to_string() }, form, wrong);
    }
}

/// Describes the error in an outcome.
fn verdict(seed: u64, input: u64, expected: &ScalarLoopResult, outcome: CallOutcome) -> Option<String> {
    let (objects, results) = match outcome {
        CallOutcome::Done { is_damaged: true, .. } => {
            return Some("memory next to the objects is written".into());
        }
        CallOutcome::Done { objects, results, .. } => (objects, results),
        CallOutcome::Silent => return Some("was not answered".into()),
        CallOutcome::Died(how) => return Some(how),
    };
    let (room, right) = match expected {
        Ok(expected) => expected,
        Err(reason) => return Some(reason.clone()),
    };
    let before = LaneMemory::of_ids(seed, input, ROWS);
    let found = before.clone().with(objects);
    let all: Vec<u32> = (0..ROWS).collect();
    found.difference(&before, &[room], &all).or_else(|| {
        let differs = results.chunks(8).zip(right.chunks(8)).position(|(found, right)| found != right)?;
        Some(format!(
            "result {differs} is {:?}, should be {:?}",
            &results[8 * differs..][..8],
            &right[8 * differs..][..8]
        ))
    })
}

/// The find as a small program.
pub(in crate::native) fn reduced(folder: &Path, find: &NativeFind) -> String {
    let seed = find.pair.seed;
    let Ok(bench) = TargetWorkshops::new(folder, &[find.pair.target]) else { return String::new() };
    let loop_of =
        |program: &CProgram| CLoop { program: program.clone(), ..marked_loop(seed, LoopMark::Right) };
    let show = |program: &CProgram, stated: &str| {
        let one = loop_of(program);
        let marks = one.marks.iter().fold(String::new(), |text, mark| text + "// " + mark);
        format!("// {stated}\n{marks}{PRELUDE}{}", one.text("", &one.marks[0]))
    };
    let program = program_of(seed);
    for level in 1..=3 {
        let wrong = |program: &CProgram| {
            let mut tally = NativeTally::default();
            check(&bench, &[loop_of(program)], level, &mut tally);
            let first = tally.finds.first()?;
            Some(format!("{} -O{level}, {}: {}", first.pair.target.name(), first.pair.form, first.reason))
        };
        let Some(reason) = wrong(&program) else { continue };
        // Distinguishes rejection by clang, traps in scalar code, and wrong vector code.
        let sort =
            |reason: &str| ["the generator is wrong", "the batch of"].map(|words| reason.contains(words));
        let still = |program: &CProgram| wrong(program).is_some_and(|now| sort(&now) == sort(&reason));
        let small = reduce(&program, &still);
        return show(&small, &wrong(&small).unwrap_or(reason));
    }
    show(&program, &format!("not again, alone: {} {}", find.pair.form, find.reason))
}

/// Returns the features that too few loops have.
pub fn lacks(tally: &NativeTally) -> Vec<String> {
    let count = |name: &str| tally.features.get(name).copied().unwrap_or(0);
    let share = |name: &str| 100 * count(name) / tally.programs.max(1);
    let mut lacks: Vec<String> = MINIMUM_SHARES
        .iter()
        .filter(|&&(name, least)| share(name) < u64::from(least))
        .map(|&(name, least)| format!("{name} {} % < {least} %", share(name)))
        .collect();
    let requested = count(PROMISED) * forms_of(tally);
    let vectorized = 100 * count(VECTORIZED) / requested.max(1);
    if vectorized < LEAST_VECTORIZED {
        lacks.push(format!("{VECTORIZED} {vectorized} % < {LEAST_VECTORIZED} %"));
    }
    lacks
}

/// Number of variants tried per loop.
fn forms_of(tally: &NativeTally) -> u64 {
    tally.all_pairs() / tally.programs.max(1)
}

/// Formats the coverage of the loops, line by line.
pub fn covered(tally: &NativeTally) -> Vec<String> {
    let lines = tally.features.iter().map(|(name, count)| {
        let of = if *name == VECTORIZED { forms_of(tally).max(1) } else { 1 };
        format!("{name:<36} {:>6.1} %", 100.0 * *count as f64 / (tally.programs.max(1) * of) as f64)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_belong_to_the_program_before_them() {
        let stated = "a.c:3:1: remark: loop vectorized: 8 iterations at a time [-Rpass=heddle]\n\
            a.c:4:1: remark: nest vectorized: 4x16 iterations at a time [-Rpass=heddle]\n\
            a.c:12:1: remark: loop not vectorized: a reason [-Rpass-missed=heddle]\n";
        let refused = Err("not vectorized: a reason [-Rpass-missed=heddle]".to_string());
        assert_eq!(
            became_of(stated, &[1, 10, 20]),
            [Ok(VectorizedLevels::Nest), refused, Err("no remark".to_string())]
        );
    }
}
