//! The `heddle` command: `opt` runs passes, `exec` runs a function on the interpreter, `analyze` shows divergence, `test`
//! runs file tests.
//!
//! Exit codes: 0 done, 1 the program is wrong (with diagnostics), 2 usage.
#![forbid(unsafe_code)]

#[macro_use]
mod report;
mod opt;
mod exec;
mod analyze;
mod profile;
mod file_tests;
mod demo;
mod vectorize;
mod clc;
mod cache;
mod drivers;

use clap::{Parser, Subcommand};

/// Lock-step SIMD compiler toolkit: read, check, run and transform `.hed` programs.
#[derive(Parser)]
#[command(name = "heddle", version, max_term_width = 100)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
struct CommandLine {
    /// Print the folder with `heddle.h`, for other compilers: `cc -I$(heddle --print-include-dir)`
    #[arg(long)]
    print_include_dir: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    /// Check a file, run passes over it and print the result
    Opt(opt::Opt),
    /// Run a function on the interpreter, all lanes in lock-step
    Exec(exec::Exec),
    /// Show which values are uniform, which branches diverge, and why
    Analyze(analyze::Analyze),
    /// Run a function and count divergence, active lanes and memory accesses
    Profile(profile::ProfileRun),
    /// Vectorize a function: each lane runs it
    Vectorize(vectorize::Vectorize),
    /// Compile the kernels of a file in OpenCL C or SPIR-V, and report how they were vectorized
    Clc(clc::Clc),
    /// Inspect, copy, fill or delete the cache on disk
    Cache(cache::CacheCommand),
    /// Run a program on Heddle's drivers for OpenCL and CUDA
    Run(drivers::RunProgram),
    /// Report drivers, CPU, cache and compilers, and what is missing
    Doctor(drivers::Doctor),
    /// Run the file tests below a directory
    Test(file_tests::FileTests),
    /// Show what the compiler does, on one example
    Demo,
}

/// Failure of a command.
enum CliError {
    /// The program, a pass or a test is wrong; its messages are printed.
    Program,
    /// The command itself is wrong.
    Usage(String),
    /// The command itself is wrong; the message has been printed.
    Misused,
}

/// Result of a command.
type CliResult = Result<(), CliError>;

fn print_include_dir() -> CliResult {
    let folder = heddle_llvm::include_folder().map_err(|reason| CliError::Usage(reason.to_string()))?;
    say_line!("{}", folder.display());
    Ok(())
}

/// Runs the command with the arguments of the process; returns its exit code.
pub fn run() -> u8 {
    if let Some(error) = heddle_llvm::Cpu::host_error() {
        report::error(&error.to_string());
        return 2;
    }
    let done = match CommandLine::parse_from(clc::build_options_first(std::env::args_os())).verb {
        Some(Verb::Opt(opt)) => opt.run(),
        Some(Verb::Exec(exec)) => exec.run(),
        Some(Verb::Analyze(analyze)) => analyze.run(),
        Some(Verb::Profile(profile)) => profile.run(),
        Some(Verb::Vectorize(vectorize)) => vectorize.run(),
        Some(Verb::Clc(clc)) => clc.run(),
        Some(Verb::Cache(cache)) => cache.run(),
        Some(Verb::Run(program)) => program.run(),
        Some(Verb::Doctor(doctor)) => doctor.run(),
        Some(Verb::Test(tests)) => tests.run(),
        Some(Verb::Demo) => demo::run(),
        None => print_include_dir(),
    };
    match done {
        Ok(()) => 0,
        Err(CliError::Program) => 1,
        Err(CliError::Misused) => 2,
        Err(CliError::Usage(reason)) => {
            report::error(&reason);
            2
        }
    }
}
