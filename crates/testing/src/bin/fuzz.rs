//! `fuzz [TOPIC] --minutes N --seed S [--count N] [--jobs N]`: checks properties on generated programs.
#![forbid(unsafe_code)]

use heddle_testing::coverage::Coverage;
use heddle_testing::dimension_runs::check_dimensions;
use heddle_testing::fuzz::{FuzzFind, FuzzPlan, FuzzReport, fuzz};
use heddle_testing::native::{self, InstructionSet, NATIVE_TOPICS, NativeTopic, drive, native_topic};
use heddle_testing::nest_cases::{NestCounts, check_nests};
use heddle_testing::properties::{TOPICS, Topic, topic};
use heddle_testing::ptx;
use heddle_testing::say_line;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: fuzz [TOPIC] [--minutes N] [--seed S] [--count N] [--jobs N] [--target NAME] [--natively N]

Generates programs from seed S on and checks properties of them. Without a TOPIC all topics share the minutes.

  --minutes N   stop after N minutes (a fraction is fine); default 1
  --seed S      the first seed; default 1
  --count N     stop after N programs a topic
  --jobs N      threads; default: one a core
  --target NAME of topics that run native code: sse4.2, avx2, avx512, neon (emulated), several with commas between;
                default: what this machine is
  --natively N  of the topic `dimensions`: one kernel in N runs natively, too; default 4

exit code: 0 nothing found, 1 something was found (each find is a file in target/fuzz), 2 usage

topics:";

/// The topic of generated PTX, and what holds.
const PTX: (&str, &str) = (
    "ptx",
    "generated PTX computes the same on the oracle, as vector code, and gone out as PTX and come back",
);

/// The topic of generated nests, and what holds.
const NESTS: (&str, &str) =
    ("nests", "nests whose levels become dimensions of a brush do on the oracle what one thread does");

/// The topic of kernels of several dimensions, and what holds.
const DIMENSIONS: (&str, &str) = (
    "dimensions",
    "kernels of two and three dimensions compute the same in every order of axes and tile, on the oracle and natively",
);

fn usage() -> String {
    let plain = TOPICS.iter().map(|topic| (topic.name, topic.says));
    let native = NATIVE_TOPICS.iter().map(|topic| (topic.name, topic.says));
    plain.chain(native).chain([PTX, NESTS, DIMENSIONS]).fold(USAGE.to_owned(), |mut text, (name, says)| {
        let _ = write!(text, "\n  {name:<13} {says}");
        text
    })
}

struct FuzzArguments {
    topics: Vec<&'static Topic>,
    native: Vec<&'static NativeTopic>,
    ptx: bool,
    nests: bool,
    dimensions: bool,
    natively: u64,
    targets: Vec<InstructionSet>,
    minutes: f64,
    seed: u64,
    count: Option<u64>,
    jobs: usize,
}

