//! Compile time: a few hundred C functions through our passes, and the same modules through those of `clang -O3`.
//!
//! The comparison covers work on modules in memory: import of LLVM IR, our passes for eight lanes and emission (with
//! LLVM's verifier), against LLVM's `default<O3>` with its vectorizers. Both read the same LLVM IR, optimized by clang.
//! LLVM generates machine code in both cases, timed separately; ours first runs LLVM's passes for vector code.

use super::kit::{AimBound, BenchReport, ReportTable, Sample, geomean, timed};
use crate::native::InstructionSet;
use crate::native::c::{declare_shapes, source};
use heddle_compiler::Session;
use heddle_compiler::session::retain_reachable;
use heddle_ir::module::DeclaredShape;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Function, Module};
use heddle_llvm::{
    CodeFormat, Cpu, EmitOptions, LlvmModule, LlvmPasses, OptimizeOptions, compile, emit, generate, import,
    optimize, read_ir,
};
use std::ops::Range;
use std::path::{Path, PathBuf};

const LEVELS: [u8; 2] = [1, 2];
const LANES: u32 = 8;
const ROUNDS: usize = 5;
/// Code is generated in the first of them.
const CODE_ROUNDS: usize = 1;
/// Numbers of generated modules and of functions in each.
const MODULES: u64 = 12;
const OF_MODULE: u64 = 20;
/// The share of clang's time that ours should take, at most.
const MOST: f64 = 1.0;

/// Files that count as one module.
struct BenchModule {
    name: String,
    files: Vec<PathBuf>,
    shapes: AssumedParamShapes,
}

/// Shapes assumed for parameters.
enum AssumedParamShapes {
    /// Nothing: they differ between lanes.
    Varying,
    /// The first is the lane's number, the rest is the same for all.
    Stepping,
    /// Those of generated functions.
    Generated(Range<u64>),
}

impl AssumedParamShapes {
    fn declare(&self, module: &mut Module) {
        match self {
            AssumedParamShapes::Varying => {}
            AssumedParamShapes::Generated(seeds) => declare_shapes(module, seeds.clone()),
            AssumedParamShapes::Stepping => {
                for param in module.functions.iter_mut().flat_map(|func| &mut func.signature.params) {
                    param.shape = Some(DeclaredShape::Uniform);
                }
                for func in &mut module.functions {
                    if let Some(first) = func.signature.params.first_mut() {
                        first.shape = Some(DeclaredShape::Linear([1].into_iter().collect()));
                    }
                }
            }
        }
    }
}

/// A file as both get it.
struct BitcodeUnit {
    bitcode: Vec<u8>,
    /// The functions that are not vectorized, which are left out.
    left_out: Vec<String>,
}

pub(super) fn run(report: &mut BenchReport) {
    let folder = std::env::temp_dir().join(format!("heddle-bench-compile-{}", std::process::id()));
    let result = std::fs::create_dir_all(&folder).map_err(|error| error.to_string());
    let result = result.and_then(|()| measured(&folder, report));
    let _ = std::fs::remove_dir_all(&folder);
    if let Err(reason) = result {
        report.check(false, || reason);
    }
}

fn corpus(folder: &Path) -> Result<Vec<BenchModule>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(path)
    };
    let entry = |name: &str, files, shapes| BenchModule { name: name.into(), files, shapes };
    let mut all = vec![entry("tests", sources(&root.join("tests/c"))?, AssumedParamShapes::Varying)];
    let (float, double): (Vec<_>, Vec<_>) =
        sources(&root.join("crates/math/c"))?.into_iter().partition(|path| {
            path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with('f') && stem != "erf")
        });
    all.push(entry("math float", float, AssumedParamShapes::Varying));
    all.push(entry("math double", double, AssumedParamShapes::Varying));
    for (name, text) in super::native::HEADERS {
        write(name, text)?;
    }
    let kernels = write("kernels.c", super::native::SOURCE)?;
    all.push(entry("kernels", vec![kernels], AssumedParamShapes::Stepping));
    for number in 0..MODULES {
        let seeds = number * OF_MODULE..(number + 1) * OF_MODULE;
        let file = write(&format!("generated{number}.c"), &source(seeds.clone()))?;
        all.push(entry(&format!("generated {number}"), vec![file], AssumedParamShapes::Generated(seeds)));
    }
    Ok(all)
}

