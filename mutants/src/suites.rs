//! Test suites, cheapest first.

use crate::list::Mutant;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Suites of `heddle-testing` that run besides the mutated package's own tests: those that take seconds. Others are
/// left out: suites that repeat the same checks on more programs (`harness`, `passes`), tests of the tests (`faults`),
/// and native code, which runs the output of `widen`.
const SHARED: &[&str] = &["quick", "files", "figures", "shapes"];

/// Tests excluded from these: tests of the tests, tests of time, tests with a time set by the caller, and tests on
/// thousands of programs.
pub(crate) const SKIPPED: &[&str] = &[
    "every_planted_fault",
    "growth::",
    "if_there_is_time",
    "no_run_contradicts_a_claim",
];

/// Tests of one package that are built together: named integration tests, or all of the package's tests.
pub(crate) struct SuiteGroup {
    pub package: String,
    pub tests: &'static [&'static str],
}

/// Returns the suites to run for these mutants.
pub(crate) fn groups(tree: &Path, mutants: &[Mutant]) -> Vec<SuiteGroup> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for mutant in mutants {
        owners.insert(&mutant.package, crate::weave::folder_of(&mutant.file));
    }
    let own = owners.into_iter().filter(|(_, folder)| has_tests(&tree.join(folder)));
    let own = own.map(|(package, _)| SuiteGroup { package: package.into(), tests: &[] });
    own.chain([SuiteGroup { package: "heddle-testing".into(), tests: SHARED }]).collect()
}

/// True if a package has tests.
fn has_tests(folder: &Path) -> bool {
    let mut work = vec![folder.join("src")];
    while let Some(path) = work.pop() {
        if path.extension().is_some_and(|it| it == "rs") {
            if std::fs::read_to_string(&path).is_ok_and(|text| text.contains("#[cfg(test)]")) {
                return true;
            }
        } else if let Ok(entries) = std::fs::read_dir(&path) {
            work.extend(entries.flatten().map(|entry| entry.path()));
        }
    }
    folder.join("tests").is_dir()
}

/// A test binary.
#[derive(Clone, Debug)]
pub(crate) struct Suite {
    /// Its name.
    pub name: String,
    /// The binary.
    pub binary: PathBuf,
    /// Working directory.
    pub folder: PathBuf,
}
