//! Kinds of machines that packages are made for.
//!
//! Packages for another kind than the own one are linked against Debian's libraries for it, which `cross.rs` unpacks into
//! target/aarch64, by Debian's cross compiler.

use crate::builds::is_built;
use crate::run::{XtaskResult, cargo, fail, program, run, target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names of a kind of machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MachineKind {
    /// Name of the kernel, of Rust, and of PyPI's tags.
    pub(crate) name: &'static str,
    /// Name in Debian.
    pub(crate) debian: &'static str,
    /// The dynamic linker.
    pub(crate) loader: &'static str,
}

const X86_64: MachineKind = MachineKind { name: "x86_64", debian: "amd64", loader: "ld-linux-x86-64.so.2" };
const AARCH64: MachineKind =
    MachineKind { name: "aarch64", debian: "arm64", loader: "ld-linux-aarch64.so.1" };

impl MachineKind {
    /// Returns the kind of a name of the command line.
    pub(crate) fn parse(name: &str) -> Result<MachineKind, String> {
        let kinds = [X86_64, AARCH64];
        let found = kinds.into_iter().find(|kind| kind.name == name);
        found.ok_or_else(|| "packages are made for x86_64 and aarch64".into())
    }

    /// True for the kind of this machine.
    pub(crate) fn is_own(self) -> bool {
        self.name == std::env::consts::ARCH
    }

    fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.name)
    }

    /// Returns a tool of the compiler for this kind.
    pub(crate) fn tool(self, name: &str) -> String {
        match (self.is_own(), name) {
            (true, _) => name.into(),
            (false, "cc") => format!("{}-linux-gnu-gcc", self.name),
            (false, _) => format!("{}-linux-gnu-{name}", self.name),
        }
    }

    /// Returns a program for this kind as a command, emulated by QEMU on another one.
    pub(crate) fn command(self, path: &Path) -> Command {
        if self.is_own() {
            return Command::new(path);
        }
        let libraries = format!("/usr/{}-linux-gnu", self.name);
        let mut command = program(format!("qemu-{}", self.name), ["-L", &libraries]);
        command.arg(path);
        command
    }

    /// Returns the folder of the built libraries.
    pub(crate) fn built(self) -> PathBuf {
        if self.is_own() { target().join("dist") } else { target().join(self.triple()).join("dist") }
    }

    /// Builds the libraries with LLVM and clang in them.
    pub(crate) fn build(self) -> XtaskResult {
        if is_built() {
            return Ok(());
        }
        let packages = crate::tree::PACKAGES;
        let mut build = cargo("build");
        build.args(["--profile", "dist", "--features", "heddle-bundle/static"]);
        for package in packages {
            build.args(["--package", package]);
        }
        if !self.is_own() {
            let prefix = target().join(self.name).join("llvm");
            if !prefix.exists() {
                return fail(format!(
                    "{} is missing: `./x archive --target {}` brings it",
                    prefix.display(),
                    self.name
                ));
            }
            build.args(["--target", &self.triple()]).env("LLVM_SYS_221_PREFIX", prefix);
            let linker = format!("CARGO_TARGET_{}_LINKER", self.triple().to_uppercase().replace('-', "_"));
            build.env(linker, self.tool("cc"));
        }
        run(&mut build)
    }
}
