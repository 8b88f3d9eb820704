//! `heddle run` and `heddle doctor`: programs on Heddle's drivers, and what they find on this machine.

use crate::{CliError, CliResult};
use clap::Args;
use heddle_llvm::{Cpu, kept_file};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Run a program whose loaders find Heddle's drivers for OpenCL and CUDA
#[derive(Args)]
pub(crate) struct RunProgram {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    words: Vec<OsString>,
}

/// Report drivers, CPU, cache and compilers, and what is missing
#[derive(Args)]
pub(crate) struct Doctor {}

/// Drivers that belong to this command: those of a package, of `./x install`, or of a build.
struct InstalledDrivers {
    opencl: PathBuf,
    /// Folder with `libcuda.so.1`.
    cuda: PathBuf,
    /// Folder with the OpenCL driver under the loader's name, for machines without a loader.
    loader: PathBuf,
}

impl InstalledDrivers {
    fn find() -> Option<InstalledDrivers> {
        let own = env::current_exe().ok()?.canonicalize().ok()?;
        let bin = own.parent()?;
        let lib = bin.parent()?.join("lib");
        let places = [
            (lib.join("libheddle_opencl.so"), lib.join("heddle")),
            (lib.join("libheddle.so"), lib.join("heddle")),
            (bin.join("libheddle_opencl.so"), bin.to_path_buf()),
        ];
        let (opencl, folder) = places.into_iter().find(|(opencl, _)| opencl.exists())?;
        Some(InstalledDrivers { opencl, cuda: folder.join("cuda"), loader: folder.join("opencl") })
    }

    /// Folder for OpenCL's loader, with these drivers only.
    fn vendors(&self) -> std::io::Result<PathBuf> {
        kept_file("vendors", "heddle.icd", &format!("{}\n", self.opencl.display()))
    }
}

/// Name of OpenCL's loader.
const LOADER: &str = "libOpenCL.so.1";

/// True if programs find a loader of OpenCL: in the system's list of libraries, or on the search path.
fn has_loader(search: &[PathBuf]) -> bool {
    let list = std::fs::read("/etc/ld.so.cache").unwrap_or_default();
    let is_listed = list.windows(LOADER.len()).any(|window| window == LOADER.as_bytes());
    is_listed || search.iter().any(|folder| folder.join(LOADER).exists())
}

impl InstalledDrivers {
    /// Search path for libraries: CUDA first, and OpenCL last where there is no loader.
    fn search_path(&self) -> OsString {
        let others = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let others: Vec<PathBuf> =
            env::split_paths(&others).filter(|it| !it.as_os_str().is_empty()).collect();
        let loader = (!has_loader(&others)).then(|| self.loader.clone());
        let all = [self.cuda.clone()].into_iter().chain(others).chain(loader);
        // A folder with a colon in its name cannot be on such a path at all.
        env::join_paths(all).unwrap_or_else(|_| self.cuda.clone().into())
    }
}

impl RunProgram {
    pub(crate) fn run(self) -> CliResult {
        let usage = |reason: String| CliError::Usage(reason);
        let drivers = InstalledDrivers::find()
            .ok_or_else(|| usage("no driver next to this command: install the whole package".into()))?;
        let vendors = drivers.vendors().map_err(|reason| usage(reason.to_string()))?;
        let (program, arguments) = self.words.split_first().ok_or(CliError::Misused)?;
        let mut command = Command::new(program);
        command.args(arguments);
        command.env("OCL_ICD_VENDORS", vendors).env("OCL_ICD_FILENAMES", &drivers.opencl);
        command.env("LD_LIBRARY_PATH", drivers.search_path());
        command.env("TRITON_PTXAS_PATH", drivers.cuda.join("ptxas"));
        // Returns only if the program cannot be started.
        let reason = command.exec();
        Err(usage(format!("cannot run {}: {reason}", program.display())))
    }
}

fn clang() -> Option<&'static str> {
    let starts = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    ["clang-22", "clang"].into_iter().find(starts)
}

/// Lines of a folder for OpenCL's loader: one per driver.
fn registered(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension() == Some(OsStr::new("icd"))).collect();
    files.sort();
    let library = |path: PathBuf| Some(std::fs::read_to_string(path).ok()?.trim().to_string());
    files.into_iter().filter_map(library).collect()
}

impl Doctor {
    pub(crate) fn run(self) -> CliResult {
        let cpu = Cpu::host();
        let (major, minor, patch) = heddle_llvm::version();
        say_line!("command: heddle {} with LLVM {major}.{minor}.{patch}", env!("CARGO_PKG_VERSION"));
        say_line!(
            "CPU: {}, vectors of {} bits, {} threads",
            cpu.name,
            cpu.vector_bits(),
            heddle_runtime::environment::threads()
        );
        let drivers = InstalledDrivers::find();
        let is_whole;
        match &drivers {
            Some(drivers) => {
                say_line!("driver for OpenCL: {}", drivers.opencl.display());
                let cuda = drivers.cuda.join("libcuda.so.1");
                is_whole = cuda.exists();
                say_line!("driver for CUDA: {}{}", cuda.display(), if is_whole { "" } else { " is missing" });
            }
            None => {
                is_whole = false;
                say_line!("drivers: none next to this command; help: install the whole package");
            }
        }
        let folder = env::var_os("OCL_ICD_VENDORS").map_or("/etc/OpenCL/vendors".into(), PathBuf::from);
        let listed = registered(&folder);
        let is_listed = listed.iter().any(|line| line.contains("heddle"));
        let help = if is_listed { "" } else { "; help: heddle run -- PROGRAM" };
        let names = if listed.is_empty() { "nothing".into() } else { listed.join(", ") };
        say_line!("drivers in {}: {names}{help}", folder.display());
        match drivers.as_ref().map(InstalledDrivers::vendors) {
            _ if heddle_runtime::summarize_cache().is_none() => say_line!("cache: off"),
            None | Some(Ok(_)) => crate::cache::print_size(),
            Some(Err(reason)) => {
                say_line!("cache: only read: {reason}; help: set HEDDLE_CACHE_DIR to a folder of yours")
            }
        }
        match clang() {
            Some(name) => say_line!("C and C++ for `vectorize` and `analyze`: {name}"),
            None => say_line!(
                "C and C++ for `vectorize` and `analyze`: no clang-22 (OpenCL C, SPIR-V and PTX need none)"
            ),
        }
        if is_whole { Ok(()) } else { Err(CliError::Program) }
    }
}
