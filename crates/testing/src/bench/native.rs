//! Native code: C functions as vector code against the loops that clang makes of them.
//!
//! Each kernel is compiled three times: as a loop that clang may not vectorize, as a loop that it may, and as Heddle's
//! wide function. The latter is called for as many elements at a time as side-by-side vectors hold floats. One process
//! runs them interleaved. `mandelbrot` is also written with intrinsics, with two vectors in flight. Trees are those of
//! `bench loops`.

use super::kit::{AimBound, BenchReport, ReportTable, geomean};
use heddle_compiler::ir::Code;
use heddle_compiler::ir::module::DeclaredShape;
use heddle_compiler::options::ParamShape;
use heddle_compiler::{BrushCount, BrushExtents, Session, VectorizeOptions, VectorizeRequest};
use heddle_llvm::{CodeFormat, Cpu, compile, import};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const KERNELS: &[&str] = &[
    "mandelbrot",
    "collatz",
    "guarded",
    "uniform_branch",
    "search",
    "root",
    "nested",
    "points",
    "complex",
    "stencil",
];
/// Kernels that follow pointers through trees, the last of them with one stack for all lanes.
const TREES: &[&str] = &["lookup_structures", "lookup_columns", "own_stacks", "one_stack"];
const SHARED_STACK: &str = "one_stack";
pub(super) const SOURCE: &str = include_str!("native/kernels.c");
const DRIVER: &str = include_str!("native/driver.c");
const BY_HAND: &str = include_str!("native/by_hand.c");
const GIVEN: &str = include_str!("loops/given.c");
/// Headers that the sources include.
pub(super) const HEADERS: [(&str, &str); 3] = [
    ("trees.h", include_str!("loops/trees.h")),
    ("given.h", include_str!("loops/given.h")),
    ("heddle.h", include_str!("../../../../include/heddle.h")),
];

/// Number of processes: code and data placement differs between them and changes a loop's time by up to 10 %.
const PROCESSES: usize = 7;
/// Minimum speedup of a divergent loop in vector code over scalar code.
const LEAST_RATIO: f64 = 2.0;

pub(super) fn run(report: &mut BenchReport) {
    let folder = std::env::temp_dir().join(format!("heddle-bench-{}", std::process::id()));
    let result =
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string()).and_then(|()| measured(&folder));
    let _ = std::fs::remove_dir_all(&folder);
    match result {
        Ok(rows) => print_report(report, &rows),
        Err(reason) => report.check(false, || reason),
    }
}

