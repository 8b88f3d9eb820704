//! The text of each mathematical function is what the importer makes of its C, with and without `FAST`.

use heddle_ir::Inst;
use heddle_ir::entity::PrimaryMap;
use heddle_ir::function::Origin;
use heddle_llvm::{compile, import};
use heddle_math::FUNCTIONS;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../math")
}

fn imported(path: &Path, extra: &[&str]) -> String {
    let llvm = compile(path, 2, &[&["-ffp-contract=off", "-fno-strict-aliasing", "-g0"], extra].concat())
        .unwrap_or_else(|error| panic!("{error}"));
    let imported = import(&llvm);
    assert!(imported.refused.is_empty(), "{}: {}", path.display(), imported.refused[0]);
    let mut module = imported.module;
    // Drops the alias facts that clang derived when it inlined: the texts are inlined elsewhere, and contain none.
    for func in &mut module.functions {
        let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
        insts.into_iter().for_each(|inst| func.inst_mut(inst).origin = Origin::NONE);
    }
    module.facts = PrimaryMap::new();
    module.to_string()
}

#[test]
fn each_text_is_what_the_importer_makes_of_the_c() {
    let bless = std::env::var_os("HEDDLE_BLESS").is_some();
    let mut wrong = Vec::new();
    for own in FUNCTIONS {
        let source = folder().join(format!("c/{}.c", own.name));
        let (exact, fast) = (imported(&source, &[]), imported(&source, &["-DFAST"]));
        if bless {
            let write = |path: PathBuf, text: &str| {
                std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            };
            write(folder().join(format!("hed/{}.hed", own.name)), &exact);
            if own.fast.is_some() {
                write(folder().join(format!("hed/fast/{}.hed", own.name)), &fast);
            }
        } else if exact != own.exact || fast != own.fast.unwrap_or(own.exact) {
            wrong.push(own.name);
        }
    }
    assert!(wrong.is_empty(), "stale below crates/math/hed (HEDDLE_BLESS=1 rewrites them): {wrong:?}");
}

#[test]
fn each_source_is_in_the_table_and_the_table_in_order() {
    let entries = std::fs::read_dir(folder().join("c")).expect("crates/math/c can be listed");
    let mut sources: Vec<String> = entries
        .map(|entry| entry.expect("crates/math/c can be listed").file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(".c").map(String::from))
        .collect();
    sources.sort();
    let names: Vec<&str> = FUNCTIONS.iter().map(|own| own.name).collect();
    assert_eq!(sources, names);
}
