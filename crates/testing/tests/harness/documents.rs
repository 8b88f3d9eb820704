//! Links between documents lead somewhere, and the index lists all pages.

use crate::crate_graph::{crates_folder, read};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    crates_folder().parent().expect("crates/ lies in the repository").to_path_buf()
}

/// All documents: at the root, below docs/, and of the Python package.
fn documents() -> Vec<PathBuf> {
    let (root, mut found) = (root(), Vec::new());
    let mut work = vec![root.join("docs"), root.join("python")];
    let top = std::fs::read_dir(&root).expect("the root can be listed");
    found.extend(top.flatten().map(|entry| entry.path()));
    while let Some(folder) = work.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder can be listed").flatten() {
            let path = entry.path();
            if path.is_dir() { work.push(path) } else { found.push(path) }
        }
    }
    found.retain(|path| path.extension().is_some_and(|it| it == "md"));
    found.sort();
    found
}

/// Targets of the links of a document outside of code, without those on the web.
fn links(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    let lines = outside.flat_map(str::lines).filter(|line| !line.starts_with("    "));
    let targets = lines.flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// Anchor of a heading, as GitHub and mdBook derive it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.collect::<String>().replace(' ', "-")
}

fn leads_nowhere(document: &Path, text: &str, target: &str) -> bool {
    let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { document.to_path_buf() } else { document.with_file_name("").join(path) };
    if !path.exists() {
        return true;
    }
    if fragment.is_empty() || path.extension().is_none_or(|it| it != "md") {
        return false;
    }
    let text = if path == document { text.to_string() } else { read(&path) };
    !text
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .any(|line| anchor(line.trim_start_matches('#')) == fragment)
}

#[test]
fn links_of_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read(&document);
        let found = links(&text).into_iter().filter(|target| leads_nowhere(&document, &text, target));
        broken.extend(found.map(|target| format!("{}: {target}", document.display())));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_index_lists_all_pages() {
    let docs = root().join("docs");
    let index = read(&docs.join("README.md"));
    let listed: Vec<&str> = links(&index);
    for document in documents().iter().filter_map(|path| path.strip_prefix(&docs).ok()) {
        let name = document.to_string_lossy();
        // The decisions have an index of their own.
        let is_listed = name == "README.md" || name.starts_with("decisions/") || listed.contains(&&*name);
        assert!(is_listed, "docs/README.md does not list {name}");
    }
}

#[test]
fn broken_links_are_seen() {
    let text = "# A head\n[a](b.md) and [c](https://c) `x`\n```\n[no](no.md)\n```\n    [no](no.md)\n";
    assert_eq!(links(text), ["b.md"]);
    let here = root().join("docs/README.md");
    assert!(leads_nowhere(&here, text, "nothing.md") && leads_nowhere(&here, text, "#nothing"));
    assert!(!leads_nowhere(&here, text, "#a-head") && !leads_nowhere(&here, text, "ir.md"));
}
