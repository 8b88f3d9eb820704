//! Runs the tests on each mutant until one fails.

use crate::list::{Mutant, MutantOutcome};
use crate::suites::{SKIPPED, Suite};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Time limit of a suite, as a multiple of its CPU time without a mutant, and the minimum limit in seconds.
const TIMES: f64 = 8.0;
const LEAST_SECONDS: f64 = 4.0;
/// Seconds above which a baseline is reused while its binary is unchanged; shorter suites may read files, so they run
/// again.
const LONG: f64 = 5.0;
/// Limit on the address space, in KiB.
const MEMORY: u64 = 6 << 20;
/// Folder of the tables that the suite `figures` writes without a mutant.
const FIGURES: &str = "figures";
/// Signal that the system sends at the CPU time limit.
const SIGXCPU: i32 = 24;

/// Result of a suite without mutation.
struct Baseline<'s> {
    suite: &'s Suite,
    /// Seconds of processor time.
    seconds: f64,
    /// Mutants that it executes.
    reached: BTreeSet<usize>,
}

/// Determines the outcome of the open mutants.
pub(crate) fn judge(tree: &Path, suites: &[Suite], mutants: &mut [Mutant]) -> Result<(), String> {
    let mut baselines = Vec::new();
    for suite in suites {
        let baseline = baseline(tree, suite)?;
        eprintln!("{}: {:.1} s, comes to {} mutants", suite.name, baseline.seconds, baseline.reached.len());
        baselines.push(baseline);
    }
    baselines.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let start = Instant::now();
    // Suite by suite: the long ones run only for the survivors.
    for baseline in &baselines {
        let is_here = |mutant: &&mut Mutant| {
            matches!(mutant.outcome, MutantOutcome::Open | MutantOutcome::Missed)
                && baseline.reached.contains(&mutant.number)
        };
        let mut left = 0;
        for mutant in mutants.iter_mut().filter(is_here) {
            mutant.outcome = ask(tree, baseline, mutant.number)?.unwrap_or(MutantOutcome::Missed);
            left += usize::from(mutant.outcome == MutantOutcome::Missed);
            eprintln!("{}: {}", mutant.outcome, mutant.name);
        }
        eprintln!("{}: {left} left, after {:.0} s", baseline.suite.name, start.elapsed().as_secs_f64());
    }
    for mutant in mutants.iter_mut().filter(|mutant| mutant.outcome == MutantOutcome::Open) {
        mutant.outcome = MutantOutcome::Unreached;
    }
    Ok(())
}

fn arguments() -> impl Iterator<Item = &'static str> {
    std::iter::once("--test-threads=1").chain(SKIPPED.iter().flat_map(|name| ["--skip", name]))
}

/// Reads the baseline of the same binary from an earlier session, if it took long.
fn remembered<'s>(kept: &Path, suite: &'s Suite) -> Option<Baseline<'s>> {
    let changed = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
    let text = fs::read_to_string(kept).ok().filter(|_| changed(kept) > changed(&suite.binary))?;
    let (seconds, reached) = text.split_once('\n')?;
    let reached = reached.lines().filter_map(|line| line.parse().ok()).collect();
    Some(Baseline { suite, seconds: seconds.parse().ok().filter(|&it| it > LONG)?, reached })
}

fn baseline<'s>(tree: &Path, suite: &'s Suite) -> Result<Baseline<'s>, String> {
    let (log, times) = (tree.join("reached.txt"), tree.join("times.txt"));
    let name = suite.binary.file_name().map_or("suite".into(), |name| name.to_string_lossy());
    let kept = tree.join(format!("baseline-{name}.txt"));
    if let Some(baseline) = remembered(&kept, suite) {
        return Ok(baseline);
    }
    let _ = fs::remove_file(&log);
    // The suite `figures` compares all rows with those of the run without a mutant.
    if name.starts_with("figures") {
        let _ = fs::remove_dir_all(tree.join(FIGURES));
    }
    let script = "\"$0\" \"$@\"; code=$?; times >\"$HEDDLE_TIMES\"; exit $code";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&suite.binary).args(arguments()).current_dir(&suite.folder);
    command.env("HEDDLE_REACHED", &log).env("HEDDLE_TIMES", &times).env_remove("HEDDLE_MUTANT");
    command.env("HEDDLE_FIGURES", tree.join(FIGURES));
    let output = command.output().map_err(|error| format!("{}: {error}", suite.name))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        return Err(format!("the tests of {} fail without a mutant:\n{text}", suite.name));
    }
    let reached = fs::read_to_string(&log).unwrap_or_default();
    let seconds = fs::read_to_string(&times).ok().and_then(|text| children_seconds(&text));
    let seconds = seconds.ok_or("the shell does not tell how long a test took")?;
    let tell = |error: std::io::Error| format!("{}: {error}", kept.display());
    fs::write(&kept, format!("{seconds}\n{reached}")).map_err(tell)?;
    let reached = reached.lines().filter_map(|line| line.parse().ok()).collect();
    Ok(Baseline { suite, seconds, reached })
}

/// The second line of what the shell's `times` prints: user and system time of what it started.
fn children_seconds(text: &str) -> Option<f64> {
    let line = text.lines().nth(1)?;
    line.split_whitespace().map(seconds).sum()
}

/// `1m2.5s`.
fn seconds(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}

/// Runs a suite on a mutant; `None` if all tests pass.
fn ask(tree: &Path, baseline: &Baseline<'_>, number: usize) -> Result<Option<MutantOutcome>, String> {
    let suite = baseline.suite;
    let seconds = (baseline.seconds * TIMES).max(LEAST_SECONDS).ceil();
    let script = format!("ulimit -t {seconds}; ulimit -v {MEMORY}; ulimit -c 0; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(&suite.binary).args(arguments()).current_dir(&suite.folder);
    command.env("HEDDLE_MUTANT", number.to_string()).env_remove("HEDDLE_REACHED");
    command.env("HEDDLE_FIGURES", tree.join(FIGURES));
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let tell = |error: std::io::Error| format!("{}: {error}", suite.name);
    let mut child = command.spawn().map_err(tell)?;
    let lines = BufReader::new(child.stdout.take().ok_or("the pipe was requested")?).lines();
    for line in lines.map_while(Result::ok) {
        if let Some(test) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED")) {
            // One failing test is enough.
            let _ = child.kill();
            child.wait().map_err(tell)?;
            return Ok(Some(MutantOutcome::Killed(format!("{} {test}", suite.name))));
        }
    }
    let status = child.wait().map_err(tell)?;
    Ok(match status.signal() {
        Some(SIGXCPU | 9) => Some(MutantOutcome::Overran(suite.name.clone())),
        Some(signal) => Some(MutantOutcome::Killed(format!("{}, signal {signal}", suite.name))),
        None if status.success() => None,
        None => Some(MutantOutcome::Killed(format!("{}, {status}", suite.name))),
    })
}
