//! Verbs of `./x` with their arguments.

use crate::bench::{BenchArguments, bench};
use crate::check::{CheckArguments, check};
use crate::conformance::{ConformanceArguments, conformance};
use crate::coverage::{CoveredInterface, coverage};
use crate::demo::{Demonstration, demo};
use crate::fuzz::{FuzzVerbArguments, fuzz};
use crate::install::{InstallArguments, install, uninstall};
use crate::machine::MachineKind;
use crate::math::{MathArguments, math};
use crate::mutants::{MutantsArguments, mutants};
use crate::races::{RacesArguments, races};
use crate::run::{XtaskResult, at, pass, program, root};
use crate::try_programs::{TriedProgram, try_program};
use crate::{builds, cross, deb, gpu, lint, release, site, test, tools, try_wheel, wheel};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use std::path::PathBuf;

/// Developers' entry of Heddle
#[derive(Parser)]
#[command(name = "./x", bin_name = "./x", after_help = "`./x VERB --help` lists the arguments of a verb.")]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub(crate) struct Xtask {
    #[command(subcommand)]
    pub(crate) verb: Option<XtaskVerb>,
}

/// Tasks of developers.
#[derive(Subcommand)]
pub(crate) enum XtaskVerb {
    /// Bring what a build needs: C and C++ compilers, Rust, LLVM and clang 22 (Debian packages; root or sudo)
    Setup,
    /// Build everything; release artifacts land in target/release
    Build,
    /// Check formatting, clippy, unit and file tests of what changed: two minutes on a warm build
    Check(CheckArguments),
    /// Build, run all tests, lint, fuzz for a minute: what CI runs
    Test,
    /// Check formatting, clippy, names and doc comments, documentation
    Lint,
    /// Run the tests and rewrite their goldens; review the diff
    Bless,
    /// Run the tests of the OpenCL driver, once for each choice that can be forced
    Forced,
    /// Generate programs and check them against the oracle; `native` and `c` run vector code
    Fuzz(FuzzVerbArguments),
    /// Compare OpenCL C's mathematical functions, as the driver computes them, with true values (output: target/math)
    ///
    /// Scalars and vectors, in halves, floats and doubles: all special values, all pairs of such, and random numbers. Prints the largest
    /// error of each function, its argument, the specification's bound and the speed; a function beyond its bound fails. `./x test` takes
    /// 20,000 random numbers; 100 million take seconds to minutes a function.
    Math(MathArguments),
    /// Break crates on purpose, and count what the tests notice
    Mutants(MutantsArguments),
    /// Run many host threads on the OpenCL driver under ThreadSanitizer (nightly Rust with rust-src)
    Races(RacesArguments),
    /// Run exported PTX on the CUDA driver that is found, and compare it with the oracle (an NVIDIA GPU, Python)
    Gpu {
        /// Time kernels before and after passes instead
        #[arg(long)]
        timed: bool,
    },
    /// List what a front end takes: done, refused (and why) or missing
    Coverage {
        #[arg(default_value = "llvm")]
        interface: CoveredInterface,
    },
    /// Run a benchmark and judge its aims, or its growth on one family of programs only (output: target/bench)
    Bench(BenchArguments),
    /// Show what Heddle is good for: kernels on all OpenCL drivers, and a marked loop
    ///
    /// Runs Mandelbrot, n-body and Black-Scholes through OpenCL, on Heddle and on what else is there for this CPU (`./x peers` brings
    /// some): a table and a picture (output: target/demo). Then a marked loop, what clang and the plugin say of it, and how much
    /// faster it becomes.
    Demo {
        #[command(subcommand)]
        which: Option<Demonstration>,
    },
    /// Run programs of others (output: target/try)
    Try {
        #[command(subcommand)]
        tried: TriedProgram,
    },
    /// Build Khronos' OpenCL-CTS from a checkout, run its tests on the OpenCL driver, and list what passed, failed, crashed, timed out and
    /// was skipped (cmake, spirv-tools; output: target/conformance)
    Conformance(ConformanceArguments),
    /// Bring what `bench opencl` and `bench tensor` compare with (Debian, Python and PyPI)
    ///
    /// PoCL is a Debian package (root or sudo); Intel's runtime and OpenBLAS land below target/tools.
    Peers,
    /// Bring NVIDIA's assembler and NVRTC below target/tools, which tests of PTX ask (Python and PyPI)
    Ptxas,
    /// Install the drivers, the command, the library, the headers and the plugin
    Install(InstallArguments),
    /// Take away what `install` put there
    Uninstall(InstallArguments),
    /// Make the wheel for PyPI: target/packages/heddle_simd-*.whl
    Wheel {
        /// Install it in a fresh Debian without compiler and LLVM (root and debootstrap), and run PyOpenCL, Numba, tinygrad and the
        /// Python API there
        #[arg(long)]
        test: bool,
        #[command(flatten)]
        machine: MachineArguments,
    },
    /// Make Debian packages: target/packages/*.deb
    Deb(MachineArguments),
    /// Make an archive that runs from any folder: target/packages/heddle-*.tar.xz
    Archive(MachineArguments),
    /// Make all packages, checksums, a list of components and release notes
    Release(MachineArguments),
    /// Make the documentation as a site with search: target/site/index.html (mdBook from PyPI)
    Site,
}

