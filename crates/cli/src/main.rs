//! The `heddle` command: `opt` runs passes, `exec` runs a function on the oracle, `analyze` says what diverges, `test`
//! runs file tests.
//!
//! Exit codes: 0 done, 1 the program is wrong (with diagnostics), 2 usage.
#![forbid(unsafe_code)]

#[macro_use]
mod report;
mod opt;
mod exec;
mod analyze;
mod file_tests;
mod demo;
mod vectorize;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Lock-step SIMD compiler toolkit: read, check, run and transform `.hed` programs.
#[derive(Parser)]
#[command(name = "heddle", version, max_term_width = 100)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Check a file, run passes over it and print the result
    Opt(opt::Opt),
    /// Run a function on the interpreter, all lanes in lock-step
    Exec(exec::Exec),
    /// Say what is uniform, what diverges, and why
    Analyze(analyze::Analyze),
    /// Make vector code of a function, for lanes that each run it
    Vectorize(vectorize::Vectorize),
    /// Run the file tests below a directory
    Test(file_tests::FileTests),
    /// Show what works today, on one example
    Demo,
}

/// Why a command did not do what it was asked for.
enum Failure {
    /// The program, a pass or a test is wrong; what there was to say has been said.
    Program,
    /// The command itself is wrong.
    Usage(String),
}

fn main() -> ExitCode {
    let done = match Command::parse().verb {
        Verb::Opt(opt) => opt.run(),
        Verb::Exec(exec) => exec.run(),
        Verb::Analyze(analyze) => analyze.run(),
        Verb::Vectorize(vectorize) => vectorize.run(),
        Verb::Test(tests) => tests.run(),
        Verb::Demo => demo::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Program) => ExitCode::from(1),
        Err(Failure::Usage(reason)) => {
            report::error(&reason);
            ExitCode::from(2)
        }
    }
}
