//! Runs every `.hed` file below tests/.

use heddle_compiler::Session;
use heddle_testing::file_test::{find_files, test_file};
use std::path::Path;

#[test]
fn every_file_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let bless = std::env::var_os("HEDDLE_BLESS").is_some();
    let files = find_files(&root).expect("the repository has tests");
    assert!(!files.is_empty());
    let mut failed = Vec::new();
    for file in &files {
        let passes = |module: &mut heddle_ir::Module, names: &[&str]| {
            Session::default()
                .run_passes(module, names, true, |_, _| ())
                .map(drop)
                .map_err(|error| error.to_string())
        };
        let result = test_file(file, passes, bless);
        failed.extend(result.failures.iter().map(|failure| format!("{}: {failure}", file.display())));
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n\n"));
}
