//! The text format: what is printed parses to the same and prints to the same bytes; what is wrong is told.

mod errors;
mod mutations;
mod round_trip;
mod scale;

use heddle_ir::{Module, parse_module};
use std::path::PathBuf;

/// Parses a text that must be right.
fn parse(source: &str) -> Module {
    parse_module(source).unwrap_or_else(|errors| {
        let errors: String = errors.iter().map(|error| format!("{error}\n")).collect();
        panic!("{errors}")
    })
}

/// All texts of tests/ir with their names, in order.
fn corpus() -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir");
    let mut texts: Vec<(String, String)> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hed"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    texts.sort();
    assert!(texts.len() >= 7);
    texts
}
