//! Demonstrations on one screen: `./x demo`.

use crate::builds::{build_installed, link, link_cuda, tool};
use crate::run::{
    XtaskResult, at, copy, ended, fresh, in_front, pass, printed, program, release, say, target, write,
};
use crate::tools::{cuda_python, intel_libraries};
use clap::Subcommand;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Other demonstrations.
#[derive(Subcommand, Clone, Copy, Debug)]
pub(crate) enum Demonstration {
    /// tinygrad trains a network, Numba runs a kernel, PTX is optimized and profiled (Python and PyPI)
    Cuda,
    /// One loop on its way through the compiler, in the terminal
    Tour,
}

/// `./x demo`
pub(crate) fn demo(which: Option<Demonstration>) -> XtaskResult {
    match which {
        None => demo_opencl(),
        Some(Demonstration::Cuda) => demo_cuda(),
        Some(Demonstration::Tour) => pass(tool("heddle")?.arg("demo")),
    }
}

fn folder() -> PathBuf {
    target().join("demo")
}

/// Files and links of a folder whose names contain a word, in the order of their names; none if it cannot be read.
fn entries_with(folder: &Path, word: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries
        .filter(|path| path.file_name().is_some_and(|it| it.to_string_lossy().contains(word)))
        .collect();
    found.sort();
    found
}

/// Writes a folder for the loader: Heddle as it was built here, and all other drivers of the machine. Returns the folder with
/// libraries of Intel's.
fn write_vendors(vendors: &Path) -> XtaskResult<PathBuf> {
    let system = PathBuf::from("/etc/OpenCL/vendors");
    let named =
        env::var_os("OCL_ICD_VENDORS").filter(|name| !name.is_empty()).map_or(system.clone(), PathBuf::from);
    for from in [named, system] {
        for icd in
            entries_with(&from, ".icd").iter().filter(|path| path.extension().is_some_and(|it| it == "icd"))
        {
            copy(icd, &vendors.join(icd.file_name().unwrap_or_default()))?;
        }
    }
    let register =
        |name: &str, library: PathBuf| write(&vendors.join(name), format!("{}\n", library.display()));
    register("heddle.icd", release().join("libheddle_opencl.so"))?;
    let libraries = folder().join("lib");
    at(&libraries, fs::create_dir_all(&libraries))?;
    let intel = intel_libraries().join("libintelocl.so");
    if intel.exists() {
        register("intel.icd", intel)?;
        // Its own loader stays away.
        let needed = entries_with(&intel_libraries(), ".so").into_iter();
        for library in needed.filter(|path| !path.to_string_lossy().contains("/libOpenCL.so")) {
            link(&library, &libraries.join(library.file_name().unwrap_or_default()))?;
        }
    }
    Ok(libraries)
}

/// Mandelbrot, n-body and Black-Scholes on all OpenCL drivers; a marked loop.
fn demo_opencl() -> XtaskResult {
    build_installed()?;
    fresh(&folder())?;
    let (vendors, program_path) = (folder().join("vendors"), folder().join("demo"));
    let libraries = write_vendors(&vendors)?;
    let mut cc = program(
        "cc",
        ["-std=gnu11", "-O2", "-ffp-contract=off", "examples/opencl/demo.c", "-lOpenCL", "-lm"],
    );
    pass(cc.arg("-o").arg(&program_path))?;
    let mut demo = program("timeout", ["300"]);
    demo.arg(program_path).arg("examples/opencl/demo.cl").arg(folder().join("mandelbrot.png"));
    demo.env("LD_LIBRARY_PATH", in_front(&libraries, "LD_LIBRARY_PATH"));
    pass(demo.env("OCL_ICD_VENDORS", vendors))?;
    demo_loop()?;
    say("`./x demo tour` shows what the compiler does on the way");
    Ok(())
}

/// A marked loop without the plugin and with it: its remarks and its time.
fn demo_loop() -> XtaskResult {
    let example = "examples/marked-loop";
    println!("\n{example}/loop.c, marked by `#pragma omp simd`:");
    let plugin = format!("-fpass-plugin={}", release().join("libheddle_plugin.so").display());
    let with_plugin = [&*plugin, "-Rpass=heddle", "-Rpass-missed=heddle"];
    for (name, kind, options) in [("clang", "warning: ", &[][..]), ("heddle", "remark: ", &with_plugin)] {
        let mut clang =
            program("clang-22", ["-O3", "-march=native", "-ffp-contract=off", "-fopenmp-simd", "-c"]);
        clang.arg(format!("{example}/loop.c")).arg(format!("-Dpicture=picture_{name}")).args(options);
        let clang = clang.arg("-o").arg(folder().join(format!("{name}.o")));
        let output = clang.output().map_err(|reason| format!("{clang:?}: {reason}"))?;
        let label = if name == "clang" { "clang:  " } else { "plugin: " };
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            if let Some(at) = line.rfind(kind) {
                println!("  {label}{}", &line[at..]);
            }
        }
        ended(output.status)?;
    }
    let mut clang = program("clang-22", ["-O2", "examples/marked-loop/main.c"]);
    clang.args(["clang.o", "heddle.o"].map(|name| folder().join(name)));
    pass(clang.arg("-o").arg(folder().join("loop")))?;
    pass(program("timeout", ["60"]).arg(folder().join("loop")))
}

/// Programs in Python on the CUDA driver, and PTX that is optimized.
fn demo_cuda() -> XtaskResult {
    let python = cuda_python()?;
    build_installed()?;
    link_cuda()?;
    at(&folder(), fs::create_dir_all(folder()))?;
    let libraries = in_front(&release().join("cuda"), "LD_LIBRARY_PATH");
    let script = |name: &str| {
        let mut timeout = program("timeout", ["300"]);
        timeout.arg(&python).arg(name).env("LD_LIBRARY_PATH", &libraries);
        timeout
    };
    say("tinygrad trains a small network, with kernels in PTX");
    let mut train = script("examples/cuda/train.py");
    pass(train.env("DEV", "CUDA:PTX").env("CACHEDB", folder().join("tinygrad.db")))?;
    say("Numba runs a kernel");
    pass(script("examples/cuda/mandelbrot.py").arg(folder().join("mandelbrot-numba.pgm")))?;
    say("PTX is optimized, and profiled before and after");
    let (before, after) = (Path::new("examples/cuda/branches.ptx"), folder().join("branches.ptx"));
    let heddle = |verb: &str| program(release().join("heddle"), [verb]);
    let passes = "simplify,fuse:32+target=warps+races=excluded";
    pass(heddle("opt").arg(before).args(["-p", passes, "-o"]).arg(&after))?;
    for file in [before, &after] {
        let mut profile = heddle("profile");
        profile.arg(file).args(["--local", "64", "--mem", "out: f32 zero 64", "--mem", "in: f32 zero 66"]);
        let text = printed(profile.args(["--arg", "&out", "--arg", "&in"]))?;
        println!("{}: {}", file.display(), text.lines().next().unwrap_or_default());
    }
    Ok(())
}
