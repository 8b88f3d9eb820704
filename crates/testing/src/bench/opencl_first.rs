//! Building and the first launches of each kernel, next to the fastest other CPU implementation.
//!
//! Each figure is the sum of the first N launches in a new process, by the clock on the wall: once on an empty cache and once in a
//! second process, with what the first one has kept on disk. Processor time is that of all threads, compilation included.

use super::kit::{AimBound, BenchReport, ReportTable, Sample, geomean};
use super::opencl::{
    ClBench, ClImplementation, ClVendor, TOLERANCE, Threads, WAYS, Workload, command, done, each_workload,
    in_folder, processors,
};
use std::path::Path;

/// Counts of launches; the driver prints the sums for these.
const COUNTS: [usize; 7] = [1, 3, 10, 30, 100, 300, 1000];
/// Number of Heddle's processes, of which the median counts; of each other implementation there is one.
const ROUNDS: usize = 3;
/// Maximum relative difference of the sums of results. Implementations differ in native functions and in contraction.
const SUM_TOLERANCE: f64 = 1e-3;
/// Share of the time that trials may cost.
const BUDGET: f64 = 5.0;

/// Measurement of one process.
#[derive(Clone, Default)]
struct FirstLaunches {
    /// Seconds of building, by the clock on the wall.
    building: f64,
    /// Seconds of the first launches by count: on the wall, and of the processor with building. A process that takes long ends early.
    sums: Vec<[f64; 2]>,
    worst: f64,
    /// Sum of the results, where there is nothing else to compare them with.
    result: Option<f64>,
}

/// State of the cache when a process starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CacheState {
    Cold,
    Kept,
}

/// Quantity that a table compares.
#[derive(Clone, Copy)]
struct FirstMeasure {
    name: &'static str,
    text: &'static str,
    cache: CacheState,
    of: fn(&FirstLaunches, usize) -> Option<f64>,
    /// Lower bounds of the geometric mean and of each ratio.
    bounds: Option<[f64; 2]>,
}

const MEASURES: [FirstMeasure; 4] = [
    FirstMeasure {
        name: "cold",
        text: "empty cache, building and the first N launches",
        cache: CacheState::Cold,
        of: |it, at| Some(it.building + it.sums.get(at)?[0]),
        bounds: Some([1.3, 0.95]),
    },
    FirstMeasure {
        name: "cold-launches",
        text: "empty cache, the first N launches without building",
        cache: CacheState::Cold,
        of: |it, at| Some(it.sums.get(at)?[0]),
        bounds: None,
    },
    FirstMeasure {
        name: "kept",
        text: "second process, the first N launches without building",
        cache: CacheState::Kept,
        of: |it, at| Some(it.sums.get(at)?[0]),
        bounds: Some([1.3, 0.95]),
    },
    FirstMeasure {
        name: "processor",
        text: "empty cache, processor time of building and the first N launches",
        cache: CacheState::Cold,
        of: |it, at| Some(it.sums.get(at)?[1]),
        bounds: None,
    },
];

/// Measures the workloads of the benchmark `opencl`.
pub(super) fn run(report: &mut BenchReport) {
    in_folder(report, WAYS, |report, bench| {
        measure_all(report, bench, &mut |report, measure| each_workload(report, bench, measure))
    });
}

/// Measures kernels that nobody tuned for.
pub(super) fn run_unseen(report: &mut BenchReport) {
    in_folder(report, WAYS, |report, bench| {
        let workloads = unseen_workloads(&bench.sources.join("unseen"))?;
        measure_all(report, bench, &mut |report, measure| {
            for (file, workload) in &workloads {
                if report.is_on(file) {
                    report.progress(workload.label());
                    measure(report, workload)?;
                }
            }
            Ok(())
        })
    });
}

/// Kernels of the files in a folder that have a line with a launch, by the name of their file without its ending.
pub(super) fn unseen_workloads(folder: &Path) -> Result<Vec<(String, Workload)>, String> {
    let failed = |path: &Path, reason: std::io::Error| format!("{}: {reason}", path.display());
    let entries = std::fs::read_dir(folder).map_err(|reason| failed(folder, reason))?;
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let mut workloads = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|reason| failed(&path, reason))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let head = lines.clone().next().filter(|_| line.starts_with("//!"));
            let kernel = head.and_then(|head| head.strip_prefix("kernel void ")?.split('(').next());
            let family = name.trim_end_matches(".cl").to_string();
            workloads.extend(kernel.map(|kernel| (family, Workload::unseen(&name, kernel))));
        }
    }
    Ok(workloads)
}

type MeasureWorkload<'a> = dyn FnMut(&mut BenchReport, &Workload) -> Result<(), String> + 'a;