/// Returns the C files of a folder, in order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries: Result<Vec<_>, _> = std::fs::read_dir(folder).map_err(failed)?.collect();
    let mut files: Vec<PathBuf> = entries.map_err(failed)?.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    Ok(files)
}

/// Compile times of one module, in seconds.
#[derive(Clone, Copy, Default)]
struct CompileTimes {
    clang: f64,
    clang_code: f64,
    import: f64,
    passes: f64,
    emit: f64,
    our_code: f64,
}

impl CompileTimes {
    fn ours(&self) -> f64 {
        self.import + self.passes + self.emit
    }
}

struct CompileMeasurement<'a> {
    isa: InstructionSet,
    cpu: Cpu,
    clang: LlvmPasses,
    entry: &'a BenchModule,
    units: Vec<BitcodeUnit>,
}

fn vectorize(module: &mut Module, isa: InstructionSet) -> Result<(), String> {
    let (lanes, target) = (format!("W={LANES}"), format!("target={}", isa.name()));
    let names = ["vectorize", &lanes, "params=varying", "math=exact", &target];
    Session::default()
        .run_passes(module, &names, false, |_, _| {})
        .map(drop)
        .map_err(|error| error.to_string())
}

impl<'a> CompileMeasurement<'a> {
    fn new(entry: &'a BenchModule, level: u8, isa: InstructionSet) -> Result<CompileMeasurement<'a>, String> {
        let cpu = isa.cpu();
        let clang = LlvmPasses::of_clang_o3(&cpu).map_err(|error| error.to_string())?;
        let mut all = CompileMeasurement { isa, cpu, clang, entry, units: Vec::new() };
        let machine = format!("-march={}", all.cpu.name);
        for file in &entry.files {
            let flags = ["-w", "-g0", "-ffp-contract=off", &machine];
            let llvm = compile(file, level, &flags).map_err(|error| error.to_string())?;
            let mut unit = BitcodeUnit { bitcode: llvm.bitcode(), left_out: Vec::new() };
            all.leave_out(&mut unit)?;
            all.units.push(unit);
        }
        Ok(all)
    }

    /// Finds functions that a pass refuses, so that the rest compiles together.
    fn leave_out(&self, unit: &mut BitcodeUnit) -> Result<(), String> {
        let mut whole = import(&self.read(unit)?).module;
        self.entry.shapes.declare(&mut whole);
        if vectorize(&mut whole.clone(), self.isa).is_ok() {
            return Ok(());
        }
        for func in &whole.functions {
            let mut alone = whole.clone();
            retain_reachable(&mut alone, &func.name);
            if vectorize(&mut alone, self.isa).is_err() {
                unit.left_out.push(func.name.clone());
            }
        }
        Ok(())
    }

    fn read(&self, unit: &BitcodeUnit) -> Result<LlvmModule, String> {
        read_ir("the module", &unit.bitcode).map_err(|error| error.to_string())
    }

    /// Ours, up to a module of LLVM.
    fn ours(&self, unit: &BitcodeUnit, times: &mut CompileTimes) -> Result<(LlvmModule, Module), String> {
        let llvm = self.read(unit)?;
        let (imported, seconds) = timed(|| import(&llvm));
        times.import += seconds;
        let mut module = imported.module;
        module.functions.retain(|func| !unit.left_out.contains(&func.name));
        self.entry.shapes.declare(&mut module);
        let (done, seconds) = timed(|| vectorize(&mut module, self.isa));
        times.passes += seconds;
        done?;
        let (wide, seconds) = timed(|| emit(&module, EmitOptions::default()));
        times.emit += seconds;
        Ok((wide.map_err(|error| error.to_string())?, module))
    }

    fn clang(&self, unit: &BitcodeUnit, times: &mut CompileTimes) -> Result<LlvmModule, String> {
        let llvm = self.read(unit)?;
        let (done, seconds) = timed(|| self.clang.run(&llvm));
        times.clang += seconds;
        done.map_err(|error| error.to_string())?;
        Ok(llvm)
    }

    /// Counts functions, omitted functions, and instructions before and after the pipeline.
    fn counts(&self) -> Result<[usize; 4], String> {
        let mut counts = [0; 4];
        for unit in &self.units {
            let before = import(&self.read(unit)?);
            let (_, wide) = self.ours(unit, &mut CompileTimes::default())?;
            verify_module(&wide, Stage::Wide).map_err(|violations| violations.to_string())?;
            let all = |module: &Module| module.functions.iter().map(Function::inst_count).sum::<usize>();
            let refused = before.refused.len() + unit.left_out.len();
            counts[0] += before.module.functions.len() - unit.left_out.len();
            counts[1] += refused;
            counts[2] += all(&before.module);
            counts[3] += all(&wide);
        }
        Ok(counts)
    }

    /// Measures the compile times interleaved and returns the medians.
    fn times(&self) -> Result<CompileTimes, String> {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let mut times = CompileTimes::default();
            let code = |llvm: &LlvmModule, is_ours: bool| {
                let (done, seconds) = timed(|| {
                    if is_ours {
                        optimize(llvm, &self.cpu, OptimizeOptions::default())?;
                    }
                    generate(llvm, &self.cpu, CodeFormat::Object)
                });
                done.map(|_| seconds).map_err(|error| error.to_string())
            };
            for unit in &self.units {
                let clang = self.clang(unit, &mut times)?;
                let (ours, _) = self.ours(unit, &mut times)?;
                if round < CODE_ROUNDS {
                    times.clang_code += code(&clang, false)?;
                    times.our_code += code(&ours, true)?;
                }
            }
            rounds.push(times);
        }
        let median = |time: fn(&CompileTimes) -> f64, rounds: &[CompileTimes]| {
            Sample::of(rounds.iter().map(time).collect()).map_or(f64::NAN, |sample| sample.median())
        };
        Ok(CompileTimes {
            clang: median(|it| it.clang, &rounds),
            import: median(|it| it.import, &rounds),
            passes: median(|it| it.passes, &rounds),
            emit: median(|it| it.emit, &rounds),
            clang_code: median(|it| it.clang_code, &rounds[..CODE_ROUNDS]),
            our_code: median(|it| it.our_code, &rounds[..CODE_ROUNDS]),
        })
    }
}

