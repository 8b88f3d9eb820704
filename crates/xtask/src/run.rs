//! Folders, files and programs of a task.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Result of a task: a message for the developer.
pub(crate) type XtaskResult<T = ()> = Result<T, String>;

/// Version of the workspace.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns cargo's target folder.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the folder of the packages.
pub(crate) fn packages() -> PathBuf {
    target().join("packages")
}

/// Runs a program to its end; its failure is an error.
pub(crate) fn run(command: &mut Command) -> XtaskResult {
    let status = command.status().map_err(|reason| format!("{command:?}: {reason}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

/// Runs a program and returns what it prints.
pub(crate) fn printed(command: &mut Command) -> XtaskResult<String> {
    let output = command.output().map_err(|reason| format!("{command:?}: {reason}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns a program with these arguments.
pub(crate) fn program<S: AsRef<OsStr>>(name: &str, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(name);
    command.args(arguments);
    command
}

/// Names the path in an error of a file operation.
pub(crate) fn at<T>(path: &Path, result: std::io::Result<T>) -> XtaskResult<T> {
    result.map_err(|reason| format!("{}: {reason}", path.display()))
}

/// Writes a file and the folders above it.
pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> XtaskResult {
    let folder = path.parent().unwrap_or(Path::new("."));
    at(folder, fs::create_dir_all(folder))?;
    at(path, fs::write(path, contents))
}

/// Copies a file with its permissions, and creates the folders above it.
pub(crate) fn copy(from: &Path, into: &Path) -> XtaskResult {
    let folder = into.parent().unwrap_or(Path::new("."));
    at(folder, fs::create_dir_all(folder))?;
    at(from, fs::copy(from, into)).map(drop)
}

/// Empties a folder, which may not exist.
pub(crate) fn fresh(folder: &Path) -> XtaskResult {
    if folder.exists() {
        at(folder, fs::remove_dir_all(folder))?;
    }
    at(folder, fs::create_dir_all(folder))
}

/// Returns all files below a folder, in the order of their paths.
pub(crate) fn files_below(folder: &Path) -> XtaskResult<Vec<PathBuf>> {
    let (mut found, mut work) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = work.pop() {
        for entry in at(&folder, fs::read_dir(&folder))? {
            let path = at(&folder, entry)?.path();
            if path.is_dir() && !path.is_symlink() {
                work.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the text of a file.
pub(crate) fn read(path: &Path) -> XtaskResult<String> {
    at(path, fs::read_to_string(path))
}
