//! Where the driver is, and how programs are compiled and run against it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Seconds that a program may take: a call that goes round between loader and driver never comes back.
const LIMIT: &str = "120";

/// The driver that was built with this test.
pub(crate) fn driver() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let name = "libheddle_opencl.so";
    // `cargo test` leaves it next to the test, `cargo build` above.
    let places = test.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    let found = places.into_iter().find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not built: `cargo build -p heddle-opencl` builds it"))
}

/// A folder for what tests make.
pub(crate) fn scratch() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// A folder that names the driver to the loader, and nothing else.
pub(crate) fn vendors() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch().join("vendors");
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        let line = format!("{}\n", driver().display());
        std::fs::write(folder.join("heddle.icd"), line).expect("the target folder can be written");
        folder
    })
}

/// Runs a command with the driver as the only one.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Output {
    let mut command = command(program, arguments);
    command.output().unwrap_or_else(|reason| panic!("{program} does not start: {reason}; run ./x setup"))
}

/// A command with the driver as the only one.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(program).args(arguments).env("OCL_ICD_VENDORS", vendors());
    command.env("HEDDLE_CACHE_DIR", scratch().join("cache")).env("HEDDLE_ABORT", "1");
    // Ignore PyOpenCL's cache of an earlier driver.
    command.env("PYOPENCL_NO_CACHE", "1").env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A file of `tests/opencl`.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/opencl").join(name)
}

/// Compiles a program of `tests/opencl` and gives its path.
pub(crate) fn compile(name: &str) -> PathBuf {
    compile_as(name, &scratch().join(name).with_extension(""), &[])
}

/// Compiles a file of `tests/opencl` to a path, with more options of the compiler.
pub(crate) fn compile_as(name: &str, program: &Path, more: &[&str]) -> PathBuf {
    let (compiler, standard) =
        if name.ends_with(".cpp") { ("c++", "-std=c++17") } else { ("cc", "-std=gnu11") };
    // Two tests may compile one program, and one of them run it meanwhile.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let made = program.with_extension(format!("made{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    let mut command = Command::new(compiler);
    command
        .args([standard, "-O1", "-Wall", "-pthread", "-o"])
        .arg(&made)
        .arg(source(name))
        .args(more)
        .args(["-lOpenCL", "-lm"]);
    let output = command.output().unwrap_or_else(|reason| panic!("{compiler} does not start: {reason}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} does not compile; ./x setup brings the headers:\n{messages}");
    std::fs::rename(&made, program).unwrap_or_else(|reason| panic!("{}: {reason}", program.display()));
    program.to_path_buf()
}
