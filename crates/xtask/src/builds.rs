//! Builds of the workspace, and programs that need one.

use crate::run::{XtaskResult, at, cargo, pass, program, release, root};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// True in a verb that a test of `./x test` runs: it leaves what is built as it is.
pub(crate) fn is_built() -> bool {
    std::env::var_os("HEDDLE_X_BUILT").is_some_and(|value| !value.is_empty())
}

/// Replaces a symbolic link.
pub(crate) fn link(to: impl AsRef<Path>, path: &Path) -> XtaskResult {
    if path.is_symlink() || path.exists() {
        at(path, fs::remove_file(path))?;
    }
    at(path, symlink(to, path))
}

/// Names below `cuda/` of the built CUDA libraries: of the driver as applications look for it, and of CUDA's runtime and libraries for
/// programs of each version; those without a version are for linkers.
const CUDA_NAMES: [(&str, &str); 18] = [
    ("libcuda.so.1", "../libheddle_cuda.so"),
    ("libcuda.so", "libcuda.so.1"),
    ("libgpuocelot.so", "libcuda.so.1"),
    ("libcudart.so.13", "../libheddle_cudart.so"),
    ("libcudart.so.12", "../libheddle_cudart12.so"),
    ("libcublas.so.13", "../libheddle_cublas.so"),
    ("libcublas.so.12", "../libheddle_cublas12.so"),
    ("libcublas.so", "libcublas.so.13"),
    ("libcurand.so.10", "../libheddle_curand.so"),
    ("libcurand.so", "libcurand.so.10"),
    ("libcufft.so.12", "../libheddle_cufft.so"),
    ("libcufft.so.11", "../libheddle_cufft11.so"),
    ("libcufft.so", "libcufft.so.12"),
    ("libcusolver.so.12", "../libheddle_cusolver.so"),
    ("libcusolver.so.11", "../libheddle_cusolver11.so"),
    ("libcusolver.so", "libcusolver.so.12"),
    ("libcusparse.so.12", "../libheddle_cusparse.so"),
    ("libcusparse.so", "libcusparse.so.12"),
];

/// Links the CUDA driver under the names that applications look for, next to stand-ins for the assembler and the static runtime.
pub(crate) fn link_cuda() -> XtaskResult {
    let folder = release().join("cuda");
    at(&folder, fs::create_dir_all(&folder))?;
    for (name, to) in CUDA_NAMES {
        link(to, &folder.join(name))?;
    }
    link(root().join("crates/cudart/libcudart_static.a"), &folder.join("libcudart_static.a"))?;
    link(root().join("crates/cuda/ptxas"), &folder.join("ptxas"))
}

/// Builds all crates but the woven faults.
pub(crate) fn build_workspace() -> XtaskResult {
    pass(cargo("build").args(["--release", "--workspace", "--exclude", "heddle-faults"]))
}

/// `./x build`
pub(crate) fn build() -> XtaskResult {
    if is_built() {
        return Ok(());
    }
    build_workspace()?;
    link_cuda()
}

/// Packages of what is installed.
const INSTALLED: [&str; 15] = [
    "heddle-cli",
    "heddle-opencl",
    "heddle-capi",
    "heddle-cuda",
    "heddle-cudart",
    "heddle-cudart12",
    "heddle-cublas",
    "heddle-cublas12",
    "heddle-curand",
    "heddle-cufft",
    "heddle-cufft11",
    "heddle-cusolver",
    "heddle-cusolver11",
    "heddle-cusparse",
    "heddle-plugin",
];

/// Builds what is installed, all of it at once: each package by itself would ask for other features of what it depends on, and
/// everything would be compiled once more.
pub(crate) fn build_installed() -> XtaskResult {
    if is_built() {
        return Ok(());
    }
    pass(cargo("build").arg("--release").args(INSTALLED.iter().flat_map(|package| ["-p", package])))
}

/// Returns a built program of the workspace. Cargo talks only while a first build takes its time. All packages are named, so that
/// the program gets the features of the whole build.
pub(crate) fn tool(name: &str) -> XtaskResult<Command> {
    let path = release().join(name);
    let quiet = path.exists().then_some("-q");
    pass(cargo("build").args(["--release", "--workspace"]).args(quiet).args(["--bin", name]))?;
    Ok(program(&path, [""; 0]))
}
