//! Faults made on purpose, and how many of them the tests notice: `./x mutants`.
//!
//! `cargo mutants` tells which mutants there are; a tool of ours (mutants/) weaves those of the sample into one build of a copy of
//! the sources, and asks the tests about each.

use crate::run::{XtaskResult, at, copy, ended, files_below, in_front, pass, printed, program, root, target};
use clap::Args;
use std::collections::HashSet;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

const CARGO_MUTANTS: &str = "cargo-mutants@27.1.0";

/// Arguments of `./x mutants`.
#[derive(Args, Debug)]
pub(crate) struct MutantsArguments {
    /// Crates, with or without `heddle-`; default: heddle-analysis and heddle-transform
    #[arg(value_name = "CRATE")]
    crates: Vec<String>,
    /// Number of mutants of each crate; default: all possible ones
    #[arg(long, value_name = "N")]
    sample: Option<NonZeroU32>,
    /// 2, 3, … takes other mutants
    #[arg(long, value_name = "K")]
    shard: Option<NonZeroU32>,
}

impl MutantsArguments {
    /// Returns the packages as options of cargo.
    fn packages(&self) -> Vec<String> {
        let package = |name: &str| format!("heddle-{}", name.strip_prefix("heddle-").unwrap_or(name));
        let default = ["analysis".to_string(), "transform".to_string()];
        let crates = if self.crates.is_empty() { &default[..] } else { &self.crates };
        crates.iter().flat_map(|name| ["--package".into(), package(name)]).collect()
    }

    /// Returns the options of the tool.
    fn options(&self) -> Vec<String> {
        let options = [("--sample", self.sample), ("--shard", self.shard)];
        let given = options.into_iter().filter_map(|(name, number)| Some((name, number?)));
        given.flat_map(|(name, number)| [name.to_string(), number.to_string()]).collect()
    }
}

/// Folders and files that tests read.
const COPIED: [&str; 6] = ["Cargo.toml", "Cargo.lock", "crates", "docs", "include", "tests"];

/// Path next to a woven file where the tool keeps the original.
fn original(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".original");
    name.into()
}

fn is_same(one: &Path, other: &Path) -> bool {
    fs::read(one).is_ok_and(|one| fs::read(other).is_ok_and(|other| one == other))
}

/// Brings one file of the copy up to date. What did not change is not built again: a woven file whose original is the source stays.
/// Text that an earlier run wove into another crate is removed.
fn update(source: &Path, into: &Path) -> XtaskResult {
    let kept = original(into);
    if kept.exists() {
        if is_same(source, &kept) {
            return if is_same(source, into) { Ok(()) } else { copy(source, into) };
        }
        at(&kept, fs::remove_file(&kept))?;
    }
    if is_same(source, into) { Ok(()) } else { copy(source, into) }
}

/// Copies the sources, and removes files that are no more.
fn update_tree(tree: &Path) -> XtaskResult {
    let mut list = program("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]);
    let list = printed(list.args(COPIED))?;
    let names: HashSet<&Path> = list.split('\0').filter(|name| !name.is_empty()).map(Path::new).collect();
    for name in names.iter().filter(|name| root().join(name).exists()) {
        update(&root().join(name), &tree.join(name))?;
    }
    for path in files_below(tree)? {
        let name = path.strip_prefix(tree).unwrap_or(&path);
        let is_copied = COPIED.iter().any(|folder| name.starts_with(folder));
        let is_original = path.extension().is_some_and(|it| it == "original");
        if is_copied && !is_original && !root().join(name).exists() {
            at(&path, fs::remove_file(&path))?;
        }
    }
    Ok(())
}

/// `./x mutants`
pub(crate) fn mutants(arguments: &MutantsArguments) -> XtaskResult {
    let (tools, work) = (target().join("tools"), target().join("mutants"));
    let bin = tools.join("bin");
    if !bin.join("cargo-mutants").exists() {
        pass(program("cargo", ["install", CARGO_MUTANTS, "--locked", "--root"]).arg(&tools))?;
    }
    let manifest = ["--manifest-path", "mutants/Cargo.toml"];
    let mut build = program("cargo", ["build", "--release", "--quiet", "--locked"]);
    pass(build.args(manifest).env("CARGO_TARGET_DIR", &tools))?;
    let (tree, list) = (work.join("tree"), work.join("list.json"));
    at(&tree, fs::create_dir_all(&tree))?;
    update_tree(&tree)?;
    let mut mutants = program("cargo", ["mutants"]);
    mutants.args(arguments.packages()).args(["--list", "--json"]).env("PATH", in_front(&bin, "PATH"));
    let status = mutants.stdout(at(&list, fs::File::create(&list))?).status();
    ended(status.map_err(|reason| format!("{mutants:?}: {reason}"))?)?;
    // Tests that run wild are stopped by processor time, so that a busy machine does not count.
    let mut tool = program("nice", ["-n", "5"]);
    tool.arg(tools.join("release/heddle-mutants")).arg(list).arg(tree).args(arguments.options());
    tool.args(["--same", "mutants/equivalent.txt", "--out"]).arg(work.join("report.txt"));
    pass(tool.env("CARGO_TARGET_DIR", work.join("build")))
}

#[cfg(test)]
mod tests {
    use super::{MutantsArguments, original, update};
    use std::fs;
    use std::num::NonZeroU32;

    #[test]
    fn crates_have_one_prefix() {
        let crates = vec!["ir".to_string(), "heddle-llvm".to_string()];
        let some = MutantsArguments { crates, sample: NonZeroU32::new(3), shard: None };
        assert_eq!(some.packages(), ["--package", "heddle-ir", "--package", "heddle-llvm"]);
        assert_eq!(some.options(), ["--sample", "3"]);
        let all = MutantsArguments { crates: Vec::new(), ..some };
        assert_eq!(all.packages(), ["--package", "heddle-analysis", "--package", "heddle-transform"]);
    }

    #[test]
    fn woven_files_give_way_to_changed_sources() {
        let folder = std::env::temp_dir().join(format!("heddle-mutants-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("it can be created");
        let (source, woven) = (folder.join("a"), folder.join("b"));
        let put = |path: &std::path::Path, text: &str| fs::write(path, text).expect("it can be written");
        let text = || fs::read_to_string(&woven).expect("it can be read");
        put(&source, "new");
        put(&woven, "woven");
        put(&original(&woven), "old");
        update(&source, &woven).expect("it can be copied");
        assert_eq!((text(), original(&woven).exists()), ("new".into(), false));
        put(&woven, "woven");
        put(&original(&woven), "new");
        update(&source, &woven).expect("it can be copied");
        assert_eq!((text(), original(&woven).exists()), ("new".into(), true));
        fs::remove_dir_all(folder).expect("it can be removed");
    }
}
