//! CUDA programs on our driver, next to C with OpenMP that computes the same.
//!
//! The programs are in `cuda_openmp/`: kernels in the usual style of CUDA, compiled to PTX by NVIDIA's compiler, and loops compiled by
//! `clang-22 -O3 -march=native -fopenmp`. A first process fills a cache of its own. The second one is measured, in turn with a process
//! of the other form: the median of batches of runs, without any to warm up, and the cost of loading and the first run, divided by
//! the number of runs. So compilation and trials count. Processor time is that of all threads.
//!
//! clang calls mathematical functions one element at a time. A second table compares with loops that call those of libmvec.

use super::kit::{AimBound, BenchReport, ReportTable, Sample, geomean};
use super::opencl::{Threads, done, line_of, processors};
use std::fs;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Programs whose loops call mathematical functions.
const MATHEMATICAL: [&str; 5] = ["attention", "softmax", "black_scholes", "bilateral", "functions"];
/// Options with which clang calls functions on vectors.
const LIBMVEC: [&str; 2] = ["-fveclib=libmvec", "-fno-math-errno"];
/// Milliseconds for which the first process runs.
const FILLING: &str = "2000";
/// Milliseconds of a batch.
const BATCH: &str = "60";
/// Number of batches of each form, and the maximum where times spread.
const BATCHES: [usize; 2] = [15, 45];
/// Number of batches of a quick run.
const QUICK_BATCHES: usize = 5;
/// Spread of the ratios above which further batches follow.
const SPREAD: f64 = 0.1;
/// Lower bounds of the geometric mean and of each ratio.
const BOUNDS: [f64; 2] = [1.5, 0.9];

/// Measures the programs.
pub(super) fn run(report: &mut BenchReport) {
    let folder = std::env::temp_dir().join(format!("heddle-bench-cuda-openmp-{}", std::process::id()));
    let measured = ComparedForms::prepare(&folder).and_then(|forms| measure_all(report, &forms));
    _ = fs::remove_dir_all(&folder);
    if let Err(reason) = measured {
        report.check(false, || reason);
    }
}

/// Compiled programs of both forms.
struct ComparedForms {
    folder: PathBuf,
    /// Folder of the CUDA driver.
    libraries: PathBuf,
    /// NVIDIA's compiler.
    nvcc: PathBuf,
    /// Program that runs the forms.
    driver: PathBuf,
    /// Program with loops that call libmvec.
    mathematical: PathBuf,
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/cuda_openmp")
}

fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|reason| format!("{}: {reason}", path.display()))
}

/// Paths of a folder in their order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut paths: Vec<PathBuf> =
        at(folder, fs::read_dir(folder))?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// Returns the folder of NVIDIA's compiler, which the verb brings.
fn toolkit(target: &Path) -> Result<PathBuf, String> {
    let lib = target.join("tools/cuda-nvcc/lib");
    let pythons = entries(&lib).unwrap_or_default().into_iter();
    let mut toolkits = pythons.map(|python| python.join("site-packages/nvidia/cu13"));
    let remedy = || format!("{}: NVIDIA's compiler is missing; run `./x bench cuda openmp`", lib.display());
    toolkits.find(|toolkit| toolkit.join("bin/nvcc").exists()).ok_or_else(remedy)
}

impl ComparedForms {
    /// Compiles the loops.
    fn prepare(folder: &Path) -> Result<ComparedForms, String> {
        let program = at(Path::new("bench"), std::env::current_exe())?;
        let built = program.parent().unwrap_or(Path::new("."));
        let toolkit = toolkit(built.parent().unwrap_or(built))?;
        at(folder, fs::create_dir_all(folder))?;
        let forms = ComparedForms {
            folder: folder.to_path_buf(),
            libraries: built.join("cuda"),
            nvcc: toolkit.join("bin/nvcc"),
            driver: folder.join("driver"),
            mathematical: folder.join("mathematical"),
        };
        let mut files = entries(&sources())?;
        files.retain(|path| path.extension().is_some_and(|it| it == "c"));
        for (program, options) in [(&forms.driver, &[][..]), (&forms.mathematical, &LIBMVEC)] {
            let mut clang = Command::new("clang-22");
            // Loops that call mathematical functions are not vectorized, which clang reports.
            clang.args(["-O3", "-march=native", "-fopenmp", "-Wno-pass-failed"]).args(options).arg("-I");
            clang.arg(toolkit.join("include")).args(&files).arg("-L").arg(&forms.libraries);
            done(clang.args(["-lcuda", "-lm", "-o"]).arg(program)).map_err(|reason| {
                format!("{reason}where OpenMP's runtime is missing (Debian: libomp-22-dev)")
            })?;
        }
        Ok(forms)
    }

