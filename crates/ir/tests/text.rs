//! The text format: what is printed parses to the same, and prints to the same bytes.

use heddle_ir::{Module, parse_module};

/// Parses a text that must be right.
fn parse(source: &str) -> Module {
    parse_module(source).unwrap_or_else(|errors| {
        let errors: String = errors.iter().map(|error| format!("{error}\n")).collect();
        panic!("{errors}")
    })
}

/// The text without comments and what surrounds them.
fn bare(source: &str) -> String {
    let lines = source.lines().map(|line| line.split(';').next().unwrap_or_default().trim_end());
    lines.filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_steps_of_the_example_come_back_byte_by_byte() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ir");
    for stage in ["source", "canonical", "uniform", "linear", "wide"] {
        let source = std::fs::read_to_string(format!("{directory}/steps-{stage}.hed")).unwrap();
        let printed = parse(&source).to_string();
        assert_eq!(printed, bare(&source), "steps-{stage}");
        assert_eq!(parse(&printed).to_string(), printed);
    }
}
