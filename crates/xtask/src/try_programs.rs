//! Programs of others, which are too large for `./x test`: `./x try`.

use crate::builds::{build_installed, link_cuda};
use crate::run::{XtaskError, XtaskResult, at, in_front, pass, program, release, target};
use crate::tools::{cuda_library_headers, cuda_python, cuda_toolkit, intel_libraries};
use clap::{Args, Subcommand};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that are tried.
#[derive(Subcommand, Debug)]
pub(crate) enum TriedProgram {
    /// Build zlib from Debian's sources by clang and with the plugin, all loops marked, and run its own tests on both
    Zlib,
    /// Do the same with libpng
    Libpng,
    /// Do the same with the GNU Scientific Library
    Gsl,
    /// Bring Triton from PyPI (1 GB), and run its kernels on the CUDA driver
    Triton,
    /// Bring NVIDIA's compiler and CuPy's source from PyPI (2 GB), build CuPy (ten minutes), and compare computations with NumPy on the CUDA driver
    Cupy,
    /// Bring OpenCL applications from PyPI (OpenMM, LightGBM, OpenCV, silx, pyFAI, sasmodels, pyclesperanto), and run them and their tests
    /// on the OpenCL driver and the peers
    Apps(OnlyArguments),
    /// Bring dpctl, dpnp and Intel's runtime from PyPI (3 GB installed), and run the packages' tests on both drivers
    Dpnp(TryDpnpArguments),
    /// Build NVIDIA's samples by NVIDIA's compiler (PyPI), run them on the CUDA driver, and list what passed, ran, failed, crashed,
    /// was refused, was slow
    CudaSamples(CollectionArguments),
    /// Do the same with HeCBench
    Hecbench(CollectionArguments),
    /// Run the tests of numba-cuda on the CUDA driver (Python and PyPI)
    Numba {
        #[command(flatten)]
        only: OnlyArguments,
        #[command(flatten)]
        share: ShareArguments,
    },
}

/// Choice of programs by name.
#[derive(Args, Debug, Default)]
pub(crate) struct OnlyArguments {
    /// Only what has this word in its name; may be given again
    #[arg(long, value_name = "WORD")]
    only: Vec<String>,
}

impl OnlyArguments {
    fn words(&self) -> Vec<String> {
        self.only.iter().flat_map(|word| ["--only".into(), word.clone()]).collect()
    }
}

/// Share of the programs, and time for each.
#[derive(Args, Debug)]
pub(crate) struct ShareArguments {
    /// Each Nth program or test
    #[arg(long, value_name = "N")]
    every: Option<u32>,
    /// Seconds for each (default 60; of tests of numba-cuda 600)
    #[arg(long, value_name = "N")]
    seconds: Option<u32>,
}

impl ShareArguments {
    fn words(&self) -> Vec<String> {
        let options = [("--every", self.every), ("--seconds", self.seconds)];
        let given = options.into_iter().filter_map(|(name, number)| Some((name, number?)));
        given.flat_map(|(name, number)| [name.to_string(), number.to_string()]).collect()
    }
}

/// Arguments of `./x try dpnp`.
#[derive(Args, Debug, Default)]
pub(crate) struct TryDpnpArguments {
    #[command(flatten)]
    only: OnlyArguments,
    /// Only what does not have this word in its name; may be given again
    #[arg(long, value_name = "WORD")]
    skip: Vec<String>,
    /// Each Nth test of a file
    #[arg(long, value_name = "N")]
    every: Option<u32>,
    /// Go on with what a run that was cut off has left
    #[arg(long)]
    resume: bool,
    /// The pinned tests on Heddle
    #[arg(long)]
    pinned: bool,
    /// Compare times instead
    #[arg(long)]
    speed: bool,
}

impl TryDpnpArguments {
    /// Arguments that compare times.
    pub(crate) fn speed() -> TryDpnpArguments {
        TryDpnpArguments { speed: true, ..TryDpnpArguments::default() }
    }

    fn words(&self) -> Vec<String> {
        let mut words = self.only.words();
        words.extend(self.skip.iter().flat_map(|word| ["--skip".into(), word.clone()]));
        words.extend(self.resume.then(|| "--resume".into()));
        words.extend(self.every.into_iter().flat_map(|number| ["--every".into(), number.to_string()]));
        words.extend(self.pinned.then(|| "--pinned".into()));
        words.extend(self.speed.then(|| "--speed".into()));
        words
    }
}