/// Arguments of all packages.
#[derive(Args)]
pub(crate) struct MachineArguments {
    /// Kind of machine that packages are for: x86_64 or aarch64 (Debian's cross compiler); default: that of this machine
    #[arg(long, value_name = "KIND", value_parser = MachineKind::parse)]
    target: Option<MachineKind>,
}

impl MachineArguments {
    /// Installs what packages are linked with; returns the kind of machine.
    fn bring(&self) -> XtaskResult<MachineKind> {
        let own = || MachineKind::parse(std::env::consts::ARCH);
        let kind = self.target.map_or_else(own, Ok)?;
        cross::bring(kind)?;
        Ok(kind)
    }
}

/// Returns the list of verbs.
pub(crate) fn help() -> String {
    Xtask::command().render_help().to_string()
}

/// Runs a verb at the root of the repository; without one, prints the list of verbs.
pub(crate) fn run_verb(verb: Option<XtaskVerb>) -> XtaskResult {
    let Some(verb) = verb else {
        print!("{}", help());
        return Ok(());
    };
    let caller: PathBuf = std::env::current_dir().map_err(|reason| reason.to_string())?;
    at(root(), std::env::set_current_dir(root()))?;
    pass(&mut program(root().join("x"), ["setup"]))?;
    match verb {
        XtaskVerb::Setup => Ok(()),
        XtaskVerb::Build => builds::build(),
        XtaskVerb::Check(arguments) => check(&arguments),
        XtaskVerb::Test => test::test(),
        XtaskVerb::Lint => lint::lint(),
        XtaskVerb::Bless => test::bless(),
        XtaskVerb::Forced => test::forced(),
        XtaskVerb::Fuzz(arguments) => fuzz(&arguments),
        XtaskVerb::Math(arguments) => math(&arguments),
        XtaskVerb::Mutants(arguments) => mutants(&arguments),
        XtaskVerb::Races(arguments) => races(&arguments),
        XtaskVerb::Gpu { timed } => gpu::gpu(timed),
        XtaskVerb::Coverage { interface } => coverage(interface),
        XtaskVerb::Bench(arguments) => bench(&arguments),
        XtaskVerb::Demo { which } => demo(which),
        XtaskVerb::Try { tried } => try_program(&tried, &caller),
        XtaskVerb::Conformance(arguments) => conformance(&arguments, &caller),
        XtaskVerb::Peers => tools::peers(),
        XtaskVerb::Ptxas => tools::ptxas(),
        XtaskVerb::Install(arguments) => install(&arguments, &caller),
        XtaskVerb::Uninstall(arguments) => uninstall(&arguments, &caller),
        XtaskVerb::Wheel { test, machine } => {
            let wheel = wheel::make(machine.bring()?)?;
            if test { try_wheel::try_wheel(&wheel) } else { Ok(()) }
        }
        XtaskVerb::Deb(machine) => deb::make(machine.bring()?).map(drop),
        XtaskVerb::Archive(machine) => release::archive(machine.bring()?).map(drop),
        XtaskVerb::Release(machine) => release::make(machine.bring()?),
        XtaskVerb::Site => site::make(),
    }
}

#[cfg(test)]
mod tests {
    use super::Xtask;
    use crate::run::{files_below, read, root};
    use clap::{CommandFactory as _, Parser as _};
    use std::collections::BTreeSet;
    use std::fmt::Write as _;
    use std::path::PathBuf;

    fn is_taken(line: &str) -> bool {
        Xtask::try_parse_from(line.split(' ')).is_ok()
    }

