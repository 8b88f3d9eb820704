//! Compares the measured cost of vector operations on this machine with the passes' cost table.
//!
//! Each operation runs in its own loop, eight independent instances per iteration (`loops.rs`), compiled for each
//! instruction set as all vector code is. The unit is a dependent vector addition, which takes one cycle (two on Zen 5);
//! `heddle_transform::TargetInfo` counts in tenths of a cycle.

mod loops;

use super::kit::{AimBound, BenchReport, ReportTable, geomean};
use crate::native::InstructionSet;
use heddle_interp::{Argument, Datum, Memory, RunLimits, RunOptions, run as interpret};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Module, Space, parse_module};
use heddle_llvm::{CodeFormat, Cpu, EmitOptions, OptimizeOptions, emit, generate, optimize};
use heddle_transform::TargetInfo as Machine;
use heddle_transform::target::VectorCost;
use loops::{ALL, OF_ROUND, SIZE, TimedOperation, TimedVector, data, function, other};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const DRIVER: &str = include_str!("cost/driver.c");
/// The bits of a lane.
const SIZES: [u32; 2] = [32, 64];
/// The rounds whose outcome is compared with the oracle's.
const CHECKED: u32 = 3;
/// Maximum factor between a figure of the table and its measurement.
const MOST: f64 = 2.0;

/// Seconds for one operation.
type CostFigures = BTreeMap<(TimedOperation, u32), f64>;

