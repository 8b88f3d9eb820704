//! Diagnostics of invalid texts: errors.txt holds each text and, below it, its diagnostics.
//!
//! `HEDDLE_BLESS=1` rewrites the diagnostics; the numbers after `errors` in a case's title are written by hand.

use heddle_ir::{Diagnostic, parse_bytes, parse_module};
use std::fmt::Write as _;
use std::path::PathBuf;

/// A title, a text and its diagnostics.
struct Case<'t> {
    title: &'t str,
    source: &'t str,
    diagnostics: &'t str,
}

fn cases(golden: &str) -> Vec<Case<'_>> {
    let cases = golden.split("==== ").skip(1);
    cases
        .map(|case| {
            let (title, rest) = case.split_once('\n').expect("a case has a title");
            let (source, diagnostics) = rest.split_once("----\n").expect("a case has a text");
            Case { title, source, diagnostics }
        })
        .collect()
}

fn show(errors: &[Diagnostic]) -> String {
    let mut out = String::new();
    for error in errors {
        writeln!(out, "{error}").unwrap();
        if !error.expected.is_empty() {
            writeln!(out, "    expected: {}", error.expected.join(", ")).unwrap();
        }
    }
    out
}

#[test]
fn every_error_has_location_excerpt_and_expectation() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/text/errors.txt");
    let golden = std::fs::read_to_string(&path).unwrap();
    let mut found = String::new();
    let mut wrong = String::new();
    for case in cases(&golden) {
        let errors = parse_module(case.source).expect_err(case.title);
        let count = case.title.rsplit_once(", errors ").map_or("1", |(_, count)| count);
        if errors.len().to_string() != count {
            write!(wrong, "{}:\n{}", case.title, show(&errors)).unwrap();
        }
        write!(found, "==== {}\n{}----\n{}\n", case.title, case.source, show(&errors)).unwrap();
        if std::env::var_os("HEDDLE_BLESS").is_none() {
            assert_eq!(case.diagnostics, format!("{}\n", show(&errors)), "{}", case.title);
        }
    }
    if std::env::var_os("HEDDLE_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    assert!(wrong.is_empty(), "not as many errors as the title says:\n{wrong}");
}

#[test]
fn invalid_utf8_is_reported_with_its_offset() {
    let errors = parse_bytes(b"func @f() {\nblock0:\n  ret \xff\n}\n").unwrap_err();
    let [error] = &errors[..] else { panic!("one error, not {errors:?}") };
    assert_eq!((error.place.line, error.place.column), (3, 7));
    assert_eq!(error.text, "byte 0xff at offset 26 is not UTF-8");
    assert_eq!(error.excerpt.as_ref().unwrap().text, "  ret \u{fffd}");
    assert!(parse_bytes(b"func @f() {\n}\n").is_ok());
    assert_eq!(parse_bytes(b"\xe2\x82").unwrap_err()[0].place.column, 1);
}

#[test]
fn a_diagnostic_prints_place_line_and_caret() {
    let errors = parse_module("func @f() {\nblock0:\n  ret v10\n}\n").unwrap_err();
    assert_eq!(errors[0].to_string(), "3:7: no value v10\n      ret v10\n          ^^^");
}

#[test]
fn at_most_twenty_errors_are_reported() {
    let lines = "  v1 = frobnicate\n".repeat(100);
    let text = format!("func @f() {{\nblock0:\n{lines}}}\n");
    assert_eq!(parse_module(&text).unwrap_err().len(), 20);
    let items = "global @a\n".repeat(1000);
    assert_eq!(parse_module(&items).unwrap_err().len(), 20);
}