    /// Compiles the kernels of a program to PTX.
    fn ptx(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name).with_extension("ptx");
        if !path.exists() {
            let mut nvcc = Command::new(&self.nvcc);
            nvcc.args(["-ptx", "-O3", "-arch=compute_89", "-o"]).arg(&path);
            done(nvcc.arg(sources().join(name).with_extension("cu")))?;
        }
        Ok(path)
    }

    /// Returns the command that runs a form. One that does not end is ended after ten minutes.
    fn command(&self, driver: &Path, threads: Threads, cache: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.arg("600").arg(driver).env("LD_LIBRARY_PATH", &self.libraries);
        command.env("HEDDLE_CACHE_DIR", cache).env_remove("HEDDLE_CACHE").env_remove("HEDDLE_CACHE_SEED");
        let count = if threads == Threads::One { 1 } else { processors() };
        command.envs([("HEDDLE_THREADS", count.to_string()), ("OMP_NUM_THREADS", count.to_string())]);
        command
    }
}

/// Seconds by the clock on the wall, and of the processor.
type BothClocks = [f64; 2];
const WALL: usize = 0;
const PROCESSOR: usize = 1;
const CLOCKS: [&str; 2] = ["wall", "processor"];

/// Process that runs a form in batches.
struct FormProcess {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Loading and the first run.
    first: BothClocks,
    /// Difference of the outputs from those of the other form, relative to the tolerance.
    worst: f64,
    runs: f64,
    batches: Vec<BothClocks>,
}

impl Drop for FormProcess {
    fn drop(&mut self) {
        // A process that has ended by itself is not there to be ended.
        drop(self.input.take());
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn figures<const N: usize>(line: &str) -> Result<[f64; N], String> {
    let figures: Option<Vec<f64>> = line.split(';').map(|figure| figure.parse().ok()).collect();
    figures.and_then(|it| it.try_into().ok()).ok_or_else(|| format!("not understood: {line}"))
}

impl FormProcess {
    fn start(name: &str, command: &mut Command) -> Result<FormProcess, String> {
        let wrong = |reason: String| format!("{name}: {reason}");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|reason| wrong(reason.to_string()))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| wrong("no pipes".into()))?;
        let mut process = FormProcess {
            name: name.into(),
            child,
            input: Some(input),
            output: BufReader::new(output),
            first: [0.0; 2],
            worst: 0.0,
            runs: 0.0,
            batches: Vec::new(),
        };
        let [wall, processor, worst] = process.answer()?;
        (process.first, process.worst) = ([wall, processor], worst);
        Ok(process)
    }

    fn answer<const N: usize>(&mut self) -> Result<[f64; N], String> {
        line_of(&mut self.output)
            .and_then(|line| figures(&line))
            .map_err(|reason| format!("{}: {reason}", self.name))
    }

    fn batch(&mut self) -> Result<(), String> {
        if let Some(input) = &mut self.input {
            let written = writeln!(input, "{BATCH}").and_then(|()| input.flush());
            written.map_err(|reason| format!("{}: {reason}", self.name))?;
        }
        let [runs, wall, processor] = self.answer()?;
        self.runs += runs;
        self.batches.push([wall / runs, processor / runs]);
        Ok(())
    }

    /// Ends the process of a form in CUDA, and returns the maximum difference.
    fn finish(&mut self) -> Result<f64, String> {
        drop(self.input.take());
        let [worst] = self.answer()?;
        Ok(worst)
    }

    fn median(&self, clock: usize) -> f64 {
        let times = self.batches.iter().map(|times| times[clock]).collect();
        Sample::of(times).map_or(f64::NAN, |sample| sample.median())
    }