fn arguments(words: impl Iterator<Item = String>) -> Result<Option<FuzzArguments>, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found = FuzzArguments {
        topics: Vec::new(),
        native: Vec::new(),
        ptx: false,
        nests: false,
        dimensions: false,
        natively: 4,
        targets: Vec::new(),
        minutes: 1.0,
        seed: 1,
        count: None,
        jobs: cores,
    };
    let mut minutes = None;
    let mut words = words;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} takes a number"));
        let wrong = |_| format!("{word} takes a number");
        match &*word {
            "-h" | "--help" => return Ok(None),
            "--minutes" => {
                let number: f64 = value()?.parse().map_err(|_| format!("{word} takes a number"))?;
                if !number.is_finite() || number <= 0.0 {
                    return Err(format!("{word} takes a number above 0"));
                }
                minutes = Some(number);
            }
            "--seed" => found.seed = value()?.parse().map_err(wrong)?,
            "--count" => found.count = Some(value()?.parse().map_err(wrong)?),
            "--natively" => found.natively = value()?.parse::<u64>().map_err(wrong)?.max(1),
            "--jobs" => found.jobs = value()?.parse::<usize>().map_err(wrong)?.max(1),
            "--target" => {
                for name in value()?.split(',') {
                    let target = InstructionSet::named(name);
                    found.targets.push(target.ok_or(format!("there is no target {name}"))?);
                }
            }
            word if word == PTX.0 => found.ptx = true,
            word if word == NESTS.0 => found.nests = true,
            word if word == DIMENSIONS.0 => found.dimensions = true,
            word if word.starts_with('-') => return Err(format!("there is no option {word}")),
            word => match (topic(word), native_topic(word)) {
                (Some(topic), _) => found.topics.push(topic),
                (None, Some(topic)) => found.native.push(topic),
                (None, None) => return Err(format!("there is no topic {word}")),
            },
        }
    }
    // A count suffices as a limit: time bounds it only on request.
    found.minutes = minutes.unwrap_or(if found.count.is_some() { 1e6 } else { 1.0 });
    let has_own = found.ptx || found.nests || found.dimensions;
    if found.topics.is_empty() && found.native.is_empty() && !has_own {
        (found.ptx, found.nests, found.dimensions) = (true, true, true);
        found.topics = TOPICS.iter().collect();
        found.native = NATIVE_TOPICS.iter().filter(|topic| topic.is_in_slice).collect();
    }
    Ok(Some(found))
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            say_line!("{}", usage());
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("fuzz: {error}\n{}", usage());
            return ExitCode::from(2);
        }
    };
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let folder = target.join("fuzz");
    let topics = arguments.topics.len()
        + arguments.native.len()
        + usize::from(arguments.ptx)
        + usize::from(arguments.nests)
        + usize::from(arguments.dimensions);
    let share = Duration::from_secs_f64(arguments.minutes * 60.0 / topics as f64);
    let mut coverage = Coverage::default();
    let mut finds = Vec::new();
    for &topic in &arguments.topics {
        let plan = FuzzPlan {
            topic,
            seed: arguments.seed,
            time: share,
            count: arguments.count,
            jobs: arguments.jobs,
        };
        let terminal = std::io::stderr().is_terminal();
        let report = fuzz(&plan, &|programs, finds| {
            if terminal {
                eprint!("\r{}: {programs} programs, {finds} finds ", topic.name);
                let _ = std::io::stderr().flush();
            }
        });
        if terminal {
            eprint!("\r\x1b[K");
        }
        say_line!("{}", line(topic, &report));
        if let Some(compared) = &report.compared {
            say_line!("  {compared}");
        }
        for find in &report.finds {
            print_find(topic, find, &folder);
        }
        coverage.merge(&report.coverage);
        finds.extend(report.finds);
    }
    if !arguments.topics.is_empty() {
        say_line!("{coverage}");
    }
    let mut wrong = finds.len();
    if arguments.ptx {
        wrong += run_ptx(&arguments, share, &folder);
    }
    if arguments.nests {
        wrong += run_nests(&arguments, share);
    }
    if arguments.dimensions {
        wrong += run_dimensions(&arguments, share);
    }
    for topic in &arguments.native {
        match run_native(topic, &arguments, share, &folder) {
            Ok(finds) => wrong += finds,
            Err(reason) => {
                eprintln!("fuzz: {}: {reason}", topic.name);
                return ExitCode::from(2);
            }
        }
    }
    match wrong {
        0 => {
            say_line!("no finds");
            ExitCode::SUCCESS
        }
        count => {
            say_line!("{count} finds");
            ExitCode::FAILURE
        }
    }
}

/// Runs the topic of generated nests; returns the number of finds.
fn run_nests(arguments: &FuzzArguments, time: Duration) -> usize {
    const MOST_SHOWN: usize = 5;
    let NestCounts { nests, spread, features, finds } =
        check_nests(arguments.seed, arguments.count, time, arguments.jobs);
    say_line!(
        "{:<13} {nests} nests from seed {} on, {spread} as brushes, {} finds",
        NESTS.0,
        arguments.seed,
        finds.len()
    );
    let shares = features.iter().map(|(feature, count)| format!("{feature} {}%", count * 100 / nests.max(1)));
    say_line!("  {}", shares.collect::<Vec<_>>().join(", "));
    for (seed, find) in finds.iter().take(MOST_SHOWN) {
        say_line!("seed {seed}: {find}");
    }
    finds.len()
}

/// Runs the topic of kernels of several dimensions; returns the number of finds.
fn run_dimensions(arguments: &FuzzArguments, time: Duration) -> usize {
    const MOST_SHOWN: usize = 5;
    let FuzzArguments { seed, count, jobs, natively, .. } = *arguments;
    let counts = check_dimensions(seed, count, time, jobs, natively);
    say_line!("{:<13} from seed {seed} on: {counts}; {} finds", DIMENSIONS.0, counts.finds.len());
    for (seed, find) in counts.finds.iter().take(MOST_SHOWN) {
        say_line!("seed {seed}: {find}");
    }
    counts.finds.len()
}