fn measured(folder: &Path, report: &mut BenchReport) -> Result<(), String> {
    if report.is_on("in-process") && !report.is_full() {
        return super::in_process::measure(folder, report);
    }
    let mut corpus = corpus(folder)?;
    corpus.retain(|entry| report.is_on(&entry.name));
    let isas: Vec<InstructionSet> = InstructionSet::of_this_machine()
        .into_iter()
        .filter(|isa| [InstructionSet::Avx2, InstructionSet::Avx512].contains(isa))
        .collect();
    let (mut ratios, mut with_code) = (Vec::new(), Vec::new());
    for isa in isas {
        let mut table = ReportTable::new(&[
            "module",
            "functions",
            "left out",
            "in",
            "out",
            "clang",
            "import",
            "passes",
            "emit",
            "ours / clang",
            "clang's code",
            "our code",
            "with code",
        ]);
        for level in LEVELS {
            for entry in &corpus {
                let name = format!("{} -O{level}", entry.name);
                report.progress(format_args!("{}: {name}", isa.name()));
                let measuring = CompileMeasurement::new(entry, level, isa)?;
                let counts = measuring.counts()?;
                let times = measuring.times()?;
                let ratio = times.ours() / times.clang;
                let whole = (times.ours() + times.our_code) / (times.clang + times.clang_code);
                ratios.push((ratio, format!("{name}, {}", isa.name())));
                with_code.push(whole);
                let mut row = vec![name];
                row.extend(counts.map(|count| count.to_string()));
                row.extend([times.clang, times.import, times.passes, times.emit].map(milliseconds));
                row.push(format!("{ratio:.2}"));
                row.extend([times.clang_code, times.our_code].map(milliseconds));
                row.push(format!("{whole:.2}"));
                table.row(row);
            }
        }
        report.progress("");
        report.say(format_args!(
            "C functions in {LANES} lanes for {}: instructions in and out, milliseconds (medians)\n\n{table}",
            isa.name()
        ));
    }
    if !report.is_full() {
        return Ok(());
    }
    let all: Vec<f64> = ratios.iter().map(|(ratio, _)| *ratio).collect();
    let Some((worst, name)) = ratios.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        report.say("this machine has neither avx2 nor avx512: nothing is measured");
        return Ok(());
    };
    report.say(format_args!(
        "the worst is {name}: {worst:.2}; with LLVM's code generation all take {:.2} of the time",
        geomean(&with_code)
    ));
    report.aim("compile-time", geomean(&all), AimBound::AtMost(MOST), "times clang");
    report.aim("compile-time.worst", worst, AimBound::AtMost(MOST), "times clang");
    super::in_process::measure(folder, report)
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1}", seconds * 1e3)
}
