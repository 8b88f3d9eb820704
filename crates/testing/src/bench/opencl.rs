//! The OpenCL driver against the fastest other CPU implementation of each kernel.
//!
//! Kernels, data and the program that runs them are in `opencl/`. Each implementation runs in its own process, with its
//! own folder for the loader; the implementations of a kernel are interleaved. Where another implementation seems
//! faster than ours, both are restarted several times. On one thread the measure is CPU time, which excludes other load
//! on the machine; on all threads it is wall-clock time.
//!
//! Measurements are written immediately, a line for each implementation of a kernel, to a file from which an
//! interrupted run resumes.

use super::kit::{AimBound, BenchReport, ReportTable, Sample, geomean};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Implementation in one of its modes.
pub(super) struct ClImplementation {
    pub(super) name: &'static str,
    pub(super) maker: ClVendor,
    environment: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ClVendor {
    Heddle,
    Pocl,
    Intel,
}

const MODE: &str = "CL_CONFIG_CPU_VECTORIZER_MODE";

/// The first is ours.
pub(super) const WAYS: &[ClImplementation] = &[
    ClImplementation { name: "heddle", maker: ClVendor::Heddle, environment: &[] },
    ClImplementation { name: "pocl", maker: ClVendor::Pocl, environment: &[] },
    ClImplementation { name: "intel", maker: ClVendor::Intel, environment: &[] },
    ClImplementation { name: "intel-1", maker: ClVendor::Intel, environment: &[(MODE, "1")] },
    ClImplementation { name: "intel-8", maker: ClVendor::Intel, environment: &[(MODE, "8")] },
    ClImplementation { name: "intel-16", maker: ClVendor::Intel, environment: &[(MODE, "16")] },
    ClImplementation {
        name: "intel-avx2",
        maker: ClVendor::Intel,
        environment: &[("CL_CONFIG_CPU_TARGET_ARCH", "core-avx2")],
    },
];

/// Kernels bound by arithmetic, with their own aim.
const COMPUTE_BOUND: &[&str] = &[
    "black-scholes",
    "dct",
    "mandelbrot",
    "nbody",
    "cascade-random",
    "matmul",
    "raymarch",
    "nqueens",
    "kmeans",
];

/// Workloads that measure launch overhead rather than code.
const LAUNCHES: &[&str] = &["empty-launch", "64-launches"];

/// Modes of the driver: the first is its default, the others are those that Karrenberg and Hack compare (their Table 1,
/// without vector code that keeps uniform values in vectors, which Heddle cannot make), and each mechanism alone.
const OWN_WAYS: &[ClImplementation] = &[
    own("everything", &[]),
    own("scalar", &[(LANES, "1")]),
    own("folded", &[(OPTIONS, "branches=fold,guards=needed"), (LANES, FULL)]),
    own("boscc", &[(OPTIONS, "branches=fold"), (LANES, FULL)]),
    own("uniform", &[(OPTIONS, "guards=needed"), (LANES, FULL)]),
    own("one-width", &[(LANES, FULL)]),
    own("forced", &[(OPTIONS, "guards=force"), (LANES, FULL)]),
    own("no-versions", &[(OPTIONS, "versions=none"), (LANES, FULL)]),
    own("fused", &[(OPTIONS, "fuse=force"), (LANES, FULL)]),
    own("no-fusion", &[(OPTIONS, "fuse=no"), (LANES, FULL)]),
    own("flat", &[(OPTIONS, "flatten=force"), (LANES, FULL)]),
    own("no-flattening", &[(OPTIONS, "flatten=no"), (LANES, FULL)]),
    own("refilled", &[(OPTIONS, "refill=force"), (LANES, FULL)]),
    own("no-refill", &[(OPTIONS, "refill=no"), (LANES, FULL)]),
    own("streamed", &[(OPTIONS, "stores=streamed"), (LANES, FULL)]),
    own("scalars", &[(OPTIONS, "ssrqp=cost"), (LANES, FULL)]),
];

const OPTIONS: &str = "HEDDLE_OPTIONS";
const LANES: &str = "HEDDLE_LANES";
/// Name of the mode that uses exactly the lanes of a register.
const FULL: &str = "registers";

const fn own(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> ClImplementation {
    ClImplementation { name, maker: ClVendor::Heddle, environment }
}

const ROUNDS: usize = 9;
/// At most, while what counts spreads by more than [`STEADY`], as where some rounds take half as long again.
const MOST_ROUNDS: usize = 5 * ROUNDS;
/// The distance of the quartiles, as a share of the median, up to which more rounds are of no use.
const STEADY: f64 = 0.05;
/// Implementations below this share of the first one's time are measured again together with the first, in several
/// processes; the median counts.
const DOUBTFUL: f64 = 0.985;
const PROCESSES: usize = 7;
/// Milliseconds that an implementation runs per round.
const BUDGET: f64 = 8.0;
/// Warm-up in milliseconds per thread. Heddle chooses the number of lanes meanwhile; the others do not need it.
const SETTLING: f64 = 1500.0;
const WARMING: f64 = 100.0;
/// Maximum relative difference from the host's results. Black-Scholes approximates the normal distribution.
pub(super) const TOLERANCE: f64 = 1e-4;

/// Number of worker threads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    One,
    All,
}

/// Peak rates of this machine: GB/s within the cache and beyond, Gflop/s per core.
struct MachineLimits {
    cache: f64,
    memory: f64,
    arithmetic: f64,
}

/// Configuration shared by all workloads.
pub(super) struct ClBench {
    pub(super) ways: &'static [ClImplementation],
    driver: PathBuf,
    pub(super) sources: PathBuf,
    /// Loader folders by implementation; `None` where it is missing.
    pub(super) vendors: Vec<Option<PathBuf>>,
    libraries: PathBuf,
    limits: MachineLimits,
    /// Path and contents of the kept measurements.
    kept: PathBuf,
    known: Vec<Vec<String>>,
    /// Identifies the software that the measurements belong to.
    stamp: String,
}

/// A workload in one size.
#[derive(Clone)]
pub(super) struct Workload {
    pub(super) name: String,
    is_large: bool,
}

impl ClBench {
    /// Returns the folder that is removed at the end.
    pub(super) fn folder(&self) -> &Path {
        self.driver.parent().unwrap_or(Path::new("."))
    }
}

impl Workload {
    /// Kernel of a file in `unseen/`.
    pub(super) fn unseen(file: &str, kernel: &str) -> Workload {
        Workload { name: format!("unseen/{file}:{kernel}"), is_large: false }
    }

