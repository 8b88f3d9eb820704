//! Helpers of the plugin's tests: its path, scratch folders, commands that must succeed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The plugin that Cargo built for these tests.
pub(crate) fn plugin() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.parent().expect("it lies in a folder");
    let file = "libheddle_plugin.so";
    let found = [folder.join(file), folder.join("..").join(file)].into_iter().find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{} is not built", folder.join(file).display()))
}

pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/loops")
}

pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{printed}", output.status);
    output
}

/// A folder of this test's own, gone after it.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("heddle-loops-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder can be made");
        Scratch(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}
