//! Compiles the part that uses LLVM's C++ API, which has no C counterpart.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=cpp");
    let config = ["llvm-config-22", "llvm-config"].into_iter().find_map(|name| {
        let output = Command::new(name).args(["--includedir"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    });
    let Some(include) = config else {
        panic!("llvm-config-22 is missing: `./x setup` brings it");
    };
    // Most of the time it reads headers, which clang does faster than other compilers; nobody steps through what is made.
    cc::Build::new()
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
        .debug(false)
        .files(
            [
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
            ]
            .map(|name| format!("cpp/{name}.cpp")),
        )
        .compile("heddle_pass");
}