    /// Name of the kernel, if it is one of a file in `unseen/`.
    pub(super) fn kernel(&self) -> Option<&str> {
        Some(self.name.split_once(':')?.1)
    }

    /// Returns the size as the driver's argument.
    pub(super) fn size(&self) -> &'static str {
        if self.is_large { "1" } else { "0" }
    }

    pub(super) fn label(&self) -> String {
        format!("{}{}", self.name, if self.is_large { ", large" } else { "" })
    }
}

/// Process of an implementation that waits for the length of its next run.
struct ClBenchProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    worst: f64,
    operations: f64,
    bytes: f64,
}

impl Drop for ClBenchProcess {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Measurements of a workload.
struct TimedWorkload {
    ways: &'static [ClImplementation],
    workload: Workload,
    /// Seconds and spread by implementation; `None` where it is missing or wrong.
    times: Vec<Option<(f64, f64)>>,
    /// Share of the time that the machine's limit implies, and the limit's name.
    limit: (f64, String),
}

impl TimedWorkload {
    /// Returns the fastest other implementation, and its time relative to the first.
    fn bar(&self) -> Option<(&'static str, f64)> {
        let (first, _) = self.times[0]?;
        let others = self.ways.iter().zip(&self.times).skip(1);
        let ratios = others.filter_map(|(way, time)| Some((way.name, (*time)?.0 / first)));
        ratios.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

/// Compares Heddle with the other implementations.
pub(super) fn run(report: &mut BenchReport) {
    in_folder(report, WAYS, |report, bench| {
        let mut all = [Vec::new(), Vec::new()];
        each_workload(report, bench, |report, workload| {
            for (threads, all) in [Threads::One, Threads::All].into_iter().zip(&mut all) {
                if threads == Threads::One || processors() > 1 {
                    all.extend(time(report, bench, workload, threads)?);
                }
            }
            Ok(())
        })?;
        for (threads, all) in [Threads::One, Threads::All].into_iter().zip(&all) {
            print_report(report, bench.ways, all, threads);
        }
        Ok(())
    });
}

/// Compares Heddle's modes.
pub(super) fn run_own(report: &mut BenchReport) {
    in_folder(report, OWN_WAYS, |report, bench| {
        let mut all = Vec::new();
        each_workload(report, bench, |report, workload| {
            if !workload.is_large && !LAUNCHES.contains(&&*workload.name) {
                all.extend(time(report, bench, workload, Threads::One)?);
            }
            Ok(())
        })?;
        say_table(
            report,
            bench.ways,
            &all,
            "one thread, time of the processor: how many times longer each way takes than `everything`",
        );
        let worst = all.iter().filter_map(|one| Some((one.bar()?, &one.workload.name)));
        if let Some(((way, ratio), kernel)) =
            worst.min_by(|((_, one), _), ((_, other), _)| one.total_cmp(other))
        {
            report.say(format!(
                "the models choose worst for {kernel}, where {way} takes {ratio:.2} of the time"
            ));
            report.aim("opencl-own.least", ratio, AimBound::AtLeast(0.97), "× the best other way");
        }
        Ok(())
    });
}

/// Building and launching for the first time.
pub(super) fn run_start(report: &mut BenchReport) {
    in_folder(report, &WAYS[..3], |report, bench| {
        let mut table =
            ReportTable::new(&["kernel", "cold, ms", "pocl", "intel", "again, ms", "pocl", "intel"]);
        let mut ratios = [Vec::new(), Vec::new()];
        each_workload(report, bench, |report, workload| {
            if workload.is_large || LAUNCHES.contains(&&*workload.name) {
                return Ok(());
            }
            let mut starts = Vec::new();
            for (way, vendor) in bench.ways.iter().zip(&bench.vendors) {
                starts
                    .push(vendor.as_ref().map(|vendor| start_of(bench, way, vendor, workload)).transpose()?);
            }
            let mut row = vec![workload.name.clone()];
            for (at, ratios) in ratios.iter_mut().enumerate() {
                let ours = starts[0].map(|start| start[at]);
                row.push(ours.map_or("-".into(), |ours| format!("{:.0}", ours * 1e3)));
                for start in &starts[1..] {
                    let ratio = ours.zip(*start).map(|(ours, start)| start[at] / ours);
                    row.push(ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")));
                }
                let others = starts[1..].iter().flatten().map(|start| start[at]);
                ratios.extend(others.min_by(f64::total_cmp).zip(ours).map(|(other, ours)| other / ours));
            }
            report.note(row.join("  "));
            table.row(row);
            Ok(())
        })?;
        report.say("building and the first launch, time of the processor, nothing kept on disk: milliseconds, and how many times longer others take");
        report.say(&table);
        for (name, ratios) in ["cold", "again"].into_iter().zip(&ratios) {
            if !ratios.is_empty() {
                report.aim(
                    format!("opencl-start.{name}"),
                    geomean(ratios),
                    AimBound::AtLeast(1.0),
                    "× the best other",
                );
            }
        }
        Ok(())
    });
}

/// Seconds to build and launch in a new process, and once more in the same.
fn start_of(
    bench: &ClBench,
    way: &ClImplementation,
    vendor: &Path,
    workload: &Workload,
) -> Result<[f64; 2], String> {
    let mut command = command(bench, way, vendor, Threads::One);
    command.arg("start").arg(&bench.sources).arg(&workload.name);
    let printed = done(&mut command)?;
    let figures: Vec<f64> = printed.trim().split(';').filter_map(|figure| figure.parse().ok()).collect();
    figures.try_into().map_err(|_| format!("{} by {}: not understood: {printed}", workload.name, way.name))
}

pub(super) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(super) fn in_folder(
    report: &mut BenchReport,
    ways: &'static [ClImplementation],
    measure: impl FnOnce(&mut BenchReport, &ClBench) -> Result<(), String>,
) {
    let folder = std::env::temp_dir().join(format!("heddle-bench-opencl-{}", std::process::id()));
    let measured = make_ready(report, &folder, ways).and_then(|bench| measure(report, &bench));
    _ = std::fs::remove_dir_all(&folder);
    if let Err(reason) = measured {
        report.check(false, || reason);
    }
}

pub(super) fn each_workload(
    report: &mut BenchReport,
    bench: &ClBench,
    mut measure: impl FnMut(&mut BenchReport, &Workload) -> Result<(), String>,
) -> Result<(), String> {
    for line in done(Command::new(&bench.driver).arg("list"))?.lines() {
        let (name, has_large) = line.split_once(';').ok_or_else(|| format!("not understood: {line}"))?;
        if !report.is_on(name) {
            continue;
        }
        for is_large in [false, true].into_iter().take(1 + usize::from(has_large == "1")) {
            let workload = Workload { name: name.to_string(), is_large };
            report.progress(workload.label());
            measure(report, &workload)?;
        }
    }
    Ok(())
}

pub(super) fn done(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|reason| format!("{command:?}: {reason}"))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?}: {printed}")),
    }
}

/// Compiles the driver, and finds the implementations.
fn make_ready(
    report: &mut BenchReport,
    folder: &Path,
    ways: &'static [ClImplementation],
) -> Result<ClBench, String> {
    let failed = |path: &Path, reason: std::io::Error| format!("{}: {reason}", path.display());
    std::fs::create_dir_all(folder).map_err(|reason| failed(folder, reason))?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/opencl");
    let driver = folder.join("driver");
    let files = ["driver.c", "workloads.c", "unseen.c"].map(|file| sources.join(file));
    let options = ["-O3", "-march=native", "-o"];
    done(Command::new("clang-22").args(options).arg(&driver).args(&files).args(["-lOpenCL", "-lm"]))?;

    let here = std::env::current_exe().map_err(|reason| reason.to_string())?;
    let built = here.parent().unwrap_or(Path::new("."));
    let libraries = built.parent().unwrap_or(built).join("tools/opencl-peers/lib");
    let library_of = |maker| match maker {
        ClVendor::Heddle => built.join("libheddle_opencl.so"),
        ClVendor::Pocl => PathBuf::from("/etc/OpenCL/vendors/pocl.icd"),
        ClVendor::Intel => libraries.join("libintelocl.so"),
    };
    let mut vendors = Vec::new();
    for way in ways {
        let library = library_of(way.maker);
        if !library.exists() {
            report.say(format!(
                "{} is left out: there is no {} (`./x peers` brings it)",
                way.name,
                library.display()
            ));
            vendors.push(None);
            continue;
        }
        let vendor = folder.join(way.name);
        std::fs::create_dir_all(&vendor).map_err(|reason| failed(&vendor, reason))?;
        let text = match way.maker {
            ClVendor::Pocl => std::fs::read_to_string(&library).map_err(|reason| failed(&library, reason))?,
            ClVendor::Heddle | ClVendor::Intel => library.display().to_string(),
        };
        let file = vendor.join("one.icd");
        std::fs::write(&file, text).map_err(|reason| failed(&file, reason))?;
        vendors.push(Some(vendor));
    }
    let limits = done(Command::new(&driver).arg("limits"))?;
    let limits: Vec<f64> = limits.trim().split(';').filter_map(|figure| figure.parse().ok()).collect();
    let &[cache, memory, arithmetic] = &limits[..] else { return Err("no limits".into()) };
    report.say(format!(
        "one core: {arithmetic:.0} Gflop/s, {cache:.0} GB/s within the cache, {memory:.0} GB/s beyond"
    ));
    let limits = MachineLimits { cache, memory, arithmetic };
    let ours = library_of(ClVendor::Heddle);
    let stamp = format!("{:x}", sum_of(&ours)?);
    let kept = built.parent().unwrap_or(built).join(match ways[0].name {
        "everything" => "bench/opencl-own.csv",
        _ => "bench/opencl.csv",
    });
    let text =
        if report.resumes() { std::fs::read_to_string(&kept).unwrap_or_default() } else { String::new() };
    let cells = |line: &str| line.split(';').map(String::from).collect();
    let known = text.lines().filter(|line| line.starts_with(&stamp)).map(cells).collect();
    if text.is_empty() {
        let write = || {
            std::fs::create_dir_all(kept.parent().unwrap_or(built))?;
            std::fs::write(&kept, HEAD)
        };
        write().map_err(|reason| failed(&kept, reason))?;
    }
    Ok(ClBench { ways, driver, sources, vendors, libraries, limits, kept, known, stamp })
}

/// Columns of the file of kept measurements: hash of the driver's bytes, kernel, size, threads, implementation, seconds
/// (empty if missing or wrong), interquartile distance as a share, and for the first implementation its share of the
/// limit's time and the limit's name.
const HEAD: &str = "driver;kernel;size;threads;way;seconds;spread;share;limit\n";

/// A number that differs where the bytes of a file do.
fn sum_of(file: &Path) -> Result<u64, String> {
    use std::hash::Hasher as _;
    let bytes = std::fs::read(file).map_err(|reason| format!("{}: {reason}", file.display()))?;
    let mut sum = rustc_hash::FxHasher::default();
    sum.write(&bytes);
    Ok(sum.finish())
}

/// Returns the command that runs the benchmark's program by an implementation.
pub(super) fn command(bench: &ClBench, way: &ClImplementation, vendor: &Path, threads: Threads) -> Command {
    command_of(bench, &bench.driver, way, vendor, threads)
}

/// Returns the command that runs a program by an implementation.
pub(super) fn command_of(
    bench: &ClBench,
    program: &Path,
    way: &ClImplementation,
    vendor: &Path,
    threads: Threads,
) -> Command {
    // A kernel that does not end ends the benchmark some time.
    let mut command = Command::new("timeout");
    command.arg("600");
    if threads == Threads::One {
        command.args(["taskset", "-c", "0"]).envs([("HEDDLE_THREADS", "1"), ("POCL_MAX_PTHREAD_COUNT", "1")]);
    }
    command.arg(program).env("OCL_ICD_VENDORS", vendor).envs(way.environment.iter().copied());
    if way.maker == ClVendor::Intel {
        command.env("LD_LIBRARY_PATH", &bench.libraries);
    }
    // Each process builds anew.
    command.envs([("POCL_KERNEL_CACHE", "0"), ("HEDDLE_CACHE", "0")]);
    command
}

/// Starts an implementation on a workload.
fn start(
    bench: &ClBench,
    way: &ClImplementation,
    vendor: &Path,
    workload: &Workload,
    threads: Threads,
) -> Result<ClBenchProcess, String> {
    let wrong = |reason: String| format!("{} by {}: {reason}", workload.name, way.name);
    let mut command = command(bench, way, vendor, threads);
    command.arg(&bench.sources).arg(&workload.name).arg(workload.size());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|reason| wrong(reason.to_string()))?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (input, output) = pipes.ok_or_else(|| wrong("no pipes".into()))?;
    let mut running = ClBenchProcess {
        child,
        input,
        output: BufReader::new(output),
        worst: 0.0,
        operations: 0.0,
        bytes: 0.0,
    };
    let line = line_of(&mut running.output).map_err(wrong)?;
    let figures: Vec<f64> = line.split(';').skip(1).filter_map(|figure| figure.parse().ok()).collect();
    let &[_built, _first, worst, operations, bytes] = &figures[..] else {
        return Err(wrong(format!("not understood: {line}")));
    };
    (running.worst, running.operations, running.bytes) = (worst, operations, bytes);
    let settling = if way.maker == ClVendor::Heddle { SETTLING } else { WARMING };
    let count = if threads == Threads::One { 1 } else { processors() };
    running.sample(threads, settling * count as f64).map_err(wrong)?;
    Ok(running)
}

