//! Times the same kernels as vector code of 16 lanes on this machine, with and without a pass, interleaved.

use super::super::kit::{AimBound, BenchReport, ReportTable, geomean};
use super::kernels::{FUSION, KernelTemplate, SCALARS, text_of};
use super::measure::measure;
use super::shapes::numbers;
use super::sweep::{PredictionTally, RATIOS, flattened, input, kernel, mark, predicted, prepared};
use super::{LANES, profile_of};
use crate::native::InstructionSet;
use heddle_compiler::options::PassPolicy;
use heddle_compiler::{Artifact, BrushExtents, Profile, Session, VectorizeOptions, VectorizeRequest};
use heddle_ir::{Module, parse_module};
use heddle_llvm::{CodeFormat, Cpu};
use heddle_transform::flatten::{self, FlattenDecision, FlattenPolicy};
use heddle_transform::fuse::MachineModel;
use heddle_transform::scalar_replacement::ReplacementVariant;
use heddle_transform::{RaceSemantics, TargetInfo as Costs};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Lanes of a vector.
const WIDTH: u32 = 16;
/// Iterations of the outer loop of the sweep.
const ROUNDS: u32 = 256;
const DRIVER: &str = include_str!("driver.c");

/// Kernel to time: its name, its input, the number of parts, and its variants. The first variant is the reference for
/// the others' results.
struct NativeBenchKernel {
    number: usize,
    name: String,
    read: Vec<u8>,
    /// Number of consecutive runs, each with 16 bytes of the input.
    runs: u32,
    codes: Vec<DistinctObject>,
    /// Index into `codes` of each variant. Variants with equal code share an entry and its time.
    forms: Vec<usize>,
}

/// Object code shared by variants that compile to the same code, and the object under the program's symbol name.
struct DistinctObject {
    nameless: Vec<u8>,
    object: Vec<u8>,
}

impl NativeBenchKernel {
    fn new(number: usize, name: impl Into<String>, read: Vec<u8>, runs: u32) -> Self {
        Self { number, name: name.into(), read, runs, codes: Vec::new(), forms: Vec::new() }
    }

    /// The name of a code in the program.
    fn symbol(&self, code: usize) -> String {
        format!("k{}_{code}", self.number)
    }

    fn add(&mut self, mut form: Artifact) -> Result<(), String> {
        let mut object = |name: &str| {
            form.rename(name);
            form.code(CodeFormat::Object).map_err(|error| format!("{}: {error}", self.name))
        };
        let nameless = object("code")?;
        let alike = self.codes.iter().position(|code| code.nameless == nameless);
        let code = alike.unwrap_or(self.codes.len());
        if alike.is_none() {
            let object = object(&self.symbol(code))?;
            self.codes.push(DistinctObject { nameless, object });
        }
        self.forms.push(code);
        Ok(())
    }
}

/// Adjusts the pipeline's options for one variant.
type OptionsVariant = fn(VectorizeOptions) -> VectorizeOptions;

const PLAIN: OptionsVariant = |options| VectorizeOptions {
    fuse: PassPolicy::Never,
    flatten: PassPolicy::Never,
    scalars: None,
    ..options
};
const FUSIONS: [(&str, OptionsVariant); 2] = [
    ("fused", |options| VectorizeOptions { fuse: PassPolicy::IfProfitable, ..PLAIN(options) }),
    ("forced", |options| VectorizeOptions { fuse: PassPolicy::Always, ..PLAIN(options) }),
];
const VARIANTS: [(&str, OptionsVariant); 5] = [
    ("srqp", |options| VectorizeOptions { scalars: Some(ReplacementVariant::Srqp), ..PLAIN(options) }),
    ("esrqp", |options| VectorizeOptions { scalars: Some(ReplacementVariant::Esrqp), ..PLAIN(options) }),
    ("ssrqp_s", |options| VectorizeOptions { scalars: Some(ReplacementVariant::SsrqpS), ..PLAIN(options) }),
    ("ssrqp", |options| VectorizeOptions { scalars: Some(ReplacementVariant::Ssrqp), ..PLAIN(options) }),
    ("cost", |options| VectorizeOptions { scalars: Some(ReplacementVariant::Cost), ..PLAIN(options) }),
];
/// The pipeline as it is by default, with the one fact that lanes do not race.
const BY_DEFAULT: (&str, OptionsVariant) = ("by default", |options| options);

fn session(cpu: &Cpu) -> Session {
    let mut session = Session::new(cpu.clone());
    session.options.races = RaceSemantics::Excluded;
    session
}

/// Compiles a variant of a kernel.
fn compiled(
    module: &Module,
    cpu: &Cpu,
    form: OptionsVariant,
    profile: Option<Arc<Profile>>,
) -> Result<Artifact, String> {
    let mut session = session(cpu);
    session.options = form(session.options);
    let request = VectorizeRequest { profile, ..VectorizeRequest::new("f", BrushExtents::new(&[WIDTH])?) };
    session.vectorize(module.clone(), &request).map_err(|error| error.to_string())
}

