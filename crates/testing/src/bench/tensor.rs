//! Nests of loops as applications write them: unmarked, marked by `collapse` and marked on each level, by clang, gcc and the
//! plugin. Marking a nest must never cost anything.
//!
//! Nests, sizes and the timing program are in `tensor/*.c`; each compiler builds its own object.

use super::kit::{AimBound, BenchReport, ReportTable, geomean};
use super::loops::{TimedLoop, done, plugin, read};
use std::path::Path;
use std::process::Command;

/// One way to compile the nests: its name, the compiler, the marks in the source, and whether the plugin compiles.
struct NestWay {
    name: &'static str,
    compiler: &'static str,
    options: &'static [&'static str],
    has_plugin: bool,
}

const UNMARKED: &str = "-DMARKS=0";
const COLLAPSE: &[&str] = &["-DMARKS=1", "-fopenmp-simd"];
const LEVELS: &[&str] = &["-DMARKS=2"];

/// In the order of `NEST_WAYS` in `driver.c`. The first is the reference for results.
const WAYS: &[NestWay] = &[
    NestWay {
        name: "scalar",
        compiler: "clang-22",
        options: &[UNMARKED, "-fno-vectorize", "-fno-slp-vectorize"],
        has_plugin: false,
    },
    NestWay { name: "clang", compiler: "clang-22", options: &[UNMARKED], has_plugin: false },
    NestWay { name: "clang_collapse", compiler: "clang-22", options: COLLAPSE, has_plugin: false },
    NestWay { name: "clang_levels", compiler: "clang-22", options: LEVELS, has_plugin: false },
    NestWay { name: "gcc", compiler: "gcc", options: &[UNMARKED], has_plugin: false },
    NestWay { name: "gcc_collapse", compiler: "gcc", options: COLLAPSE, has_plugin: false },
    NestWay { name: "gcc_levels", compiler: "gcc", options: LEVELS, has_plugin: false },
    NestWay { name: "heddle_collapse", compiler: "clang-22", options: COLLAPSE, has_plugin: true },
    NestWay { name: "heddle_levels", compiler: "clang-22", options: LEVELS, has_plugin: true },
];

/// Peers, and ours.
const PEERS: std::ops::Range<usize> = 1..7;
const OURS: std::ops::Range<usize> = 7..9;

/// Maximum difference from scalar results, relative to 1 plus their magnitude; covers contracted and reordered sums.
const TOLERANCE: f64 = 1e-4;

/// Names of the nests, as in `nests.h`: the families of the benchmark.
const NESTS: &[&str] = &[
    "5-point stencil",
    "9-point stencil",
    "7-point stencil in 3 dimensions",
    "3x3 filter",
    "3x3 filter on bytes",
    "transpose",
    "matrix product",
    "bilinear resampling",
    "box filter",
    "game of life",
];

pub(super) fn run(report: &mut BenchReport) {
    match measure(report) {
        Ok(timed) => print_report(report, &timed),
        Err(reason) => report.check(false, || reason),
    }
}

/// The machine to compile for: `HEDDLE_CPU` as for the front ends, else this one.
fn machine() -> String {
    std::env::var("HEDDLE_CPU").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "native".into())
}

fn measure(report: &mut BenchReport) -> Result<Vec<TimedLoop>, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/tensor");
    let folder = std::env::temp_dir().join(format!("heddle-bench-tensor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|reason| format!("{}: {reason}", folder.display()))?;
    let measured = measure_in(report, &sources, &folder);
    _ = std::fs::remove_dir_all(&folder);
    measured
}

fn measure_in(report: &mut BenchReport, sources: &Path, folder: &Path) -> Result<Vec<TimedLoop>, String> {
    let mut objects = Vec::new();
    for way in WAYS {
        report.progress(format!("compiling: {}", way.name));
        let object = folder.join(format!("{}.o", way.name));
        let mut command = Command::new(way.compiler);
        if way.has_plugin {
            command.arg(format!("-fpass-plugin={}", plugin()?.display()));
        }
        command.args(["-O3", "-fno-math-errno", "-w", "-c"]).arg(format!("-march={}", machine()));
        command.args(way.options).arg(format!("-DWAY={}", way.name));
        done(command.arg(sources.join("nests.c")).arg("-o").arg(&object))?;
        objects.push(object);
    }
    for file in ["driver.c", "../loops/ways.c", "../loops/given.c"] {
        let object = folder.join(format!("around-{}.o", objects.len()));
        done(Command::new("clang-22").args(["-O2", "-c"]).arg(sources.join(file)).arg("-o").arg(&object))?;
        objects.push(object);
    }
    let program = folder.join("tensor");
    done(Command::new("clang-22").arg("-o").arg(&program).args(&objects).arg("-lm"))?;
    report.progress("timing");
    let wanted: Vec<&str> = NESTS.iter().copied().filter(|name| report.is_on(name)).collect();
    let only = (wanted.len() == 1).then(|| format!("{},", wanted[0]));
    let output = done(Command::new(&program).args(only))?;
    let text = String::from_utf8_lossy(&output);
    let read = |line: &str| {
        let one = read(line).filter(|one| one.samples.len() == WAYS.len());
        one.ok_or_else(|| format!("not understood: {line}"))
    };
    text.lines().map(read).collect()
}

fn print_report(report: &mut BenchReport, timed: &[TimedLoop]) {
    let names: Vec<&str> = WAYS.iter().map(|way| way.name).collect();
    for one in timed {
        for (way, &worst) in names.iter().zip(&one.worst) {
            report.check(worst <= TOLERANCE, || format!("{} by {way}: off by {worst:.1e}", one.name));
        }
    }
    let median = |one: &TimedLoop, way: usize| one.samples[way].median();
    let best_peer = |one: &TimedLoop| PEERS.map(|way| median(one, way)).fold(f64::INFINITY, f64::min);
    let over = |one: &TimedLoop, way: usize| best_peer(one) / median(one, way);
    let mut table =
        ReportTable::new(&[&["nest, width"], &*names, &["collapse/best", "levels/best"]].concat());
    for one in timed {
        let speeds = (0..names.len()).map(|way| format!("{:.2}", median(one, 0) / median(one, way)));
        let ratios = OURS.map(|way| format!("{:.2}", over(one, way)));
        table.row(std::iter::once(one.name.clone()).chain(speeds).chain(ratios));
    }
    report.say(format!(
        "how many times faster than clang's scalar code (-march={}); ours against the best peer",
        machine()
    ));
    report.say(&table);
    for (name, way) in ["collapse", "levels"].into_iter().zip(OURS) {
        let ratios: Vec<f64> = timed.iter().map(|one| over(one, way)).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        report.aim(
            format!("tensor.{name}"),
            geomean(&ratios),
            AimBound::AtLeast(1.25),
            "× the best compiler",
        );
        report.aim(format!("tensor.{name}.least"), least, AimBound::AtLeast(0.97), "× the best compiler");
    }
}
