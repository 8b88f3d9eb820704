//! The `.hed` files below `tests`; `file_test.rs` says what their comments mean.

use heddle_compiler::Session;
use heddle_testing::file_test::{find_files, test_file};
use std::path::{Path, PathBuf};

pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    find_files(root).expect("the repository has tests")
}

pub(crate) fn check(file: &Path) -> Vec<String> {
    let passes = |module: &mut heddle_ir::Module, names: &[&str]| {
        Session::default()
            .run_passes(module, names, true, |_, _| ())
            .map(drop)
            .map_err(|error| error.to_string())
    };
    test_file(file, passes, std::env::var_os("HEDDLE_BLESS").is_some()).failures
}
