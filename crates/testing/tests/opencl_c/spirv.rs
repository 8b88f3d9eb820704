//! SPIR-V: the programs of `tests/opencl-c` and of the benchmark, as clang writes them, give what their sources give.

use crate::folder;
use heddle_builtins::{OpenClModule, compile_spirv};
use heddle_ir::Module;
use heddle_ir::module::FunctionKind;
use heddle_runs::line::RunLine;
use heddle_runs::side_by_side::side_by_side;
use heddle_spirv::SpirvOptions;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Extensions that clang needs for atomic sums and minima of floats.
const FLOAT_ATOMICS: &str = "--spirv-ext=+SPV_EXT_shader_atomic_float_add,+SPV_EXT_shader_atomic_float_min_max,\
                             +SPV_EXT_shader_atomic_float16_add";
/// Sizes that `images.cl` takes from its program.
const IMAGE_SIZES: [&str; 2] = ["-DWIDTH=64", "-DHEIGHT=48"];

/// Returns the SPIR-V module that clang makes of a source; none if clang cannot.
pub(crate) fn emitted(source: &Path, more: &[&str]) -> Option<Vec<u8>> {
    let fixed =
        "--target=spirv64-unknown-unknown -cl-std=CL2.0 -Xclang -finclude-default-header -c -x cl -o -";
    // clang takes one list of extensions.
    let has_extensions = more.iter().any(|word| word.starts_with("--spirv-ext"));
    let extensions: &[&str] = if has_extensions { &[] } else { &["-mllvm", FLOAT_ATOMICS] };
    let mut command = Command::new("clang-22");
    let output =
        command.args(fixed.split(' ')).args(IMAGE_SIZES).args(extensions).args(more).arg(source).output();
    let output = output.unwrap_or_else(|reason| panic!("clang-22 cannot be started: {reason}"));
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        let first = messages.lines().find(|line| line.contains("error")).unwrap_or_default();
        println!("skipped: clang writes no SPIR-V of {}: {first}", source.display());
    }
    output.status.success().then_some(output.stdout)
}

pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == "cl"));
    paths.sort();
    paths
}

/// A program that is taken as a whole.
fn program(path: &Path, bytes: &[u8]) -> OpenClModule {
    let name = path.display().to_string();
    let program = compile_spirv(bytes, &name, &SpirvOptions::default(), &[]);
    let program = program.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(program.refused.is_empty(), "{name}: {}", program.refused[0]);
    program
}

