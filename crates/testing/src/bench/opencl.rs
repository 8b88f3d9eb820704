//! The OpenCL driver beside the fastest other CPU implementation that there is for each kernel.
//!
//! Kernels, data and the program that runs them are in `opencl/`. Each way to run them is a process of its own, with a folder
//! of its own for the loader; all ways of a kernel take turns. On one thread what counts is the time that the processor
//! spends on the process, so that what else the machine does is left out; on all threads it is the clock on the wall.

use super::kit::{Report, Sample, Table, Target, geomean};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An implementation, in one of its modes.
struct Way {
    name: &'static str,
    maker: Maker,
    environment: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    Heddle,
    Pocl,
    Intel,
}

const MODE: &str = "CL_CONFIG_CPU_VECTORIZER_MODE";

/// The first is ours.
const WAYS: &[Way] = &[
    Way { name: "heddle", maker: Maker::Heddle, environment: &[] },
    Way { name: "pocl", maker: Maker::Pocl, environment: &[] },
    Way { name: "intel", maker: Maker::Intel, environment: &[] },
    Way { name: "intel-1", maker: Maker::Intel, environment: &[(MODE, "1")] },
    Way { name: "intel-8", maker: Maker::Intel, environment: &[(MODE, "8")] },
    Way { name: "intel-16", maker: Maker::Intel, environment: &[(MODE, "16")] },
    Way {
        name: "intel-avx2",
        maker: Maker::Intel,
        environment: &[("CL_CONFIG_CPU_TARGET_ARCH", "core-avx2")],
    },
];

/// Kernels whose time goes into arithmetic, which have an aim of their own.
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

/// What shows the cost of a launch, and no code.
const LAUNCHES: &[&str] = &["empty-launch", "64-launches"];

const ROUNDS: usize = 9;
/// For how many milliseconds a way runs in each round.
const BUDGET: &str = "8\n";
/// How far results may be from those of the host. Black-Scholes' prices approximate the normal distribution.
const TOLERANCE: f64 = 1e-4;

/// How many threads work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Threads {
    One,
    All,
}

/// What this machine does at most: GB/s within the cache and beyond, Gflop/s of a core.
struct Limits {
    cache: f64,
    memory: f64,
    arithmetic: f64,
}

/// What stays the same for all workloads.
struct Bench {
    driver: PathBuf,
    sources: PathBuf,
    /// Folders for the loader, one a way; none where the implementation is missing.
    vendors: Vec<Option<PathBuf>>,
    libraries: PathBuf,
    limits: Limits,
}

/// A workload in one size.
struct Workload {
    name: String,
    is_large: bool,
}

