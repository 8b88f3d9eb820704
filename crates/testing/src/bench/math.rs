//! Mathematical functions: Heddle's on vectors, against SLEEF's, libmvec's, and the C library's scalar ones.
//!
//! All are called through pointers on the same numbers, interleaved, in one process per register width. SLEEF is loaded
//! if installed (Debian: `libsleef3`; `HEDDLE_SLEEF` names another file), with functions of at most one ulp. libmvec's
//! are off by up to four ulps.

use super::kit::{AimBound, BenchReport, ReportTable, geomean};
use heddle_compiler::math::{Accuracy, FUNCTIONS, MathFunction};
use heddle_compiler::{BrushExtents, Session, VectorizeOptions, VectorizeRequest};
use heddle_ir::Type;
use heddle_llvm::{CodeFormat, Cpu};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const DRIVER: &str = include_str!("math/driver.c");

/// Maximum difference from the C library, in ulps; both are off by about one.
const MOST_ULPS: f64 = 2.0;

pub(super) fn run(report: &mut BenchReport) {
    let folder = std::env::temp_dir().join(format!("heddle-bench-math-{}", std::process::id()));
    let host = Cpu::host().vector_bits();
    for (bits, cpu) in [(512, "native"), (256, "haswell")] {
        if host < bits {
            report.say(format_args!("no registers of {bits} bits here"));
            continue;
        }
        let made = std::fs::create_dir_all(&folder).map_err(|error| error.to_string());
        let result = made.and_then(|()| measured(&folder, bits, cpu));
        let _ = std::fs::remove_dir_all(&folder);
        match result {
            Ok(rows) => say(report, bits, &rows),
            Err(reason) => report.check(false, || reason),
        }
    }
}

/// Index of Heddle's fast function among the peers.
const FAST: usize = 3;

struct MathBenchRow {
    name: String,
    off: f64,
    own: f64,
    /// Available ones of SLEEF, libmvec, the C library, and Heddle's fast function.
    peers: [Option<f64>; 4],
}