fn print_report(report: &mut BenchReport, rows: &[NativeBenchRow]) {
    let mut table = ReportTable::new(&[
        "kernel",
        "scalar µs",
        "clang's loop µs",
        "lanes µs",
        "scalar / lanes",
        "loop / lanes",
        "spread",
        "model",
    ]);
    for row in rows {
        report.check(row.wrong == 0, || format!("{}: {} numbers are wrong", row.name, row.wrong));
        table.row([
            row.name.clone(),
            format!("{:.1}", row.scalar * 1e6),
            format!("{:.1}", row.vectorized * 1e6),
            format!("{:.1}", row.lanes * 1e6),
            format!("{:.2}", row.scalar / row.lanes),
            format!("{:.2}", row.vectorized / row.lanes),
            format!("{:.0} %", 100.0 * row.spread),
            if row.scalar_wins { "scalar wins" } else { "vectors win" }.into(),
        ]);
    }
    let cpu = Cpu::host();
    report.say(format_args!(
        "C functions in {} lanes, or as many vectors side by side as pay, on {} (medians; 4096 elements)\n\n{table}",
        lanes(&cpu),
        cpu.name
    ));
    let foretold = rows.iter().filter(|row| row.scalar_wins == (row.scalar < row.lanes)).count();
    report.say(format_args!("`scalar-wins` is right of {foretold} of {} rows\n", rows.len()));
    let is_tree = |row: &NativeBenchRow| TREES.iter().any(|name| row.name.starts_with(name));
    let of = |wanted: &dyn Fn(&NativeBenchRow) -> bool,
              figure: &dyn Fn(&NativeBenchRow) -> f64|
     -> Vec<f64> { rows.iter().filter(|row| wanted(row)).map(figure).collect() };
    let by_scalar = |row: &NativeBenchRow| row.scalar / row.lanes;
    let shares = |row: &NativeBenchRow| row.name.starts_with(SHARED_STACK);
    let own = of(&|row| is_tree(row) && !shares(row), &by_scalar);
    let plain = of(&|row| !is_tree(row), &by_scalar);
    let by_loop = of(&|row| !is_tree(row), &|row| row.vectorized / row.lanes);
    let than_scalar = "times scalar clang -O3";
    report.aim("native.scalar", geomean(&plain), AimBound::AtLeast(LEAST_RATIO), than_scalar);
    report.aim(
        "native.loop",
        geomean(&by_loop),
        AimBound::AtLeast(1.0),
        "times clang -O3 with its vectorizer",
    );
    report.aim("native.trees", geomean(&own), AimBound::AtLeast(1.8), than_scalar);
    let least = own.iter().copied().fold(f64::INFINITY, f64::min);
    report.aim("native.trees-least", least, AimBound::AtLeast(0.95), than_scalar);
    report.aim("native.stacks", geomean(&of(&shares, &by_scalar)), AimBound::AtLeast(3.0), than_scalar);
    match rows.iter().find(|row| row.by_hand > 0.0) {
        Some(row) => {
            let ratio = row.by_hand / row.lanes;
            report.aim("native.by-hand", ratio, AimBound::AtLeast(0.9), "times mandelbrot by intrinsics");
        }
        None => report.say("mandelbrot by intrinsics: not run, it needs AVX2"),
    }
}

struct NativeBenchRow {
    name: String,
    wrong: u64,
    scalar: f64,
    vectorized: f64,
    lanes: f64,
    by_hand: f64,
    spread: f64,
    /// True if the compiler's cost model prefers scalar code.
    scalar_wins: bool,
}

/// Returns the number of floats in a register.
fn lanes(cpu: &Cpu) -> u32 {
    cpu.vector_bits() / 32
}

