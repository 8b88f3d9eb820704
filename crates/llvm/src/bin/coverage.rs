//! Prints LLVM import coverage; fails if something is missing.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let coverage = heddle_llvm::coverage();
    print!("{coverage}");
    if coverage.missing().next().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
