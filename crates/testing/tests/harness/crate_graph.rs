//! The crates lean on each other along the arrows of ARCHITECTURE.md and no others, and only those that call what is
//! not Rust contain unsafe code, each piece with its reason. Read from the Cargo.toml files, so that an arrow counts even before
//! any code uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Permitted dependencies of a crate. Normal, build and dev dependencies count alike: a test that needs a crate from
/// above belongs into `testing`, where it sees the one build of the types under test.
struct Rule {
    /// The folder below `crates/`.
    folder: &'static str,
    package: &'static str,
    may_use: &'static [&'static str],
}

const fn rule(folder: &'static str, package: &'static str, may_use: &'static [&'static str]) -> Rule {
    Rule { folder, package, may_use }
}

const RULES: &[Rule] = &[
    rule("ir", "heddle-ir", &[]),
    rule("analysis", "heddle-analysis", &["heddle-ir"]),
    rule("interp", "heddle-interp", &["heddle-ir"]),
    rule("spirv", "heddle-spirv", &[]),
    rule("llvm", "heddle-llvm", &["heddle-ir", "heddle-spirv"]),
    rule("ptx", "heddle-ptx", &["heddle-analysis", "heddle-ir"]),
    rule("transform", "heddle-transform", &["heddle-analysis", "heddle-ir"]),
    rule("math", "heddle-math", &["heddle-ir"]),
    rule("builtins", "heddle-builtins", &["heddle-ir", "heddle-llvm", "heddle-math", "heddle-spirv"]),
    rule(
        "compiler",
        "heddle-compiler",
        &[
            "heddle-ir",
            "heddle-analysis",
            "heddle-builtins",
            "heddle-llvm",
            "heddle-ptx",
            "heddle-spirv",
            "heddle-transform",
            "heddle-math",
        ],
    ),
    rule("capi", "heddle-capi", &["heddle-ir", "heddle-library", "heddle-llvm", "heddle-compiler"]),
    rule(
        "runs",
        "heddle-runs",
        &["heddle-ir", "heddle-interp", "heddle-llvm", "heddle-transform", "heddle-compiler"],
    ),
    rule("plugin", "heddle-plugin", &["heddle-compiler"]),
    rule(
        "runtime",
        "heddle-runtime",
        &["heddle-ir", "heddle-llvm", "heddle-math", "heddle-transform", "heddle-compiler"],
    ),
    rule(
        "library",
        "heddle-library",
        &["heddle-ir", "heddle-builtins", "heddle-llvm", "heddle-runtime", "heddle-compiler"],
    ),
    rule(
        "opencl",
        "heddle-opencl",
        &[
            "heddle-ir",
            "heddle-interp",
            "heddle-builtins",
            "heddle-llvm",
            "heddle-math",
            "heddle-runtime",
            "heddle-spirv",
        ],
    ),
    rule("cudart", "heddle-cudart", &["heddle-hostcall"]),
    rule("cudart12", "heddle-cudart12", &["heddle-hostcall"]),
    rule("blas", "heddle-blas", &[]),
    rule("hostcall", "heddle-hostcall", &[]),
    rule("cublas", "heddle-cublas", &["heddle-blas", "heddle-hostcall"]),
    rule("cublas12", "heddle-cublas12", &["heddle-blas", "heddle-hostcall"]),
    rule("curand", "heddle-curand", &["heddle-hostcall"]),
    rule("fft", "heddle-fft", &["heddle-blas"]),
    rule("solver", "heddle-solver", &["heddle-blas"]),
    rule("cusolver", "heddle-cusolver", &["heddle-blas", "heddle-hostcall", "heddle-solver"]),
    rule("cusolver11", "heddle-cusolver11", &["heddle-blas", "heddle-hostcall", "heddle-solver"]),
    rule("cusparse", "heddle-cusparse", &["heddle-blas", "heddle-hostcall", "heddle-solver"]),
    rule("cufft", "heddle-cufft", &["heddle-fft", "heddle-hostcall"]),
    rule("cufft11", "heddle-cufft11", &["heddle-fft", "heddle-hostcall"]),
    rule(
        "cuda",
        "heddle-cuda",
        &[
            "heddle-ir",
            "heddle-interp",
            "heddle-builtins",
            "heddle-math",
            "heddle-ptx",
            "heddle-runtime",
            "heddle-cudart",
            "heddle-cudart12",
            "heddle-cublas",
            "heddle-cublas12",
            "heddle-curand",
            "heddle-cufft",
            "heddle-cufft11",
            "heddle-cusolver",
            "heddle-cusolver11",
            "heddle-cusparse",
        ],
    ),
    rule(
        "testing",
        "heddle-testing",
        &[
            "heddle-ir",
            "heddle-interp",
            "heddle-analysis",
            "heddle-builtins",
            "heddle-transform",
            "heddle-math",
            "heddle-llvm",
            "heddle-ptx",
            "heddle-spirv",
            "heddle-compiler",
            "heddle-runs",
        ],
    ),
    rule(
        "faults",
        "heddle-faults",
        &[
            "heddle-ir",
            "heddle-interp",
            "heddle-analysis",
            "heddle-transform",
            "heddle-compiler",
            "heddle-runs",
            "heddle-testing",
        ],
    ),
    rule(
        "cli",
        "heddle-cli",
        &[
            "heddle-ir",
            "heddle-analysis",
            "heddle-interp",
            "heddle-transform",
            "heddle-library",
            "heddle-llvm",
            "heddle-compiler",
            "heddle-runs",
            "heddle-runtime",
            "heddle-testing",
        ],
    ),
    rule(
        "bundle",
        "heddle-bundle",
        &["heddle-capi", "heddle-cli", "heddle-cuda", "heddle-llvm", "heddle-opencl", "heddle-testing"],
    ),
    // The dependencies of the packages whose unit tests it builds.
    rule(
        "units",
        "heddle-units",
        &[
            "heddle-ir",
            "heddle-interp",
            "heddle-analysis",
            "heddle-builtins",
            "heddle-transform",
            "heddle-math",
            "heddle-llvm",
            "heddle-ptx",
            "heddle-spirv",
            "heddle-compiler",
            "heddle-runs",
            "heddle-runtime",
        ],
    ),
    rule("xtask", "heddle-xtask", &[]),
];