pub(super) fn line_of(output: &mut BufReader<ChildStdout>) -> Result<String, String> {
    let mut line = String::new();
    match output.read_line(&mut line) {
        Ok(0) => Err("it ended without an answer".into()),
        Ok(_) => Ok(line.trim().to_string()),
        Err(reason) => Err(reason.to_string()),
    }
}

impl ClBenchProcess {
    /// Returns the shortest run within a budget of CPU milliseconds.
    fn sample(&mut self, threads: Threads, budget: f64) -> Result<f64, String> {
        self.input.write_all(format!("{budget}\n").as_bytes()).map_err(|reason| reason.to_string())?;
        let line = line_of(&mut self.output)?;
        let (wall, processor) = line.split_once(';').ok_or_else(|| format!("not understood: {line}"))?;
        let figure = if threads == Threads::One { processor } else { wall };
        figure.parse().map_err(|_| format!("not understood: {line}"))
    }
}

/// Times a workload, or reads its kept measurements; `None` if nothing is to be reported.
fn time(
    report: &mut BenchReport,
    bench: &ClBench,
    workload: &Workload,
    threads: Threads,
) -> Result<Option<TimedWorkload>, String> {
    if let Some(known) = known(bench, workload, threads) {
        return Ok(Some(known));
    }
    let mut running: Vec<Option<ClBenchProcess>> = Vec::new();
    for (way, vendor) in bench.ways.iter().zip(&bench.vendors) {
        let started = match vendor {
            None => None,
            Some(vendor) => match start(bench, way, vendor, workload, threads) {
                Ok(started) => Some(started),
                Err(reason) => {
                    report.check(way.maker != ClVendor::Heddle, || reason.clone());
                    report.say(reason);
                    None
                }
            },
        };
        // A wrong implementation sets no bar.
        let is_right = |one: &ClBenchProcess| one.worst <= TOLERANCE;
        if let Some(one) = started.as_ref().filter(|one| !is_right(one)) {
            let text = format!("{} by {}: off by {:.1e}", workload.name, way.name, one.worst);
            report.check(way.maker != ClVendor::Heddle, || text.clone());
            report.say(text);
        }
        running.push(started.filter(is_right));
    }
    let mut times = vec![Vec::new(); bench.ways.len()];
    let mut rounds = 0;
    let times = loop {
        for _ in 0..ROUNDS {
            for (one, times) in running.iter_mut().zip(&mut times) {
                if let Some(one) = one {
                    times.push(one.sample(threads, BUDGET)?);
                }
            }
        }
        rounds += ROUNDS;
        let figures: Vec<_> = times.iter().map(|times| figures_of(times)).collect();
        if rounds == MOST_ROUNDS || is_steady(&figures) {
            break figures;
        }
    };
    let times = remeasure(bench, workload, threads, times)?;
    let limit = match (&running[0], times[0]) {
        (Some(one), Some((seconds, _))) => limit_of(one, workload.is_large, &bench.limits, seconds),
        _ => (0.0, ""),
    };
    let timed = TimedWorkload {
        ways: bench.ways,
        workload: workload.clone(),
        times,
        limit: (limit.0, limit.1.into()),
    };
    keep(bench, &timed, threads)?;
    if let (Some((seconds, _)), Some((way, ratio))) = (timed.times[0], timed.bar()) {
        let label = workload.label();
        report.note(format!(
            "{label:24} {:3}  {:10.4} ms  {ratio:5.2} ({way})",
            threads.name(),
            seconds * 1e3
        ));
    }
    Ok(Some(timed))
}

