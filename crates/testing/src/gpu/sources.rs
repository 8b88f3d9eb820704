//! Sources of cases: tables, forms, generated programs, files, and CUDA kernels.

use super::case::{GpuCase, GpuModule, HEAD};
use crate::cuda_kernels::{cuda_sources, ptx_by_clang};
use crate::generate::Random;
use crate::launches::{TestLaunch, TestLaunchArgument, TestLaunchObject, on_oracle};
use crate::ptx::probe::{Probe, of_forms, of_table};
use crate::ptx::{
    LANE_MEMBERS, LaneCase, PtxProgram, generate_for_gpu, generate_products, lane_cases, lane_kernel,
    lane_values, launch_of, tables,
};
use heddle_interp::Scheduler;
use heddle_ir::Module;
use heddle_ptx::lower::{KernelWord, PtxKernel};
use heddle_ptx::module::{PtxItem, PtxStatement};
use heddle_ptx::table::FORMS;
use heddle_ptx::{LowerOptions, LoweredModule, lower, parse};
use heddle_runs::line::RunLine;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Amounts to export.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExportPlan {
    /// Generated programs of 8 to 30 statements.
    pub programs: u64,
    /// Generated programs of one to three statements.
    pub short_programs: u64,
    /// Choices of modifiers of each form.
    pub choices: usize,
    /// Rows of operands of each choice.
    pub rows: usize,
    /// True if tables, files and kernels go out too.
    pub has_written: bool,
}

/// Kernels of a module.
const KERNELS: usize = 40;

/// Name of a form: mnemonic and pattern.
fn form_name(form: u16) -> String {
    let form = &FORMS[usize::from(form)];
    format!("{} {}", form.mnemonic, form.pattern)
}

/// Forms of the instructions in a text.
fn forms_in(text: &str) -> Vec<String> {
    let Ok(parsed) = parse(text) else { return Vec::new() };
    let bodies = parsed.items.iter().filter_map(|item| match item {
        PtxItem::Function(function) => function.body.as_deref(),
        _ => None,
    });
    let forms: BTreeSet<u16> = bodies
        .flatten()
        .filter_map(|statement| match statement {
            PtxStatement::Instruction(instruction) => Some(instruction.form),
            _ => None,
        })
        .collect();
    forms.into_iter().map(form_name).collect()
}

/// Lowers a text; refusals of functions are no error.
fn lowered_module(text: &str, dynamic_shared: u64) -> Result<LoweredModule, String> {
    let parsed = parse(text).map_err(|errors| errors[0].to_string())?;
    let options = LowerOptions { dynamic_shared, ..LowerOptions::default() };
    lower(&parsed, "k.ptx", options).map_err(|errors| errors[0].to_string())
}

/// Lowers a text to a module of the IR.
pub(super) fn lowered(text: &str, dynamic_shared: u64) -> Result<Module, String> {
    Ok(lowered_module(text, dynamic_shared)?.module)
}

/// Returns the number of words of each parameter of a kernel, and the bytes of each word.
fn parameter_words(kernel: &PtxKernel) -> Vec<(usize, u64)> {
    let parameters = kernel.params.iter().map(|param| {
        let is_here = |word: &&KernelWord| (param.offset..param.offset + param.bytes).contains(&word.offset);
        let count = kernel.words.iter().filter(is_here).count();
        (count, param.bytes / count.max(1) as u64)
    });
    parameters.collect()
}

fn expected(module: &Module, launch: &TestLaunch) -> Result<Vec<TestLaunchObject>, String> {
    Ok(on_oracle(module, launch, Scheduler::Greedy)?.0)
}

/// Memory after a probe whose results are known.
fn known(probe: &Probe, results: &[Vec<u64>]) -> Vec<TestLaunchObject> {
    let mut objects = probe.launch("k").objects;
    let words = results.iter().cycle().flatten();
    for (bytes, word) in objects[1].bytes.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    objects
}

/// Hands on modules of as many cases as one has.
fn in_modules(
    kind: &'static str,
    cases: Vec<GpuCase>,
    take: &mut dyn FnMut(GpuModule) -> Result<(), String>,
) -> Result<(), String> {
    for cases in cases.chunks(KERNELS) {
        take(GpuModule { kind, head: HEAD.into(), cases: cases.to_vec() })?;
    }
    Ok(())
}

