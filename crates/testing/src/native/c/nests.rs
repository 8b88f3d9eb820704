//! Generated nests of loops with marks, through the plugin: the topic `marked-nests`.
//!
//! The outputs must have the bits of clang's scalar code, for each brush that an option fixes, and without one.

use super::super::hed::TargetWorkshops;
use super::super::tally::{NativeFind, NativeTally, Phase, TestedPair};
use super::super::target::InstructionSet;
use super::super::workshop::{CallObject, CallOutcome, EntryCall, Workshop};
use super::PRELUDE;
use super::loops::{VectorizedLevels, became_of, plugin};
pub use super::nest_text::NestFault;
use super::nest_text::{CNest, NestSizes, generate_nest};
use crate::generate::Random;
use std::ops::Range;
use std::path::Path;

/// Words of the option `-heddle-loops`: the model's choice, one level, and brushes.
pub const FORMS: &[&str] =
    &["", "brush=none", "W=4", "W=16", "brush=2x8", "brush=4x4", "brush=8x2", "brush=4x16", "brush=16x4"];
const CALLS: u64 = 4;
/// Features that a minimum percentage of all nests must have.
const MINIMUM_SHARES: &[(&str, u32)] = &[
    ("two levels", 40),
    ("three levels", 15),
    ("collapse", 20),
    ("marks on each level", 25),
    ("marks on outer levels", 3),
    ("imperfect", 8),
    ("strides of 2", 10),
    ("strides of -1", 10),
    ("equal in one dimension", 10),
    ("transposed", 8),
    ("transposed stores", 8),
    ("stores of stride 2", 2),
    ("reversed stores", 4),
    ("parameter rows", 25),
    ("constant rows", 25),
    ("divergent branches", 15),
    ("inner loops", 15),
    ("divergent inner loops", 10),
    ("private arrays", 5),
    ("updates", 4),
    ("several outputs", 8),
    ("conditional stores", 4),
    ("other counters", 20),
    ("floats", 15),
    ("integers", 30),
];
const VECTORIZED: &str = "vector code, in all forms";
const LEAST_VECTORIZED: u64 = 60;
/// Pairs of forms that fix a brush and became code for it.
const BRUSHES: &str = "code for brushes, of all forms with one";
const ALIASING: &str = "aliasing loads";

/// Returns the calls of a nest: its sizes, and arrays, of which both inputs may be one.
fn calls_of(entry: u32, nest: &CNest) -> Vec<EntryCall> {
    (0..CALLS).map(|call| call_of(entry, nest, call)).collect()
}

fn call_of(entry: u32, nest: &CNest, call: u64) -> EntryCall {
    let random = &mut Random::new(nest.seed.wrapping_mul(13) ^ call << 50 ^ 0xca11);
    let sizes = NestSizes::draw(random, nest.levels());
    let size = nest.element_size();
    let number = |random: &mut Random| -> Vec<u8> {
        let small = random.below(40) as i32 - 20;
        match (nest.is_real(), size) {
            (true, 4) => (small as f32 / 4.0).to_le_bytes().to_vec(),
            (true, _) => (f64::from(small) / 4.0).to_le_bytes().to_vec(),
            _ if random.chance(50) => i64::from(small).to_le_bytes()[..size].to_vec(),
            _ => random.bits().to_le_bytes()[..size].to_vec(),
        }
    };
    let cells =
        |random: &mut Random, count: usize| (0..count).flat_map(|_| number(random)).collect::<Vec<u8>>();
    let contents = [
        cells(random, sizes.cells_in()),
        cells(random, sizes.cells_in()),
        cells(random, sizes.cells_out()),
        cells(random, sizes.cells_out()),
    ];
    let numbers = [sizes.width, sizes.height, sizes.depth, sizes.row(), sizes.rounds];
    let mut args = vec![0; 16 * 9];
    for (slot, number) in numbers.into_iter().enumerate() {
        args[16 * slot..16 * slot + 4].copy_from_slice(&number.to_le_bytes());
    }
    let other = if is_aliasing(nest.seed, call) { 0 } else { 1 };
    let pointers = [0, other, 2, 3].into_iter().zip(5..).map(|(object, slot)| (16 * slot, object)).collect();
    let objects = contents.into_iter().map(|bytes| CallObject { symbol: None, bytes }).collect();
    EntryCall { entry, args, pointers, objects, results: 0, ..EntryCall::default() }
}