/// Arguments of a collection.
#[derive(Args, Debug)]
pub(crate) struct CollectionArguments {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    only: OnlyArguments,
    #[command(flatten)]
    share: ShareArguments,
    /// Programs to leave out before the first
    #[arg(long, value_name = "N")]
    skip: Option<u32>,
    /// Bring the headers of cuBLAS, cuRAND and cuFFT from PyPI (690 MB to download), and build programs that need those
    #[arg(long)]
    libraries: bool,
}

fn folder(name: &str) -> PathBuf {
    target().join("try").join(name)
}

/// Returns a script in Python that gets the OpenCL driver.
fn opencl_script(script: &str, name: &str) -> XtaskResult<Command> {
    build_installed()?;
    at(&folder(name), fs::create_dir_all(folder(name)))?;
    let mut command = program("python3", [script]);
    command.arg(folder(name)).arg(release().join("libheddle_opencl.so"));
    Ok(command)
}

/// Returns the script of `./x try dpnp`.
pub(crate) fn try_dpnp(arguments: &TryDpnpArguments) -> XtaskResult<Command> {
    let mut command = opencl_script("tests/opencl/try/try_dpnp.py", "dpnp")?;
    command.args(arguments.words());
    Ok(command)
}

fn try_library(name: &str) -> XtaskResult {
    build_installed()?;
    let mut script = program("bash", ["crates/plugin/libraries/try.sh", name]);
    pass(script.arg(release().join("libheddle_plugin.so")).arg(target().join("try")))
}

/// Builds the CUDA driver; returns its folder.
fn cuda_folder() -> XtaskResult<PathBuf> {
    build_installed()?;
    link_cuda()?;
    Ok(release().join("cuda"))
}

fn try_collection(name: &str, arguments: &CollectionArguments, caller: &Path) -> XtaskResult {
    let collection = caller.join(&arguments.folder);
    if !collection.is_dir() {
        return Err(XtaskError::Usage(format!("`try {name}` takes the folder of the collection")));
    }
    let toolkit = cuda_toolkit()?;
    let mut script = program("python3", ["tests/cuda/try/run_collection.py", name]);
    script.arg(collection).arg(toolkit).arg(cuda_folder()?).arg(folder(name));
    if arguments.libraries {
        script.arg("--headers").arg(cuda_library_headers()?);
    }
    script.args(arguments.skip.into_iter().flat_map(|number| ["--skip".into(), number.to_string()]));
    pass(script.args(arguments.only.words()).args(arguments.share.words()))
}

/// `./x try`, called from a folder.
pub(crate) fn try_program(tried: &TriedProgram, caller: &Path) -> XtaskResult {
    match tried {
        TriedProgram::Zlib => try_library("zlib"),
        TriedProgram::Libpng => try_library("libpng"),
        TriedProgram::Gsl => try_library("gsl"),
        TriedProgram::Triton => {
            let python = cuda_python()?;
            let cuda = cuda_folder()?;
            let mut script = program("bash", ["tests/cuda/try/triton.sh"]);
            script.arg(python).arg(&cuda).arg(folder("triton"));
            pass(script.env("LD_LIBRARY_PATH", in_front(&cuda, "LD_LIBRARY_PATH")))
        }
        TriedProgram::Cupy => {
            pass(program("bash", ["tests/cuda/try/cupy.sh"]).arg(cuda_folder()?).arg(folder("cupy")))
        }
        TriedProgram::Apps(only) => {
            pass(opencl_script("tests/opencl/try/apps.py", "apps")?.arg(intel_libraries()).args(only.words()))
        }
        TriedProgram::Dpnp(arguments) => pass(&mut try_dpnp(arguments)?),
        TriedProgram::CudaSamples(arguments) => try_collection("cuda-samples", arguments, caller),
        TriedProgram::Hecbench(arguments) => try_collection("hecbench", arguments, caller),
        TriedProgram::Numba { only, share } => {
            let python = cuda_python()?;
            let cuda = cuda_folder()?;
            let mut script = program(python, ["tests/cuda/try/run_numba.py"]);
            script.arg(folder("numba")).args(only.words()).args(share.words());
            script.env("PYTHONDONTWRITEBYTECODE", "1");
            pass(script.env("LD_LIBRARY_PATH", in_front(&cuda, "LD_LIBRARY_PATH")))
        }
    }
}
