//! PyOpenCL, dpctl and dpnp, from pinned wheels in virtual environments of their own.

use crate::place::{run, scratch, source, vendors};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "../../../testing/src/not_run.rs"]
#[allow(unreachable_pub)]
mod not_run;

use not_run::not_run;

fn do_or_say(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command.output().unwrap_or_else(|reason| panic!("{what}: {reason}; run ./x setup"));
    let messages = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    if output.status.success() { Ok(()) } else { Err(format!("{what}:\n{printed}{messages}")) }
}

/// Returns the Python of an environment that has the packages of a list of `tests/opencl`, and no others; an error if they cannot be had. Its
/// name is that of no program of these tests, which are in the same folder.
fn python(requirements: &str, name: &str) -> Result<PathBuf, String> {
    let requirements = source(requirements);
    let wanted = std::fs::read_to_string(&requirements).expect("the list of packages is there");
    let folder = scratch().join(name);
    let python = folder.join("bin/python");
    let stamp = folder.join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let _ = std::fs::remove_dir_all(&folder);
    do_or_say(Command::new("python3").args(["-m", "venv"]).arg(&folder), "no virtual environment")
        .unwrap_or_else(|reason| panic!("{reason}; {name}"));
    let mut install = Command::new(&python);
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-cache-dir",
        "--no-deps",
        "--only-binary",
        ":all:",
    ]);
    do_or_say(install.arg("-r").arg(&requirements), "wheels cannot be had from the package registry")?;
    std::fs::write(&stamp, wanted).expect("the target folder can be written");
    Ok(python)
}

#[test]
fn pyopencl_makes_kernels() {
    let script: &Path = &source("pyopencl_kernels.py");
    let python = python("requirements.txt", "python-pyopencl").unwrap_or_else(|reason| panic!("{reason}"));
    let output = run(&python.display().to_string(), &[&script.display().to_string()]);
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.ends_with("passed\n"),
        "{}\n{printed}{messages}",
        output.status
    );
}

/// Runs tests of an environment's packages with the driver as the only one.
fn pytest(python: &Path, tests: &[&str]) -> Output {
    let folder = python.ancestors().nth(2).expect("an environment has a folder");
    let libraries = std::fs::read_dir(folder.join("lib")).expect("an environment has libraries");
    let mut packages = libraries.flatten().map(|entry| entry.path().join("site-packages"));
    let packages = packages.find(|path| path.is_dir()).expect("an environment has packages");
    let mut command = Command::new("timeout");
    command.arg("600").arg(python).args("-m pytest -q --no-header -p no:cacheprovider --tb=short".split(' '));
    command.args(tests).current_dir(packages).env("OCL_ICD_VENDORS", vendors()).env("OCL_ICD_FILENAMES", "");
    command.env("ONEAPI_DEVICE_SELECTOR", "opencl:*").env("LD_LIBRARY_PATH", folder.join("lib"));
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("HEDDLE_CACHE_DIR", scratch().join("cache"));
    command.output().expect("timeout starts")
}

/// 200 tests of SYCL programs: dpctl's and dpnp's own (660 MB of wheels, 2.3 GB installed).
#[test]
fn sycl_programs_pass_their_tests() {
    let python = match python("sycl-requirements.txt", "python-sycl") {
        Ok(python) => python,
        Err(reason) => return not_run("dpctl and dpnp on the driver", &reason),
    };
    let list = std::fs::read_to_string(source("try/dpnp-pinned.txt")).expect("the list of tests is there");
    let tests: Vec<&str> = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(tests.len(), 200);
    let output = pytest(&python, &tests);
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    let have_passed = printed.lines().last().is_some_and(|line| line.contains("200 passed"));
    assert!(output.status.success() && have_passed, "{}\n{printed}{messages}", output.status);
}
