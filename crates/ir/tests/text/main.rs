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

/// Texts that have everything: tests/text, the example's stages, and what only the parser accepts. By name, in order.
fn corpus() -> Vec<(String, String)> {
    let crate_directory = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let read = |directory: &str, prefix: &str| -> Vec<(String, String)> {
        let entries = std::fs::read_dir(crate_directory.join(directory)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let texts = paths.filter_map(|path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            let is_meant = name.starts_with(prefix) && name.ends_with(".hed");
            is_meant.then(|| (name, std::fs::read_to_string(&path).unwrap()))
        });
        texts.collect()
    };
    let mut texts = read("../../tests/text", "every-");
    texts.extend(read("../../tests/ir", "steps-"));
    texts.extend(read("tests/text", ""));
    texts.sort();
    assert!(texts.len() >= 9);
    texts
}