    /// Returns the seconds of a run with its part of loading and of the first run.
    fn with_loading(&self, clock: usize) -> f64 {
        let median = self.median(clock);
        median + (self.first[clock] - median).max(0.0) / (self.runs + 1.0)
    }
}

/// Times of a program in CUDA and by one compilation of the form in OpenMP.
#[derive(Clone)]
struct ComparedTimes {
    openmp: BothClocks,
    cuda: BothClocks,
    /// Loading and the first run of the form in CUDA.
    first: BothClocks,
    /// Spread of the ratios of batches.
    spread: f64,
}

impl ComparedTimes {
    fn of(cuda: &FormProcess, openmp: &FormProcess, clock: usize) -> ComparedTimes {
        ComparedTimes {
            openmp: [WALL, PROCESSOR].map(|clock| openmp.median(clock)),
            cuda: [WALL, PROCESSOR].map(|clock| cuda.with_loading(clock)),
            first: cuda.first,
            spread: spread(cuda, openmp, clock),
        }
    }

    fn ratio(&self, clock: usize) -> f64 {
        self.openmp[clock] / self.cuda[clock]
    }
}

/// Spread of the ratios of batches that ran one after the other.
fn spread(cuda: &FormProcess, openmp: &FormProcess, clock: usize) -> f64 {
    let pairs = cuda.batches.iter().zip(&openmp.batches);
    let ratios = pairs.map(|(ours, theirs)| theirs[clock] / ours[clock]).collect();
    Sample::of(ratios).map_or(0.0, |sample| sample.spread())
}

/// Clock whose times the table has: on one thread the processor's, which excludes other load on the machine.
fn main_clock(threads: Threads) -> usize {
    if threads == Threads::One { PROCESSOR } else { WALL }
}

/// Times of a program: with plain loops, and with those that call libmvec.
fn measure(
    report: &mut BenchReport,
    forms: &ComparedForms,
    name: &str,
    threads: Threads,
) -> Result<Vec<ComparedTimes>, String> {
    let ptx = forms.ptx(name)?;
    let cache = forms.folder.join(format!("cache-{name}-{}", threads.name()));
    let of = |driver: &Path, form: &str| {
        let mut command = forms.command(driver, threads, &cache);
        command.args([form, name]);
        command
    };
    done(of(&forms.driver, "fill").arg(&ptx).arg(FILLING))?;
    let label = |form: &str| format!("{name} in {form}, {}", threads.text());
    let mut all = vec![FormProcess::start(&label("CUDA"), of(&forms.driver, "cuda").arg(&ptx))?];
    all.push(FormProcess::start(&label("OpenMP"), &mut of(&forms.driver, "openmp"))?);
    if MATHEMATICAL.contains(&name) {
        all.push(FormProcess::start(&label("OpenMP with libmvec"), &mut of(&forms.mathematical, "openmp"))?);
    }
    let clock = main_clock(threads);
    let [fewest, most] = if report.is_quick() { [QUICK_BATCHES; 2] } else { BATCHES };
    for count in 0..most {
        let spreads = || all[1..].iter().map(|openmp| spread(&all[0], openmp, clock));
        if count >= fewest && count % fewest == 0 && spreads().all(|spread| spread <= SPREAD) {
            break;
        }
        for process in &mut all {
            process.batch()?;
        }
    }
    let worst = all[0].worst.max(all[0].finish()?);
    report.check(worst <= 1.0, || format!("{}: off by {worst:.1e} times the tolerance", all[0].name));
    _ = fs::remove_dir_all(&cache);
    Ok(all[1..].iter().map(|openmp| ComparedTimes::of(&all[0], openmp, clock)).collect())
}

/// Times of a program by number of threads.
struct ComparedRow {
    name: String,
    times: Vec<ComparedTimes>,
}

