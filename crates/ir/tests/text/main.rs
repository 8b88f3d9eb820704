//! Tests of the text format: round trips of valid texts, diagnostics of invalid ones.

mod errors;
mod mutations;
mod round_trip;
mod scale;

use heddle_ir::{Module, parse_module};
use std::path::PathBuf;

/// Parses a valid text.
fn parse(source: &str) -> Module {
    parse_module(source).unwrap_or_else(|errors| {
        let errors: String = errors.iter().map(|error| format!("{error}\n")).collect();
        panic!("{errors}")
    })
}

/// Texts that cover the format: tests/text, the example's stages, and parser-only texts. By name, in order.
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
