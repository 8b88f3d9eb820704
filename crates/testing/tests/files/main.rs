//! File tests: one test for each file of `tests/*.hed`, `tests/opencl-c` and `tests/ptx`, by its path.
//!
//! `cargo test -p heddle-testing --test files -- transform/loop-form` runs one.
#![forbid(unsafe_code)]

mod hed;
mod opencl_c;
mod ptx;

use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut trials = Vec::new();
    let mut add = |files: Vec<PathBuf>, check: fn(&Path) -> Vec<String>| {
        assert!(files.len() > 5, "there are files");
        trials.extend(files.into_iter().map(|file| {
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            Trial::test(name, move || {
                let wrong = check(&file);
                if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
            })
        }));
    };
    add(hed::files(&root), hed::check);
    add(files_below(&root.join("opencl-c"), "cl"), opencl_c::check);
    add(files_below(&root.join("ptx"), "ptx"), ptx::check);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Files with an extension below a folder, in order.
fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
