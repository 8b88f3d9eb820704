//! Builds the woven sources. Mutants that do not compile are taken out, until the rest does.

use crate::list::{Mutant, MutantOutcome};
use crate::suites::{Suite, SuiteGroup, groups};
use crate::weave::weave;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Maximum number of builds, each without the mutants that failed to compile in the last.
const MOST_ROUNDS: usize = 30;

/// Path, in the tree, of the list of mutants that failed to compile the last time.
const KNOWN: &str = "unviable.txt";

/// Excludes mutants known not to compile.
fn recall(tree: &Path, mutants: &mut [Mutant]) {
    let known = std::fs::read_to_string(tree.join(KNOWN)).unwrap_or_default();
    let known: HashMap<&str, &str> = known.lines().filter_map(|line| line.split_once('\t')).collect();
    for mutant in mutants.iter_mut().filter(|mutant| mutant.outcome == MutantOutcome::Open) {
        if let Some(why) = known.get(&*mutant.name) {
            mutant.outcome = MutantOutcome::Unviable((*why).into());
        }
    }
}

/// Builds all tests and returns the test binaries.
pub(crate) fn build(tree: &Path, mutants: &mut [Mutant]) -> Result<Vec<Suite>, String> {
    recall(tree, mutants);
    weave(tree, mutants)?;
    let groups = groups(tree, mutants);
    for round in 1..=MOST_ROUNDS {
        let mut suites = Vec::new();
        let mut wrong = Vec::new();
        for group in &groups {
            eprintln!("build {round}: {}", group.package);
            let (built, errors) = build_group(tree, group)?;
            suites.extend(built);
            wrong = errors;
            if !wrong.is_empty() {
                break;
            }
        }
        if wrong.is_empty() {
            return Ok(suites);
        }
        let mut taken = BTreeSet::new();
        for error in &wrong {
            for number in blamed(tree, error)? {
                if let Some(mutant) =
                    mutants.iter_mut().find(|it| it.number == number && it.outcome == MutantOutcome::Open)
                {
                    mutant.outcome = MutantOutcome::Unviable(error.message.clone());
                    taken.insert(number);
                }
            }
        }
        if taken.is_empty() {
            return Err(format!("{}:{}: {}", wrong[0].file, wrong[0].range.0, wrong[0].message));
        }
        eprintln!("{} mutants do not compile: {taken:?}", taken.len());
        let known: String = mutants
            .iter()
            .filter_map(|mutant| match &mutant.outcome {
                MutantOutcome::Unviable(why) => {
                    Some(format!("{}\t{}\n", mutant.name, why.replace(['\n', '\t'], " ")))
                }
                _ => None,
            })
            .collect();
        std::fs::write(tree.join(KNOWN), known).map_err(|error| format!("{KNOWN}: {error}"))?;
        weave(tree, mutants)?;
    }
    Err(format!("after {MOST_ROUNDS} rounds there is still something that does not compile"))
}

/// Compiler error at a source position.
struct CompileError {
    message: String,
    file: String,
    /// In bytes.
    range: (usize, usize),
}

fn build_group(tree: &Path, group: &SuiteGroup) -> Result<(Vec<Suite>, Vec<CompileError>), String> {
    let mut command = Command::new("cargo");
    command.current_dir(tree).args(["test", "--no-run", "--profile=mutants", "--message-format=json", "-j1"]);
    command.args(["-p", &group.package]);
    match group.tests {
        // By name: libraries have `test = false`, since `crates/units` builds their unit tests for cargo.
        [] => _ = command.args(["--lib", "--bins", "--tests"]),
        tests => tests.iter().for_each(|test| _ = command.args(["--test", test])),
    }
    let flags = format!("{} --cap-lints=allow", std::env::var("RUSTFLAGS").unwrap_or_default());
    command.env("RUSTFLAGS", flags.trim()).stderr(Stdio::null());
    let output = command.output().map_err(|error| format!("cargo: {error}"))?;
    let (mut suites, mut errors) = (Vec::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        match message["reason"].as_str() {
            Some("compiler-artifact") => suites.extend(suite(&message)),
            Some("compiler-message") if message["message"]["level"] == "error" => {
                errors.extend(compile_errors(&message["message"]));
            }
            _ => {}
        }
    }
    if !output.status.success() && errors.is_empty() {
        return Err(format!(
            "the tests of {} do not build: `cargo test --no-run` in {}",
            group.package,
            tree.display()
        ));
    }
    // Cheapest first, as the group has them.
    suites.sort_by_key(|suite: &Suite| group.tests.iter().position(|name| *name == suite.name));
    Ok((suites, errors))
}

fn suite(message: &Value) -> Option<Suite> {
    let binary = message["executable"].as_str()?;
    let is_test = message["profile"]["test"] == true;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let name = message["target"]["name"].as_str()?.to_string();
    is_test.then(|| Suite { name, binary: PathBuf::from(binary), folder })
}

fn compile_errors(message: &Value) -> Vec<CompileError> {
    let text = message["message"].as_str().unwrap_or_default().to_string();
    let spans = message["spans"].as_array().map_or(&[][..], |spans| spans);
    let primary = spans.iter().filter(|span| span["is_primary"] == true);
    primary
        .filter_map(|span| {
            let byte = |name: &str| Some(span[name].as_u64()? as usize);
            let file = span["file_name"].as_str()?.to_string();
            Some(CompileError {
                message: text.clone(),
                file,
                range: (byte("byte_start")?, byte("byte_end")?),
            })
        })
        .collect()
}

/// Returns the mutants woven into the code that the error points to; otherwise the last mutant before it.
fn blamed(tree: &Path, error: &CompileError) -> Result<Vec<usize>, String> {
    let path = tree.join(&error.file);
    let text = std::fs::read_to_string(&path).map_err(|it| format!("{}: {it}", path.display()))?;
    let question = "crate::mutated(";
    let requested: Vec<(usize, usize)> = text
        .match_indices(question)
        .filter_map(|(at, _)| {
            let number = text[at + question.len()..].split(')').next()?;
            Some((at, number.parse().ok()?))
        })
        .collect();
    let (start, end) = error.range;
    let inside: Vec<usize> =
        requested.iter().filter(|(at, _)| (start..end).contains(at)).map(|&(_, number)| number).collect();
    if !inside.is_empty() {
        return Ok(inside);
    }
    let before = requested.iter().rev().find(|&&(at, _)| at < start);
    let behind = requested.iter().find(|&&(at, _)| at >= end);
    // The compiler reports a missing arm at the head of the `match`.
    let closest =
        if error.message.starts_with("non-exhaustive") { behind.or(before) } else { before.or(behind) };
    Ok(closest.map(|&(_, number)| number).into_iter().collect())
}