fn measure_all(report: &mut BenchReport, forms: &ComparedForms) -> Result<(), String> {
    let counts = if processors() == 1 { &[Threads::One][..] } else { &[Threads::One, Threads::All] };
    let (mut plain, mut mathematical) = (Vec::new(), Vec::new());
    let list = done(Command::new(&forms.driver).arg("list").env("LD_LIBRARY_PATH", &forms.libraries))?;
    for name in list.lines().filter(|name| report.is_on(name)).collect::<Vec<_>>() {
        let mut rows = [Vec::new(), Vec::new()];
        for &threads in counts {
            report.progress(format!("{name}, {}", threads.text()));
            match measure(report, forms, name, threads) {
                Ok(found) => rows.iter_mut().zip(found).for_each(|(row, times)| row.push(times)),
                Err(reason) => report.check(false, || reason),
            }
        }
        let [own, with_libmvec] = rows.map(|times| ComparedRow { name: name.to_string(), times });
        for (row, all) in [(own, &mut plain), (with_libmvec, &mut mathematical)] {
            if row.times.len() == counts.len() {
                report.note(row.summary());
                all.push(row);
            }
        }
    }
    if plain.is_empty() {
        return Ok(());
    }
    report.say(
        "Time of C with OpenMP over that of CUDA on our driver (more than 1: CUDA is faster), in the second process; milliseconds are \
         of the processor on one thread, on the wall on all. `first`: loading and the first run in CUDA. `spread`: distance of the \
         quartiles of ratios\n",
    );
    print_table(report, &plain, counts, true);
    if !mathematical.is_empty() {
        report.say(format!("With loops by `{}`\n", LIBMVEC.join(" ")));
        print_table(report, &mathematical, counts, false);
    }
    Ok(())
}

impl ComparedRow {
    fn summary(&self) -> String {
        let ratios = self
            .times
            .iter()
            .map(|times| format!("  wall {:.2}, processor {:.2}", times.ratio(WALL), times.ratio(PROCESSOR)));
        format!("{:14}{}", self.name, ratios.collect::<String>())
    }
}

fn print_table(report: &mut BenchReport, rows: &[ComparedRow], counts: &[Threads], has_aims: bool) {
    let mut head = vec!["program".to_string()];
    for threads in counts {
        let threads = threads.name();
        head.extend(["OpenMP", "CUDA", "first"].map(|form| format!("{threads}: {form} ms")));
        head.extend(CLOCKS.map(String::from));
        head.push("spread".into());
    }
    let mut table = ReportTable::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
    for row in rows {
        let mut cells = vec![row.name.clone()];
        for (times, &threads) in row.times.iter().zip(counts) {
            let clock = main_clock(threads);
            let seconds = [times.openmp[clock], times.cuda[clock], times.first[clock]];
            cells.extend(seconds.map(|seconds| format!("{:.2}", seconds * 1e3)));
            cells.extend([WALL, PROCESSOR].map(|clock| format!("{:.2}", times.ratio(clock))));
            cells.push(format!("{:.0} %", times.spread * 100.0));
        }
        table.row(cells);
    }
    let ratios_of = |count: usize, clock: usize| -> Vec<f64> {
        rows.iter().map(|row| row.times[count].ratio(clock)).collect()
    };
    let least = |figures: &[f64]| figures.iter().copied().fold(f64::INFINITY, f64::min);
    for (label, figure) in [("geometric mean", geomean as fn(&[f64]) -> f64), ("minimum", least)] {
        let mut cells = vec![label.to_string()];
        for count in 0..counts.len() {
            cells.extend([(); 3].map(|()| String::new()));
            cells.extend([WALL, PROCESSOR].map(|clock| format!("{:.2}", figure(&ratios_of(count, clock)))));
            cells.push(String::new());
        }
        table.row(cells);
    }
    report.say(&table);
    if !has_aims || !report.is_full() {
        return;
    }
    for (count, threads) in counts.iter().enumerate() {
        for (clock, name) in CLOCKS.iter().enumerate() {
            let ratios = ratios_of(count, clock);
            for (figure, bound, aim) in
                [(geomean(&ratios), BOUNDS[0], "mean"), (least(&ratios), BOUNDS[1], "least")]
            {
                let name = format!("cuda-openmp.{}.{name}.{aim}", threads.name());
                report.aim(name, figure, AimBound::AtLeast(bound), "times C with OpenMP");
            }
        }
    }
}
