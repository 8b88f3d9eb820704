//! Filters on images by the OpenCL driver, next to PoCL and Intel's runtime, and to the same filters on buffers.
//!
//! Kernels and the program that runs them are `opencl/images.cl` and `opencl/images.c`. Each figure is the minimum over
//! several processes on one thread, which alternate between implementations. Results are compared by their sums.

use super::kit::{AimBound, BenchReport, ReportTable, geomean};
use super::opencl::{ClBench, ClImplementation, ClVendor, Threads, WAYS, command_of, done, in_folder};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Kernels, and whether there is one on buffers.
const KERNELS: [(&str, bool); 10] = [
    ("blur_nearest", true),
    ("blur_linear", false),
    ("resize", true),
    ("warp", false),
    ("to_float", true),
    ("from_float", true),
    ("median", true),
    ("convolve", true),
    ("pyramid", false),
    ("raycast", false),
];
const PROCESSES: usize = 3;
/// Milliseconds: warm-up, in which Heddle chooses among its codes, and three samples.
const BUDGETS: [&str; 2] = ["1500 100 100 100", "100 100 100 100"];
/// Maximum relative difference of the sums of results.
const SUM_TOLERANCE: f64 = 1e-4;

/// Figures of an implementation on one kernel.
#[derive(Clone, Copy)]
struct ImageFigures {
    /// Processor time until the first result, in seconds.
    first: f64,
    /// Shortest launch in seconds.
    launch: f64,
    /// Weighted sum of the results.
    sum: f64,
}

impl ImageFigures {
    fn least(self, other: ImageFigures) -> ImageFigures {
        ImageFigures { first: self.first.min(other.first), launch: self.launch.min(other.launch), ..self }
    }
}

/// Runs one process; `more` selects the kernel on buffers.
fn process(
    bench: &ClBench,
    driver: &Path,
    (way, vendor): (&ClImplementation, &Path),
    kernel: &str,
    more: &[&str],
) -> Result<ImageFigures, String> {
    let wrong = |reason: String| format!("{kernel} by {}: {reason}", way.name);
    let mut command = command_of(bench, driver, way, vendor, Threads::One);
    command.arg(&bench.sources).arg(kernel).args(more);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = started.map_err(|reason| wrong(reason.to_string()))?;
    let budgets = BUDGETS[usize::from(way.maker != ClVendor::Heddle)];
    if let Some(mut input) = child.stdin.take() {
        input.write_all(budgets.as_bytes()).map_err(|reason| wrong(reason.to_string()))?;
    }
    let output = child.wait_with_output().map_err(|reason| wrong(reason.to_string()))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = printed.lines().filter_map(|line| line.parse().ok()).collect();
    match figures[..] {
        [first, _, one, two, three, sum] if output.status.success() => {
            Ok(ImageFigures { first, launch: one.min(two).min(three), sum })
        }
        _ => Err(wrong(format!("it ended with {}", output.status))),
    }
}

/// Measures each implementation on images, and Heddle on buffers; None where one fails.
fn measure(
    report: &mut BenchReport,
    bench: &ClBench,
    driver: &Path,
    kernel: &str,
    has_buffers: bool,
) -> Vec<Option<ImageFigures>> {
    let mut runs: Vec<(usize, &[&str])> = (0..bench.ways.len()).map(|way| (way, &[][..])).collect();
    if has_buffers {
        runs.push((0, &["buffer"]));
    }
    let mut all: Vec<Option<ImageFigures>> = vec![None; runs.len()];
    for _ in 0..PROCESSES {
        for (figures, &(way, more)) in all.iter_mut().zip(&runs) {
            let Some(vendor) = &bench.vendors[way] else { continue };
            let is_ours = bench.ways[way].maker == ClVendor::Heddle;
            match process(bench, driver, (&bench.ways[way], vendor), kernel, more) {
                Ok(one) => *figures = Some(figures.map_or(one, |known| known.least(one))),
                Err(reason) => report.check(!is_ours, || reason),
            }
        }
    }
    all
}

/// Runs the benchmark.
pub(super) fn run(report: &mut BenchReport) {
    in_folder(report, &WAYS[..3], |report, bench| {
        let driver = bench.folder().join("images");
        let source = bench.sources.join("images.c");
        done(Command::new("clang-22").args(["-O2", "-o"]).arg(&driver).arg(&source).arg("-lOpenCL"))?;
        let head = ["kernel", "ms", "pocl", "intel", "on buffers", "first, ms", "pocl", "intel"];
        let mut table = ReportTable::new(&head);
        let (mut ratios, mut to_buffers) = (Vec::new(), Vec::new());
        for (kernel, has_buffers) in KERNELS {
            if !report.is_on(kernel) {
                continue;
            }
            report.progress(kernel);
            let all = measure(report, bench, &driver, kernel, has_buffers);
            let Some(ours) = all[0] else { continue };
            for other in all[1..].iter().flatten() {
                let apart = (other.sum - ours.sum).abs() / ours.sum.abs();
                report.check(apart <= SUM_TOLERANCE, || {
                    format!("{kernel}: sums differ: {} and {}", ours.sum, other.sum)
                });
            }
            let ratio = |at: usize, of: fn(&ImageFigures) -> f64| {
                all.get(at).copied().flatten().map(|other| of(&other) / of(&ours))
            };
            let cell = |ratio: Option<f64>| ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
            let launches = [1, 2, 3].map(|at| ratio(at, |figures| figures.launch));
            let firsts = [1, 2].map(|at| ratio(at, |figures| figures.first));
            ratios.extend(launches[..2].iter().flatten().copied().min_by(f64::total_cmp));
            to_buffers.extend(launches[2]);
            table.row([
                kernel.to_string(),
                format!("{:.3}", ours.launch * 1e3),
                cell(launches[0]),
                cell(launches[1]),
                cell(launches[2]),
                format!("{:.0}", ours.first * 1e3),
                cell(firsts[0]),
                cell(firsts[1]),
            ]);
        }
        report.say("one thread, processor time: milliseconds, and how many times longer others take; `first`: until the first result");
        report.say(&table);
        let mut aim = |name: &str, figures: &[f64], figure: fn(&[f64]) -> f64, bound: f64, unit| {
            if !figures.is_empty() {
                report.aim(format!("images.{name}"), figure(figures), AimBound::AtLeast(bound), unit);
            }
        };
        let least = |figures: &[f64]| figures.iter().copied().fold(f64::INFINITY, f64::min);
        aim("all", &ratios, geomean, 1.3, "× the best other");
        aim("least", &ratios, least, 1.0, "× the best other");
        aim("buffers", &to_buffers, geomean, 0.8, "× the same on buffers");
        Ok(())
    });
}