/// True if both inputs of a call are one array.
fn is_aliasing(seed: u64, call: u64) -> bool {
    (seed + call).is_multiple_of(4)
}

/// Checks the nests of these seeds in all forms. A fault stands in for wrong code.
pub fn run_batch(bench: &TargetWorkshops, seeds: Range<u64>, fault: Option<NestFault>) -> NativeTally {
    let mut tally = NativeTally::default();
    let level = 1 + (seeds.start / 8) % 3;
    let nests: Vec<CNest> = tally.timed(Phase::Generate, || seeds.map(generate_nest).collect());
    tally.programs = nests.len() as u64;
    for feature in nests.iter().flat_map(|nest| &nest.features) {
        *tally.features.entry(feature).or_default() += 1;
    }
    let aliasing = nests.iter().filter(|nest| (0..CALLS).any(|call| is_aliasing(nest.seed, call)));
    *tally.features.entry(ALIASING).or_default() += aliasing.count() as u64;
    check(bench, &nests, level, fault, &mut tally);
    tally
}

fn check(
    bench: &TargetWorkshops,
    nests: &[CNest],
    level: u64,
    fault: Option<NestFault>,
    tally: &mut NativeTally,
) {
    let fail = |tally: &mut NativeTally, target: InstructionSet, reason: String| {
        let pair = TestedPair {
            seed: nests.first().map_or(0, |nest| nest.seed),
            target,
            form: "the whole batch".into(),
        };
        tally.finds.push(NativeFind { pair, reason: format!("the batch of {}: {reason}", nests.len()) });
    };
    let calls: Vec<EntryCall> = (0..).zip(nests).flat_map(|(entry, nest)| calls_of(entry, nest)).collect();
    let expected = match expected(&bench.reference, nests, &calls, tally) {
        Ok(expected) => expected,
        Err(reason) => return fail(tally, bench.shops[0].0, reason),
    };
    for (target, shop) in &bench.shops {
        for words in FORMS {
            match run(shop, *target, nests, (words, level), fault, &calls, tally) {
                Ok((outcomes, became)) => judge(nests, *target, words, &expected, &outcomes, &became, tally),
                Err(reason) => fail(tally, *target, reason),
            }
        }
    }
}

/// Contents of all arrays that scalar code leaves.
type ScalarArrays = Vec<Vec<u8>>;

fn expected(
    shop: &Workshop,
    nests: &[CNest],
    calls: &[EntryCall],
    tally: &mut NativeTally,
) -> Result<Vec<ScalarArrays>, String> {
    let text = nests.iter().fold(PRELUDE.to_string(), |text, nest| text + &nest.text("", false, None));
    shop.write("reference.c", text.as_bytes())?;
    tally.timed(Phase::Clang, || {
        let checks = ["-fsanitize=undefined,float-cast-overflow", "-fsanitize-trap=all", "-fno-math-errno"];
        let own = [
            "-w",
            "-ffp-contract=off",
            "-O1",
            "-fno-vectorize",
            "-fno-slp-vectorize",
            "-c",
            "reference.c",
            "-o",
            "reference.o",
        ];
        shop.clang(own.iter().chain(&checks))
    })?;
    let entries: Vec<String> = nests.iter().map(|nest| nest.name("")).collect();
    tally.timed(Phase::Link, || shop.link(&["reference.o"], &entries, &[]))?;
    let outcomes = tally.timed(Phase::Run, || shop.run(calls))?;
    let of_call = |(place, outcome): (usize, CallOutcome)| match outcome {
        CallOutcome::Done { objects, is_damaged: false, .. } => Ok(objects),
        other => {
            let seed = nests[place / CALLS as usize].seed;
            let how = match other {
                CallOutcome::Died(how) => how,
                _ => "writes next to its arrays".into(),
            };
            Err(format!("the generator is wrong: scalar code of seed {seed}: {how}"))
        }
    };
    outcomes.into_iter().enumerate().map(of_call).collect()
}

