//! Where the driver is, the packages that tests use, and how programs are run against it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Seconds that a program may take.
const LIMIT: &str = "600";

/// The driver that was built with this test.
pub(crate) fn driver() -> PathBuf {
    library("libheddle_cuda.so")
}

/// A library that was built with this test.
fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    // `cargo test` leaves it next to the test, `cargo build` above.
    let places = test.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    let found = places.into_iter().find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not built: `./x build` builds it"))
}

/// A folder for what tests make.
pub(crate) fn scratch() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// A folder with the driver under the names that applications look for.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch().join("cuda");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        let (runtime, runtime12) = (library("libheddle_cudart.so"), library("libheddle_cudart12.so"));
        let of_driver = ["libcuda.so.1", "libcuda.so", "libgpuocelot.so"].map(|name| (name, driver()));
        let (blas, blas12) = (library("libheddle_cublas.so"), library("libheddle_cublas12.so"));
        let of_runtime = [("libcudart.so.13", runtime), ("libcudart.so.12", runtime12)];
        let of_libraries =
            [("libcublas.so.13", blas.clone()), ("libcublas.so.12", blas12), ("libcublas.so", blas)];
        let random = library("libheddle_curand.so");
        let of_random = [("libcurand.so.10", random.clone()), ("libcurand.so", random)];
        let (fourier, fourier11) = (library("libheddle_cufft.so"), library("libheddle_cufft11.so"));
        let of_fourier =
            [("libcufft.so.12", fourier.clone()), ("libcufft.so.11", fourier11), ("libcufft.so", fourier)];
        let (solver, solver11) = (library("libheddle_cusolver.so"), library("libheddle_cusolver11.so"));
        let sparse = library("libheddle_cusparse.so");
        let of_sparse = [("libcusparse.so.12", sparse.clone()), ("libcusparse.so", sparse)];
        let of_solver = [
            ("libcusolver.so.12", solver.clone()),
            ("libcusolver.so.11", solver11),
            ("libcusolver.so", solver),
        ];
        let names = of_driver.into_iter().chain(of_runtime).chain(of_libraries).chain(of_random);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cudart/libcudart_static.a");
        for (name, library) in
            names.chain(of_fourier).chain(of_solver).chain(of_sparse).chain([("libcudart_static.a", script)])
        {
            std::os::unix::fs::symlink(library, folder.join(name)).expect("the target folder can be written");
        }
        folder
    })
}

/// A file of `tests/cuda`.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cuda").join(name)
}

pub(crate) fn do_or_say(command: &mut Command, what: &str) -> Output {
    let output = command.output().unwrap_or_else(|reason| panic!("{what}: {reason}; run ./x setup"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}:\n{}{messages}", String::from_utf8_lossy(&output.stdout));
    output
}

/// A virtual environment below the scratch folder that has what a list of packages says.
fn environment(name: &str, list: &str) -> PathBuf {
    let requirements = source(list);
    let wanted = std::fs::read_to_string(&requirements).expect("the list of packages is there");
    let folder = scratch().join(name);
    let stamp = folder.join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return folder;
    }
    let _ = std::fs::remove_dir_all(&folder);
    do_or_say(Command::new("python3").args(["-m", "venv"]).arg(&folder), "no virtual environment");
    let mut install = Command::new(folder.join("bin/python"));
    // Each package is in the list: what others would bring along is not wanted (see docs/cuda.md on nvJitLink).
    let words =
        "-m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: -r";
    install.args(words.split(' ')).arg(&requirements);
    do_or_say(&mut install, "the wheels of CUDA's packages cannot be had from the package registry");
    std::fs::write(&stamp, wanted).expect("the target folder can be written");
    folder
}

/// The Python of an environment that has what `requirements.txt` says.
pub(crate) fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| environment("cuda-python", "requirements.txt").join("bin/python"))
}

/// The folder of CUDA 13's compiler, with headers and libraries.
pub(crate) fn toolkit() -> &'static Path {
    static TOOLKIT: OnceLock<PathBuf> = OnceLock::new();
    TOOLKIT.get_or_init(install_toolkit)
}

fn install_toolkit() -> PathBuf {
    let lib = environment("cuda-nvcc", "nvcc.txt").join("lib");
    let pythons = std::fs::read_dir(&lib).expect("an environment has libraries");
    let folders = pythons.filter_map(|entry| Some(entry.ok()?.path().join("site-packages/nvidia/cu13")));
    let found =
        folders.into_iter().find(|folder| folder.exists()).expect("the packages are below nvidia/cu13");
    // Wheels have the library by its version only, and do not let their programs be started.
    let link = found.join("lib/libcudart.so");
    if !link.exists() {
        std::os::unix::fs::symlink("libcudart.so.13", link).expect("the target folder can be written");
    }
    for folder in ["bin", "nvvm/bin"] {
        let mut allow = Command::new("chmod");
        do_or_say(allow.arg("-R").arg("u+x").arg(found.join(folder)), "programs cannot be allowed to start");
    }
    found
}

/// A folder of an installed package.
pub(crate) fn package(path: &str) -> PathBuf {
    let mut ask = Command::new(python());
    let output = do_or_say(ask.args(["-c", "import numpy; print(numpy.__path__[0])"]), "no NumPy");
    let numpy = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    numpy.parent().expect("packages lie in a folder").join(path)
}

/// Runs a command with the driver as the first one.
pub(crate) fn run(program: &Path, arguments: &[&Path], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(program).args(arguments);
    command.env("LD_LIBRARY_PATH", folder()).env("PYTHONDONTWRITEBYTECODE", "1");
    // Ignore tinygrad's cache of earlier runs.
    command.env("HEDDLE_CACHE_DIR", scratch().join("objects")).env("HEDDLE_ABORT", "1");
    command.env("CACHEDB", scratch().join("tinygrad.db")).env("CACHELEVEL", "0").env("CC", "clang-22");
    command.envs(environment.iter().copied());
    command
        .output()
        .unwrap_or_else(|reason| panic!("{} does not start: {reason}; run ./x setup", program.display()))
}

/// Runs a command that says "passed" at its end.
pub(crate) fn passes(program: &Path, arguments: &[&Path], environment: &[(&str, &str)]) {
    let output = run(program, arguments, environment);
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.ends_with("passed\n"),
        "{}\n{printed}{messages}",
        output.status
    );
}