/// Measures the workloads that a function passes on, on one thread and on all.
fn measure_all(
    report: &mut BenchReport,
    bench: &ClBench,
    each: &mut dyn FnMut(&mut BenchReport, &mut MeasureWorkload<'_>) -> Result<(), String>,
) -> Result<(), String> {
    for threads in [Threads::One, Threads::All] {
        if threads == Threads::All && processors() == 1 {
            continue;
        }
        let mut all = Vec::new();
        each(report, &mut |report, workload| {
            let row = FirstRow::measure(report, bench, workload, threads)?;
            report.note(row.summary(bench.ways, threads));
            all.push(row);
            Ok(())
        })?;
        for measure in MEASURES {
            print_table(report, bench.ways, &all, threads, measure);
        }
    }
    Ok(())
}

/// Measurements of a workload: by state of the cache, then by implementation.
struct FirstRow {
    label: String,
    times: [Vec<Option<FirstLaunches>>; 2],
    /// Share of the time that was lost to trials, in per cent.
    regret: f64,
}

impl FirstRow {
    fn measure(
        report: &mut BenchReport,
        bench: &ClBench,
        workload: &Workload,
        threads: Threads,
    ) -> Result<FirstRow, String> {
        let mut processes = vec![[Vec::new(), Vec::new()]; bench.ways.len()];
        for round in 0..ROUNDS {
            for (at, (way, vendor)) in bench.ways.iter().zip(&bench.vendors).enumerate() {
                let Some(vendor) = vendor.as_ref().filter(|_| round == 0 || way.maker == ClVendor::Heddle)
                else {
                    continue;
                };
                let cache = bench.folder().join(format!("cache-{}-{round}", way.name));
                // Intel's runtime keeps nothing for a second process.
                let states = if way.maker == ClVendor::Intel { 1 } else { 2 };
                for times in &mut processes[at][..states] {
                    match first_launches(bench, way, vendor, workload, threads, &cache) {
                        Ok(one) if one.worst <= TOLERANCE => times.push(one),
                        Ok(one) => {
                            let text = format!("{} by {}: off by {:.1e}", workload.name, way.name, one.worst);
                            report.check(way.maker != ClVendor::Heddle, || text);
                        }
                        Err(reason) => report.check(way.maker != ClVendor::Heddle, || reason),
                    }
                }
                _ = std::fs::remove_dir_all(&cache);
            }
        }
        let median = |state: usize| {
            let of = |way: &[Vec<FirstLaunches>; 2]| median_of(&way[state]).or_else(|| median_of(&way[0]));
            processes.iter().map(of).collect()
        };
        let regret = regret_of(bench, workload, threads)?;
        let times: [Vec<Option<FirstLaunches>>; 2] = [median(0), median(1)];
        check_sums(report, workload, bench.ways, &times[0]);
        Ok(FirstRow { label: workload.label(), times, regret })
    }

    /// Returns the fastest other implementation of a count, and its time relative to Heddle's.
    fn bar(
        &self,
        ways: &[ClImplementation],
        measure: FirstMeasure,
        at: usize,
    ) -> Option<(&'static str, f64)> {
        let times = &self.times[measure.cache as usize];
        let ours = (measure.of)(times[0].as_ref()?, at)?;
        let others = ways.iter().zip(times).skip(1);
        let ratios =
            others.filter_map(|(way, time)| Some((way.name, (measure.of)(time.as_ref()?, at)? / ours)));
        ratios.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    fn summary(&self, ways: &[ClImplementation], threads: Threads) -> String {
        let mut text = format!("{:24} {:3}", self.label, threads.name());
        for measure in MEASURES {
            text.push_str(&format!("  {}", measure.name));
            for at in 0..COUNTS.len() {
                if let Some((_, ratio)) = self.bar(ways, measure, at) {
                    text.push_str(&format!(" {ratio:.2}"));
                }
            }
        }
        text + &format!("  lost {:.1} %", self.regret)
    }
}

/// Checks Heddle's sum of results against the median of the implementations.
fn check_sums(
    report: &mut BenchReport,
    workload: &Workload,
    ways: &[ClImplementation],
    times: &[Option<FirstLaunches>],
) {
    let sum = |it: &Option<FirstLaunches>| it.as_ref().and_then(|it| it.result);
    let others: Vec<f64> = times.iter().skip(1).filter_map(sum).collect();
    let (Some(own), Some(others)) = (times.first().and_then(sum), Sample::of(others)) else { return };
    let off = (own - others.median()).abs() / others.median().abs().max(1.0);
    report.check(off <= SUM_TOLERANCE, || {
        format!("{} by {}: the sum of results is off by {off:.1e}", workload.name, ways[0].name)
    });
}

/// Returns the medians of some processes; counts that one of them did not reach are left out.
fn median_of(processes: &[FirstLaunches]) -> Option<FirstLaunches> {
    let median = |figures: Vec<f64>| Sample::of(figures).map(|sample| sample.median());
    let building = median(processes.iter().map(|it| it.building).collect())?;
    let counts = processes.iter().map(|it| it.sums.len()).min()?;
    let of = |at: usize, what: usize| median(processes.iter().map(|it| it.sums[at][what]).collect());
    let sums = (0..counts).map(|at| Some([of(at, 0)?, of(at, 1)?])).collect::<Option<_>>()?;
    let result = processes.first()?.result;
    Some(FirstLaunches { building, sums, worst: 0.0, result })
}

fn first_launches(
    bench: &ClBench,
    way: &ClImplementation,
    vendor: &Path,
    workload: &Workload,
    threads: Threads,
    cache: &Path,
) -> Result<FirstLaunches, String> {
    let mut command = command(bench, way, vendor, threads);
    command.envs([("HEDDLE_CACHE_DIR", cache), ("POCL_CACHE_DIR", cache)]);
    command.env_remove("HEDDLE_CACHE").env_remove("POCL_KERNEL_CACHE");
    command.arg("first").arg(&bench.sources).arg(&workload.name).arg(workload.size());
    let text = done(&mut command)?;
    let wrong = || format!("{} by {}: not understood: {text}", workload.name, way.name);
    let mut result = FirstLaunches::default();
    for line in text.lines() {
        let (head, rest) = line.split_once(';').ok_or_else(wrong)?;
        let figures: Vec<f64> = rest.split(';').filter_map(|figure| figure.parse().ok()).collect();
        match (head, &figures[..]) {
            ("worst", &[worst]) => result.worst = worst,
            ("sum", &[sum]) => result.result = Some(sum),
            ("0", &[wall, _]) => result.building = wall,
            (_, &[wall, processor]) => result.sums.push([wall, processor]),
            _ => return Err(wrong()),
        }
    }
    Ok(result)
}

/// Share of the launches' time that Heddle's trials cost by its own account, in per cent.
fn regret_of(bench: &ClBench, workload: &Workload, threads: Threads) -> Result<f64, String> {
    let Some(vendor) = &bench.vendors[0] else { return Ok(0.0) };
    let mut command = command(bench, &bench.ways[0], vendor, threads);
    command.env("HEDDLE_REPORT", "1");
    command.arg("first").arg(&bench.sources).arg(&workload.name).arg(workload.size());
    let output = command.output().map_err(|reason| format!("{command:?}: {reason}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let shares = text.lines().filter_map(|line| {
        let (_, share) = line.strip_suffix(" % lost to trials")?.rsplit_once(", ")?;
        share.parse::<f64>().ok()
    });
    Ok(shares.fold(0.0, f64::max))
}

fn print_table(
    report: &mut BenchReport,
    ways: &[ClImplementation],
    all: &[FirstRow],
    threads: Threads,
    measure: FirstMeasure,
) {
    if all.is_empty() {
        return;
    }
    let mut head = vec!["kernel".to_string()];
    head.extend(COUNTS.iter().map(|count| format!("N={count}")));
    head.extend(["lost".into(), "best other".into()]);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = ReportTable::new(&head);
    let mut columns = vec![Vec::new(); COUNTS.len()];
    for row in all {
        let mut cells = vec![row.label.clone()];
        let mut name = "-";
        for (at, column) in columns.iter_mut().enumerate() {
            let bar = row.bar(ways, measure, at);
            column.extend(bar.map(|(_, ratio)| ratio));
            name = bar.map_or(name, |(name, _)| name);
            cells.push(bar.map_or("-".into(), |(_, ratio)| format!("{ratio:.2}")));
        }
        cells.extend([format!("{:.1} %", row.regret), name.into()]);
        table.row(cells);
    }
    let of = |figures: &[f64], figure: fn(&[f64]) -> f64| match figures.is_empty() {
        true => "-".to_string(),
        false => format!("{:.2}", figure(figures)),
    };
    let least = |figures: &[f64]| figures.iter().copied().fold(f64::INFINITY, f64::min);
    for (label, figure) in [("geometric mean", geomean as fn(&[f64]) -> f64), ("minimum", least)] {
        let cells = columns.iter().map(|column| of(column, figure));
        table.row([label.to_string()].into_iter().chain(cells));
    }
    report.say(format!(
        "{}: {}; the time of the fastest other implementation divided by Heddle's",
        threads.text(),
        measure.text
    ));
    report.say(&table);
    let name = |count: usize, what: &str| format!("first.{}.{}.{count}.{what}", threads.name(), measure.name);
    for (&count, column) in COUNTS.iter().zip(&columns) {
        if let (Some([mean, each]), false) = (measure.bounds, column.is_empty()) {
            let unit = "× the best other";
            report.aim(name(count, "mean"), geomean(column), AimBound::AtLeast(mean), unit);
            report.aim(name(count, "least"), least(column), AimBound::AtLeast(each), unit);
        }
    }
    if measure.name == "cold" {
        let most = all.iter().map(|row| row.regret).fold(0.0, f64::max);
        let name = format!("first.{}.lost", threads.name());
        report.aim(name, most, AimBound::AtMost(BUDGET), "%");
    }
}
