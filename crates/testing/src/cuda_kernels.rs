//! The CUDA kernels of `tests/cuda/kernels`, and their PTX by clang.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CudaSource {
    /// Its name, without what follows the dot.
    pub name: String,
    /// Path of the file.
    pub path: PathBuf,
    /// The lines that launch its kernels.
    pub launches: Vec<String>,
}

/// The files, by name.
pub fn cuda_sources() -> std::io::Result<Vec<CudaSource>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cuda/kernels");
    let entries: std::io::Result<Vec<_>> = std::fs::read_dir(folder)?.collect();
    let mut files: Vec<PathBuf> = entries?.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == "cu"));
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path)?;
        let launches = text.lines().filter_map(|line| line.strip_prefix("// launch:"));
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(CudaSource { name, launches: launches.map(|line| line.trim().into()).collect(), path })
    };
    files.into_iter().map(read).collect()
}

/// The PTX of a file by clang with this level of optimization. Products are not fused with sums, so that all compilers round
/// alike.
pub fn ptx_by_clang(source: &CudaSource, level: &str) -> Result<String, String> {
    let mut clang = Command::new("clang-22");
    clang.args(["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_80"]);
    clang.args(["-Xclang", "-target-feature", "-Xclang", "+ptx78", "-std=c++17", "-ffp-contract=off"]);
    clang.arg(format!("-{level}")).args(["-S", "-o", "-"]).arg(&source.path);
    let output =
        clang.output().map_err(|reason| format!("clang-22 does not start: {reason}; run ./x setup"))?;
    if !output.status.success() {
        return Err(format!("{}: {}", source.name, String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|reason| reason.to_string())
}
