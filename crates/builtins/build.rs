//! Compiles the builtin library to bitcode, one module per file and define.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Modules in link order, each a file and its define: each may call later ones. Small modules keep the bitcode read
/// per program small.
const PARTS: [(&str, &str); 23] = [
    ("image.cl", ""),
    ("integer.cl", ""),
    ("bits.cl", ""),
    ("relational.cl", ""),
    ("memory.cl", ""),
    ("half.cl", ""),
    ("shuffle.cl", ""),
    ("half_math.cl", ""),
    ("convert.cl", "TO_INTEGER=char"),
    ("convert.cl", "TO_INTEGER=uchar"),
    ("convert.cl", "TO_INTEGER=short"),
    ("convert.cl", "TO_INTEGER=ushort"),
    ("convert.cl", "TO_INTEGER=int"),
    ("convert.cl", "TO_INTEGER=uint"),
    ("convert.cl", "TO_INTEGER=long"),
    ("convert.cl", "TO_INTEGER=ulong"),
    ("convert.cl", "TO_FLOATS"),
    ("geometric.cl", ""),
    ("math.cl", ""),
    ("atomic_1.cl", ""),
    ("atomic_2.cl", ""),
    ("group.cl", ""),
    ("group_slots.c", ""),
];

/// Functions of CUDA's textures, a library of its own.
const TEXTURES: &str = "texture.cl";

fn main() {
    println!("cargo::rerun-if-changed=cl");
    // Clippy runs nothing: it has a library without functions.
    println!("cargo::rerun-if-env-changed=RUSTC_WORKSPACE_WRAPPER");
    let is_linted = env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.contains("clippy"));
    let clang = "clang-22";
    let start = |command: &mut Command| {
        let output = command.output();
        output
            .unwrap_or_else(|reason| panic!("`{clang}` cannot be started: {reason}; `./x setup` installs it"))
    };
    let resources = start(Command::new(clang).arg("-print-resource-dir")).stdout;
    let headers = format!("{}/include", String::from_utf8_lossy(&resources).trim());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where"));
    let header = PathBuf::from(&headers).join("opencl-c.h");
    if let Err(reason) = std::fs::copy(&header, out.join("opencl-c.h")) {
        panic!("{}: {reason}; `./x setup` installs it (Debian: libclang-common-22-dev)", header.display());
    }
    let library = |number: usize, part: &str, define: &str| {
        let (bitcode, text) = (out.join(format!("{number}.bc")), out.join(format!("{number}.ll")));
        let make = |command: &mut Command, made: &Path| {
            let output = start(command.arg("-o").arg(made));
            assert!(output.status.success(), "cl/{part}:\n{}", String::from_utf8_lossy(&output.stderr));
        };
        // Unoptimized: optimization runs after linking, at the call sites.
        let mut compile = Command::new(clang);
        compile.args(["-cc1", "-triple", "spir64-unknown-unknown", "-O1", "-disable-llvm-passes"]);
        compile.args(["-emit-llvm-bc", "-ffp-contract=off", "-fwrapv", "-Werror"]);
        compile.args(["-internal-isystem", &headers]);
        if part.ends_with(".cl") {
            compile.args(["-x", "cl", "-cl-std=CL3.0", "-cl-ext=+all", "-finclude-default-header"]);
            compile.args((!define.is_empty()).then(|| format!("-D{define}")));
        } else {
            compile.args(["-x", "c", "-std=c17"]);
        }
        if is_linted {
            std::fs::write(&bitcode, []).expect("the folder can be written to");
            std::fs::write(&text, []).expect("the folder can be written to");
        } else {
            make(compile.arg(PathBuf::from("cl").join(part)), &bitcode);
            // Reading bitcode takes a tenth of the time of reading OpenCL's header once more.
            let mut print = Command::new(clang);
            print.args([
                "-cc1",
                "-triple",
                "spir64-unknown-unknown",
                "-x",
                "ir",
                "-disable-llvm-passes",
                "-emit-llvm",
            ]);
            make(print.arg(&bitcode), &text);
        }
        let text = std::fs::read_to_string(text).expect("clang wrote it");
        let defined =
            text.lines().filter(|line| line.starts_with("define ") && !line.starts_with("define internal"));
        let mut names: Vec<&str> = defined
            .filter_map(|line| {
                line.split_once('@')?.1.split_once('(').map(|(name, _)| name.trim_matches('"'))
            })
            .collect();
        names.sort_unstable();
        format!(
            "OpenClLibrary {{ bitcode: include_bytes!({:?}), names: &{names:?} }}",
            bitcode.display().to_string()
        )
    };
    let parts = PARTS.into_iter().enumerate();
    let list: Vec<String> = parts.map(|(number, (part, define))| library(number, part, define)).collect();
    let write = |name: &str, text: String| {
        std::fs::write(out.join(name), text).expect("the folder can be written to");
    };
    write("libraries.rs", format!("[\n    {},\n]\n", list.join(",\n    ")));
    write("textures.rs", library(PARTS.len(), TEXTURES, ""));
}