fn measured(folder: &Path) -> Result<Vec<NativeBenchRow>, String> {
    let write = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(path)
    };
    let source = write("kernels.c", SOURCE.as_bytes())?;
    write("driver.c", DRIVER.as_bytes())?;
    write("by_hand.c", BY_HAND.as_bytes())?;
    write("given.c", GIVEN.as_bytes())?;
    for (name, text) in HEADERS {
        write(name, text.as_bytes())?;
    }
    let all = || KERNELS.iter().chain(TREES);
    // Each file of loops keeps its kernels to itself.
    let mut loops =
        SOURCE.replacen("#define KERNEL(name) void", "#define KERNEL(name) static inline void", 1);
    for name in all() {
        let _ = writeln!(
            loops,
            "void {name}_PEER(long count, const float *restrict a, const float *restrict b, float *restrict c, int n) {{\n  \
             for (long i = 0; i < count; i++) {name}(i, a, b, c, n);\n}}"
        );
    }
    write("scalar.c", loops.replace("PEER", "scalar").as_bytes())?;
    write("loop.c", loops.replace("PEER", "loop").as_bytes())?;

    let cpu = Cpu::host();
    let mut session = Session::new(cpu.clone());
    session.options = VectorizeOptions { brushes: BrushCount::Auto, ..session.options };
    let llvm = compile(&source, 1, &[]).map_err(|error| error.to_string())?;
    let imported = import(&llvm).module;
    let shapes: Vec<ParamShape> = std::iter::once(DeclaredShape::Linear([1].into_iter().collect()))
        .chain(std::iter::repeat_n(DeclaredShape::Uniform, 4))
        .map(Into::into)
        .collect();
    let mut objects = Vec::new();
    let mut list = String::new();
    let mut foretold = Vec::new();
    for name in all() {
        let request = VectorizeRequest {
            shapes: shapes.clone(),
            ..VectorizeRequest::new(name, BrushExtents::new(&[lanes(&cpu)])?)
        };
        let mut artifact =
            session.vectorize(imported.clone(), &request).map_err(|error| error.to_string())?;
        if artifact.report.remarks.iter().any(|remark| remark.code == Code::ScalarWins) {
            foretold.push(*name);
        }
        artifact.rename(&format!("{name}_wide"));
        let object = artifact.code(CodeFormat::Object)?;
        objects.push(write(&format!("{name}.o"), &object)?);
        let _ = writeln!(list, "SEVERAL({name}, {})", artifact.report.lanes);
    }
    write("kernels.list", list.as_bytes())?;
    let clang = |arguments: &[&str]| {
        let output = Command::new("clang-22")
            .current_dir(folder)
            .args(["-O3", "-march=native", "-fno-math-errno"])
            .args(arguments)
            .output()
            .map_err(|error| format!("clang-22: {error}"))?;
        let messages = || format!("clang-22: {}", String::from_utf8_lossy(&output.stderr));
        output.status.success().then_some(()).ok_or_else(messages)
    };
    clang(&["-fno-vectorize", "-fno-slp-vectorize", "-c", "scalar.c", "-o", "scalar.o"])?;
    clang(&["-c", "loop.c", "-o", "loop.o"])?;
    clang(&[&format!("-DTREES={}", TREES.len()), "-c", "driver.c", "-o", "driver.o"])?;
    clang(&["-c", "by_hand.c", "-o", "by_hand.o"])?;
    clang(&["-c", "given.c", "-o", "given.o"])?;
    let mut link: Vec<String> =
        ["driver.o", "scalar.o", "loop.o", "by_hand.o", "given.o"].map(String::from).into();
    link.extend(objects.iter().map(|object| object.display().to_string()));
    link.extend(["-lm", "-o", "bench"].map(String::from));
    clang(&link.iter().map(String::as_str).collect::<Vec<_>>())?;
    let mut runs = Vec::new();
    for _ in 0..PROCESSES {
        let output = Command::new(folder.join("bench")).output().map_err(|error| error.to_string())?;
        let lines = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(parse)
            .collect::<Result<Vec<NativeBenchRow>, _>>()?;
        runs.push(lines);
    }
    let mut rows = medians(&runs);
    for row in &mut rows {
        row.scalar_wins = foretold.iter().any(|name| row.name.starts_with(name));
    }
    Ok(rows)
}

/// Of each row the medians of all runs.
fn medians(runs: &[Vec<NativeBenchRow>]) -> Vec<NativeBenchRow> {
    let Some(first) = runs.first() else { return Vec::new() };
    let median = |row: usize, figure: fn(&NativeBenchRow) -> f64| {
        let mut all: Vec<f64> = runs.iter().filter_map(|run| run.get(row)).map(figure).collect();
        all.sort_unstable_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let of_row = |(number, row): (usize, &NativeBenchRow)| NativeBenchRow {
        name: row.name.clone(),
        wrong: runs.iter().filter_map(|run| run.get(number)).map(|row| row.wrong).max().unwrap_or(0),
        scalar: median(number, |row| row.scalar),
        vectorized: median(number, |row| row.vectorized),
        lanes: median(number, |row| row.lanes),
        by_hand: median(number, |row| row.by_hand),
        spread: median(number, |row| row.spread),
        scalar_wins: false,
    };
    first.iter().enumerate().map(of_row).collect()
}

fn parse(line: &str) -> Result<NativeBenchRow, String> {
    let broken = || format!("the driver says `{line}`");
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[name, wrong, scalar, vectorized, lanes, by_hand, spread] = &words[..] else { return Err(broken()) };
    let number = |word: &str| word.parse::<f64>().map_err(|_| broken());
    Ok(NativeBenchRow {
        name: name.into(),
        wrong: wrong.parse().map_err(|_| broken())?,
        scalar: number(scalar)?,
        vectorized: number(vectorized)?,
        lanes: number(lanes)?,
        by_hand: number(by_hand)?,
        spread: number(spread)?,
        scalar_wins: false,
    })
}