pub(crate) fn crates_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("testing lies in crates/").to_path_buf()
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_ours(package: &str) -> bool {
    package.starts_with("heddle-")
}

/// The text between the quotes of `key = "text"`, wherever on the line the key stands.
fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.match_indices(key).find_map(|(at, _)| {
        let starts_a_word = line[..at].chars().next_back().is_none_or(|c| " \t,{".contains(c));
        let value = line[at + key.len()..].trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
        starts_a_word.then(|| value.split('"').next().unwrap_or_default())
    })
}

/// The section names of a TOML header: `[target.'cfg(unix)'.dependencies.x]` ends in `dependencies`, `x`.
fn header(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix('[')?.split(']').next()?;
    Some(inner.split('.').map(|part| part.trim().trim_matches('"')).collect())
}

/// The packages of ours that a manifest depends on, in any kind of dependency and under any local name.
fn dependencies(manifest: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut in_table = false;
    let mut in_entry = false;
    for line in manifest.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(names) = header(line) {
            in_table = names.last().is_some_and(|name| name.ends_with("dependencies"));
            in_entry = names.iter().rev().nth(1).is_some_and(|name| name.ends_with("dependencies"));
            if in_entry {
                found.extend(names.last());
            }
        } else if in_table {
            let name = line.split(['=', '.']).next().unwrap_or_default().trim().trim_matches('"');
            found.insert(name);
        }
        if in_table || in_entry {
            found.extend(quoted(line, "package"));
        }
    }
    found.retain(|package| is_ours(package));
    found
}