/// Measures each variant of each kernel, in seconds.
fn timed(folder: &Path, cpu: &Cpu, subjects: &[NativeBenchKernel]) -> Result<Vec<Vec<f64>>, String> {
    let write = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (mut header, mut objects) = (String::from("#define MEASURE_ALL"), Vec::new());
    let mut declared = String::new();
    for (number, subject) in subjects.iter().enumerate() {
        let mut names = Vec::new();
        for (code, DistinctObject { object, .. }) in subject.codes.iter().enumerate() {
            let name = subject.symbol(code);
            let file = format!("{name}.o");
            write(&file, object)?;
            objects.push(file);
            let _ = writeln!(declared, "extern Kernel {name};");
            names.push(name);
        }
        write(&format!("{number}.bin"), &subject.read)?;
        let _ = writeln!(declared, "static Kernel *const forms_{number}[] = {{{}}};", names.join(", "));
        let (count, runs, bytes) = (names.len(), subject.runs, subject.read.len());
        let _ = write!(header, " measure(\"{number}.bin\", {bytes}, forms_{number}, {count}, {runs});");
    }
    write("forms.h", format!("{declared}{header}\n").as_bytes())?;
    write("driver.c", DRIVER.as_bytes())?;
    let march = format!("-march={}", cpu.name);
    let output = Command::new("clang-22")
        .current_dir(folder)
        .args(["-O2", &march, "driver.c"])
        .args(&objects)
        .args(["-lm", "-o", "bench"])
        .output()
        .map_err(|error| format!("clang-22: {error}"))?;
    if !output.status.success() {
        return Err(format!("clang-22: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let output =
        Command::new(folder.join("bench")).current_dir(folder).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut times = Vec::new();
    for (line, subject) in text.lines().zip(subjects) {
        let figures: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        let figures = figures.filter(|figures| figures.len() == subject.codes.len() + 1);
        let figures = figures.ok_or_else(|| format!("the driver says `{line}`"))?;
        if figures[0] > 0.0 {
            return Err(format!("{}: other results in code {}", subject.name, figures[0]));
        }
        times.push(subject.forms.iter().map(|&code| figures[1 + code]).collect());
    }
    match times.len() == subjects.len() {
        true => Ok(times),
        false => Err(format!("the driver says only `{text}`")),
    }
}

fn of_kernel(
    &(name, text): &KernelTemplate,
    cpu: &Cpu,
    number: usize,
    forms: &[(&str, OptionsVariant)],
) -> Result<NativeBenchKernel, String> {
    let module = parse_module(&text_of(text, WIDTH)).map_err(|errors| format!("{:?}", errors.first()))?;
    let mut subject = NativeBenchKernel::new(number, name, numbers(), 1);
    for by in [PLAIN].into_iter().chain(forms.iter().map(|form| form.1)) {
        subject.add(compiled(&module, cpu, by, None).map_err(|reason| format!("{name}: {reason}"))?)?;
    }
    Ok(subject)
}

/// Compares variants of kernels with the papers' shapes; returns the gains of each variant.
fn kernels(
    report: &mut BenchReport,
    cpu: &Cpu,
    what: &str,
    all: &[KernelTemplate],
    forms: &[(&str, OptionsVariant)],
) -> Result<Vec<Vec<f64>>, String> {
    let subjects: Vec<NativeBenchKernel> = (all.iter().enumerate())
        .map(|(number, kernel)| of_kernel(kernel, cpu, number, forms))
        .collect::<Result<_, _>>()?;
    let times = in_folder(|folder| timed(folder, cpu, &subjects))?;
    let mut head = vec!["kernel", "ns"];
    head.extend(forms.iter().map(|form| form.0));
    let mut table = ReportTable::new(&head);
    let mut gains = vec![Vec::new(); forms.len()];
    for (subject, times) in subjects.iter().zip(&times) {
        let mut row = vec![subject.name.clone(), format!("{:.1}", times[0] * 1e9)];
        for (gains, time) in gains.iter_mut().zip(&times[1..]) {
            gains.push(times[0] / time);
            row.push(format!("{:.2}", times[0] / time));
        }
        table.row(row);
    }
    let means = gains.iter().map(|gains| format!("{:.2}", geomean(gains)));
    table.row(["geomean".into(), String::new()].into_iter().chain(means));
    report.say(format_args!("{what}: how many times faster, {WIDTH} lanes on {}\n\n{table}", cpu.name));
    Ok(gains)
}

fn in_folder<T>(work: impl FnOnce(&Path) -> Result<T, String>) -> Result<T, String> {
    let folder = std::env::temp_dir().join(format!("heddle-divergence-{}", std::process::id()));
    let done =
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string()).and_then(|()| work(&folder));
    let _ = std::fs::remove_dir_all(&folder);
    done
}

/// Returns the sweep's kernel for one `k`, original and flattened, and the model's decision.
fn of_sweep(
    (text, module): (&Module, &Module),
    cpu: &Cpu,
    number: usize,
    early: u32,
) -> Result<(NativeBenchKernel, FlattenDecision), String> {
    let read = input(early, 1, ROUNDS);
    let before = measure(module, LANES, &read)?;
    let machine = MachineModel::Vectors(Costs::of_cpu(cpu.family(), cpu.vector_bits(), cpu.is_x86()), WIDTH);
    let options =
        flatten::FlattenOptions { policy: FlattenPolicy::Force, lanes: WIDTH, machine, ..Default::default() };
    let (_, decision) = flattened(module, &before, options)?;
    let (branches, trips) = profile_of(&module.functions[0], &before);
    let mut profile = Profile::default();
    branches.into_iter().for_each(|(block, went)| profile.note_branch("f", block, went));
    trips.into_iter().for_each(|(header, trips)| profile.note_loop("f", header, trips));
    let profile = Arc::new(profile);
    let flat: OptionsVariant = |options| VectorizeOptions { flatten: PassPolicy::Always, ..PLAIN(options) };
    let chosen: OptionsVariant =
        |options| VectorizeOptions { flatten: PassPolicy::IfProfitable, ..PLAIN(options) };
    let mut subject = NativeBenchKernel::new(number, format!("k = {early}"), read, LANES / WIDTH);
    for (form, by) in [PLAIN, flat, chosen].into_iter().enumerate() {
        subject.add(compiled(text, cpu, by, (form > 0).then(|| profile.clone()))?)?;
    }
    Ok((subject, decision))
}

/// The sweep: curves, and how well pay is foretold.
fn sweep(report: &mut BenchReport, cpu: &Cpu) -> Result<(), String> {
    let mut foretold = PredictionTally::default();
    let mut chosen = Vec::new();
    for ratio in RATIOS {
        let (payload, inner) = ratio;
        let text = kernel(ratio, ROUNDS);
        let source = parse_module(&text).map_err(|errors| format!("{:?}", errors.first()))?;
        let module = prepared(&text)?;
        let (mut subjects, mut decisions) = (Vec::new(), Vec::new());
        for early in 0..LANES {
            report.progress(format_args!("natively, A/B = {payload}/{inner}, k = {early}"));
            let (subject, decision) = of_sweep((&source, &module), cpu, early as usize, early)?;
            subjects.push(subject);
            decisions.push(decision);
        }
        let times = in_folder(|folder| timed(folder, cpu, &subjects))?;
        let mut table =
            ReportTable::new(&["k", "µs", "flattened", "gain", "by the model", "model", "formula (1)"]);
        for ((early, times), decision) in (0..LANES).zip(&times).zip(&decisions) {
            let gain = times[0] / times[1];
            let by_formula = foretold.count(decision, gain)?;
            chosen.push(times[0] / times[2]);
            table.row([
                early.to_string(),
                format!("{:.1}", times[0] * 1e6),
                format!("{:.1}", times[1] * 1e6),
                format!("{gain:.2}"),
                format!("{:.2}", times[0] / times[2]),
                predicted(decision),
                mark(by_formula),
            ]);
        }
        report.say(format_args!("A/B = {payload}/{inner}, {WIDTH} lanes on {}\n\n{table}", cpu.name));
    }
    let share = foretold.say(report, &format!("{WIDTH} lanes on {}", cpu.name));
    report.aim("divergence.native.flatten.foretold", share, AimBound::AtLeast(95.0), "% of the grid");
    let worst = chosen.iter().copied().fold(f64::INFINITY, f64::min);
    report.aim(
        "divergence.native.flatten.mean",
        geomean(&chosen),
        AimBound::AtLeast(1.0),
        "times by the model",
    );
    report.aim("divergence.native.flatten.worst", worst, AimBound::AtLeast(0.95), "times by the model");
    Ok(())
}

/// Everything natively.
pub(super) fn run(report: &mut BenchReport) -> Result<(), String> {
    let cpu = Cpu::host();
    if let Some(reason) = [InstructionSet::Avx512, InstructionSet::Avx2]
        .iter()
        .all(|target| target.missing().is_some())
        .then_some("no AVX2")
    {
        report.say(format_args!("vector code: skipped, {reason}"));
        return Ok(());
    }
    for (what, all, forms) in
        [("Fusion", FUSION, &FUSIONS[..]), ("Scalar replacement", SCALARS, &VARIANTS[..])]
    {
        let forms: Vec<(&str, OptionsVariant)> = forms.iter().copied().chain([BY_DEFAULT]).collect();
        let gains = kernels(report, &cpu, what, all, &forms)?;
        if let Some(gains) = gains.last() {
            let name = if what == "Fusion" { "fuse" } else { "ssrqp" };
            report.aim(
                format!("divergence.native.{name}.mean"),
                geomean(gains),
                AimBound::AtLeast(1.0),
                "times",
            );
            let worst = gains.iter().copied().fold(f64::INFINITY, f64::min);
            report.aim(format!("divergence.native.{name}.worst"), worst, AimBound::AtLeast(0.95), "times");
        }
    }
    sweep(report, &cpu)
}
