//! The kernels, and their PTX by each compiler.

use heddle_testing::cuda_kernels::{CudaSource, cuda_sources, ptx_by_clang};
use heddle_testing::not_run::not_run;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A compiler, and how it compiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// clang, with this level of optimization.
    Clang(&'static str),
    /// NVRTC: its major version, and the level.
    Nvrtc(u32, &'static str),
}

impl Display for How {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            How::Clang(level) => write!(f, "clang -{level}"),
            How::Nvrtc(version, level) => write!(f, "NVRTC {version} -{level}"),
        }
    }
}

/// Compilers available on every machine.
pub(crate) const CLANG: &[How] = &[How::Clang("O0"), How::Clang("O3")];
/// Compilers that `./x ptxas` installs.
pub(crate) const NVRTC: &[How] =
    &[How::Nvrtc(12, "O3"), How::Nvrtc(12, "O0"), How::Nvrtc(13, "O3"), How::Nvrtc(13, "O0")];

/// The files of `tests/cuda/kernels`.
pub(crate) fn sources() -> Vec<CudaSource> {
    cuda_sources().expect("the kernels can be read")
}

fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// Folder where `./x ptxas` installs its tools.
pub(crate) fn tools() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    own.ancestors().nth(3).expect("a test lies in the target folder").join("tools/ptxas")
}

/// Returns the PTX of a file; `None` if the compiler is missing.
pub(crate) fn ptx_of(source: &CudaSource, how: &How) -> Option<String> {
    match *how {
        How::Clang(level) => Some(ptx_by_clang(source, level).unwrap_or_else(|reason| panic!("{reason}"))),
        How::Nvrtc(version, level) => {
            let folder = by_nvrtc(version)?;
            let path = folder.join(format!("{}.nvrtc{version}-{level}.ptx", source.name));
            Some(std::fs::read_to_string(&path).expect("NVRTC has written it"))
        }
    }
}

/// Returns the folder with the PTX of all files by a version of NVRTC.
fn by_nvrtc(version: u32) -> Option<&'static Path> {
    static FOLDERS: [OnceLock<Option<PathBuf>>; 2] = [const { OnceLock::new() }; 2];
    let made = FOLDERS[usize::from(version == 13)].get_or_init(|| {
        let (python, packages) = (tools().join("python/bin/python"), tools().join("packages/nvidia"));
        let library = match version {
            12 => packages.join("cuda_nvrtc/lib/libnvrtc.so.12"),
            _ => packages.join("cu13/lib/libnvrtc.so.13"),
        };
        if !library.exists() {
            not_run(&format!("kernels by NVRTC {version}"), "`./x ptxas` brings it, from PyPI");
            return None;
        }
        let files = sources().into_iter().map(|source| source.path);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cuda/kernels/nvrtc.py");
        let output = Command::new(python)
            .arg(script)
            .arg(&library)
            .arg(scratch())
            .arg(format!("nvrtc{version}"))
            .args(files)
            .env("LD_LIBRARY_PATH", library.parent().expect("a file lies in a folder"))
            .output()
            .expect("Python starts");
        assert!(output.status.success(), "NVRTC {version}: {}", String::from_utf8_lossy(&output.stderr));
        Some(scratch())
    });
    made.as_deref()
}
