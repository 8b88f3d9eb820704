//! Nests of loops, unmarked, marked by `collapse` and marked on each level, by clang, gcc and the plugin. Marking a nest must
//! never cost anything.
//!
//! Nests and sizes are in `tensor/*.c`: those of `nests.c` are as applications write them, and nobody tunes for them. The
//! families are the nests, `brushes` (the figures of thesis section 13.4), and `all brushes` (each nest by each brush).

mod brush_maps;
mod limits;
mod ways;

use super::kit::{AimBound, BenchReport, ReportTable, geomean};
use limits::MachinePeaks;
use ways::{FILES, NestRows, NestTimes, NestWay};

const UNMARKED: &[&str] = &["-DMARKS=0"];
const COLLAPSE: &[&str] = &["-DMARKS=1", "-fopenmp-simd"];
const LEVELS: &[&str] = &["-DMARKS=2"];
const INNERMOST: &[&str] = &["-DMARKS=3"];
const SCALAR: &[&str] = &["-DMARKS=0", "-fno-vectorize", "-fno-slp-vectorize"];
const POLLY: &[&str] = &["-DMARKS=0", "-mllvm", "-polly"];
const ONE_LEVEL: &[&str] = &["-DMARKS=2", "-mllvm", "-heddle-loops=brush=none"];
const AUTO: &[&str] = &["-DMARKS=2", "-mllvm", "-heddle-loops=brush=auto"];

/// Maximum difference of code that contracts or reorders sums in another way, relative to 1 plus the result's magnitude.
const TOLERANCE: f64 = 1e-4;

/// Way that is the reference for results and times.
const REFERENCE: &str = "scalar";

pub(super) fn run(report: &mut BenchReport) {
    let result = match brush_maps::selected(report) {
        Some(selection) => brush_maps::run(report, selection),
        None => compare_ways(report),
    };
    if let Err(reason) = result {
        report.check(false, || reason);
    }
}

/// Ways of the comparison. Polly is there where clang has it.
fn compared_ways() -> Vec<NestWay> {
    let mut ways = vec![
        NestWay::by_clang(REFERENCE, SCALAR),
        NestWay::by_clang("clang", UNMARKED),
        NestWay::by_clang("clang_collapse", COLLAPSE),
        NestWay::by_clang("clang_levels", LEVELS),
        NestWay::by_gcc("gcc", UNMARKED),
        NestWay::by_gcc("gcc_collapse", COLLAPSE),
        NestWay::by_gcc("gcc_levels", LEVELS),
    ];
    ways.extend(ways::has_polly().then(|| NestWay::by_clang("polly", POLLY)));
    ways.extend([
        NestWay::ours("heddle_inner", INNERMOST),
        NestWay::ours("heddle_collapse", COLLAPSE),
        NestWay::ours("heddle_levels", ONE_LEVEL),
        NestWay::ours("heddle_brush", AUTO),
    ]);
    ways
}