/// Measures the implementations again in more processes where some seem faster than the first. Memory placement differs
/// between processes, so one of many equal programs would otherwise win by luck.
fn remeasure(
    bench: &ClBench,
    workload: &Workload,
    threads: Threads,
    times: Vec<Option<(f64, f64)>>,
) -> Result<Vec<Option<(f64, f64)>>, String> {
    let mut medians: Vec<Vec<f64>> =
        times.iter().map(|time| time.iter().map(|&(median, _)| median).collect()).collect();
    let mut times = times;
    for _ in 1..PROCESSES {
        let Some((first, _)) = times[0] else { break };
        let is_doubtful = |at: &usize| {
            medians[*at].len() > 1 || times[*at].is_some_and(|(median, _)| median < DOUBTFUL * first)
        };
        let doubtful: Vec<usize> = (1..times.len()).filter(is_doubtful).collect();
        if doubtful.is_empty() {
            break;
        }
        let mut running = Vec::new();
        for at in [0].into_iter().chain(doubtful) {
            if let Some(vendor) = &bench.vendors[at] {
                running.push((at, start(bench, &bench.ways[at], vendor, workload, threads)?, Vec::new()));
            }
        }
        for _ in 0..ROUNDS {
            for (_, one, rounds) in &mut running {
                rounds.push(one.sample(threads, BUDGET)?);
            }
        }
        for (at, _, rounds) in running {
            medians[at].extend(figures_of(&rounds).map(|(median, _)| median));
            times[at] = figures_of(&medians[at]);
        }
    }
    Ok(times)
}

