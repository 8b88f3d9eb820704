//! Benchmarks: `./x bench`. Most are names of the program `bench` of crates/testing; some are scripts in Python.

use crate::builds::{build_installed, build_workspace, link_cuda, tool};
use crate::machine::MachineKind;
use crate::run::{
    XtaskResult, at, fail, in_front, pass, program, release, root, target, tee, tool_folder, write,
};
use crate::tools::{cuda_python, cuda_toolkit, install_wheels, openmp};
use crate::try_programs::{TryDpnpArguments, try_dpnp};
use crate::wheel::wheel_path;
use clap::Args;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Arguments of `./x bench`.
#[derive(Args, Debug, Default)]
pub(crate) struct BenchArguments {
    /// Benchmark; without one, list those in Rust
    ///
    /// `loops` also runs kernels in ISPC's language by the compiler that the variable ISPC names. `cuda openmp [PROGRAM]` runs CUDA
    /// programs, compiled by NVIDIA's compiler (PyPI), next to C with OpenMP. Scripts (Python and PyPI) are `cuda`, `dpnp`,
    /// `packages`, `ufuncs [THREADS]` and `spirv`: the workloads of `opencl` and the kernels of tests as SPIR-V against OpenCL C.
    name: Option<String>,
    /// Family of programs whose growth alone is measured, or arguments of a script
    family: Vec<String>,
    /// Go on with what a run that was cut off has measured (`opencl`)
    #[arg(long)]
    resume: bool,
    /// Make few launches (`cuda openmp`), on one thread only (`forms`)
    #[arg(long)]
    quick: bool,
}

fn folder() -> PathBuf {
    target().join("bench")
}

/// `./x bench`
pub(crate) fn bench(arguments: &BenchArguments) -> XtaskResult {
    at(&folder(), fs::create_dir_all(folder()))?;
    let words = &arguments.family;
    let Some(name) = &arguments.name else {
        return pass(tool("bench")?.args(arguments.resume.then_some("--resume")));
    };
    if name == "cuda" && words.first().is_some_and(|word| word == "openmp") {
        let mut command = cuda_openmp(&words[1..])?;
        command.args(arguments.quick.then_some("--quick"));
        return tee(&mut command, &folder().join("cuda-openmp.txt"));
    }
    let mut command = match &**name {
        "spirv" => spirv(words)?,
        "dpnp" => try_dpnp(&TryDpnpArguments::speed())?,
        "cuda" => cuda(words)?,
        "ufuncs" => ufuncs(words)?,
        "packages" => packages()?,
        _ => {
            if name == "loops" || name == "forms" || name.starts_with("opencl") {
                build_installed()?;
            }
            let mut command = tool("bench")?;
            command.arg(name).args(words).args(arguments.resume.then_some("--resume"));
            command.args(arguments.quick.then_some("--quick"));
            command
        }
    };
    tee(&mut command, &folder().join(format!("{name}.txt")))
}

/// Workloads of `opencl` and kernels of tests as SPIR-V against OpenCL C.
fn spirv(words: &[String]) -> XtaskResult<Command> {
    build_installed()?;
    let mut python = program("python3", ["tests/opencl/spirv_speed.py", "crates/testing/src/bench/opencl"]);
    python.arg(release().join("libheddle_opencl.so")).arg(folder().join("spirv")).args(words);
    Ok(python)
}

/// Returns a program that ends after 25 minutes.
fn limited(path: PathBuf) -> Command {
    let mut timeout = program("timeout", ["1500"]);
    timeout.arg(path);
    timeout
}

/// Compares the driver with Numba's simulator, tinygrad's device for CPUs, our OpenCL driver (alone: `drivers`) and NVRTC.
fn cuda(words: &[String]) -> XtaskResult<Command> {
    let python = cuda_python()?;
    build_installed()?;
    link_cuda()?;
    let vendors = folder().join("vendors");
    write(&vendors.join("heddle.icd"), format!("{}\n", release().join("libheddle_opencl.so").display()))?;
    let mut command = limited(python);
    command.arg("tests/cuda/bench.py").args(words).env("OCL_ICD_VENDORS", vendors);
    command.env("LD_LIBRARY_PATH", in_front(&release().join("cuda"), "LD_LIBRARY_PATH"));
    command.envs([("DEV", "CUDA:PTX"), ("CACHELEVEL", "0"), ("HEDDLE_CACHE", "0"), ("CC", "clang-22")]);
    Ok(command)
}

/// Compares CUDA programs with C and OpenMP.
fn cuda_openmp(words: &[String]) -> XtaskResult<Command> {
    cuda_toolkit()?;
    openmp()?;
    build_installed()?;
    link_cuda()?;
    let mut command = tool("bench")?;
    command.arg("cuda-openmp").args(words);
    Ok(command)
}

/// Compares functions over arrays with NumPy, numexpr and Numba.
fn ufuncs(words: &[String]) -> XtaskResult<Command> {
    let environment = tool_folder("ufuncs");
    if !environment.join("installed").exists() {
        if install_wheels(&environment, ["--only-binary", ":all:", "numpy", "numba", "numexpr"]).is_err() {
            return fail("the wheels of NumPy, Numba and numexpr are out of reach (Python and PyPI)");
        }
        write(&environment.join("installed"), "")?;
    }
    build_workspace()?;
    let mut command = limited(environment.join("bin/python"));
    command.arg("tests/packages/bench_ufuncs.py").args(words).env("PYTHONPATH", root().join("python"));
    command.env("HEDDLE_LIBRARY", release().join("libheddle_bundle.so"));
    Ok(command)
}

/// Compares the wheel of `./x wheel` with those of Intel's driver and PoCL.
fn packages() -> XtaskResult<Command> {
    let wheel = wheel_path(MachineKind::parse(std::env::consts::ARCH)?);
    if !wheel.exists() {
        return fail("there is no wheel: ./x wheel");
    }
    let mut command = limited("python3".into());
    command.arg("tests/packages/bench_packages.py").arg(wheel).arg(folder().join("packages"));
    Ok(command)
}
