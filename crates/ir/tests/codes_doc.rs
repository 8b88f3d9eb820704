//! docs/diagnostics.md is the table of codes; `HEDDLE_BLESS=1` rewrites it.

use heddle_ir::Code;
use std::fmt::Write as _;
use std::path::PathBuf;

const HEAD: &str = "\
# Diagnostics

A diagnostic has a location, a message, a code in brackets, notes and a help:

    mandel.cl:14:9: @escape: what is wrong: why [code]
      help: what to write instead

Codes are stable: scripts may rely on them. An error means that there is no result; a warning, that the result may not be the intended one; a
remark describes a choice. Each code has a general cause and help; a message may have a more specific one.

";

fn list() -> String {
    let mut text = HEAD.to_string();
    for &code in Code::ALL {
        let help = code.help();
        let gap = if help.is_empty() { "" } else { " " };
        writeln!(text, "* **`{code}`**: {}{gap}{help}", code.cause()).expect("a string grows");
    }
    text
}

#[test]
fn the_document_is_the_table_of_codes() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics.md");
    if std::env::var_os("HEDDLE_BLESS").is_some() {
        std::fs::write(&path, list()).expect("docs/ can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == list(),
        "docs/diagnostics.md differs from the table of codes: HEDDLE_BLESS=1 rewrites it"
    );
}

#[test]
fn codes_are_plain_words() {
    for &code in Code::ALL {
        assert!(code.name().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{code}");
        assert_eq!(Code::from_name(code.name()), Some(code));
        assert!(code.cause().ends_with('.'), "{code}");
    }
}