fn of_tables(take: &mut dyn FnMut(GpuModule) -> Result<(), String>) -> Result<(), String> {
    for (_, lines) in tables().map_err(|reason| reason.to_string())? {
        // A kernel that stores a value may not read it by `.nc`.
        let mut probes = of_table(&lines);
        probes.retain(|(probe, _)| !probe.instruction.contains(".nc."));
        let cases = probes.iter().enumerate().map(|(number, (probe, results))| {
            GpuCase::of_probe(probe, &format!("k{number}"), &form_name(probe.form), known(probe, results))
        });
        in_modules("tables", cases.collect(), take)?;
    }
    Ok(())
}

fn of_all_forms(
    plan: &ExportPlan,
    take: &mut dyn FnMut(GpuModule) -> Result<(), String>,
) -> Result<(), String> {
    let (mut cases, mut wrong) = (Vec::new(), Vec::new());
    for (number, probe) in of_forms(1, plan.choices, plan.rows).iter().enumerate() {
        let name = format!("k{number}");
        let text = format!("{}{}", HEAD.replace("sm_90", "sm_100"), probe.text(&name));
        let found = lowered(&text, 0).and_then(|module| expected(&module, &probe.launch(&name)));
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                wrong.push(format!("{}: {error}", probe.instruction));
                continue;
            }
        };
        cases.push(GpuCase::of_probe(probe, &name, &form_name(probe.form), found));
    }
    in_modules("forms", cases, take)?;
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Cross-lane instructions, one in each kernel.
fn of_lanes(take: &mut dyn FnMut(GpuModule) -> Result<(), String>) -> Result<(), String> {
    let mut cases = Vec::new();
    // GPUs since compute capability 7.0 have only these forms.
    let is_there = |case: &&LaneCase| case.text.contains("sync") || case.text.contains("activemask");
    for case in lane_cases().iter().filter(is_there) {
        for (round, members) in LANE_MEMBERS.into_iter().enumerate() {
            for kind in 0..4 {
                let name = format!("k{}", cases.len());
                let mut random = Random::new((round * 4 + kind) as u64);
                let (a, b) = (lane_values(&mut random, kind), lane_values(&mut random, 0));
                let input = a.iter().zip(&b).flat_map(|(&a, &b)| [a, b]).flat_map(u64::to_le_bytes).collect();
                let text = lane_kernel(&name, std::slice::from_ref(case), members);
                let launch = TestLaunch {
                    kernel: name,
                    args: vec![TestLaunchArgument::Object(0, 0), TestLaunchArgument::Object(1, 0)],
                    objects: vec![
                        TestLaunchObject::new("input", input),
                        TestLaunchObject::new("out", vec![0; 256]),
                    ],
                    local: [32, 1, 1],
                    groups: [1; 3],
                    steps: 1_000_000,
                };
                let module = lowered(&format!("{}{text}", HEAD.replace("sm_90", "sm_100")), 0)?;
                cases.push(GpuCase {
                    name: format!("{} members {members:#x}, values {kind}", case.text),
                    forms: Vec::new(),
                    expected: expected(&module, &launch)?,
                    text,
                    launch,
                    parameters: Vec::new(),
                    shared: 0,
                    columns: Vec::new(),
                    rows: 0,
                    more: Vec::new(),
                });
            }
        }
    }
    in_modules("lanes", cases, take)
}

/// Products of matrices of small numbers, whose sums are exact in each order: halves in the upper or the lower part of each word,
/// so that words are small as singles, too.
fn of_matrices(take: &mut dyn FnMut(GpuModule) -> Result<(), String>) -> Result<(), String> {
    for (form, row) in (0u16..).zip(FORMS) {
        let is_product = matches!(row.mnemonic, "mma" | "wmma") && row.is_supported();
        for seed in 0..if is_product { 12 } else { 0 } {
            let Some(program) = generate_products(form, seed) else { continue };
            let mut launch = launch_of(&program);
            let mut random = Random::new(seed);
            for word in launch.objects[0].bytes.chunks_exact_mut(4) {
                let half: u32 = random.pick(&[0x3c00, 0x4000, 0x4200, 0x4400, 0xbc00, 0xc000, 0]);
                word.copy_from_slice(&(half << if seed % 2 == 0 { 16 } else { 0 }).to_le_bytes());
            }
            take(of_program("matrices", &format!("{} {seed}", row.pattern), &program, launch)?)?;
        }
    }
    Ok(())
}

