//! Builds the shims over clang and LLVM, and links them with the same LLVM as `llvm-sys`.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=shim/clang.cpp");
    println!("cargo::rerun-if-changed=shim/scheduling.cpp");
    println!("cargo::rerun-if-changed=shim/extensions.cpp");
    println!("cargo::rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    println!("cargo::rerun-if-env-changed=RUSTC_WORKSPACE_WRAPPER");
    let config = match env::var_os("LLVM_SYS_221_PREFIX") {
        Some(prefix) => PathBuf::from(prefix).join("bin/llvm-config"),
        None => PathBuf::from("llvm-config-22"),
    };
    let ask = |question: &[&str]| {
        let output = Command::new(&config).args(question).output();
        let output = output.unwrap_or_else(|reason| {
            panic!("{} cannot be started: {reason}; `./x setup` installs it", config.display())
        });
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    };
    let include = ask(&["--includedir"]);
    let library = ask(&["--libdir"]);
    assert!(
        PathBuf::from(&include).join("clang/Frontend/CompilerInstance.h").exists(),
        "{include} has no headers of clang: `./x setup` installs them (Debian: libclang-22-dev)"
    );
    // clang's resource folder is named after the major version.
    let version = ask(&["--version"]);
    let major = version.split('.').next().unwrap_or_default();
    let header = PathBuf::from(&library).join(format!("clang/{major}/include/opencl-c-base.h"));
    let copy = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where")).join("opencl-c-base.h");
    if let Err(reason) = std::fs::copy(&header, copy) {
        panic!("{}: {reason}; `./x setup` installs it (Debian: libclang-common-22-dev)", header.display());
    }
    // Clippy links nothing.
    if env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.contains("clippy")) {
        return;
    }
    let is_static = env::var_os("CARGO_FEATURE_STATIC").is_some();
    let cpp_library = if is_static { None } else { Some("stdc++") };
    // Compiling the shim is mostly header parsing, at which clang is fastest; debug info is not needed.
    let mut shim = cc::Build::new();
    if is_static {
        shim.file("shim/extensions.cpp");
    }
    shim.compiler("clang++-22")
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
        .cpp_link_stdlib(cpp_library)
        .compile("heddle_clang");
    println!("cargo::rustc-link-search=native={library}");
    if !is_static {
        println!("cargo::rustc-link-lib=dylib=clang-cpp");
        return;
    }
    let components: Vec<&str> = ["--link-static", "--libs"].into_iter().chain(LLVM_COMPONENTS).collect();
    let llvm = ask(&components);
    let llvm = llvm.split_whitespace().filter_map(|word| word.strip_prefix("-l"));
    let llvm = llvm.filter(|name| !name.starts_with("Polly"));
    for name in CLANG_LIBRARIES.into_iter().chain(llvm).chain(["zstd", "z"]) {
        println!("cargo::rustc-link-lib=static:-bundle={name}");
    }
    // Where the archives of the C++ compiler and of the system lie.
    for archive in ["libstdc++.a", "libz.a", "libzstd.a"] {
        let folder = archive_folder(&library, archive);
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
    println!("cargo::rustc-link-lib=static:-bundle=stdc++");
}

/// Components of LLVM that the workspace and clang call, with what these depend on.
const LLVM_COMPONENTS: [&str; 20] = [
    "x86",
    "aarch64",
    "passes",
    "orcjit",
    "executionengine",
    "linker",
    "irreader",
    "bitwriter",
    "lto",
    "coverage",
    "windowsdriver",
    "option",
    "frontendopenmp",
    "frontendhlsl",
    "frontendopenacc",
    "frontenddriver",
    "hipstdpar",
    "plugins",
    "objcarcopts",
    "symbolize",
];

/// Libraries of clang's front end and code generator, users before what they use.
const CLANG_LIBRARIES: [&str; 19] = [
    "clangFrontend",
    "clangCodeGen",
    "clangSerialization",
    "clangDriver",
    "clangOptions",
    "clangParse",
    "clangSema",
    "clangAPINotes",
    "clangEdit",
    "clangAnalysisLifetimeSafety",
    "clangAnalysis",
    "clangASTMatchers",
    "clangAST",
    "clangRewrite",
    "clangLex",
    "clangBasic",
    "clangSupport",
    "clangToolingCore",
    "clangDependencyScanning",
];

/// Returns the folder in which the C++ compiler of the target finds an archive; those next to LLVM's folder come first.
fn archive_folder(llvm_library: &str, name: &str) -> PathBuf {
    let variable = |name| env::var(name).unwrap_or_default();
    let machine = format!("{}-linux-gnu", variable("CARGO_CFG_TARGET_ARCH"));
    let is_cross = variable("TARGET") != variable("HOST");
    let compiler = if is_cross { format!("{machine}-g++") } else { "c++".to_string() };
    let next = PathBuf::from(llvm_library).join("../..").join(machine);
    let output = Command::new(&compiler)
        .arg(format!("-B{}", next.display()))
        .arg(format!("-print-file-name={name}"))
        .output();
    let output = output.unwrap_or_else(|reason| panic!("{compiler} cannot be started: {reason}"));
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    assert!(path.is_absolute(), "there is no {name}: `./x setup` installs it");
    path.parent().expect("a path has a folder").to_path_buf()
}
