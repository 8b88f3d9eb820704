//! Builds the shims over clang and LLVM, and links them with the same LLVM as `llvm-sys`.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=shim/clang.cpp");
    println!("cargo::rerun-if-changed=shim/scheduling.cpp");
    println!("cargo::rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let config = match env::var_os("LLVM_SYS_221_PREFIX") {
        Some(prefix) => PathBuf::from(prefix).join("bin/llvm-config"),
        None => PathBuf::from("llvm-config-22"),
    };
    let ask = |question: &str| {
        let output = Command::new(&config).arg(question).output();
        let output = output.unwrap_or_else(|reason| {
            panic!("{} cannot be started: {reason}; `./x setup` installs it", config.display())
        });
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    };
    let include = ask("--includedir");
    let library = ask("--libdir");
    assert!(
        PathBuf::from(&include).join("clang/Frontend/CompilerInstance.h").exists(),
        "{include} has no headers of clang: `./x setup` installs them (Debian: libclang-22-dev)"
    );
    // clang's resource folder is named after the major version.
    let version = ask("--version");
    let major = version.split('.').next().unwrap_or_default();
    let header = PathBuf::from(&library).join(format!("clang/{major}/include/opencl-c-base.h"));
    let copy = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where")).join("opencl-c-base.h");
    if let Err(reason) = std::fs::copy(&header, copy) {
        panic!("{}: {reason}; `./x setup` installs it (Debian: libclang-common-22-dev)", header.display());
    }
    // Compiling the shim is mostly header parsing, at which clang is fastest; debug info is not needed.
    cc::Build::new()
        .compiler("clang++-22")
        .cpp(true)
        .std("c++17")
        .file("shim/clang.cpp")
        .file("shim/scheduling.cpp")
        .flag("-isystem")
        .flag(include)
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .opt_level(1)
        .debug(false)
        .compile("heddle_clang");
    println!("cargo::rustc-link-search=native={library}");
    println!("cargo::rustc-link-lib=dylib=clang-cpp");
}
