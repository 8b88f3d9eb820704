//! The Python package over the library as it was built with this test: python/tests, examples with several processes, and what
//! documents show.

use heddle_testing::not_run::not_run;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    // `cargo test` leaves it next to the test, `cargo build` above.
    let places = test.ancestors().skip(1).take(2).map(|folder| folder.join("libheddle_bundle.so"));
    places.into_iter().find(|path| path.exists()).expect("`./x build` builds libheddle_bundle.so")
}

fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|reason| panic!("{command:?}: {reason}; run ./x setup"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}:\n{}{}", text(&output.stdout), text(&output.stderr));
    output
}

/// The Python of an environment that has what python/requirements.txt says.
fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let list = root().join("python/requirements.txt");
        let wanted = std::fs::read_to_string(&list).expect("the list of packages is there");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
        let (stamp, python) = (folder.join("installed.txt"), folder.join("bin/python"));
        if !std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            let _ = std::fs::remove_dir_all(&folder);
            output(Command::new("python3").args(["-m", "venv"]).arg(&folder));
            let words =
                "-m pip install --quiet --disable-pip-version-check --no-cache-dir --only-binary :all: -r";
            output(Command::new(&python).args(words.split(' ')).arg(&list));
            std::fs::write(&stamp, wanted).expect("the target folder can be written");
        }
        python
    })
}

/// Runs Python with the package, within ten minutes and with a cache of its own, which starts empty.
fn run(name: &str, arguments: &[&str]) -> Output {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-cache-{name}"));
    let _ = std::fs::remove_dir_all(&cache);
    let mut command = Command::new("timeout");
    command.arg("600").arg(python()).args(arguments).current_dir(root());
    command.env("PYTHONPATH", root().join("python")).env("HEDDLE_LIBRARY", library());
    command.env("HEDDLE_CACHE_DIR", cache).env_remove("HEDDLE_CACHE");
    let command_path = library().with_file_name("heddle");
    if command_path.exists() {
        command.env("HEDDLE_COMMAND", command_path);
    }
    let done = output(&mut command);
    print!("{}", String::from_utf8_lossy(&done.stdout));
    done
}

#[test]
fn the_package_passes_its_tests() {
    run("tests", &["-m", "unittest", "discover", "--start-directory", "python/tests"]);
}

#[test]
fn checkers_of_types_know_the_package() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mypy").to_string_lossy().into_owned();
    let files = ["python/heddle", "python/tests/typed_program.py"];
    run("types", &[&["-m", "mypy", "--strict", "--cache-dir", &cache], &files[..]].concat());
}

#[test]
fn processes_that_start_at_once_compile_a_kernel_once() {
    run("many", &["tests/packages/many_processes.py", "32"]);
}

#[test]
fn processes_share_a_cache_where_locks_fail() {
    run("leases", &["tests/packages/many_processes.py", "32", "--without-flock"]);
}

#[test]
fn the_stencil_on_dask_gives_what_one_process_gives() {
    run("dask", &["tests/packages/compiled_once.py", "examples/python/dask_stencil.py"]);
}

#[test]
fn the_sweep_on_ray_gives_what_one_process_gives() {
    run("ray", &["tests/packages/compiled_once.py", "examples/python/ray_sweep.py"]);
}

#[test]
fn a_killed_dask_worker_loses_its_task_only() {
    run("killed", &["tests/packages/killed_worker.py"]);
}

#[test]
fn commands_and_programs_of_documents_run() {
    let library = library();
    let release =
        library.ancestors().find(|folder| folder.ends_with("release")).expect("`./x build` builds it");
    let target = release.parent().expect("it is in cargo's folder").to_string_lossy().into_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents").to_string_lossy().into_owned();
    let done = run("documents", &["tests/documents/run_documents.py", ".", &target, &folder]);
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        if let Some((place, reason)) = line.strip_prefix("not run: ").and_then(|line| line.split_once(": ")) {
            not_run(place, reason);
        }
    }
}