fn compare_ways(report: &mut BenchReport) -> Result<(), String> {
    let ways = compared_ways();
    let families: Vec<&str> = FILES.iter().flat_map(|file| file.families()).collect();
    let wanted: Vec<&str> = families.into_iter().filter(|family| report.is_on(family)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let only = (!report.is_full()).then(|| wanted[0]);
    let files =
        FILES.iter().filter(|file| only.is_none_or(|name| file.families().any(|family| family == name)));
    let rows = ways::measure(report, &ways, files, only)?;
    check(report, &ways, &rows);
    let peaks = limits::measure(report)?;
    print_speeds(report, &ways, &rows);
    print_limits(report, &ways, &rows, &peaks);
    note_aims(report, &ways, &rows, &peaks);
    Ok(())
}

/// Checks results: clang's code of any kind has the scalar code's bits, other compilers and libraries come near.
fn check(report: &mut BenchReport, ways: &[NestWay], rows: &NestRows) {
    for row in &rows.rows {
        for (index, &worst) in row.timed.worst.iter().enumerate() {
            let (name, is_exact) =
                ways.get(index).map_or(("library", false), |way| (&way.name, way.is_exact()));
            let bound = if is_exact { 0.0 } else { TOLERANCE };
            report.check(worst <= bound, || format!("{} by {name}: off by {worst:.1e}", row.timed.name));
        }
    }
}

fn best(row: &NestTimes, ways: &[NestWay], is_wanted: impl Fn(&NestWay) -> bool) -> f64 {
    let times = ways.iter().zip(&row.timed.samples).filter(|(way, _)| is_wanted(way));
    times.map(|(_, sample)| sample.median()).fold(f64::INFINITY, f64::min)
}

/// Returns the time of the way of this name.
fn time_of(row: &NestTimes, ways: &[NestWay], name: &str) -> f64 {
    best(row, ways, |way| way.name == name)
}

fn best_peer(row: &NestTimes, ways: &[NestWay]) -> f64 {
    best(row, ways, |way| !way.has_plugin && way.name != REFERENCE)
}

/// Returns the time of Heddle's most general way: brushes where the plugin has them, else marks on each level.
fn ours(row: &NestTimes, ways: &[NestWay]) -> f64 {
    time_of(row, ways, &ways[ways.len() - 1].name)
}

/// Returns the library's time, if it was timed on this nest.
fn library(row: &NestTimes, ways: &[NestWay]) -> Option<f64> {
    row.timed.samples.get(ways.len()).map(|sample| sample.median())
}

fn print_speeds(report: &mut BenchReport, ways: &[NestWay], rows: &NestRows) {
    let names = ways.iter().skip(1).map(|way| &*way.name);
    let mut head = vec!["nest, element, size", "ps/step"];
    head.extend(names);
    head.extend(["library", "collapse/best", "ours/best", "ours/inner"]);
    let mut table = ReportTable::new(&head);
    for row in &rows.rows {
        let scalar = time_of(row, ways, REFERENCE);
        let mut cells = vec![row.timed.name.clone(), format!("{:.0}", scalar / row.counts.steps * 1e12)];
        cells.extend(ways.iter().skip(1).map(|way| format!("{:.2}", scalar / time_of(row, ways, &way.name))));
        cells.push(library(row, ways).map_or("-".into(), |time| format!("{:.2}", scalar / time)));
        let peer = best_peer(row, ways);
        cells.push(format!("{:.2}", peer / time_of(row, ways, "heddle_collapse")));
        cells.push(format!("{:.2}", peer / ours(row, ways)));
        cells.push(format!("{:.2}", time_of(row, ways, "heddle_inner") / ours(row, ways)));
        table.row(cells);
    }
    report.say(format!(
        "how many times faster than clang's scalar code (-march={}), whose time is in picoseconds per step; `{}` is ours",
        ways::machine(),
        ways[ways.len() - 1].name,
    ));
    if let Some(library) = &rows.library {
        report.say(format!("library: {library}"));
    }
    report.say(&table);
}

fn print_limits(report: &mut BenchReport, ways: &[NestWay], rows: &NestRows, peaks: &MachinePeaks) {
    report.say(peaks);
    let head = [
        "nest, element, size",
        "loads",
        "cells",
        "stores",
        "operations",
        "as written",
        "each cell once",
        "copied",
        "ours",
        "of the limit",
    ];
    let mut table = ReportTable::new(&head);
    for row in &rows.rows {
        let counts = &row.counts;
        let limit = peaks.limits(counts);
        let scalar = time_of(row, ways, REFERENCE);
        let ours = ours(row, ways);
        let mut cells = vec![row.timed.name.clone()];
        cells.extend(
            [counts.loads, counts.cells, counts.stores, counts.operations].map(|count| count.to_string()),
        );
        let limits = [limit.as_written, limit.with_reuse, limit.memory];
        cells.extend(
            limits.map(|seconds| if seconds > 0.0 { format!("{:.1}", scalar / seconds) } else { "-".into() }),
        );
        cells.push(format!("{:.1}", scalar / ours));
        cells.push(format!("{:.2}", limit.bound() / ours));
        table.row(cells);
    }
    report.say(
        "least counts of a step, and how many times faster than scalar code its limits are: by the ports with all loads that are \
         written, with each cell loaded once, and by copying its bytes",
    );
    report.say(&table);
}

fn note_aims(report: &mut BenchReport, ways: &[NestWay], rows: &NestRows, peaks: &MachinePeaks) {
    let rows = &rows.rows;
    let mut noted = vec![("collapse", "heddle_collapse"), ("levels", "heddle_levels")];
    noted.extend(ways.iter().any(|way| way.name == "heddle_brush").then_some(("brush", "heddle_brush")));
    for (name, way) in noted {
        let ratios: Vec<f64> =
            rows.iter().map(|row| best_peer(row, ways) / time_of(row, ways, way)).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        report.aim(
            format!("tensor.{name}"),
            geomean(&ratios),
            AimBound::AtLeast(1.25),
            "× the best compiler",
        );
        report.aim(format!("tensor.{name}.least"), least, AimBound::AtLeast(0.97), "× the best compiler");
    }
    let mut aim = |name: &str, bound: f64, unit, figures: Vec<f64>| {
        let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
        if least.is_finite() {
            report.aim(format!("tensor.{name}"), least, AimBound::AtLeast(bound), unit);
        }
    };
    let named = |start: &'static str| rows.iter().filter(move |row| row.timed.name.starts_with(start));
    let transposes = named("matrix transpose, double, 1024x")
        .map(|row| time_of(row, ways, "heddle_inner") / ours(row, ways));
    aim("transpose", 3.3, "× the innermost loop", transposes.collect());
    let of_library = |is_large: bool| {
        let all = named("product, ").filter(|row| (row.counts.footprint > 100_000.0) == is_large);
        all.filter_map(|row| Some(library(row, ways)? / ours(row, ways))).collect()
    };
    aim("product.large", 0.6, "× the library", of_library(true));
    aim("product.small", 1.0, "× the library", of_library(false));
    let stencils = || ["jacobi-5, ", "jacobi-9, ", "seidel-"].into_iter().flat_map(named);
    let near = stencils().filter(|row| row.counts.footprint < 32_768.0);
    aim("ports", 0.7, "of the port limit in the first cache", {
        near.map(|row| peaks.limits(&row.counts).with_reuse / ours(row, ways)).collect()
    });
    let far = stencils().filter(|row| row.counts.footprint > 128e6);
    aim("memory", 0.9, "of the bandwidth", {
        far.map(|row| peaks.limits(&row.counts).memory / ours(row, ways)).collect()
    });
}
