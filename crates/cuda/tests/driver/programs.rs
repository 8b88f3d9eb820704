//! Programs in C++ on the driver's interface, with PTX by clang.

use crate::place::{do_or_say, package, passes, scratch, source};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program of `tests/cuda`, and its kernels to PTX.
fn compile(name: &str) -> [PathBuf; 2] {
    let (program, ptx) = (scratch().join(name), scratch().join(format!("{name}.ptx")));
    let mut kernels = Command::new("clang-22");
    kernels.args(["--target=nvptx64", "-Xclang", "-target-feature", "-Xclang", "+ptx78", "-march=sm_75"]);
    kernels.args(["-O2", "-S", "-o"]).arg(&ptx).arg(source(&format!("{name}_kernels.c")));
    do_or_say(&mut kernels, "clang makes no PTX");
    let mut compile = Command::new("c++");
    compile.args(["-std=c++17", "-O1", "-Wall", "-o"]).arg(&program).arg(source(&format!("{name}.cpp")));
    compile
        .arg("-I")
        .arg(package("nvidia/cuda_runtime/include"))
        .arg("-L")
        .arg(crate::place::folder())
        .arg("-lcuda");
    do_or_say(compile.arg("-pthread"), "the program does not compile");
    [program, ptx]
}

#[test]
fn a_program_on_the_drivers_interface_works() {
    let [program, ptx] = compile("driver_api");
    passes(&program, &[&ptx], &[]);
}

/// Names of the objects that a cache has.
fn objects(cache: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(cache.join("objects")).expect("the cache has objects");
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "o")).collect()
}

#[test]
fn kernels_of_small_modules_are_compiled_before_their_launch() {
    let [program, ptx] = compile("prepared");
    let cache = scratch().join("cache-of-prepared-modules");
    let folder = cache.display().to_string();
    for threads in ["1", "2"] {
        let objects_after = |mode: &str| {
            let variables =
                [("HEDDLE_CACHE_DIR", &*folder), ("HEDDLE_THREADS", threads), ("HEDDLE_TRIALS", "off")];
            passes(&program, &[&ptx, Path::new(mode)], &variables);
            objects(&cache)
        };
        let _ = std::fs::remove_dir_all(&cache);
        let created = objects_after("create");
        assert_eq!(created.len(), 3, "{created:?}");
        assert_eq!(objects_after("launch"), created, "{threads} threads: launches compile nothing");
    }
    // With more threads compilation begins when the module is loaded.
    let _ = std::fs::remove_dir_all(&cache);
    let variables = [("HEDDLE_CACHE_DIR", &*folder), ("HEDDLE_THREADS", "2")];
    passes(&program, &[&ptx, Path::new("load"), &cache.join("objects")], &variables);
}
