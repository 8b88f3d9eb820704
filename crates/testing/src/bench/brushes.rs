//! Side-by-side brushes: latency-bound loops as vector code of one brush and of several.
//!
//! Each kernel is compiled with LLVM's mask format, with the machine's, with two brushes, and with as many as the model
//! chooses. One process runs them interleaved.

use super::kit::{AimBound, BenchReport, ReportTable, geomean};
use crate::native::InstructionSet;
use heddle_compiler::ir::Module;
use heddle_compiler::ir::module::DeclaredShape;
use heddle_compiler::options::ParamShape;
use heddle_compiler::{BrushCount, BrushExtents, Session, VectorizeOptions, VectorizeRequest};
use heddle_llvm::{
    CodeFormat, Cpu, EmitOptions, MaskRepresentation, OptimizeOptions, compile, emit, generate, import,
    internalize_except, optimize,
};
use heddle_transform::TargetInfo as Machine;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const KERNELS: &[&str] = &["escape", "by_division", "by_product", "log_star", "halve_or_triple"];
const SOURCE: &str = include_str!("native/waiting.c");
const DRIVER: &str = include_str!("native/waiting_driver.c");

/// Configurations: masks in the machine's format or LLVM's, and the number of brushes.
const FORMS: [(bool, BrushCount); 4] = [
    (false, BrushCount::Count(1)),
    (true, BrushCount::Count(1)),
    (true, BrushCount::Count(2)),
    (true, BrushCount::Auto),
];

pub(super) fn run(report: &mut BenchReport) {
    for target in [InstructionSet::Avx2, InstructionSet::Avx512] {
        if let Some(reason) = target.missing() {
            report.say(format_args!("{}: skipped, {reason}", target.name()));
            continue;
        }
        let folder =
            std::env::temp_dir().join(format!("heddle-brushes-{}-{}", target.name(), std::process::id()));
        let rows = std::fs::create_dir_all(&folder)
            .map_err(|error| error.to_string())
            .and_then(|()| measured(&folder, &target.cpu()));
        let _ = std::fs::remove_dir_all(&folder);
        match rows {
            Ok(rows) => judge(report, target, &rows),
            Err(reason) => report.check(false, || reason),
        }
    }
}

struct BrushBenchRow {
    name: String,
    wrong: u64,
    times: [f64; 4],
    chosen: u32,
}

fn judge(report: &mut BenchReport, target: InstructionSet, rows: &[BrushBenchRow]) {
    let mut table = ReportTable::new(&[
        "kernel",
        "LLVM's masks µs",
        "own masks",
        "two brushes",
        "chosen",
        "chosen brushes",
    ]);
    let mut ratios = [Vec::new(), Vec::new(), Vec::new()];
    for row in rows {
        report.check(row.wrong == 0, || format!("{}: {} numbers are wrong", row.name, row.wrong));
        let [plain, one, two, auto] = row.times;
        for (all, ratio) in ratios.iter_mut().zip([plain / one, one / two, one / auto]) {
            all.push(ratio);
        }
        table.row([
            row.name.clone(),
            format!("{:.1}", plain * 1e6),
            format!("{:.1}", one * 1e6),
            format!("{:.1}", two * 1e6),
            format!("{:.1}", auto * 1e6),
            row.chosen.to_string(),
        ]);
    }
    let name = target.name();
    report.say(format_args!("4096 elements on {name}, medians\n\n{table}"));
    if target == InstructionSet::Avx2 {
        let aim = format!("brushes.masks.{name}");
        report.aim(&aim, geomean(&ratios[0]), AimBound::AtLeast(1.15), "times masks as LLVM likes them");
    }
    let [two, chosen] = ["two", "chosen"].map(|what| format!("brushes.{what}.{name}"));
    report.aim(&two, geomean(&ratios[1]), AimBound::AtLeast(1.15), "times one brush");
    report.aim(&chosen, geomean(&ratios[2]), AimBound::AtLeast(1.1), "times one brush");
}