/// Runs the topic of generated PTX; returns the number of finds.
fn run_ptx(arguments: &FuzzArguments, time: Duration, folder: &std::path::Path) -> usize {
    const MOST_SHRUNK: usize = 5;
    let terminal = std::io::stderr().is_terminal();
    let report = ptx::drive(arguments.seed, arguments.count, time, arguments.jobs, &|programs, finds| {
        if terminal {
            eprint!("\r{}: {programs} programs, {finds} finds ", PTX.0);
            let _ = std::io::stderr().flush();
        }
    });
    if terminal {
        eprint!("\r\x1b[K");
    }
    let seconds = report.time.as_secs_f64();
    say_line!(
        "{:<13} seeds {}..{}: {} in {seconds:.1} s, {:.1} a second, {} finds",
        PTX.0,
        report.seeds.start,
        report.seeds.end,
        report.counts,
        report.counts.programs as f64 / seconds.max(1e-3),
        report.finds.len()
    );
    match &report.counts.missing()[..] {
        [] => say_line!("  coverage ok"),
        missing => say_line!("  coverage VOID: {}", missing.join("; ")),
    }
    for (index, (seed, reason)) in report.finds.iter().enumerate() {
        say_line!("find: {}, seed {seed}: {}", PTX.0, reason.lines().next().unwrap_or_default());
        let small = (index < MOST_SHRUNK).then(|| ptx::shrunk(*seed)).flatten();
        let text = small.map_or_else(|| ptx::generate(*seed).text(), |(program, _)| program.text());
        let path = folder.join(format!("{}-{seed}.ptx", PTX.0));
        match std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &text)) {
            Ok(()) => say_line!("  shrunk: {}", path.display()),
            Err(error) => say_line!("  not written to {}: {error}\n{text}", path.display()),
        }
    }
    report.finds.len()
}

/// Runs a topic of native code; returns the number of finds.
fn run_native(
    topic: &'static NativeTopic,
    arguments: &FuzzArguments,
    time: Duration,
    folder: &std::path::Path,
) -> Result<usize, String> {
    let mut targets = arguments.targets.clone();
    if targets.is_empty() {
        targets = InstructionSet::of_this_machine();
    }
    targets.retain(|target| match target.missing() {
        Some(reason) => {
            say_line!("{:<13} {} skipped: {reason}", topic.name, target.name());
            false
        }
        None => true,
    });
    if targets.is_empty() {
        say_line!("{:<13} skipped: nothing to run on", topic.name);
        return Ok(0);
    }
    let (seed, count, jobs) = (arguments.seed, arguments.count, arguments.jobs);
    let plan = native::NativePlan { topic, seed, time, count, jobs, targets, folder: folder.to_path_buf() };
    let terminal = std::io::stderr().is_terminal();
    let report = drive(&plan, &|programs, finds| {
        if terminal {
            eprint!("\r{}: {programs} programs, {finds} finds ", topic.name);
            let _ = std::io::stderr().flush();
        }
    })?;
    if terminal {
        eprint!("\r\x1b[K");
    }
    let tally = &report.tally;
    say_line!(
        "{:<13} seeds {}..{}: {} programs, {} pairs in {:.1} s, {:.0} pairs a second of a core, {} finds",
        topic.name,
        report.seeds.start,
        report.seeds.end,
        tally.programs,
        tally.all_pairs(),
        report.time.as_secs_f64(),
        report.rate(),
        tally.finds.len(),
    );
    say_line!("{tally}");
    for line in &report.covered {
        say_line!("  {line}");
    }
    match &report.lacks[..] {
        [] => say_line!("  coverage ok"),
        lacks => say_line!("  coverage VOID: {}", lacks.join("; ")),
    }
    for find in tally.finds.iter().take(20) {
        let pair = &find.pair;
        let reason: String = find.reason.lines().next().unwrap_or_default().chars().take(300).collect();
        say_line!("find: seed {}, {}, {}: {reason}", pair.seed, pair.target.name(), pair.form);
    }
    for file in &report.files {
        say_line!("  made small: {}", file.display());
    }
    Ok(tally.finds.len())
}

fn line(topic: &Topic, report: &FuzzReport) -> String {
    let seconds = report.time.as_secs_f64();
    format!(
        "{:<13} seeds {}..{}: {} programs in {seconds:.1} s, {:.0} a second, {} finds",
        topic.name,
        report.seeds.start,
        report.seeds.end,
        report.coverage.programs,
        report.coverage.programs as f64 / seconds.max(1e-3),
        report.finds.len() as u64 + report.more_finds,
    )
}

fn print_find(topic: &Topic, find: &FuzzFind, folder: &std::path::Path) {
    let path = folder.join(format!("{}-{}.hed", topic.name, find.seed));
    say_line!("find: {}, seed {}: {}", topic.name, find.seed, find.reason.lines().next().unwrap_or_default());
    say_line!("  again: ./x fuzz {} --seed {} --count 1", topic.name, find.seed);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &find.text));
    match written {
        Ok(()) => say_line!("  shrunk: {}", path.display()),
        Err(error) => say_line!("  not written to {}: {error}\n{}", path.display(), find.text),
    }
}