/// Returns the median of an implementation's rounds and their spread, if it ran.
fn figures_of(times: &[f64]) -> Option<(f64, f64)> {
    Sample::of(times.to_vec()).map(|sample| (sample.median(), sample.spread()))
}

/// True if the two times of the ratio, of the first and of the fastest other implementation, were steady in most
/// rounds.
fn is_steady(figures: &[Option<(f64, f64)>]) -> bool {
    let others = figures.iter().skip(1).flatten();
    let best = others.min_by(|(one, _), (other, _)| one.total_cmp(other));
    figures.iter().take(1).flatten().chain(best).all(|&(_, spread)| spread <= STEADY)
}

impl Threads {
    /// Returns the words of a table's head.
    pub(super) fn text(self) -> &'static str {
        if self == Threads::One { "one thread" } else { "all threads" }
    }

    pub(super) fn name(self) -> &'static str {
        if self == Threads::One { "one" } else { "all" }
    }
}

/// Returns the key columns of a kept line.
fn begin(bench: &ClBench, workload: &Workload, threads: Threads) -> [String; 4] {
    let size = if workload.is_large { "large" } else { "cache" };
    [bench.stamp.clone(), workload.name.clone(), size.into(), threads.name().into()]
}

fn keep(bench: &ClBench, timed: &TimedWorkload, threads: Threads) -> Result<(), String> {
    let mut text = String::new();
    for (number, (way, time)) in bench.ways.iter().zip(&timed.times).enumerate() {
        let mut cells = begin(bench, &timed.workload, threads).to_vec();
        cells.push(way.name.into());
        cells.push(time.map_or(String::new(), |(seconds, _)| format!("{seconds:.9}")));
        cells.push(time.map_or(String::new(), |(_, spread)| format!("{spread:.3}")));
        cells.push(if number == 0 { format!("{:.4}", timed.limit.0) } else { String::new() });
        cells.push(if number == 0 { timed.limit.1.clone() } else { String::new() });
        text.push_str(&(cells.join(";") + "\n"));
    }
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&bench.kept);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|reason| format!("{}: {reason}", bench.kept.display()))
}

