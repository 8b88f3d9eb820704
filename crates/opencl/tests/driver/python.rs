//! PyOpenCL, from pinned wheels in a virtual environment of its own.

use crate::place::{run, scratch, source};
use std::path::{Path, PathBuf};
use std::process::Command;

fn do_or_say(command: &mut Command, what: &str) {
    let output = command.output().unwrap_or_else(|reason| panic!("{what}: {reason}; run ./x setup"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}:\n{}{messages}", String::from_utf8_lossy(&output.stdout));
}

/// The Python of an environment that has what `requirements.txt` says.
fn python() -> PathBuf {
    let requirements = source("requirements.txt");
    let wanted = std::fs::read_to_string(&requirements).expect("the list of packages is there");
    let folder = scratch().join("pyopencl");
    let python = folder.join("bin/python");
    let stamp = folder.join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return python;
    }
    let _ = std::fs::remove_dir_all(&folder);
    do_or_say(Command::new("python3").args(["-m", "venv"]).arg(&folder), "no virtual environment");
    let mut install = Command::new(&python);
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-cache-dir",
        "--only-binary",
        ":all:",
    ]);
    do_or_say(
        install.arg("-r").arg(&requirements),
        "PyOpenCL's wheels cannot be had from the package registry",
    );
    std::fs::write(&stamp, wanted).expect("the target folder can be written");
    python
}

#[test]
fn pyopencl_makes_kernels() {
    let script: &Path = &source("pyopencl_kernels.py");
    let output = run(&python().display().to_string(), &[&script.display().to_string()]);
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.ends_with("passed\n"),
        "{}\n{printed}{messages}",
        output.status
    );
}
