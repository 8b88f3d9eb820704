//! Prints OpenCL C builtin coverage; fails if something is missing.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    match heddle_builtins::coverage() {
        Ok(coverage) => {
            print!("{coverage}");
            if coverage.missing().next().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(log) => {
            eprint!("{log}");
            ExitCode::FAILURE
        }
    }
}
