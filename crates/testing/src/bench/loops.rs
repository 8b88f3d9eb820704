//! Marked loops: the plugin's code against clang's scalar code, and against clang's and gcc's code for the same
//! pragmas.
//!
//! Loops, sizes and the timing program are in `loops/*.c`; each compiler builds its own object.

use super::kit::{AimBound, BenchReport, ReportTable, Sample, geomean};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiler configuration: its name, the compiler, and its additional options.
struct LoopCompiler {
    name: &'static str,
    compiler: &'static str,
    options: &'static [&'static str],
}

/// The first is the reference for results; the last is ours, the one before it ours without skippable branches. ISPC
/// comes after them and does not compile all loops.
const WAYS: &[LoopCompiler] = &[
    LoopCompiler { name: "scalar", compiler: "clang-22", options: &["-fno-vectorize", "-fno-slp-vectorize"] },
    LoopCompiler { name: "clang", compiler: "clang-22", options: &["-fopenmp-simd", "-fveclib=libmvec"] },
    LoopCompiler { name: "gcc", compiler: "gcc", options: &["-fopenmp-simd"] },
    LoopCompiler {
        name: "unguarded",
        compiler: "clang-22",
        options: &["-fopenmp-simd", "-D__HEDDLE__", "-mllvm", "-heddle-loops=guards=needed"],
    },
    LoopCompiler { name: "heddle", compiler: "clang-22", options: &["-fopenmp-simd", "-D__HEDDLE__"] },
];

const UNGUARDED: usize = 3;
const OURS: usize = 4;
const ISPC: usize = 5;

const ALL: &[&str] = &["-O3", "-march=native", "-fno-math-errno", "-w", "-c"];

/// Files that each compiler compiles, with their macro definitions.
const FILES: &[(&str, &[&str])] = &[
    ("kernels.c", &[]),
    ("programs.c", &[]),
    ("searches.c", &["-DREAL=float", "-ffp-contract=off"]),
    ("searches.c", &["-DREAL=double", "-ffp-contract=off"]),
];

/// The files of the program around them.
const AROUND: &[(&str, &[&str])] = &[
    ("driver.c", &[]),
    ("ways.c", &[]),
    ("given.c", &[]),
    ("find.c", &["-DREAL=float"]),
    ("find.c", &["-DREAL=double"]),
];

/// Loops with divergent control flow or calls, loops that gather, and loops whose lanes share a stack: each kind has
/// its own aim. Names of a loop's cases begin with the loop's name.
const DIVERGENT: &[&str] = &[
    "mandelbrot",
    "black-scholes",
    "cascade",
    "binomial",
    "perlin",
    "volume",
    "occlusion",
    "small matrices",
    "n-body",
    "biased cascade",
];
const GATHERS: &[&str] = &["table lookup", "tree lookup", "tree in columns", "own stacks", "xs", "bt"];
const STACKS: &[&str] = &["one stack", "kd ", "pc ", "mpc ", "vp ", "bh "];
/// Loops that clang vectorizes well.
const ORDINARY: &[&str] = &["scale and add", "dot product", "clamped sum", "stencil", "km "];
/// Loop that measures guards: thesis Fig. 9.4.
const GUARDED: &str = "biased cascade";

/// Maximum difference from scalar results, relative to 1 plus their magnitude; covers reordered sums and mathematical
/// functions.
const TOLERANCE: f64 = 1e-5;

/// Times of one loop, by compiler.
pub(super) struct TimedLoop {
    pub(super) name: String,
    pub(super) worst: Vec<f64>,
    pub(super) samples: Vec<Sample>,
}

/// ISPC's compiler, where the environment names one.
fn ispc() -> Option<PathBuf> {
    std::env::var_os("ISPC").map(PathBuf::from)
}

pub(super) fn run(report: &mut BenchReport) {
    match measure(report) {
        Ok(timed) => print_report(report, &timed),
        Err(reason) => report.check(false, || reason),
    }
}

pub(super) fn plugin() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|reason| reason.to_string())?;
    let path = here.with_file_name("libheddle_plugin.so");
    match path.exists() {
        true => Ok(path),
        false => Err(format!("{} is missing: `./x build` makes it", path.display())),
    }
}