/// A way that waits to be told how long to run.
struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    built: f64,
    first: f64,
    worst: f64,
    operations: f64,
    bytes: f64,
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// What came out for a workload.
struct Timed {
    workload: Workload,
    /// One a way; none where it is missing or wrong.
    samples: Vec<Option<Sample>>,
    /// Seconds to build and to launch for the first time.
    starts: Vec<Option<f64>>,
    /// The share of the time that the machine's limit asks for, and which limit that is.
    limit: (f64, &'static str),
}

impl Timed {
    /// The fastest other way, and how many times longer than ours it takes.
    fn bar(&self) -> Option<(&'static str, f64)> {
        let ours = self.samples[0].as_ref()?.median();
        let others = WAYS.iter().zip(&self.samples).skip(1);
        let ratios = others.filter_map(|(way, sample)| Some((way.name, sample.as_ref()?.median() / ours)));
        ratios.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

pub(super) fn run(report: &mut Report) {
    let folder = std::env::temp_dir().join(format!("heddle-bench-opencl-{}", std::process::id()));
    let measured = measure(report, &folder);
    _ = std::fs::remove_dir_all(&folder);
    if let Err(reason) = measured {
        report.check(false, || reason);
    }
}

fn measure(report: &mut Report, folder: &Path) -> Result<(), String> {
    let bench = make_ready(report, folder)?;
    let list = done(Command::new(&bench.driver).arg("list"))?;
    for threads in [Threads::One, Threads::All] {
        if threads == Threads::All && std::thread::available_parallelism().map_or(1, usize::from) == 1 {
            continue;
        }
        let mut all = Vec::new();
        for line in list.lines() {
            let (name, has_large) = line.split_once(';').ok_or_else(|| format!("not understood: {line}"))?;
            if !report.is_on(name) {
                continue;
            }
            for is_large in [false, true].into_iter().take(1 + usize::from(has_large == "1")) {
                let workload = Workload { name: name.to_string(), is_large };
                report.progress(format!("{name}{}", if is_large { ", large" } else { "" }));
                all.push(time(report, &bench, workload, threads)?);
            }
        }
        tell(report, &all, threads);
    }
    Ok(())
}

fn done(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|reason| format!("{command:?}: {reason}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?}: {said}")),
    }
}

/// Compiles the driver, and finds the implementations.
fn make_ready(report: &mut Report, folder: &Path) -> Result<Bench, String> {
    let failed = |path: &Path, reason: std::io::Error| format!("{}: {reason}", path.display());
    std::fs::create_dir_all(folder).map_err(|reason| failed(folder, reason))?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/opencl");
    let driver = folder.join("driver");
    let files = [sources.join("driver.c"), sources.join("workloads.c")];
    let options = ["-O3", "-march=native", "-o"];
    done(Command::new("clang-22").args(options).arg(&driver).args(&files).args(["-lOpenCL", "-lm"]))?;

    let here = std::env::current_exe().map_err(|reason| reason.to_string())?;
    let built = here.parent().unwrap_or(Path::new("."));
    let libraries = built.parent().unwrap_or(built).join("tools/opencl-peers/lib");
    let library_of = |maker| match maker {
        Maker::Heddle => built.join("libheddle_opencl.so"),
        Maker::Pocl => PathBuf::from("/etc/OpenCL/vendors/pocl.icd"),
        Maker::Intel => libraries.join("libintelocl.so"),
    };
    let mut vendors = Vec::new();
    for way in WAYS {
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
            Maker::Pocl => std::fs::read_to_string(&library).map_err(|reason| failed(&library, reason))?,
            Maker::Heddle | Maker::Intel => library.display().to_string(),
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
    Ok(Bench { driver, sources, vendors, libraries, limits: Limits { cache, memory, arithmetic } })
}

/// Starts a way on a workload.
fn start(
    bench: &Bench,
    way: &Way,
    vendor: &Path,
    workload: &Workload,
    threads: Threads,
) -> Result<Running, String> {
    let wrong = |reason: String| format!("{} by {}: {reason}", workload.name, way.name);
    // A kernel that does not end ends the benchmark some time.
    let mut command = Command::new("timeout");
    command.arg("600");
    if threads == Threads::One {
        command.args(["taskset", "-c", "0"]).envs([("HEDDLE_THREADS", "1"), ("POCL_MAX_PTHREAD_COUNT", "1")]);
    }
    command.arg(&bench.driver).arg(&bench.sources).arg(&workload.name);
    command.arg(if workload.is_large { "1" } else { "0" });
    command.env("OCL_ICD_VENDORS", vendor).envs(way.environment.iter().copied());
    if way.maker == Maker::Intel {
        command.env("LD_LIBRARY_PATH", &bench.libraries);
    }
    // Each process builds anew.
    command.envs([("POCL_KERNEL_CACHE", "0"), ("HEDDLE_CACHE", "0")]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|reason| wrong(reason.to_string()))?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (input, output) = pipes.ok_or_else(|| wrong("no pipes".into()))?;
    let mut running = Running {
        child,
        input,
        output: BufReader::new(output),
        built: 0.0,
        first: 0.0,
        worst: 0.0,
        operations: 0.0,
        bytes: 0.0,
    };
    let line = line_of(&mut running.output).map_err(wrong)?;
    let figures: Vec<f64> = line.split(';').skip(1).filter_map(|figure| figure.parse().ok()).collect();
    let &[built, first, worst, operations, bytes] = &figures[..] else {
        return Err(wrong(format!("not understood: {line}")));
    };
    (running.built, running.first, running.worst) = (built, first, worst);
    (running.operations, running.bytes) = (operations, bytes);
    Ok(running)
}

fn line_of(output: &mut BufReader<ChildStdout>) -> Result<String, String> {
    let mut line = String::new();
    match output.read_line(&mut line) {
        Ok(0) => Err("it ended without an answer".into()),
        Ok(_) => Ok(line.trim().to_string()),
        Err(reason) => Err(reason.to_string()),
    }
}

impl Running {
    fn sample(&mut self, threads: Threads) -> Result<f64, String> {
        self.input.write_all(BUDGET.as_bytes()).map_err(|reason| reason.to_string())?;
        let line = line_of(&mut self.output)?;
        let (wall, processor) = line.split_once(';').ok_or_else(|| format!("not understood: {line}"))?;
        let figure = if threads == Threads::One { processor } else { wall };
        figure.parse().map_err(|_| format!("not understood: {line}"))
    }
}

fn time(report: &mut Report, bench: &Bench, workload: Workload, threads: Threads) -> Result<Timed, String> {
    let mut running: Vec<Option<Running>> = Vec::new();
    for (way, vendor) in WAYS.iter().zip(&bench.vendors) {
        let started = match vendor {
            None => None,
            Some(vendor) => match start(bench, way, vendor, &workload, threads) {
                Ok(started) => Some(started),
                Err(reason) => {
                    report.check(way.maker != Maker::Heddle, || reason.clone());
                    report.say(reason);
                    None
                }
            },
        };
        // A way that is wrong is no bar.
        let is_right = |one: &Running| one.worst <= TOLERANCE;
        if let Some(one) = started.as_ref().filter(|one| !is_right(one)) {
            let text = format!("{} by {}: off by {:.1e}", workload.name, way.name, one.worst);
            report.check(way.maker != Maker::Heddle, || text.clone());
            report.say(text);
        }
        running.push(started.filter(is_right));
    }
    let mut times = vec![Vec::new(); WAYS.len()];
    for _ in 0..ROUNDS {
        for (one, times) in running.iter_mut().zip(&mut times) {
            if let Some(one) = one {
                times.push(one.sample(threads)?);
            }
        }
    }
    let starts = running.iter().map(|one| one.as_ref().map(|one| one.built + one.first)).collect();
    let samples: Vec<Option<Sample>> = times.into_iter().map(Sample::of).collect();
    let limit = match (&running[0], &samples[0]) {
        (Some(one), Some(sample)) => limit_of(one, workload.is_large, &bench.limits, sample.median()),
        _ => (0.0, ""),
    };
    Ok(Timed { workload, samples, starts, limit })
}

/// The share of the time that the machine's limit asks for.
fn limit_of(one: &Running, is_large: bool, limits: &Limits, seconds: f64) -> (f64, &'static str) {
    let arithmetic = one.operations / (limits.arithmetic * 1e9) / seconds;
    let (bandwidth, name) = if is_large { (limits.memory, "memory") } else { (limits.cache, "cache") };
    let memory = one.bytes / (bandwidth * 1e9) / seconds;
    if memory > arithmetic { (memory, name) } else { (arithmetic, "arithmetic") }
}

fn tell(report: &mut Report, all: &[Timed], threads: Threads) {
    let (words, short) = match threads {
        Threads::One => ("one thread, time of the processor", "one"),
        Threads::All => ("all threads, time on the wall", "all"),
    };
    let mut head = vec!["kernel", "ms", "spread"];
    head.extend(WAYS.iter().skip(1).map(|way| way.name));
    head.extend(["ratio", "limit", "of"]);
    let mut table = Table::new(&head);
    for one in all {
        let size = if one.workload.is_large { ", large" } else { "" };
        let mut row = vec![format!("{}{size}", one.workload.name)];
        let ours = one.samples[0].as_ref();
        row.push(ours.map_or("-".into(), |sample| format!("{:.4}", sample.median() * 1e3)));
        row.push(ours.map_or("-".into(), |sample| format!("{:.0} %", sample.spread() * 100.0)));
        for sample in &one.samples[1..] {
            let ratio = ours.zip(sample.as_ref()).map(|(ours, sample)| sample.median() / ours.median());
            row.push(ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")));
        }
        row.push(one.bar().map_or("-".into(), |(_, ratio)| format!("{ratio:.2}")));
        row.push(format!("{:.0} %", one.limit.0 * 100.0));
        row.push(one.limit.1.into());
        table.row(row);
    }
    report.say(format!(
        "{words}: how many times longer others take than Heddle; `ratio` is the fastest of them"
    ));
    report.say(&table);
    let ratios = |holds: &dyn Fn(&Timed) -> bool| -> Vec<f64> {
        all.iter().filter(|one| holds(one)).filter_map(|one| Some(one.bar()?.1)).collect()
    };
    let is_launch = |one: &Timed| LAUNCHES.contains(&&*one.workload.name);
    let mut aim = |name: &str, figures: Vec<f64>, figure: fn(&[f64]) -> f64, bound: f64| {
        if !figures.is_empty() {
            report.aim(
                format!("opencl.{short}.{name}"),
                figure(&figures),
                Target::AtLeast(bound),
                "× the best other",
            );
        }
    };
    let least = |figures: &[f64]| figures.iter().copied().fold(f64::INFINITY, f64::min);
    let is_bound = |one: &Timed| COMPUTE_BOUND.contains(&&*one.workload.name);
    aim("all", ratios(&|one| !is_launch(one)), geomean, 1.3);
    aim("compute-bound", ratios(&is_bound), geomean, 1.5);
    aim("least", ratios(&|one| !is_launch(one)), least, 0.97);
    aim("launches", ratios(&is_launch), least, 1.0);
    if threads == Threads::One {
        let starts = all.iter().filter(|one| !is_launch(one)).filter_map(|one| {
            let others = one.starts.iter().skip(1).flatten().copied();
            Some(others.min_by(f64::total_cmp)? / one.starts[0]?)
        });
        aim("build and first launch", starts.collect(), geomean, 1.0);
    }
}
