//! Makes packages and the site of the documentation: `cargo xtask wheel|deb|archive|release|site`.
//!
//! All packages hold one tree (`tree.rs`): a library with LLVM and clang in it, small libraries under the names of CUDA, the
//! command, headers. The version is that of the workspace.
#![forbid(unsafe_code)]

mod run;
mod machine;
mod tree;
mod zip;
mod wheel;
mod deb;
mod release;
mod try_wheel;
mod site;

use clap::{Parser, Subcommand};
use machine::MachineKind;
use run::XtaskResult;
use std::process::ExitCode;

/// Developers' tasks that are written in Rust
#[derive(Parser)]
#[command(name = "xtask", version)]
struct Xtask {
    #[command(subcommand)]
    verb: XtaskVerb,
    /// Kind of machine that packages are for: x86_64 or aarch64
    #[arg(long, global = true, value_name = "KIND", value_parser = MachineKind::parse, default_value = std::env::consts::ARCH)]
    target: MachineKind,
}

#[derive(Subcommand)]
enum XtaskVerb {
    /// Make the wheel for PyPI: target/packages/heddle-*.whl
    Wheel {
        /// Install it with PyOpenCL and CUDA packages in a fresh root without compiler and LLVM, and run programs there
        #[arg(long)]
        test: bool,
    },
    /// Make Debian packages: target/packages/*.deb
    Deb,
    /// Make an archive that runs from any folder: target/packages/heddle-*.tar.xz
    Archive,
    /// Make all packages, checksums, a list of components and release notes
    Release,
    /// Make the documentation as a site: target/site/index.html
    Site,
}

fn run_verb(verb: &XtaskVerb, kind: MachineKind) -> XtaskResult {
    match verb {
        XtaskVerb::Wheel { test } => {
            let wheel = wheel::make(kind)?;
            if *test { try_wheel::try_wheel(&wheel) } else { Ok(()) }
        }
        XtaskVerb::Deb => deb::make(kind).map(drop),
        XtaskVerb::Archive => release::archive(kind).map(drop),
        XtaskVerb::Release => release::make(kind),
        XtaskVerb::Site => site::make(),
    }
}

fn main() -> ExitCode {
    let task = Xtask::parse();
    match run_verb(&task.verb, task.target) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}
