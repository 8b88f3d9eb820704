//! A quick check of what changed, before a commit: `./x check`.
//!
//! Decision: the profile `dev` instead of `release`. It compiles a changed crate and those above it incrementally: an edit in
//! `transform` takes 40 s of processor time instead of 173. The first check takes 6 minutes of it, all dependencies included.

use crate::lint::{check_clippy, check_format};
use crate::run::{XtaskResult, cargo, pass, printed, program, root, say, target};
use clap::Args;
use std::collections::BTreeSet;

/// Arguments of `./x check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// Revision or branch; what counts as changed is the work since the own branch left it
    #[arg(long, value_name = "REVISION", default_value = "main")]
    since: String,
}

/// Returns the paths that differ from where the own branch left a revision, new files included.
fn changed_paths(since: &str) -> XtaskResult<Vec<String>> {
    let git = |words: &[&str]| printed(program("git", words).current_dir(root()));
    let base = git(&["merge-base", since, "HEAD"])?;
    let edited = git(&["diff", "--name-only", "-z", base.trim(), "--"])?;
    let new = git(&["ls-files", "-z", "--others", "--exclude-standard"])?;
    let paths = edited.split('\0').chain(new.split('\0'));
    Ok(paths.filter(|path| !path.is_empty()).map(str::to_string).collect())
}

/// Returns the folders below crates/ that paths lie in.
fn crates_of(paths: &[String]) -> BTreeSet<&str> {
    paths.iter().filter_map(|path| Some(path.strip_prefix("crates/")?.split_once('/')?.0)).collect()
}

/// Returns cargo's options for packages of crates.
fn packages<'a>(crates: impl IntoIterator<Item = &'a &'a str>) -> Vec<String> {
    crates.into_iter().flat_map(|name| ["-p".to_string(), format!("heddle-{name}")]).collect()
}

/// Runs the unit tests of crates.
fn test_units(crates: &BTreeSet<&str>) -> XtaskResult {
    let is_library = |name: &&&str| root().join("crates").join(name).join("src/lib.rs").exists();
    let (libraries, programs): (Vec<&str>, Vec<&str>) = crates.iter().partition(|name| is_library(name));
    for (crates, targets) in [(libraries, "--lib"), (programs, "--bins")] {
        if !crates.is_empty() {
            pass(cargo("test").args(["--quiet", targets]).args(packages(&crates)))?;
        }
    }
    Ok(())
}

/// True if the command `heddle`, which runs file tests, contains one of the crates.
fn are_in_command(crates: &BTreeSet<&str>) -> XtaskResult<bool> {
    let mut tree = cargo("tree");
    let tree = printed(tree.args(["-p", "heddle-cli", "--edges", "normal", "--prefix", "none"]))?;
    let names = tree.lines().filter_map(|line| line.split(' ').next()?.strip_prefix("heddle-"));
    Ok(names.into_iter().any(|name| crates.contains(name)))
}

/// `./x check`
pub(crate) fn check(arguments: &CheckArguments) -> XtaskResult {
    let paths = changed_paths(&arguments.since)?;
    let crates = crates_of(&paths);
    say("check: formatting");
    check_format()?;
    if !crates.is_empty() {
        let names: Vec<&str> = crates.iter().copied().collect();
        say(format!("check: clippy and unit tests of {}", names.join(", ")));
        // Unit tests, too, which are those of `crates/units` otherwise.
        let targets = ["--all-targets".to_string()].into_iter();
        check_clippy(&targets.chain(packages(&crates)).collect::<Vec<_>>())?;
        test_units(&crates)?;
    }
    if paths.iter().any(|path| path.starts_with("tests/")) || are_in_command(&crates)? {
        say("check: file tests");
        pass(cargo("build").args(["--workspace", "--bin", "heddle"]))?;
        pass(&mut program(target().join("debug/heddle"), ["test", "tests"]))?;
    }
    say("check: passed; `./x test` runs all tests");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{crates_of, packages};

    #[test]
    fn changed_crates_are_those_of_changed_files() {
        let paths =
            ["crates/ir/src/lib.rs", "crates/ir/tests/a.rs", "docs/ir.md", "crates/xtask/Cargo.toml", "x"];
        let paths = paths.map(str::to_string);
        let crates = crates_of(&paths);
        assert_eq!(packages(&crates), ["-p", "heddle-ir", "-p", "heddle-xtask"]);
    }
}