fn of_program(
    kind: &'static str,
    name: &str,
    program: &PtxProgram,
    launch: TestLaunch,
) -> Result<GpuModule, String> {
    let text = program.text().replace(".target sm_100", ".target sm_90");
    let found = lowered(&text, 0).and_then(|module| expected(&module, &launch));
    let case = GpuCase {
        name: name.into(),
        forms: forms_in(&text),
        text,
        launch,
        parameters: Vec::new(),
        shared: 0,
        expected: found.map_err(|error| format!("{kind} {name}: {error}"))?,
        columns: Vec::new(),
        rows: 0,
        more: Vec::new(),
    };
    Ok(GpuModule { kind, head: String::new(), cases: vec![case] })
}

fn of_programs(
    (kind, count, is_short): (&'static str, u64, bool),
    take: &mut dyn FnMut(GpuModule) -> Result<(), String>,
) -> Result<(), String> {
    for seed in 0..count {
        let program = generate_for_gpu(seed, is_short);
        let launch = launch_of(&program);
        take(of_program(kind, &format!("program {seed}"), &program, launch)?)?;
    }
    Ok(())
}

/// The run lines of a text that launch a kernel and end well.
fn launches_of(text: &str, mark: &str) -> Vec<RunLine> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(mark));
    let lines = lines.filter(|line| line.contains("local=") && !line.contains("-> fault"));
    lines.filter_map(|line| RunLine::parse(line.trim()).ok()).collect()
}

fn of_launches(
    (kind, name, text, shared): (&'static str, &str, &str, u64),
    lines: &[RunLine],
    take: &mut dyn FnMut(GpuModule) -> Result<(), String>,
) -> Result<(), String> {
    let LoweredModule { module, kernels, .. } =
        lowered_module(text, shared).map_err(|error| format!("{name}: {error}"))?;
    let mut cases = Vec::new();
    for line in lines {
        let launch = TestLaunch::of_line(line, &module).map_err(|error| format!("{name}: {error}"))?;
        let kernel = kernels.iter().find(|kernel| kernel.name == launch.kernel);
        cases.push(GpuCase {
            name: format!("{name} {}", launch.kernel),
            forms: Vec::new(),
            text: String::new(),
            shared,
            expected: expected(&module, &launch)
                .map_err(|error| format!("{name} {}: {error}", launch.kernel))?,
            parameters: kernel.map(parameter_words).unwrap_or_default(),
            launch,
            columns: Vec::new(),
            rows: 0,
            more: Vec::new(),
        });
    }
    take(GpuModule { kind, head: text.into(), cases })
}

fn ptx_files() -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["written", "clang", "nvrtc"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ptx").join(folder);
        for entry in std::fs::read_dir(folder)? {
            files.push(entry?.path());
        }
    }
    files.sort();
    Ok(files)
}

fn of_files(take: &mut dyn FnMut(GpuModule) -> Result<(), String>) -> Result<(), String> {
    for path in ptx_files().map_err(|reason| reason.to_string())? {
        let text = std::fs::read_to_string(&path).map_err(|reason| reason.to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let shared = text.lines().find_map(|line| line.strip_prefix("// shared:"));
        let shared = shared.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
        let lines = launches_of(&text, "// run:");
        if !lines.is_empty() {
            of_launches(("files", &name, &text, shared), &lines, take)?;
        }
    }
    Ok(())
}

fn of_kernels(take: &mut dyn FnMut(GpuModule) -> Result<(), String>) -> Result<(), String> {
    for source in cuda_sources().map_err(|reason| reason.to_string())? {
        let text = ptx_by_clang(&source, "O3")?;
        let lines: Result<Vec<RunLine>, String> = source
            .launches
            .iter()
            .map(|line| RunLine::parse(line).map_err(|error| error.to_string()))
            .collect();
        of_launches(("kernels", &source.name, &text, 1024), &lines?, take)?;
    }
    Ok(())
}

/// Hands each module to `take`.
pub fn export(
    plan: &ExportPlan,
    take: &mut dyn FnMut(GpuModule) -> Result<(), String>,
) -> Result<(), String> {
    if plan.has_written {
        of_files(take)?;
        of_kernels(take)?;
        of_lanes(take)?;
        of_matrices(take)?;
        of_tables(take)?;
    }
    of_programs(("short programs", plan.short_programs, true), take)?;
    of_programs(("programs", plan.programs, false), take)?;
    of_all_forms(plan, take)
}