/// Returns the kept measurements of a workload if they cover all implementations.
fn known(bench: &ClBench, workload: &Workload, threads: Threads) -> Option<TimedWorkload> {
    let begin = begin(bench, workload, threads);
    let own: Vec<&Vec<String>> = bench.known.iter().filter(|cells| cells.starts_with(&begin)).collect();
    let line = |way: &ClImplementation| {
        own.iter().rev().find(|cells| cells.get(4).is_some_and(|name| name == way.name))
    };
    let lines: Vec<_> = bench.ways.iter().map(line).collect::<Option<_>>()?;
    let number = |cells: &[String], at: usize| cells.get(at).and_then(|cell| cell.parse::<f64>().ok());
    let times = lines.iter().map(|cells| number(cells, 5).zip(number(cells, 6))).collect();
    let limit = (number(lines[0], 7).unwrap_or(0.0), lines[0].get(8).cloned().unwrap_or_default());
    Some(TimedWorkload { ways: bench.ways, workload: workload.clone(), times, limit })
}

/// Returns the share of the time that the machine's limit implies.
fn limit_of(
    one: &ClBenchProcess,
    is_large: bool,
    limits: &MachineLimits,
    seconds: f64,
) -> (f64, &'static str) {
    let arithmetic = one.operations / (limits.arithmetic * 1e9) / seconds;
    let (bandwidth, name) = if is_large { (limits.memory, "memory") } else { (limits.cache, "cache") };
    let memory = one.bytes / (bandwidth * 1e9) / seconds;
    if memory > arithmetic { (memory, name) } else { (arithmetic, "arithmetic") }
}