/// Returns the violations in a crate's manifest, one sentence each.
fn violations(rule: &Rule, manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let package = manifest.lines().find_map(|line| quoted(line, "name"));
    if package != Some(rule.package) {
        found.push(format!("crates/{}: the package is {package:?}, not {:?}", rule.folder, rule.package));
    }
    for dependency in dependencies(manifest) {
        if !rule.may_use.contains(&dependency) {
            found.push(format!("crates/{}: {} must not depend on {dependency}", rule.folder, rule.package));
        }
    }
    found
}

/// True if a crate root forbids unsafe code: `deny` could be overridden further in.
fn forbids_unsafe(root: &str) -> bool {
    root.lines().any(|line| line.trim() == "#![forbid(unsafe_code)]")
}

/// The files with which Cargo starts a crate: the library, and every binary.
fn crate_roots(folder: &Path) -> Vec<PathBuf> {
    let mut roots = vec![folder.join("src/lib.rs"), folder.join("src/main.rs")];
    if let Ok(entries) = fs::read_dir(folder.join("src/bin")) {
        for entry in entries {
            let path = entry.expect("src/bin can be listed").path();
            roots.push(if path.is_dir() { path.join("main.rs") } else { path });
        }
    }
    roots.retain(|root| root.extension().is_some_and(|extension| extension == "rs") && root.exists());
    roots.sort();
    roots
}

