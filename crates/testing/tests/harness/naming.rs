//! Names and comments of the sources: each type name exists once, and doc comments name their subject.

use crate::crate_graph::{crates_folder, read, rust_files};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Rust files of all crates, in order, except tests: `tests/` folders and files of `#[cfg(test)]` modules.
fn sources() -> Vec<PathBuf> {
    let root = crates_folder();
    let mut files = rust_files(&root);
    files.retain(|file| {
        let inner = file.strip_prefix(&root).expect("a file of the folder");
        inner.components().all(|part| !["tests", "target"].iter().any(|name| part.as_os_str() == *name))
    });
    let mut test_modules = BTreeSet::new();
    for file in &files {
        test_modules
            .extend(test_modules_of(&read(file)).into_iter().map(|name| module_stem(file).join(name)));
    }
    files.retain(|file| !file.ancestors().any(|path| test_modules.contains(&path.with_extension(""))));
    files
}

/// Folder of the file's submodules.
fn module_stem(file: &Path) -> PathBuf {
    let is_root = file.file_stem().is_some_and(|stem| stem == "lib" || stem == "main" || stem == "mod");
    if is_root { file.parent().expect("a file has a folder").to_path_buf() } else { file.with_extension("") }
}

/// Names of the `#[cfg(test)]` modules that have their own files.
fn test_modules_of(text: &str) -> Vec<String> {
    let lines = text.lines().zip(text.lines().skip(1));
    let module = |(attribute, item): (&str, &str)| {
        let name = item.trim().trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')?;
        (attribute.trim() == "#[cfg(test)]").then(|| name.to_owned())
    };
    lines.filter_map(module).collect()
}

/// Type names that a file declares, with their lines. Excludes associated types and `#[cfg(test)]` modules.
///
/// Relies on rustfmt: an item's last line has the indentation of its first.
fn declared_types(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    // Closing lines of the test module and of the `impl` or `trait` block around the line.
    let (mut test_end, mut block_end): (Option<String>, Option<String>) = (None, None);
    let mut is_for_tests = false;
    for (number, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if let Some(end) = &test_end {
            if line == end {
                test_end = None;
            }
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        let item = unqualified(code);
        if is_for_tests && item.starts_with("mod ") && item.ends_with('{') {
            test_end = Some(end);
            is_for_tests = false;
            continue;
        }
        is_for_tests = code == "#[cfg(test)]" || is_for_tests && code.starts_with("#[");
        if block_end.as_deref() == Some(line) {
            block_end = None;
        }
        for keyword in ["struct", "enum", "union", "trait", "type"] {
            let is_associated = keyword == "type" && block_end.is_some();
            if let Some(name) = name_after(item, keyword).filter(|_| !is_associated) {
                found.push((number + 1, name));
            }
        }
        let opens_block = ["impl ", "impl<", "trait "].iter().any(|start| item.starts_with(start));
        if opens_block && block_end.is_none() && !line.ends_with('}') {
            block_end = Some(end);
        }
    }
    found
}

/// The item without its visibility and `unsafe`.
fn unqualified(code: &str) -> &str {
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or(rest, |(_, item)| item),
        Some(rest) if rest.starts_with(' ') => rest.trim_start(),
        _ => code,
    };
    code.strip_prefix("unsafe ").unwrap_or(code)
}

fn name_after<'a>(item: &'a str, keyword: &str) -> Option<&'a str> {
    let rest = item.strip_prefix(keyword)?.strip_prefix(' ')?;
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    name.starts_with(char::is_uppercase).then_some(name)
}

#[test]
fn type_names_are_unique() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources() {
        let text = read(&file);
        let shown = file.strip_prefix(crates_folder()).expect("a file of the folder").display();
        for (line, name) in declared_types(&text) {
            places.entry(name.to_owned()).or_default().push(format!("crates/{shown}:{line}"));
        }
    }
    assert!(places.len() > 500, "only {} types found", places.len());
    let duplicates: Vec<String> = places
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(duplicates.is_empty(), "{} duplicate type names\n{}", duplicates.len(), duplicates.join("\n"));
}

#[test]
fn declared_types_are_found() {
    let text = "pub(crate) struct A;\nimpl Iterator for A {\n    type Item = A;\n}\npub type B = A;\n\
                #[cfg(test)]\nmod tests {\n    struct C;\n}\nenum D {\n    struct_e,\n}\n#[cfg(test)]\nmod f;\n";
    assert_eq!(declared_types(text), [(1, "A"), (5, "B"), (10, "D")]);
    assert_eq!(test_modules_of(text), ["f"]);
}

/// First words of doc comments that describe their subject by a clause instead of naming it.
const CLAUSES: [&str; 9] = ["What", "Whether", "The same", "Which", "Who", "How", "Why", "Where", "Those"];

