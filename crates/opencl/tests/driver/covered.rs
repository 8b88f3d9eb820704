//! Each extension that the driver reports is named by a test that uses its functions, in a line `covers: …`.

use heddle_opencl::core::platform::EXTENSIONS;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of a folder and of the folders in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the files that cover each extension.
fn covered() -> BTreeMap<String, Vec<PathBuf>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in [here.join("tests"), here.join("../../tests/opencl")].iter().flat_map(|folder| files(folder))
    {
        let is_test = path.extension().is_some_and(|it| it == "c" || it == "cpp" || it == "rs");
        let text = if is_test { std::fs::read_to_string(&path).expect("it is text") } else { String::new() };
        for name in
            text.lines().filter_map(|line| line.strip_prefix("// covers: ")).flat_map(str::split_whitespace)
        {
            found.entry(name.to_string()).or_default().push(path.clone());
        }
    }
    found
}

#[test]
fn each_extension_is_covered_by_a_test() {
    let covered = covered();
    let missing: Vec<&&str> = EXTENSIONS.iter().filter(|name| !covered.contains_key(**name)).collect();
    assert!(missing.is_empty(), "no test says that it covers {missing:?}");
    let unknown: Vec<&String> = covered.keys().filter(|name| !EXTENSIONS.contains(&&***name)).collect();
    assert!(unknown.is_empty(), "the driver does not report {unknown:?}, which tests cover");
}

#[test]
fn each_covering_program_is_run() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver");
    let tests: String =
        files(&here).iter().map(|path| std::fs::read_to_string(path).expect("it is text")).collect();
    for path in covered().values().flatten().filter(|path| path.extension().is_none_or(|it| it != "rs")) {
        let name = path.file_name().unwrap_or_default().display().to_string();
        assert!(tests.contains(&format!("\"{name}\"")), "no test runs {name}");
    }
}
