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
/// Number of processes of each implementation, of which the median counts.
const ROUNDS: usize = 3;
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

/// Measures all workloads.
pub(super) fn run(report: &mut BenchReport) {
    in_folder(report, WAYS, |report, bench| {
        for threads in [Threads::One, Threads::All] {
            if threads == Threads::All && processors() == 1 {
                continue;
            }
            let mut all = Vec::new();
            each_workload(report, bench, |report, workload| {
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
    });
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
                let Some(vendor) = vendor else { continue };
                let cache = bench.folder().join(format!("cache-{}-{round}", way.name));
                for times in &mut processes[at] {
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
        let median = |state: usize| processes.iter().map(|way| median_of(&way[state])).collect();
        let regret = regret_of(bench, workload, threads)?;
        Ok(FirstRow { label: workload.label(), times: [median(0), median(1)], regret })
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

/// Returns the medians of some processes; counts that one of them did not reach are left out.
fn median_of(processes: &[FirstLaunches]) -> Option<FirstLaunches> {
    let median = |figures: Vec<f64>| Sample::of(figures).map(|sample| sample.median());
    let building = median(processes.iter().map(|it| it.building).collect())?;
    let counts = processes.iter().map(|it| it.sums.len()).min()?;
    let of = |at: usize, what: usize| median(processes.iter().map(|it| it.sums[at][what]).collect());
    let sums = (0..counts).map(|at| Some([of(at, 0)?, of(at, 1)?])).collect::<Option<_>>()?;
    Some(FirstLaunches { building, sums, worst: 0.0 })
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