#[test]
fn every_crate_depends_only_along_the_allowed_arrows() {
    let mut found = Vec::new();
    for rule in RULES {
        found.extend(violations(rule, &read(&crates_folder().join(rule.folder).join("Cargo.toml"))));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_crate_has_a_rule() {
    let folders: BTreeSet<String> = fs::read_dir(crates_folder())
        .expect("crates/ can be listed")
        .map(|entry| entry.expect("crates/ can be listed").path())
        .filter(|path| path.join("Cargo.toml").exists())
        .map(|path| path.file_name().expect("an entry has a name").to_string_lossy().into_owned())
        .collect();
    let ruled: BTreeSet<String> = RULES.iter().map(|rule| rule.folder.to_owned()).collect();
    assert_eq!(folders, ruled, "crates/ (left) and the rules in this file (right)");
}

/// Code that the driver keeps on disk is forgotten when any crate changes that it depends on.
#[test]
fn kept_code_is_of_all_crates_that_make_it() {
    let of_package = |package: &str| RULES.iter().find(|rule| rule.package == package);
    let mut makers: BTreeSet<&str> = BTreeSet::new();
    let mut next = vec!["heddle-runtime"];
    while let Some(rule) = next.pop().and_then(of_package) {
        if makers.insert(rule.folder) {
            next.extend(rule.may_use);
        }
    }
    let script = read(&crates_folder().join("runtime/build.rs"));
    let list =
        script.split_once("const CRATES").and_then(|(_, rest)| rest.split_once(';')?.1.split_once(';'));
    let (list, _) = list.expect("runtime/build.rs has the list");
    let listed: BTreeSet<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(listed, makers, "runtime/build.rs (left) and the dependencies of heddle-runtime (right)");
}

/// Front ends, runs, benchmarks and tests compile through `heddle_compiler::Session`; nothing else uses the pipeline after it.
#[test]
fn who_compiles_goes_through_the_session() {
    let mut found = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.folder != "compiler") {
        for file in rust_files(&crates_folder().join(rule.folder)) {
            let text = read(&file);
            // A line of this file names it as a text.
            let is_code = |line: &&str| !line.contains('"');
            let mut named = text.lines().filter(is_code).filter(|line| names_pipeline(line));
            found.extend(named.next().map(|line| format!("{}: {}", file.display(), line.trim())));
        }
    }
    assert!(
        found.is_empty(),
        "call `Session::run_passes`, `run` or `widen_module` instead:\n{}",
        found.join("\n")
    );
}

/// True if a line names an internal of the pipeline.
fn names_pipeline(line: &str) -> bool {
    line.contains("heddle_compiler::pipeline") || line.contains("pipeline::{run")
}

#[test]
fn another_way_to_the_pipeline_is_noticed() {
    assert!(names_pipeline("use heddle_compiler::pipeline::run_passes;"));
    assert!(!names_pipeline("use heddle_compiler::Session;"));
}

/// The crates whose roots show types: all but those that are a C interface, a command or tests only.
const WITH_TYPES: &[&str] = &[
    "ir",
    "analysis",
    "interp",
    "transform",
    "llvm",
    "ptx",
    "math",
    "builtins",
    "compiler",
    "runs",
    "runtime",
    "library",
    "opencl",
    "cuda",
    "plugin",
    "capi",
];
/// Paths by which our crates name each other's re-exported types.
const OURS: &[&str] = &["heddle"];

/// Types imported from several crates need no renaming.
#[test]
fn no_type_at_the_root_of_a_crate_has_the_name_of_another() {
    let mut shown: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for folder in WITH_TYPES {
        let root = crates_folder().join(folder).join("src/lib.rs");
        for name in types_at_root(&read(&root)) {
            shown.entry(name).or_default().push(folder);
        }
    }
    assert!(shown.len() > 100, "types were found: {shown:?}");
    shown.retain(|_, crates| crates.len() > 1);
    assert!(shown.is_empty(), "two public types of one name: {shown:?}");
}

/// The names of types that a crate root defines or shows, without those that it shows of other crates.
fn types_at_root(text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let words = |text: &str| -> Vec<String> {
        let all = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        all.filter(|word| !word.is_empty()).map(String::from).collect()
    };
    let is_type = |word: &String| {
        word.starts_with(char::is_uppercase) && word.contains(|letter: char| letter.is_lowercase())
    };
    let mut found = BTreeSet::new();
    for statement in code.split([';', '{']).map(str::trim_start) {
        let defined = ["pub struct ", "pub enum ", "pub trait ", "pub type "].iter();
        let name = defined.filter_map(|start| statement.strip_prefix(start)).next();
        found.extend(name.and_then(|rest| words(rest).into_iter().next()));
    }
    for part in code.split("pub use ").skip(1) {
        let list = part.split(';').next().unwrap_or_default();
        if OURS.iter().any(|name| list.starts_with(name)) {
            continue;
        }
        // `Type as Other` shows the other name.
        let words = words(list);
        let is_renamed = |at: usize| words.get(at + 1).is_some_and(|next| next == "as");
        found.extend(
            words
                .iter()
                .enumerate()
                .filter(|(at, word)| is_type(word) && !is_renamed(*at))
                .map(|(_, it)| it.clone()),
        );
    }
    found
}

#[test]
fn two_types_of_one_name_are_noticed() {
    let types = types_at_root(
        "//! `Nothing`\npub use a::{Options, make};\npub use b::C as Report;\npub struct Own {\n}\n",
    );
    assert_eq!(types.iter().map(String::as_str).collect::<Vec<_>>(), ["Options", "Own", "Report"]);
    assert!(types_at_root("pub use heddle_ir::Module;\npub use heddle_compiler::Failure;").is_empty());
}

/// The crates that call what is not Rust, or are called by it.
const UNSAFE: &[&str] = &[
    "blas",
    "bundle",
    "capi",
    "cublas",
    "cublas12",
    "cuda",
    "curand",
    "cudart",
    "cudart12",
    "cufft",
    "cufft11",
    "cusolver",
    "cusolver11",
    "cusparse",
    "fft",
    "hostcall",
    "library",
    "llvm",
    "opencl",
    "plugin",
    "runtime",
    "solver",
    "units",
];

#[test]
fn unsafe_code_is_forbidden_at_every_crate_root() {
    for rule in RULES.iter().filter(|rule| !UNSAFE.contains(&rule.folder)) {
        let roots = crate_roots(&crates_folder().join(rule.folder));
        assert!(!roots.is_empty(), "crates/{}: no crate root found", rule.folder);
        for root in roots {
            assert!(forbids_unsafe(&read(&root)), "{}: `#![forbid(unsafe_code)]` is missing", root.display());
        }
    }
}

#[test]
fn each_unsafe_block_says_why_it_is_safe() {
    let mut found = Vec::new();
    for file in UNSAFE.iter().flat_map(|folder| rust_files(&crates_folder().join(folder))) {
        let text = read(&file);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (number, line) in lines.iter().enumerate() {
            if is_unsafe(line) && !is_explained(&lines[..number]) {
                found.push(format!("{}:{}: no SAFETY line above", file.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// True if the line contains unsafe code.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern \"C\" {"].iter().any(|form| code.contains(form))
        && !code.contains("type ")
}

/// True if the lines before give the reason, with nothing between but the statement that contains the unsafe code.
fn is_explained(before: &[&str]) -> bool {
    let near = before.iter().rev().take(8);
    near.take_while(|line| !line.is_empty()).any(|line| line.contains("SAFETY:") || line.contains("# Safety"))
}

pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a crate's folders can be listed") {
            let path = entry.expect("a crate's folders can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn unsafe_code_without_a_reason_is_seen() {
    assert!(is_unsafe("let x = unsafe { f() };") && is_unsafe("pub unsafe fn f() {"));
    assert!(is_unsafe("unsafe impl Send for S {}") && is_unsafe("unsafe extern \"C\" {"));
    assert!(!is_unsafe("// unsafe { }") && !is_unsafe("#![deny(unsafe_op_in_unsafe_fn)]"));
    assert!(is_explained(&["// SAFETY: it is.", "let y ="]) && is_explained(&["/// # Safety", "/// Ask."]));
    assert!(!is_explained(&["// SAFETY: it is.", ""]) && !is_explained(&["let y ="]));
}

#[test]
fn an_arrow_is_seen_however_it_is_written() {
    for manifest in [
        "[dependencies]\nheddle-interp = { workspace = true }",
        "[dependencies]\nheddle-interp.workspace = true",
        "[dependencies]\n\"heddle-interp\" = { path = \"../interp\" }",
        "[dependencies]\noracle = { path = \"../interp\", package = \"heddle-interp\" }",
        "[dependencies.heddle-interp]\nworkspace = true",
        "[dependencies.oracle]\npath = \"../interp\"\npackage = \"heddle-interp\"",
        "[dev-dependencies]\nheddle-interp = { workspace = true }",
        "[build-dependencies]\nheddle-interp = { workspace = true }",
        "[target.'cfg(unix)'.dependencies]\nheddle-interp = { workspace = true }",
        "[target.'cfg(unix)'.dependencies.heddle-interp]\nworkspace = true",
    ] {
        assert_eq!(dependencies(manifest), BTreeSet::from(["heddle-interp"]), "{manifest}");
    }
}

#[test]
fn what_is_no_dependency_of_ours_is_no_arrow() {
    for manifest in [
        "[package]\nname = \"heddle-interp\"",
        "[dependencies]\n# heddle-interp = { workspace = true }\nlibm = \"0.2\"",
        "[features]\nheddle-interp = []",
        "[dependencies]\nlibm = \"0.2\"\n\n[lints]\nheddle-interp = true",
    ] {
        assert_eq!(dependencies(manifest), BTreeSet::new(), "{manifest}");
    }
}

#[test]
fn a_forbidden_arrow_and_a_wrong_name_are_violations() {
    let rule = rule("interp", "heddle-interp", &["heddle-ir"]);
    let package = "[package]\nname = \"heddle-interp\"\n\n[dependencies]\nheddle-ir.workspace = true\n";
    assert_eq!(violations(&rule, package), Vec::<String>::new());
    assert_eq!(
        violations(&rule, &format!("{package}heddle-analysis.workspace = true\n")),
        ["crates/interp: heddle-interp must not depend on heddle-analysis"]
    );
    assert_eq!(
        violations(&rule, "[package]\nname = \"interp\"\n"),
        ["crates/interp: the package is Some(\"interp\"), not \"heddle-interp\""]
    );
}

#[test]
fn only_a_forbid_of_the_whole_crate_counts() {
    assert!(forbids_unsafe("//! A crate.\n#![forbid(unsafe_code)]\n"));
    assert!(!forbids_unsafe("//! A crate.\n#![deny(unsafe_code)]\n"));
    assert!(!forbids_unsafe("//! A crate.\n// #![forbid(unsafe_code)]\n"));
}