fn say(report: &mut BenchReport, bits: u32, rows: &[MathBenchRow]) {
    let head = [
        "function",
        "Heddle ns",
        "SLEEF",
        "libmvec",
        "libm",
        "Heddle fast",
        "SLEEF / Heddle",
        "libmvec / Heddle",
        "libm / Heddle",
        "exact / fast",
    ];
    let mut table = ReportTable::new(&head);
    let mut ratios: [Vec<f64>; 4] = Default::default();
    for row in rows {
        report.check(row.off <= MOST_ULPS, || format!("{}: {} units off the C library", row.name, row.off));
        let mut cells = vec![row.name.clone(), format!("{:.3}", row.own)];
        cells.extend(row.peers.map(|time| time.map_or("-".into(), |time| format!("{time:.3}"))));
        let by_own = |(index, peer): (usize, Option<f64>)| {
            peer.map(|peer| if index == FAST { row.own / peer } else { peer / row.own })
        };
        for (ratios, ratio) in ratios.iter_mut().zip(row.peers.into_iter().enumerate().map(by_own)) {
            ratios.extend(ratio);
            cells.push(ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")));
        }
        table.row(cells);
    }
    report.say(format_args!("ns for each element, registers of {bits} bits (medians)\n\n{table}"));
    if ratios[0].is_empty() {
        report.say("SLEEF is not here (Debian: libsleef3)");
    } else {
        report.aim(
            format!("math.sleef.{bits}"),
            geomean(&ratios[0]),
            AimBound::AtLeast(1.0),
            "times SLEEF u10",
        );
    }
    report.say(format_args!(
        "fast is {:.2} times as fast as exact, where it is another function",
        geomean(&ratios[FAST])
    ));
    if !ratios[1].is_empty() {
        report.say(format_args!("{:.2} times libmvec, which is off by up to 4 units", geomean(&ratios[1])));
    }
}

/// Numbers on which a function does its work: from where to where, of each parameter.
fn interval(name: &str) -> [f64; 4] {
    match name.trim_end_matches('f') {
        "pow" => [0.1, 20.0, -10.0, 10.0],
        "log" | "log2" | "log10" => [0.001, 1000.0, 0.0, 1.0],
        "log1p" => [-0.9, 100.0, 0.0, 1.0],
        "asin" | "acos" => [-1.0, 1.0, 0.0, 1.0],
        _ => [-10.0, 10.0, -10.0, 10.0],
    }
}

fn object(
    own: &MathFunction,
    accuracy: Accuracy,
    name: &str,
    bits: u32,
    cpu: &Cpu,
) -> Result<Vec<u8>, String> {
    let ty = if own.ty == Type::F32 { "f32" } else { "f64" };
    let params: Vec<String> = (0..own.params).map(|index| format!("v{index}: {ty}")).collect();
    let args: Vec<String> = (0..own.params).map(|index| format!("v{index}")).collect();
    let text = format!(
        "declare @{name}({types}) -> {ty} pure\nfunc @f({params}) -> {ty} {{\nblock0:\n  v9 = call @{name}({args})\n  ret v9\n}}\n",
        name = own.name,
        types = vec![ty; own.params].join(", "),
        params = params.join(", "),
        args = args.join(", ")
    );
    let mut session = Session::new(cpu.clone());
    session.options = VectorizeOptions { math: Some(accuracy), ..session.options };
    let lanes = bits / if own.ty == Type::F32 { 32 } else { 64 };
    let source = session.parse_hed(&text).map_err(|error| error.to_string())?;
    let request = VectorizeRequest::new("f", BrushExtents::new(&[lanes])?);
    let mut artifact = session.vectorize(source, &request).map_err(|error| error.to_string())?;
    artifact.rename(name);
    Ok(artifact.code(CodeFormat::Object)?)
}

fn measured(folder: &Path, bits: u32, cpu: &str) -> Result<Vec<MathBenchRow>, String> {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
    };
    let machine = Cpu::named(cpu).map_err(|error| error.to_string())?;
    let (mut list, mut link) = (String::new(), vec!["driver.o".to_string()]);
    for own in FUNCTIONS {
        let [least, most, least_b, most_b] = interval(own.name);
        let is_double = u8::from(own.ty == Type::F64);
        let _ = writeln!(
            list,
            "FUNCTION({}, {is_double}, {}, {least}, {most}, {least_b}, {most_b})",
            own.name, own.params
        );
        let exact = (Accuracy::Exact, format!("heddle_{}", own.name));
        let fast = own.fast.map(|_| (Accuracy::Fast, format!("heddle_fast_{}", own.name)));
        for (accuracy, name) in [Some(exact), fast].into_iter().flatten() {
            write(&format!("{name}.o"), &object(own, accuracy, &name, bits, &machine)?)?;
            link.push(format!("{name}.o"));
        }
    }
    write("functions.list", list.as_bytes())?;
    write("driver.c", DRIVER.as_bytes())?;
    let clang = |arguments: &[&str]| {
        let run = Command::new("clang-22").current_dir(folder).args(arguments).output();
        let output = run.map_err(|error| format!("clang-22: {error}"))?;
        let messages = || format!("clang-22: {}", String::from_utf8_lossy(&output.stderr));
        output.status.success().then_some(()).ok_or_else(messages)
    };
    let (march, bytes) = (format!("-march={cpu}"), format!("-DBYTES={}", bits / 8));
    clang(&["-O2", &march, &bytes, "-c", "driver.c", "-o", "driver.o"])?;
    let mut arguments: Vec<&str> = link.iter().map(String::as_str).collect();
    arguments.extend(["-lm", "-ldl", "-o", "bench"]);
    clang(&arguments)?;
    let output = Command::new(folder.join("bench")).output().map_err(|error| error.to_string())?;
    String::from_utf8_lossy(&output.stdout).lines().map(parse).collect()
}

fn parse(line: &str) -> Result<MathBenchRow, String> {
    let broken = || format!("the driver says `{line}`");
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[name, off, own, sleef, mvec, libm, fast] = &words[..] else { return Err(broken()) };
    let number = |word: &str| word.parse::<f64>().map_err(|_| broken());
    let maybe = |word: &str| if word == "-" { Ok(None) } else { number(word).map(Some) };
    Ok(MathBenchRow {
        name: name.into(),
        off: number(off)?,
        own: number(own)?,
        peers: [maybe(sleef)?, maybe(mvec)?, maybe(libm)?, maybe(fast)?],
    })
}
