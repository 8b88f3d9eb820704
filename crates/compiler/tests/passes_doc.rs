//! docs/passes.md is the table of passes and options; `HEDDLE_BLESS=1` rewrites it.

use heddle_compiler::VectorizeOptions;
use heddle_compiler::passes::PASSES;
use std::fmt::Write as _;
use std::path::PathBuf;

const HEAD: &str = "\
# The passes

This list is made from the files of passes (`crates/compiler/src/passes`) by `HEDDLE_BLESS=1 cargo test -p heddle-compiler --test
passes_doc`; `heddle opt --help` prints the same. [pipeline.md](pipeline.md) says how the passes work together.

    heddle opt FILE -p canonicalize,fuse:8+target=avx512

An argument stands after a colon; several words are joined by `+`. A word in capitals stands for what its help says.

| pass | needs | ensures | what it does | words |
|---|---|---|---|---|
";

const OPTIONS: &str = "
## Options of `vectorize`

`vectorize,W=8` is the whole pipeline for brushes of 8 lanes (`W=8x2`: of two dimensions). Its options follow, as do those of
`heddle vectorize`, `HEDDLE_…` variables and pragmas.

| option | meaning |
|---|---|
";

fn list() -> String {
    let mut out = String::from(HEAD);
    for pass in PASSES {
        let ensures = pass.ensures.map_or(String::new(), |stage| stage.to_string());
        let words: Vec<String> =
            (pass.options)().iter().map(|word| format!("`{}`: {}", word.form, word.help)).collect();
        let (name, requires, doc) = (pass.name, pass.requires, pass.doc);
        writeln!(out, "| `{name}` | {requires} | {ensures} | {doc} | {} |", words.join("; ")).unwrap();
    }
    out.push_str(OPTIONS);
    for option in VectorizeOptions::OPTIONS {
        writeln!(out, "| `{}` | {} |", option.form, option.help).unwrap();
    }
    out
}

#[test]
fn the_list_of_passes_is_up_to_date() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/passes.md");
    if std::env::var_os("HEDDLE_BLESS").is_some() {
        std::fs::write(&path, list()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == list(), "docs/passes.md is not the table of passes: HEDDLE_BLESS=1 rewrites it");
}

/// Each word in the text of a pass's argument parses, and others are refused with the list of words.
#[test]
fn arguments_are_parsed_by_their_tables() {
    use heddle_compiler::Session;
    for words in [
        "fuse:8+target=warps+races=excluded+force+explain",
        "kernels:8x2+linear+small+versions=none+axes=102+single",
        "ssrqp:cost+16+target=avx2",
        "flatten:force+lanes=32+block1+block2=1x31/64x1",
        "boscc:force+block3=none+block4",
        "widen:8+versions=force",
        "spread:refill",
        "spread:parallel",
        "spread:nest+outer-first",
        "loops:fold",
        "linearize:block1+block2",
        "brushes:auto",
        "math:fast",
        "math",
    ] {
        assert!(Session::parse_passes(&[words]).is_ok(), "{words}");
    }
    for (words, help) in [
        ("fuse:target=mmx", "the targets are"),
        ("fuse:forced", "the words are"),
        ("spread:fast", "write `parallel`, `refill`, `nest` or `outer-first`"),
        ("kernels:8+8", "write the brush first"),
        ("widen:", "write the number of lanes"),
        ("simplify:x=1", ""),
    ] {
        let Err(error) = Session::parse_passes(&[words]) else {
            assert!(help.is_empty(), "{words}");
            continue;
        };
        let text = format!("{error:?}");
        assert!(text.contains(help), "{words}: {text}");
    }
}
