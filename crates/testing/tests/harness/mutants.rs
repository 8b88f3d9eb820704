//! The list of equivalent mutants is of the code as it is.

use crate::crate_graph::{crates_folder, read};

/// Entries of the list whose file or line does not exist.
fn stale_entries(list: &str, source: impl Fn(&str) -> Option<String>) -> Vec<&str> {
    let entries = list.split("\n\n").filter(|entry| !entry.starts_with('#'));
    let is_stale = |entry: &&str| {
        let mut lines = entry.trim().lines();
        let [what, line] = [(); 2].map(|()| lines.next().unwrap_or_default().trim());
        let text = what.split_once(": ").and_then(|(file, _)| source(file));
        !text.is_some_and(|text| text.lines().any(|it| it.trim() == line))
    };
    entries.filter(|entry| !entry.trim().is_empty()).filter(is_stale).collect()
}

#[test]
fn equivalent_mutants_are_of_lines_that_exist() {
    let root = crates_folder().parent().expect("crates/ lies in the repository").to_path_buf();
    let list = read(&root.join("mutants/equivalent.txt"));
    let stale = stale_entries(&list, |file| std::fs::read_to_string(root.join(file)).ok());
    assert!(
        stale.is_empty(),
        "mend or delete these entries of mutants/equivalent.txt:\n{}",
        stale.join("\n\n")
    );
}

#[test]
fn a_line_that_is_gone_is_seen() {
    let list = "# Mutants\n\na.rs: replace x in f\nlet x = 1;\nreason\n\na.rs: replace y in f\nlet y = 2;\nreason\n\nb.rs: one\nlet x = 1;\n";
    let stale = stale_entries(list, |file| (file == "a.rs").then(|| "fn f() {\n    let x = 1;\n}\n".into()));
    assert_eq!(stale.len(), 2);
}