fn kernels(module: &Module) -> Vec<String> {
    let kernels = module.functions.iter().filter(|func| func.kind != FunctionKind::Function);
    let mut names: Vec<String> = kernels.map(|func| func.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn programs_do_in_spirv_what_they_say() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in sources(&folder()) {
        let bytes =
            emitted(&path, &[]).unwrap_or_else(|| panic!("clang writes no SPIR-V of {}", path.display()));
        let program = program(&path, &bytes);
        let text = std::fs::read_to_string(&path).expect("it can be read");
        for line in text.lines().filter_map(|line| line.strip_prefix("; run:")) {
            count += 1;
            let outcome = RunLine::parse(line.trim()).and_then(|run| {
                let ran = run.run(&program.module, &run.options)?;
                run.check(&program.module, &ran)
            });
            match outcome {
                Ok(None) => {}
                Ok(Some(found)) => wrong.push(format!("{}: {line}\n  gives {found}", path.display())),
                Err(error) => wrong.push(format!("{}: {line}\n  {error}", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 20, "only {count} lines ran");
}

#[test]
fn benchmarks_have_their_kernels_in_spirv() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/opencl");
    let mut count = 0;
    for path in sources(&folder) {
        let name = path.display().to_string();
        let bytes = emitted(&path, &[]).unwrap_or_else(|| panic!("clang writes no SPIR-V of {name}"));
        let found = kernels(&program(&path, &bytes).module);
        let source = std::fs::read_to_string(&path).expect("it can be read");
        let options = ["-cl-std=CL2.0", IMAGE_SIZES[0], IMAGE_SIZES[1]].map(String::from);
        let expected = heddle_builtins::compile(&source, &name, &options);
        let expected = kernels(&expected.unwrap_or_else(|log| panic!("{log}")).module);
        assert_eq!(found, expected, "{name}");
        count += found.len();
    }
    assert!(count > 20, "only {count} kernels");
}

/// Inputs that each kernel is run on.
const INPUTS: u32 = 4;

/// Kernels of the benchmark and of `tests/clc` compute in SPIR-V what those of their sources compute, on inputs that are made up.
#[test]
fn kernels_in_spirv_compute_what_their_sources_do() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.join("src/bench/opencl"), root.join("../../tests/clc")];
    let scratch = std::env::temp_dir().join(format!("heddle-spirv-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a folder can be made");
    let (mut wrong, mut compared, mut skipped) = (Vec::new(), 0, Vec::new());
    for path in folders.iter().flat_map(|folder| sources(folder)) {
        let name = path.display().to_string();
        // Sums and products are rounded one by one: clang contracts them in SPIR-V, and Heddle in OpenCL C.
        let source = std::fs::read_to_string(&path).expect("it can be read");
        let source = format!("#pragma OPENCL FP_CONTRACT OFF\n{source}");
        let copy = scratch.join("kernels.cl");
        std::fs::write(&copy, &source).expect("it can be written");
        // Some files of `tests/clc` are mistakes.
        let Ok(expected) = heddle_builtins::compile(&source, &name, &["-cl-std=CL2.0".into()]) else {
            continue;
        };
        let Some(bytes) = emitted(&copy, &["-O1"]) else { continue };
        let found = match compile_spirv(&bytes, &name, &SpirvOptions::default(), &[]) {
            Ok(found) => found,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        for kernel in side_by_side(&expected.module, &found.module, INPUTS) {
            match kernel.difference {
                Some(difference) => wrong.push(format!("{name}: @{}: {difference}", kernel.func)),
                None if kernel.agreed > 0 => compared += 1,
                None => skipped.push(format!("{}: {}", kernel.func, kernel.reason.unwrap_or_default())),
            }
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
    println!("{compared} kernels agree; no input fits {}:\n{}", skipped.len(), skipped.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 30, "only {compared} kernels are compared");
}

/// `./x bench spirv` runs each kernel of `tests/opencl-c` and `tests/clc` but those that cannot be launched.
#[test]
fn each_kernel_of_tests_has_an_input() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let lines = include_str!("../../src/bench/opencl/test_kernels.lines");
    let mut count = 0;
    for name in ["opencl-c", "clc"] {
        for path in sources(&tests.join(name)) {
            let file = format!("{name}/{}", path.file_name().unwrap_or_default().display());
            let text = std::fs::read_to_string(&path).expect("it can be read");
            let described = lines.split_once(&format!("// {file}\n")).map_or("", |(_, rest)| rest);
            let described = described.split_once("\n\n").map_or(described, |(own, _)| own);
            // A kernel within a macro has its name in uses of the macro.
            let heads = text
                .lines()
                .filter_map(|line| line.split_once("kernel void ").filter(|_| !line.ends_with('\\')));
            for kernel in heads.filter_map(|(_, head)| head.split('(').next()) {
                let is_left_out = kernel == "twelve"
                    || ["clc/images.cl", "clc/mistake.cl", "clc/undefined.cl"].contains(&&*file);
                assert!(
                    is_left_out || described.contains(&format!("kernel void {kernel}(")),
                    "{file}: {kernel}"
                );
                count += 1;
            }
        }
    }
    assert!(count > 50, "only {count} kernels");
}

/// Sums, products and shifts that promise not to wrap keep the promise, of both kinds.
#[test]
fn promises_not_to_wrap_are_kept() {
    let path = std::env::temp_dir().join(format!("heddle-wrap-{}.cl", std::process::id()));
    let source = "kernel void k(global int *o, int n, int m) { o[0] = n * m; o[1] = n + m; o[2] = n - m; o[3] = n * 4; o[4] = 3u << (m & 7); }";
    std::fs::write(&path, source).expect("it can be written");
    let more = ["-O1", "-mllvm", "--spirv-ext=+SPV_KHR_no_integer_wrap_decoration"];
    let bytes = emitted(&path, &more).expect("clang writes SPIR-V");
    let text = program(&path, &bytes).module.to_string();
    let _ = std::fs::remove_file(&path);
    for op in ["mul nsw", "add nsw", "sub nsw", "shl nsw", "shl nuw nsw"] {
        assert!(text.contains(&format!("{op} ")), "no `{op}` in\n{text}");
    }
}
