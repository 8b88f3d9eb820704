//! Compiles the part that uses LLVM's C++ API, which has no C counterpart.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const FILES: [&str; 10] = [
    "pass",
    "marked_loops",
    "levels",
    "nests",
    "indices",
    "collapsed",
    "dependences",
    "evictions",
    "interchange",
    "selection",
];

/// Returns the lines of all files that include headers of LLVM, each once.
fn included_headers() -> String {
    let mut headers = BTreeSet::new();
    for entry in fs::read_dir("cpp").expect("cpp can be listed") {
        let path = entry.expect("cpp can be listed").path();
        let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        headers.extend(
            text.lines().filter(|line| line.starts_with("#include \"llvm/")).map(|line| format!("{line}\n")),
        );
    }
    headers.into_iter().collect()
}

/// Compiles the headers of LLVM once for all files, which would each take six seconds to read them.
fn precompile_headers(build: &cc::Build, out: &Path) -> PathBuf {
    let (headers, compiled) = (out.join("headers.h"), out.join("headers.pch"));
    fs::write(&headers, included_headers()).expect("cargo's folder can be written to");
    let mut command = build.get_compiler().to_command();
    command.args(["-fpch-instantiate-templates", "-x", "c++-header"]).arg(&headers).arg("-o").arg(&compiled);
    let status = command.status().unwrap_or_else(|why| panic!("clang++-22 cannot be started: {why}"));
    assert!(status.success(), "the headers of LLVM are not compiled: {command:?}");
    compiled
}

fn main() {
    println!("cargo::rerun-if-changed=cpp");
    // Clippy links nothing.
    println!("cargo::rerun-if-env-changed=RUSTC_WORKSPACE_WRAPPER");
    if env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.contains("clippy")) {
        return;
    }
    let config = ["llvm-config-22", "llvm-config"].into_iter().find_map(|name| {
        let output = Command::new(name).args(["--includedir"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    });
    let Some(include) = config else {
        panic!("llvm-config-22 is missing: `./x setup` brings it");
    };
    // Most of the time it reads headers, which clang does faster than other compilers; nobody steps through what is made.
    let mut build = cc::Build::new();
    build
        .compiler("clang++-22")
        .cpp(true)
        .std("c++17")
        .include(include)
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag_if_supported("-Wno-unused-parameter")
        .flag_if_supported("-Wno-deprecated-copy")
        .flag_if_supported("-Wno-redundant-move")
        .opt_level(1)
        .debug(false);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names its folder"));
    let headers = precompile_headers(&build, &out);
    build.flag("-include-pch").flag(headers).files(FILES.map(|name| format!("cpp/{name}.cpp")));
    build.compile("heddle_pass");
}