fn measured(folder: &Path, cpu: &Cpu) -> Result<Vec<BrushBenchRow>, String> {
    let write = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(path)
    };
    let source = write("waiting.c", SOURCE.as_bytes())?;
    write("driver.c", DRIVER.as_bytes())?;
    let imported = import(&compile(&source, 1, &[]).map_err(|error| error.to_string())?).module;
    let mut header = String::new();
    let mut list = String::from("#define MEASURE_ALL");
    let mut objects = Vec::new();
    let mut chosen = Vec::new();
    for name in KERNELS {
        let mut forms = Vec::new();
        for (number, form) in FORMS.iter().enumerate() {
            let symbol = format!("{name}_{number}");
            let (object, lanes) = compiled(imported.clone(), name, &symbol, *form, cpu)?;
            objects.push(write(&format!("{symbol}.o"), &object)?);
            let _ = writeln!(header, "extern Kernel {symbol};");
            forms.push(format!("{{{symbol}, {lanes}}}"));
            if number == FORMS.len() - 1 {
                chosen.push(lanes * 32 / cpu.vector_bits());
            }
        }
        let _ = writeln!(header, "extern Kernel {name};");
        let _ = writeln!(header, "static const Form {name}_forms[] = {{{}}};", forms.join(", "));
        let _ = write!(list, " measure(\"{name}\", {name}, {name}_forms, {});", FORMS.len());
    }
    write("forms.h", format!("{header}{list}\n").as_bytes())?;
    let march = format!("-march={}", cpu.name);
    let output = Command::new("clang-22")
        .current_dir(folder)
        .args([
            "-O2",
            &march,
            "-fno-math-errno",
            "-fno-vectorize",
            "-fno-slp-vectorize",
            "driver.c",
            "waiting.c",
        ])
        .args(&objects)
        .args(["-lm", "-o", "bench"])
        .output()
        .map_err(|error| format!("clang-22: {error}"))?;
    if !output.status.success() {
        return Err(format!("clang-22: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let output = Command::new(folder.join("bench")).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows: Vec<BrushBenchRow> =
        text.lines().zip(chosen).map(|(line, chosen)| parse(line, chosen)).collect::<Result<_, _>>()?;
    match rows.len() == KERNELS.len() {
        true => Ok(rows),
        false => Err(format!("the driver says only `{text}`")),
    }
}

/// Compiles a kernel in a configuration; returns its object and its number of lanes.
fn compiled(
    module: Module,
    name: &str,
    symbol: &str,
    (is_formed, brushes): (bool, BrushCount),
    cpu: &Cpu,
) -> Result<(Vec<u8>, u32), String> {
    let shapes: Vec<ParamShape> = std::iter::once(DeclaredShape::Linear([1].into_iter().collect()))
        .chain(std::iter::repeat_n(DeclaredShape::Uniform, 4))
        .map(Into::into)
        .collect();
    let bits = cpu.vector_bits();
    let mut session = Session::new(cpu.clone());
    session.options =
        VectorizeOptions { target: Machine::of_registers(bits, true), brushes, ..session.options };
    let request =
        VectorizeRequest { shapes, ..VectorizeRequest::new(name, BrushExtents::new(&[bits / 32])?) };
    let mut artifact = session.vectorize(module, &request).map_err(|error| error.to_string())?;
    artifact.rename(symbol);
    let llvm = emit(&artifact.module, EmitOptions::default()).map_err(|error| error.to_string())?;
    internalize_except(&llvm, &[symbol]);
    let form = if is_formed { MaskRepresentation::of(cpu) } else { MaskRepresentation::Any };
    optimize(&llvm, cpu, OptimizeOptions { masks: Some(form), ..OptimizeOptions::default() })
        .map_err(|error| error.to_string())?;
    Ok((generate(&llvm, cpu, CodeFormat::Object).map_err(|error| error.to_string())?, artifact.report.lanes))
}

fn parse(line: &str, chosen: u32) -> Result<BrushBenchRow, String> {
    let broken = || format!("the driver says `{line}`");
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[name, wrong, a, b, c, d] = &words[..] else { return Err(broken()) };
    let number = |word: &str| word.parse::<f64>().map_err(|_| broken());
    Ok(BrushBenchRow {
        name: name.into(),
        wrong: wrong.parse().map_err(|_| broken())?,
        times: [number(a)?, number(b)?, number(c)?, number(d)?],
        chosen,
    })
}
