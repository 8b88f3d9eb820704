//! Formatting, clippy, names, doc comments and documentation: `./x lint`.

use crate::run::{XtaskResult, cargo, pass, program, runs, say};

/// Checks the formatting of all crates.
pub(crate) fn check_format() -> XtaskResult {
    if runs("cargo", &["fmt", "--version"]) {
        pass(&mut program("cargo", ["fmt", "--all", "--check"]))
    } else {
        say(
            "lint: formatting NOT checked, rustfmt is missing (rustup component add rustfmt; Debian: apt-get install rustfmt-web)",
        );
        Ok(())
    }
}

/// Checks packages; cargo's options name the packages, their targets and the profile.
pub(crate) fn check_clippy(options: &[String]) -> XtaskResult {
    if runs("cargo", &["clippy", "--version"]) {
        let mut clippy = cargo("clippy");
        pass(clippy.args(options).args(["--", "-D", "warnings"]))
    } else {
        say(
            "lint: clippy NOT run, it is missing (rustup component add clippy; Debian: apt-get install rust-web-clippy)",
        );
        Ok(())
    }
}

/// Runs the harness's tests of names and doc comments.
fn check_names() -> XtaskResult {
    // With the features of the whole workspace, nothing is compiled again after its tests.
    pass(cargo("test").args(["--release", "--workspace", "--test", "harness", "naming"]))
}

/// `./x lint`
pub(crate) fn lint() -> XtaskResult {
    check_format()?;
    // There are no benchmarks of cargo; with `--all-targets` each library would be one, and be checked once more.
    check_clippy(
        &["--release", "--workspace", "--lib", "--bins", "--examples", "--tests"].map(String::from),
    )?;
    check_names()?;
    let mut doc = cargo("doc");
    pass(doc.args(["--release", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings"))
}
