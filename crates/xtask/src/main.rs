//! The developers' entry: `./x VERB` brings Rust and Debian's packages, and calls this program.
//!
//! A verb is a variant of `XtaskVerb` with its arguments; a module holds a group of verbs. Verbs run at the root of the
//! repository, whatever folder they are called from. A failed program has printed the reason: its exit code is that of the verb.
#![forbid(unsafe_code)]

mod run;
mod verbs;
mod builds;
mod tools;
mod check;
mod test;
mod lint;
mod coverage;
mod fuzz;
mod math;
mod mutants;
mod races;
mod gpu;
mod bench;
mod demo;
mod try_programs;
mod conformance;
mod conformance_output;
mod install;
mod machine;
mod cross;
mod tree;
mod zip;
mod wheel;
mod deb;
mod release;
mod try_wheel;
mod site;

use clap::Parser as _;
use clap::error::ErrorKind;
use run::{XtaskError, say};
use std::process::ExitCode;
use verbs::Xtask;

/// Prints what is wrong with the arguments, and which verbs there are instead of an unknown one.
fn misused(error: &clap::Error) -> ExitCode {
    _ = error.print();
    if error.kind() == ErrorKind::InvalidSubcommand {
        eprintln!("\n{}", verbs::help());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn main() -> ExitCode {
    let task = match Xtask::try_parse() {
        Ok(task) => task,
        Err(error) => return misused(&error),
    };
    match verbs::run_verb(task.verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(XtaskError::Program(code)) => ExitCode::from(code),
        Err(XtaskError::Message(reason)) => {
            say(reason);
            ExitCode::FAILURE
        }
        Err(XtaskError::Usage(reason)) => {
            say(reason);
            ExitCode::from(2)
        }
    }
}
