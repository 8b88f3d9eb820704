//! Many host threads on the OpenCL driver, watched by ThreadSanitizer: `./x races`.

use crate::run::{XtaskResult, at, cargo, fail, pass, printed, program, target, write};
use clap::Args;
use std::fs;
use std::path::Path;

/// Arguments of `./x races`.
#[derive(Args, Debug)]
pub(crate) struct RacesArguments {
    /// Minutes to run, also 0.5
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    minutes: f64,
    /// Host threads
    #[arg(long, value_name = "N", default_value_t = 12)]
    threads: u32,
}

/// Reports that the sanitizer suppresses. LLVM's library is not built with it: it sees one half of what that does with locks. Nor does it
/// know that a thread has ended before its own memory is freed by the one that lets go of it.
const SUPPRESSIONS: &str = "\
called_from_lib:libLLVM
called_from_lib:libclang
race:libLLVM
race:libclang
mutex:heddle_llvm::fatal::withstanding
race:_dl_deallocate_tls
";

/// `./x races`. The standard library is built anew: ThreadSanitizer has to see what its locks do. LLVM's it cannot, so what that does
/// within itself is left out.
pub(crate) fn races(arguments: &RacesArguments) -> XtaskResult {
    let seconds = arguments.minutes * 60.0;
    if !seconds.is_finite() || seconds < 0.0 {
        return Err(crate::run::XtaskError::Usage("--minutes takes a number".into()));
    }
    let nightly = |words: &[&str]| printed(program("rustc", ["+nightly"]).args(words));
    let sysroot = nightly(&["--print", "sysroot"]).unwrap_or_default();
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
    if !libraries.join("src/rust/library/Cargo.toml").exists() {
        return fail(
            "ThreadSanitizer takes nightly Rust with its sources: rustup toolchain install nightly --component rust-src",
        );
    }
    let version = nightly(&["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let runtime = libraries.join(host).join("lib/librustc-nightly_rt.tsan.a");
    let folder = target().join("races");
    let (vendors, suppressions) = (folder.join("vendors"), folder.join("suppressions.txt"));
    at(&vendors, fs::create_dir_all(&vendors))?;
    let mut build = cargo("+nightly");
    build.args(["build", "-Zbuild-std", "--target", host, "-p", "heddle-opencl"]);
    pass(build.env("CARGO_TARGET_DIR", &folder).env("RUSTFLAGS", "-Zsanitizer=thread"))?;
    let driver = folder.join(host).join("debug/libheddle_opencl.so");
    write(&vendors.join("heddle.icd"), format!("{}\n", driver.display()))?;
    write(&suppressions, SUPPRESSIONS)?;
    let (object, stress) = (folder.join("stress.o"), folder.join("stress"));
    let mut clang =
        program("clang-22", ["-std=gnu11", "-O1", "-g", "-fsanitize=thread", "-c", "tests/opencl/stress.c"]);
    pass(clang.arg("-o").arg(&object))?;
    // The driver finds the sanitizer in the program.
    let mut cc = program("cc", [&object]);
    cc.args(["-rdynamic", "-Wl,--whole-archive"]).arg(runtime).arg("-Wl,--no-whole-archive");
    pass(cc.args(["-lOpenCL", "-lpthread", "-ldl", "-lm", "-o"]).arg(&stress))?;
    let mut run = program("timeout", [((seconds + 300.0) as u64).to_string()]);
    run.arg(stress).args([seconds.to_string(), arguments.threads.to_string()]);
    run.env("OCL_ICD_VENDORS", vendors).env("HEDDLE_CACHE", "0");
    let options = format!("suppressions={} history_size=4 exitcode=1", suppressions.display());
    if pass(run.env("TSAN_OPTIONS", options)).is_err() {
        return fail("races: something was found");
    }
    Ok(())
}