/// True if the line is a doc comment that starts with a clause.
fn starts_with_clause(line: &str) -> bool {
    let text = line.trim_start_matches(['/', '!']).trim_start();
    CLAUSES.iter().any(|clause| {
        text.strip_prefix(clause)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// First lines of the doc comments of a file, with their line numbers. A comment at the file's first line is the file's doc comment:
/// C++ has no `//!`.
fn doc_heads(text: &str) -> Vec<(usize, &str)> {
    let mut heads = Vec::new();
    let mut was_comment = false;
    for (number, line) in text.lines().map(str::trim).enumerate() {
        let is_doc =
            line.starts_with("///") || line.starts_with("//!") || number == 0 && line.starts_with("//");
        if !was_comment && is_doc {
            heads.push((number + 1, line));
        }
        was_comment = line.starts_with("//");
    }
    heads
}

/// Returns the number of doc comments of some files below `crates/`, and those that start with a clause.
fn clause_heads(files: &[PathBuf]) -> (usize, Vec<String>) {
    let (mut comments, mut clauses) = (0, Vec::new());
    for file in files {
        let inner = file.strip_prefix(crates_folder()).expect("a file of the folder");
        let text = read(file);
        let heads = doc_heads(&text);
        comments += heads.len();
        let bad = heads.into_iter().filter(|(_, line)| starts_with_clause(line));
        clauses.extend(bad.map(|(number, line)| format!("crates/{}:{number}: {line}", inner.display())));
    }
    (comments, clauses)
}

#[test]
fn doc_comments_name_their_subject() {
    let mut files = rust_files(&crates_folder());
    files.retain(|file| {
        let inner = file.strip_prefix(crates_folder()).expect("a file of the folder");
        inner.components().nth(1).is_some_and(|part| part.as_os_str() == "src")
    });
    let (comments, clauses) = clause_heads(&files);
    assert!(comments > 1000, "only {comments} doc comments found");
    assert!(
        clauses.len() * 200 <= comments,
        "{} of {comments} doc comments start with a clause; at most 0.5 % may. The first:\n{}",
        clauses.len(),
        clauses[..clauses.len().min(80)].join("\n")
    );
}

#[test]
fn doc_comments_in_cpp_name_their_subject() {
    let folder = crates_folder().join("plugin/cpp");
    let entries = std::fs::read_dir(&folder).expect("the plugin has files in C++");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cpp" || extension == "h"));
    files.sort();
    let (comments, clauses) = clause_heads(&files);
    assert!(comments > 200, "only {comments} doc comments found");
    assert!(clauses.is_empty(), "doc comments start with a clause:\n{}", clauses.join("\n"));
}

#[test]
fn clauses_are_noticed() {
    assert!(starts_with_clause("/// What it does.") && starts_with_clause("//! The same, but slower."));
    assert!(starts_with_clause("// Where it is.") && starts_with_clause("/// Those of a loop."));
    assert!(!starts_with_clause("/// Whole functions.") && !starts_with_clause("/// However it is."));
    assert_eq!(doc_heads("/// One\n/// What\nfn f() {}\n// no\n/// no\n//! Two"), [(1, "/// One")]);
    assert_eq!(doc_heads("// A file\n#include <a>\n// no\n"), [(1, "// A file")]);
}

/// A term that was replaced, and the present one.
struct ReplacedTerm {
    old: &'static str,
    new: &'static str,
    /// True if only prose counts: comments and documents, not names in code.
    is_prose: bool,
}

const fn replaced(old: &'static str, new: &'static str) -> ReplacedTerm {
    ReplacedTerm { old, new, is_prose: false }
}

const fn in_prose(old: &'static str, new: &'static str) -> ReplacedTerm {
    ReplacedTerm { old, new, is_prose: true }
}

const REPLACED_TERMS: [ReplacedTerm; 22] = [
    replaced("told", "diagnostic, remark"),
    replaced("said", "stated, printed"),
    replaced("asked", "requested"),
    replaced("twin", "reference implementation"),
    replaced("twins", "reference implementations"),
    replaced("home", "spill slot, defining block"),
    replaced("homes", "spill slots"),
    replaced("door", "interface, front end, driver"),
    replaced("doors", "interfaces, front ends, drivers"),
    replaced("entrance", "header"),
    replaced("entrances", "headers"),
    replaced("parting", "divergent region, influence region"),
    replaced("partings", "influence regions"),
    replaced("refilling", "lane refill"),
    replaced("way_out", "help"),
    replaced("\u{22a4}", "poison; top in lattices"),
    in_prose("way out", "exit, help"),
    in_prose("ways out", "exits"),
    in_prose("in turns", "alternating, run-time selection"),
    in_prose("what became of", "report, outcome"),
    replaced("beside", "next to"),
    in_prose("in front of", "before"),
];

/// Files that may contain replaced terms: this list, the history of users and decisions, and foreign texts.
const EXEMPT: [&str; 7] = [
    "docs/decisions/",
    "CHANGELOG.md",
    "harness/naming.rs",
    "curand/src/joe_kuo.txt",
    "tests/nvptx/",
    "tests/baselines/",
    "/target/",
];

/// True if a term stays in a file: files that read the variable `HOME` have home folders.
fn is_kept(term: &str, text: &str) -> bool {
    term.starts_with("home") && text.contains("HOME")
}

/// True if the byte can be part of a word.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// True if the text contains the term as a word or as a part of a name, in snake case, camel case or capitals.
fn contains_term(text: &str, term: &str) -> bool {
    let bytes = text.as_bytes();
    let is_inside_word = |before: u8, after: u8| {
        let is_hump = before.is_ascii_lowercase() && after.is_ascii_uppercase();
        is_of_word(before) && is_of_word(after) && !is_hump
    };
    text.to_ascii_lowercase().match_indices(term).any(|(at, _)| {
        let end = at + term.len();
        let is_symbol = !term.is_ascii();
        let starts_inside = at > 0 && is_inside_word(bytes[at - 1], bytes[at]);
        let ends_inside = bytes.get(end).is_some_and(|&after| is_inside_word(bytes[end - 1], after));
        is_symbol || !starts_inside && !ends_inside
    })
}

/// The comment of a line of code; the whole line of a document.
fn prose_of<'l>(extension: &str, line: &'l str) -> &'l str {
    let marks: &[&str] = match extension {
        "rs" | "c" | "cpp" | "h" | "cl" | "cu" | "ptx" => &["//", "/*", " * "],
        "hed" | "ll" => &[";"],
        "py" | "sh" | "" => &["#"],
        _ => return line,
    };
    marks.iter().filter_map(|mark| line.find(mark)).min().map_or("", |at| &line[at..])
}

/// Text files of the repository below some folders, by path.
fn texts_of_repository() -> Vec<PathBuf> {
    let root = crates_folder().join("..");
    let mut work: Vec<PathBuf> = [
        "crates",
        "docs",
        "tests",
        "examples",
        "include",
        "fuzz",
        "mutants",
        "README.md",
        "ARCHITECTURE.md",
        "x",
    ]
    .iter()
    .map(|name| root.join(name))
    .collect();
    let mut files = Vec::new();
    while let Some(path) = work.pop() {
        let Ok(entries) = std::fs::read_dir(&path) else {
            files.push(path);
            continue;
        };
        work.extend(entries.flatten().map(|entry| entry.path()).filter(|path| !path.ends_with("target")));
    }
    files.sort();
    files
}

#[test]
fn replaced_terms_do_not_come_back() {
    let (mut lines, mut found) = (0, Vec::new());
    for path in texts_of_repository() {
        let shown = path.display().to_string();
        let shown = shown.rsplit_once("/../").map_or(&*shown, |(_, inner)| inner);
        if EXEMPT.iter().any(|exempt| shown.contains(exempt)) {
            continue;
        }
        // Binary files are no texts.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let extension = path.extension().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            lines += 1;
            for term in &REPLACED_TERMS {
                let words = if term.is_prose { prose_of(&extension, line) } else { line };
                if contains_term(words, term.old) && !is_kept(term.old, &text) {
                    found.push(format!(
                        "{shown}:{}: `{}`, now {}: {}",
                        number + 1,
                        term.old,
                        term.new,
                        line.trim()
                    ));
                }
            }
        }
    }
    assert!(lines > 100_000, "only {lines} lines read");
    let shown = &found[..found.len().min(40)];
    assert!(found.is_empty(), "{} lines with replaced terms, the first:\n{}", found.len(), shown.join("\n"));
}

#[test]
fn replaced_terms_are_found() {
    assert!(contains_term("it is told", "told") && contains_term("fn was_asked()", "asked"));
    assert!(contains_term("Told by one", "told") && contains_term("const MOST_ASKED: u32", "asked"));
    assert!(contains_term("Operand::Beside(class)", "beside") && contains_term("isAskedFor()", "asked"));
    assert!(!contains_term("unrecorded", "told") && !contains_term("parting2", "parting"));
    assert!(!contains_term("MASKED_STORES", "asked") && !contains_term("Maskedness", "asked"));
    assert!(is_kept("home", "export HOME=/tmp") && !is_kept("home", "home of a value"));
    assert!(contains_term("operands \u{22a4}", "\u{22a4}"));
    assert_eq!(prose_of("rs", "let beside = 1; // next"), "// next");
    assert_eq!((prose_of("hed", "func @beside()"), prose_of("md", "beside")), ("", "beside"));
}