pub(super) fn run(report: &mut BenchReport) {
    let folder = std::env::temp_dir().join(format!("heddle-bench-cost-{}", std::process::id()));
    let mut factors = Vec::new();
    for isa in InstructionSet::of_this_machine() {
        if !report.is_on(isa.name()) {
            continue;
        }
        report.progress(isa.name());
        let measured = std::fs::create_dir_all(&folder).map_err(|error| error.to_string());
        match measured.and_then(|()| measure(isa, &folder, report)) {
            Ok(figures) => factors.extend(print_report(isa, &figures, report)),
            Err(reason) => report.check(false, || format!("{}: {reason}", isa.name())),
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
    let Some(worst) = factors.iter().copied().reduce(f64::max) else { return };
    report.aim("cost", geomean(&factors), AimBound::AtMost(MOST), "times off (mean)");
    report.aim("cost.worst", worst, AimBound::AtMost(MOST), "times off");
}

/// Returns the machine's table entry for an operation.
fn cost_in_table(machine: &Machine, timed: TimedOperation) -> Option<VectorCost> {
    let (load, store) = (machine.load, machine.store);
    Some(match timed {
        TimedOperation::Load => load.whole,
        TimedOperation::MaskedLoad => load.masked,
        TimedOperation::Gather => load.scattered,
        TimedOperation::MaskedGather => load.masked_scattered,
        TimedOperation::Store => store.whole,
        TimedOperation::MaskedStore => store.masked,
        TimedOperation::Scatter => store.scattered,
        TimedOperation::MaskedScatter => store.masked_scattered,
        TimedOperation::Permute => machine.permute,
        TimedOperation::Branch => VectorCost { register: machine.branch, lane: 0 },
        _ => return None,
    })
}

fn name(timed: TimedOperation) -> &'static str {
    match timed {
        TimedOperation::Unit => "unit",
        TimedOperation::Load => "load",
        TimedOperation::MaskedLoad => "load, masked",
        TimedOperation::Gather => "gather",
        TimedOperation::MaskedGather => "gather, masked",
        TimedOperation::Store => "store",
        TimedOperation::MaskedStore => "store, masked",
        TimedOperation::Scatter => "scatter",
        TimedOperation::MaskedScatter => "scatter, masked",
        TimedOperation::Permute => "xor, permute of two",
        TimedOperation::Reverse => "xor, reverse",
        TimedOperation::Branch => "load, any, branch",
        TimedOperation::Broadcast => "load, broadcast",
        TimedOperation::Blend => "compare, blend",
        TimedOperation::Ballot => "compare, ballot",
        TimedOperation::Division => "division",
        TimedOperation::Compress => "compress, first",
    }
}

/// Prints the table and returns the factor by which each of its figures is off.
fn print_report(isa: InstructionSet, figures: &CostFigures, report: &mut BenchReport) -> Vec<f64> {
    let unit_cycles = if Cpu::host().name == "znver5" { 2.0 } else { 1.0 };
    let machine = Machine::of_cpu(Cpu::host().family(), isa.cpu().vector_bits(), true);
    let mut table =
        ReportTable::new(&["operation", "i32", "table", "i64", "table", "off", "a register", "a lane"]);
    let mut factors = Vec::new();
    for timed in ALL {
        let mut row = vec![name(timed).to_string()];
        let cost = cost_in_table(&machine, timed);
        let mut off: f64 = 1.0;
        let mut found = Vec::new();
        for bits in SIZES {
            let Some(unit) = figures.get(&(TimedOperation::Unit, bits)) else { continue };
            let Some(seconds) = figures.get(&(timed, bits)) else { continue };
            let tenths = 10.0 * unit_cycles * seconds / unit;
            found.push(tenths);
            row.push(format!("{tenths:.0}"));
            row.push(cost.map_or("-".into(), |cost| {
                let vector = TimedVector::of_register(machine.vector_bits, bits);
                let expected = machine.cost(cost, vector.lanes, machine.vector_bits);
                let factor = tenths / f64::from(expected.max(1));
                off = off.max(factor).max(1.0 / factor);
                expected.to_string()
            }));
        }
        if cost.is_some() {
            factors.push(off);
        }
        row.push(if cost.is_some() { format!("{off:.2}") } else { "-".into() });
        // Two equations, of twice as many lanes and as many registers.
        if let [narrow, wide] = found[..] {
            let lanes = SIZES.map(|bits| f64::from(machine.vector_bits / bits));
            let lane = ((narrow - wide) / (lanes[0] - lanes[1])).max(0.0);
            row.push(format!("{:.0}", (narrow - lane * lanes[0]).max(0.0)));
            row.push(format!("{lane:.1}"));
        }
        table.row(row);
    }
    report.say(format_args!(
        "Operations that fill a register of {} on {}, in tenths of a cycle (medians)\n\n{table}",
        isa.name(),
        Cpu::host().name
    ));
    factors
}

fn measure(isa: InstructionSet, folder: &Path, report: &mut BenchReport) -> Result<CostFigures, String> {
    let write = |name: &str, text: &[u8]| {
        std::fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    let cpu = isa.cpu();
    let mut all = BTreeMap::new();
    let mut text = String::new();
    for (number, timed) in ALL.into_iter().enumerate() {
        for bits in SIZES {
            let name = format!("op{number}_i{bits}");
            text += &function(&name, timed, TimedVector::of_register(cpu.vector_bits(), bits));
            all.insert(name, (timed, bits));
        }
    }
    let module = parse_module(&text).map_err(|errors| format!("{errors:?}"))?;
    verify_module(&module, Stage::Wide).map_err(|violations| violations.to_string())?;
    let llvm = emit(&module, EmitOptions::default()).map_err(|error| error.to_string())?;
    optimize(&llvm, &cpu, OptimizeOptions::default()).map_err(|error| error.to_string())?;
    let object = generate(&llvm, &cpu, CodeFormat::Object).map_err(|error| error.to_string())?;
    write("functions.o", &object)?;
    write("driver.c", DRIVER.as_bytes())?;
    let mut list = String::new();
    for name in all.keys() {
        let _ = writeln!(list, "ONE({})", name);
    }
    write("functions.list", list.as_bytes())?;
    let bytes = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte},")).collect::<String>();
    write("data.list", bytes(data()).as_bytes())?;
    write("other.list", bytes(other()).as_bytes())?;
    let size = format!("-DSIZE={SIZE}");
    let output = Command::new("clang-22")
        .current_dir(folder)
        .args(["-O2", &size, "driver.c", "functions.o", "-o", "bench"])
        .output()
        .map_err(|error| format!("clang-22: {error}"))?;
    if !output.status.success() {
        return Err(format!("clang-22: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let output = Command::new(folder.join("bench")).output().map_err(|error| error.to_string())?;
    let mut figures = CostFigures::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let broken = || format!("the driver says `{line}`");
        let [name, hash, seconds] = line.split(' ').collect::<Vec<_>>()[..] else { return Err(broken()) };
        let &timed = all.get(name).ok_or_else(broken)?;
        let hash: u64 = hash.parse().map_err(|_| broken())?;
        let expected = expected(&module, name)?;
        report.check(hash == expected, || format!("{} on {}: it computes something else", name, isa.name()));
        let seconds: f64 = seconds.parse().map_err(|_| broken())?;
        figures.insert(timed, seconds / OF_ROUND as f64);
    }
    if figures.len() != all.len() {
        return Err(format!("the driver ends with {}", output.status));
    }
    Ok(figures)
}

/// Hashes the memory that the interpreter leaves.
fn expected(module: &Module, name: &str) -> Result<u64, String> {
    let mut memory = Memory::new();
    let first = memory.add(Space::Global, Some("data"), 64, data());
    let second = memory.add(Space::Global, Some("other"), 64, other());
    let args = [first, second, CHECKED.into()].map(|bits| Argument::Uniform(Datum::Bits(bits.into())));
    let options = RunOptions { limits: RunLimits::NONE, ..RunOptions::lanes(1) };
    interpret(module, name, &args, &mut memory, &options).map_err(|fault| format!("@{name}: {fault}"))?;
    let bytes = ["data", "other"].into_iter().filter_map(|name| memory.object(name)).flat_map(|it| &it.bytes);
    Ok(bytes.fold(14_695_981_039_346_656_037, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
    }))
}