fn say_table(report: &mut BenchReport, ways: &[ClImplementation], all: &[TimedWorkload], what: &str) {
    let mut head = vec!["kernel", "ms", "spread"];
    head.extend(ways.iter().skip(1).map(|way| way.name));
    head.extend(["ratio", "limit", "of"]);
    let mut table = ReportTable::new(&head);
    for one in all {
        let mut row = vec![one.workload.label()];
        let ours = one.times[0];
        row.push(ours.map_or("-".into(), |(seconds, _)| format!("{:.4}", seconds * 1e3)));
        row.push(ours.map_or("-".into(), |(_, spread)| format!("{:.0} %", spread * 100.0)));
        for other in &one.times[1..] {
            let ratio = ours.zip(*other).map(|((ours, _), (other, _))| other / ours);
            row.push(ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")));
        }
        row.push(one.bar().map_or("-".into(), |(_, ratio)| format!("{ratio:.2}")));
        row.push(format!("{:.0} %", one.limit.0 * 100.0));
        row.push(one.limit.1.clone());
        table.row(row);
    }
    report.say(what);
    report.say(&table);
}

fn print_report(
    report: &mut BenchReport,
    ways: &[ClImplementation],
    all: &[TimedWorkload],
    threads: Threads,
) {
    if all.is_empty() {
        return;
    }
    let words = match threads {
        Threads::One => "one thread, time of the processor",
        Threads::All => "all threads, time on the wall",
    };
    let short = threads.name();
    let what =
        format!("{words}: how many times longer others take than Heddle; `ratio` is the fastest of them");
    say_table(report, ways, all, &what);
    let ratios = |holds: &dyn Fn(&TimedWorkload) -> bool| -> Vec<f64> {
        all.iter().filter(|one| holds(one)).filter_map(|one| Some(one.bar()?.1)).collect()
    };
    let is_launch = |one: &TimedWorkload| LAUNCHES.contains(&&*one.workload.name);
    let mut aim = |name: &str, figures: Vec<f64>, figure: fn(&[f64]) -> f64, bound: f64| {
        if !figures.is_empty() {
            report.aim(
                format!("opencl.{short}.{name}"),
                figure(&figures),
                AimBound::AtLeast(bound),
                "× the best other",
            );
        }
    };
    let least = |figures: &[f64]| figures.iter().copied().fold(f64::INFINITY, f64::min);
    let is_bound = |one: &TimedWorkload| COMPUTE_BOUND.contains(&&*one.workload.name);
    aim("all", ratios(&|one| !is_launch(one)), geomean, 1.3);
    aim("compute-bound", ratios(&is_bound), geomean, 1.5);
    aim("least", ratios(&|one| !is_launch(one)), least, 0.97);
    aim("launches", ratios(&is_launch), least, 1.0);
}