/// Outcomes with the plugin, and of each nest whether one of its loops has become vector code, or why not.
type NestRunResult = (Vec<CallOutcome>, Vec<Result<VectorizedLevels, String>>);

fn run(
    shop: &Workshop,
    target: InstructionSet,
    nests: &[CNest],
    (words, level): (&str, u64),
    fault: Option<NestFault>,
    calls: &[EntryCall],
    tally: &mut NativeTally,
) -> Result<NestRunResult, String> {
    let mut text = PRELUDE.to_string();
    let mut begins = Vec::new();
    for nest in nests {
        begins.push(text.lines().count());
        text += &nest.text("_v", true, fault);
    }
    shop.write("nests.c", text.as_bytes())?;
    let plugin = format!("-fpass-plugin={}", plugin()?.display());
    let (level, option) = (format!("-O{level}"), format!("-heddle-loops={words}"));
    let options = [
        "-w",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fopenmp-simd",
        "-Rpass=heddle",
        "-Rpass-missed=heddle",
    ];
    let own = [target.clang_cpu(), &*level, &*plugin, "-mllvm", &*option, "-c", "nests.c", "-o", "nests.o"];
    let stated = tally.timed(Phase::Clang, || shop.clang_output(options.into_iter().chain(own)))?;
    let became = became_of(&stated, &begins);
    let entries: Vec<String> = nests.iter().map(|nest| nest.name("_v")).collect();
    tally.timed(Phase::Link, || shop.link(&["nests.o"], &entries, &[]))?;
    let outcomes = tally.timed(Phase::Run, || shop.run(calls))?;
    Ok((outcomes, became))
}

fn judge(
    nests: &[CNest],
    target: InstructionSet,
    words: &str,
    expected: &[ScalarArrays],
    outcomes: &[CallOutcome],
    became: &[Result<VectorizedLevels, String>],
    tally: &mut NativeTally,
) {
    let form = if words.is_empty() { "no option" } else { words };
    for ((index, nest), became) in nests.iter().enumerate().zip(became) {
        let calls = index * CALLS as usize..(index + 1) * CALLS as usize;
        let wrong = calls.enumerate().find_map(|(call, place)| {
            let reason = verdict(nest, expected.get(place)?, outcomes.get(place)?)?;
            let random = &mut Random::new(nest.seed.wrapping_mul(13) ^ (call as u64) << 50 ^ 0xca11);
            Some(format!("{:?}: {reason}", NestSizes::draw(random, nest.levels())))
        });
        match became {
            Ok(made) => {
                *tally.features.entry(VECTORIZED).or_default() += 1;
                if fixes_brush(words) && *made == VectorizedLevels::Nest {
                    *tally.features.entry(BRUSHES).or_default() += 1;
                }
            }
            Err(reason) => tally.refuse(reason),
        }
        tally.note(TestedPair { seed: nest.seed, target, form: form.into() }, form, wrong);
    }
}