    #[test]
    fn arguments_are_typed() {
        Xtask::command().debug_assert();
        let taken = [
            "./x",
            "./x setup",
            "./x fuzz",
            "./x fuzz widen native --minutes 0.5 --seed 3 --target neon,avx2",
            "./x fuzz cuda --count 5",
            "./x bench opencl --resume",
            "./x bench --resume opencl",
            "./x bench forms stencil5 --quick",
            "./x bench cuda drivers axpy",
            "./x bench cuda openmp life --quick",
            "./x conformance DIR",
            "./x conformance DIR --only images --only api --test read --jobs 2 --seconds 60 --wimpy --resume --build B",
            "./x coverage",
            "./x coverage opencl-api",
            "./x demo",
            "./x demo tour",
            "./x gpu --timed",
            "./x install --prefix here",
            "./x math",
            "./x math --numbers 1e8 --seed 3 --type double --width 4 sin pow",
            "./x math --integers --numbers 1e6",
            "./x mutants ir heddle-llvm --sample 70 --shard 2",
            "./x races --minutes 0.5 --threads 4",
            "./x try gsl",
            "./x try dpnp --only a --only b --skip c --every 10 --resume --pinned",
            "./x try hecbench DIR --seconds 5 --every 3 --skip 1",
            "./x wheel --test --target aarch64",
            "./x deb --target=x86_64",
        ];
        for line in taken {
            assert!(is_taken(line), "{line}");
        }
        let refused = [
            "./x nothing",
            "./x build now",
            "./x fuzz --minutes many",
            "./x conformance",
            "./x conformance DIR --jobs 0",
            "./x coverage c",
            "./x demo opencl",
            "./x gpu --fast",
            "./x install --prefix",
            "./x math --integers sin",
            "./x math --numbers many",
            "./x math --type int",
            "./x math --width 5",
            "./x mutants --sample 0",
            "./x races --threads some",
            "./x try",
            "./x try nothing",
            "./x try hecbench",
            "./x deb --target sparc",
            "./x wheel --fast",
        ];
        for line in refused {
            assert!(!is_taken(line), "{line}");
        }
    }

    const HEAD: &str = "\
# The verbs of `./x`

This list is made from [`verbs.rs`](../crates/xtask/src/verbs.rs) by `HEDDLE_BLESS=1 cargo test -p heddle-xtask`; `./x VERB --help` prints
the same. All verbs bring what a build needs first (`./x setup`), and run at the root of the repository.
";

    /// Appends the help of a verb and of its parts.
    fn describe(command: &mut clap::Command, out: &mut String) {
        let help = command.render_long_help().to_string();
        let text: String = help.lines().fold(String::new(), |text, line| text + "    " + line + "\n");
        let text = text.replace("    \n", "\n");
        _ = write!(out, "\n{}\n", text.trim_end());
        for part in command.get_subcommands_mut().filter(|part| part.get_name() != "help") {
            _ = write!(out, "\n### `{}`\n", part.get_bin_name().unwrap_or_default());
            describe(part, out);
        }
    }

    #[test]
    fn the_document_lists_all_verbs() {
        let mut command = Xtask::command().disable_help_flag(true);
        command.build();
        let mut text = HEAD.to_string();
        for verb in command.get_subcommands_mut().filter(|verb| verb.get_name() != "help") {
            _ = write!(text, "\n## `./x {}`\n", verb.get_name());
            describe(verb, &mut text);
        }
        let text: String = text.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n");
        let path = root().join("docs/verbs.md");
        if std::env::var_os("HEDDLE_BLESS").is_some() {
            std::fs::write(&path, &text).expect("it can be written");
        }
        let written = read(&path).unwrap_or_default();
        assert!(written == text, "docs/verbs.md is not what verbs.rs says: HEDDLE_BLESS=1 rewrites it");
    }

    /// First words after `./x` of a text, without placeholders.
    fn named_verbs(text: &str) -> BTreeSet<&str> {
        let words = text
            .split("./x ")
            .skip(1)
            .filter_map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '|').next());
        words.flat_map(|word| word.split('|')).filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn documents_and_sources_name_verbs_that_exist() {
        let mut command = Xtask::command();
        command.build();
        let is_verb = |word: &str| command.find_subcommand(word).is_some();
        let mut wrong: Vec<String> = Vec::new();
        let mut paths: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md"].map(|name| root().join(name)).into();
        for folder in ["docs", "crates", "tests", "python"] {
            paths.extend(files_below(&root().join(folder)).expect("it can be listed"));
        }
        let own = PathBuf::from(root()).join("crates/xtask/src/verbs.rs");
        for path in paths.iter().filter(|path| **path != own) {
            let text = read(path).unwrap_or_default();
            let unknown = named_verbs(&text).into_iter().filter(|word| !is_verb(word));
            wrong.extend(unknown.map(|word| format!("{}: ./x {word}", path.display())));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert_eq!(named_verbs("`./x a|b c`, ./x VERB, ./x d."), BTreeSet::from(["a", "b", "d"]));
    }
}
