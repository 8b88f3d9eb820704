//! Tells compilers apart: what the sources of all that makes code sum up to.

use std::path::{Path, PathBuf};

const CRATES: [&str; 10] =
    ["ir", "analysis", "transform", "math", "llvm", "spirv", "builtins", "ptx", "compiler", "runtime"];

fn main() {
    let mut folders: Vec<PathBuf> = CRATES.iter().map(|name| Path::new("..").join(name)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        println!("cargo::rerun-if-changed={}", folder.display());
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
        for entry in entries {
            let path = entry.unwrap_or_else(|why| panic!("{}: {why}", folder.display())).path();
            if !path.is_dir() {
                files.push(path);
            } else if !path.ends_with("tests") && !path.ends_with("examples") {
                folders.push(path);
            }
        }
    }
    files.sort();
    let mut sum: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for file in files {
        let bytes = std::fs::read(&file).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
        for byte in file.to_string_lossy().bytes().chain(bytes) {
            sum = (sum ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    println!("cargo::rustc-env=HEDDLE_SOURCES={sum:032x}");
}