pub(super) fn done(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|reason| format!("{command:?}: {reason}"))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(output.stdout) } else { Err(format!("{command:?}: {printed}")) }
}

fn measure(report: &mut BenchReport) -> Result<Vec<TimedLoop>, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/loops");
    let folder = std::env::temp_dir().join(format!("heddle-bench-loops-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|reason| format!("{}: {reason}", folder.display()))?;
    let measured = measure_in(report, &sources, &folder);
    _ = std::fs::remove_dir_all(&folder);
    measured
}

fn measure_in(report: &mut BenchReport, sources: &Path, folder: &Path) -> Result<Vec<TimedLoop>, String> {
    let mut objects = Vec::new();
    for way in WAYS {
        for (number, (file, defined)) in FILES.iter().enumerate() {
            report.progress(format!("compiling: {}, {file}", way.name));
            let object = folder.join(format!("{}-{number}.o", way.name));
            let mut command = Command::new(way.compiler);
            if way.options.contains(&"-D__HEDDLE__") {
                command.arg(format!("-fpass-plugin={}", plugin()?.display()));
            }
            command.args(ALL).args(way.options).args(*defined).arg(format!("-DWAY={}", way.name));
            done(command.arg(sources.join(file)).arg("-o").arg(&object))?;
            objects.push(object);
        }
    }
    let mut around = AROUND.to_vec();
    let ispc = ispc();
    if let Some(ispc) = &ispc {
        report.progress("compiling: ispc");
        let object = folder.join("ispc.o");
        let mut command = Command::new(ispc);
        command.args(["-O3", "--target=host", "--pic", "--woff"]);
        done(command.arg(sources.join("kernels.ispc")).arg("-o").arg(&object))?;
        objects.push(object);
        around.push(("ispc.c", &[]));
    }
    for (number, (file, defined)) in around.into_iter().enumerate() {
        let object = folder.join(format!("around-{number}.o"));
        let mut command = Command::new("clang-22");
        command.args(["-O2", "-c"]).args(ispc.is_some().then_some("-DISPC")).args(defined);
        done(command.arg(sources.join(file)).arg("-o").arg(&object))?;
        objects.push(object);
    }
    let program = folder.join("loops");
    let mut command = Command::new("clang-22");
    command.arg("-o").arg(&program).args(&objects);
    done(command.args(["-lmvec", "-lm"]))?;
    report.progress("timing");
    // Families are loops.
    let all = [ORDINARY, DIVERGENT, GATHERS, STACKS].concat();
    let wanted: Vec<&str> = all.iter().copied().filter(|name| report.is_on(name.trim_end())).collect();
    let only = (wanted.len() == 1).then_some(wanted[0]);
    let output = done(Command::new(&program).args(only))?;
    let text = String::from_utf8_lossy(&output);
    text.lines().map(|line| read(line).ok_or_else(|| format!("not understood: {line}"))).collect()
}

pub(super) fn read(line: &str) -> Option<TimedLoop> {
    let mut fields = line.split(';');
    let name = fields.next()?.to_string();
    let ways: usize = fields.next()?.parse().ok().filter(|&ways| ways > OURS)?;
    let numbers: Vec<f64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let (worst, times) = numbers.split_at_checked(ways)?;
    let of_way = |way: usize| Sample::of(times.iter().copied().skip(way).step_by(ways).collect());
    let samples = (0..ways).map(of_way).collect::<Option<_>>()?;
    Some(TimedLoop { name, worst: worst.to_vec(), samples })
}

/// Returns the table row of a loop: cases that differ only in the spread of queries share one.
fn row_of(one: &TimedLoop) -> &str {
    one.name.split(", spread ").next().unwrap_or(&one.name)
}

fn print_report(report: &mut BenchReport, timed: &[TimedLoop]) {
    let mut names: Vec<&str> = WAYS.iter().map(|way| way.name).collect();
    names.extend(ispc().map(|_| "ispc"));
    let mut table = ReportTable::new(&[&["loop"], &*names].concat());
    // Speedup of ours over another compiler.
    let over = |one: &TimedLoop, way: usize| one.samples[way].median() / one.samples[OURS].median();
    for one in timed {
        for (way, &worst) in names.iter().zip(&one.worst) {
            report.check(worst <= TOLERANCE, || format!("{} by {way}: off by {worst:.1e}", one.name));
        }
    }
    let faster = |one: &TimedLoop, way: usize| one.samples[0].median() / one.samples[way].median();
    let mut rows: Vec<(&str, Vec<&TimedLoop>)> = Vec::new();
    for one in timed {
        match rows.iter_mut().find(|(name, _)| *name == row_of(one)) {
            Some((_, cases)) => cases.push(one),
            None => rows.push((row_of(one), vec![one])),
        }
    }
    for (name, cases) in &rows {
        let of_way = |way: usize| match cases.iter().all(|one| way < one.samples.len()) {
            true => format!("{:.2}", geomean(&cases.iter().map(|one| faster(one, way)).collect::<Vec<_>>())),
            false => "-".into(),
        };
        table.row(std::iter::once(name.to_string()).chain((0..names.len()).map(of_way)));
    }
    report.say("how many times faster than clang's scalar code");
    report.say(&table);
    let mut table =
        ReportTable::new(&["queries of spread 0.1, 0.2, …", "times faster than clang's scalar code"]);
    for (name, cases) in rows.iter().filter(|(_, cases)| cases.len() > 1) {
        let figures: Vec<String> = cases.iter().map(|one| format!("{:.2}", faster(one, OURS))).collect();
        table.row([name.to_string(), figures.join(" ")]);
    }
    report.say(&table);
    let of = |names: &[&str], figure: &dyn Fn(&TimedLoop) -> f64| {
        let is_of = |one: &&TimedLoop| names.iter().any(|name| one.name.starts_with(name));
        let figures: Vec<f64> = timed.iter().filter(|one| is_of(one)).map(figure).collect();
        (!figures.is_empty()).then(|| geomean(&figures))
    };
    let divergent = [DIVERGENT, GATHERS, STACKS].concat();
    let least_over = |one: &TimedLoop, ways: &mut dyn Iterator<Item = usize>| {
        ways.map(|way| over(one, way)).fold(f64::INFINITY, f64::min)
    };
    let best = |one: &TimedLoop| least_over(one, &mut (0..UNGUARDED).chain(ISPC..one.samples.len()));
    let best_compiler = |one: &TimedLoop| least_over(one, &mut (1..UNGUARDED));
    let aims = [
        ("loops.divergent", of(DIVERGENT, &|one| over(one, 0)), 6.0, "× scalar"),
        ("loops.gathers", of(GATHERS, &|one| over(one, 0)), 1.8, "× scalar"),
        ("loops.stacks", of(STACKS, &|one| over(one, 0)), 1.8, "× scalar"),
        ("loops.best", of(&divergent, &best_compiler), 2.0, "× the best compiler"),
        ("loops.guards", of(&[GUARDED], &|one| over(one, UNGUARDED)), 1.09, "× without"),
    ];
    for (name, figure, least, unit) in aims {
        if let Some(figure) = figure {
            report.aim(name, figure, AimBound::AtLeast(least), unit);
        }
    }
    let by_ispc: Vec<f64> =
        timed.iter().filter(|one| one.samples.len() > ISPC).map(|one| over(one, ISPC)).collect();
    if !by_ispc.is_empty() {
        report.aim("loops.ispc", geomean(&by_ispc), AimBound::AtLeast(1.0), "× ISPC");
    }
    let least = timed.iter().map(best).fold(f64::INFINITY, f64::min);
    report.aim("loops.least", least, AimBound::AtLeast(0.95), "× the best of all");
    let mut table = ReportTable::new(&["below 0.95 of the best of all", "times"]);
    for (name, cases) in &rows {
        let figure = geomean(&cases.iter().map(|one| best(one)).collect::<Vec<_>>());
        if figure < 0.95 {
            table.row([name.to_string(), format!("{figure:.2}")]);
        }
    }
    report.say(&table);
}