/// Describes the error in an outcome.
fn verdict(nest: &CNest, right: &ScalarArrays, outcome: &CallOutcome) -> Option<String> {
    let objects = match outcome {
        CallOutcome::Done { is_damaged: true, .. } => {
            return Some("memory next to the arrays is written".into());
        }
        CallOutcome::Done { objects, .. } => objects,
        CallOutcome::Silent => return Some("was not answered".into()),
        CallOutcome::Died(how) => return Some(how.clone()),
    };
    let size = nest.element_size();
    ["in", "other", "out", "more"].into_iter().zip(objects.iter().zip(right)).find_map(
        |(name, (found, right))| {
            let differs = |(found, right): (&[u8], &[u8])| {
                found != right && !(are_nan(nest, found) && are_nan(nest, right))
            };
            let at = found.chunks(size).zip(right.chunks(size)).position(differs)?;
            let cell = |bytes: &[u8]| format!("{:?}", &bytes[at * size..(at + 1) * size]);
            Some(format!("{name}[{at}] is {}, should be {}", cell(found), cell(right)))
        },
    )
}

/// True if a cell of floats is no number; its other bits are nobody's.
fn are_nan(nest: &CNest, bytes: &[u8]) -> bool {
    match (nest.is_real(), bytes) {
        (true, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).is_nan(),
        (true, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]).is_nan(),
        _ => false,
    }
}

/// The find as a small program.
pub(in crate::native) fn reduced(folder: &Path, find: &NativeFind) -> String {
    let Ok(bench) = TargetWorkshops::new(folder, &[find.pair.target]) else { return String::new() };
    let mut nest = generate_nest(find.pair.seed);
    let first_find = |nest: &CNest| {
        (1..=3).find_map(|level| {
            let mut tally = NativeTally::default();
            check(&bench, std::slice::from_ref(nest), level, None, &mut tally);
            let find = tally.finds.first()?;
            Some(format!("{} -O{level}, {}: {}", find.pair.target.name(), find.pair.form, find.reason))
        })
    };
    let mut stated =
        first_find(&nest).unwrap_or(format!("not again, alone: {} {}", find.pair.form, find.reason));
    let mut at = 0;
    while at < nest.terms.len() {
        let mut smaller = nest.clone();
        smaller.terms.remove(at);
        match first_find(&smaller) {
            Some(reason) => (nest, stated) = (smaller, reason),
            None => at += 1,
        }
    }
    format!("// {stated}\n{PRELUDE}{}", nest.text("", true, None))
}

/// Returns the features that too few nests have.
pub fn lacks(tally: &NativeTally) -> Vec<String> {
    let count = |name: &str| tally.features.get(name).copied().unwrap_or(0);
    let share = |name: &str| 100 * count(name) / tally.programs.max(1);
    let few = MINIMUM_SHARES.iter().filter(|&&(name, least)| share(name) < u64::from(least));
    let mut lacks: Vec<String> =
        few.map(|&(name, least)| format!("{name} {} % < {least} %", share(name))).collect();
    let vectorized = 100 * count(VECTORIZED) / tally.all_pairs().max(1);
    if vectorized < LEAST_VECTORIZED {
        lacks.push(format!("{VECTORIZED} {vectorized} % < {LEAST_VECTORIZED} %"));
    }
    lacks
}

/// True for words that fix a brush of two dimensions.
fn fixes_brush(words: &str) -> bool {
    words.starts_with("brush=") && words != "brush=none"
}

/// Pairs whose form fixes a brush of two dimensions.
fn brush_pairs(tally: &NativeTally) -> u64 {
    let of_brushes = tally.pairs.iter().filter(|((_, form), _)| fixes_brush(form));
    of_brushes.map(|(_, counts)| counts.iter().sum::<u64>()).sum()
}

/// Formats the coverage of the nests, line by line.
pub fn covered(tally: &NativeTally) -> Vec<String> {
    let lines = tally.features.iter().map(|(name, count)| {
        let of = match *name {
            VECTORIZED => tally.all_pairs(),
            BRUSHES => brush_pairs(tally),
            _ => tally.programs,
        };
        format!("{name:<40} {:>6.1} %", 100.0 * *count as f64 / of.max(1) as f64)
    });
    lines.collect()
}
