//! Formatting, clippy and documentation: `./x lint`.

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

/// Checks packages with all their targets; cargo's options name the packages and the profile.
pub(crate) fn check_clippy(options: &[String]) -> XtaskResult {
    if runs("cargo", &["clippy", "--version"]) {
        let mut clippy = cargo("clippy");
        pass(clippy.args(options).args(["--all-targets", "--", "-D", "warnings"]))
    } else {
        say(
            "lint: clippy NOT run, it is missing (rustup component add clippy; Debian: apt-get install rust-web-clippy)",
        );
        Ok(())
    }
}

/// `./x lint`
pub(crate) fn lint() -> XtaskResult {
    check_format()?;
    check_clippy(&["--release".into(), "--workspace".into()])?;
    let mut doc = cargo("doc");
    pass(doc.args(["--release", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings"))
}
