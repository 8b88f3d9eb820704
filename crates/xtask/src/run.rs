//! Folders, files and programs of a task.

use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display, Formatter};
use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

/// Failure of a task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum XtaskError {
    /// Message for the developer; the task ends with exit code 1.
    Message(String),
    /// Wrong arguments; the task ends with exit code 2.
    Usage(String),
    /// Failed program that has printed the reason; the task ends with its exit code.
    Program(u8),
}

impl Display for XtaskError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            XtaskError::Message(text) | XtaskError::Usage(text) => f.write_str(text),
            XtaskError::Program(code) => write!(f, "a program ends with {code}"),
        }
    }
}

impl From<String> for XtaskError {
    fn from(text: String) -> XtaskError {
        XtaskError::Message(text)
    }
}

/// Result of a task.
pub(crate) type XtaskResult<T = ()> = Result<T, XtaskError>;

/// Returns the failure of a task with a message.
pub(crate) fn fail<T>(text: impl Into<String>) -> XtaskResult<T> {
    Err(XtaskError::Message(text.into()))
}

/// Prints a line about the task on stderr.
pub(crate) fn say(text: impl Display) {
    // A closed stderr ends no task.
    _ = writeln!(std::io::stderr(), "x: {text}");
}

/// Version of the workspace.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies in crates/")
}

/// Returns cargo's target folder.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the folder of the built programs and libraries.
pub(crate) fn release() -> PathBuf {
    target().join("release")
}

/// Returns the folder of a tool below the target folder.
pub(crate) fn tool_folder(name: &str) -> PathBuf {
    target().join("tools").join(name)
}

/// Returns the folder of the packages.
pub(crate) fn packages() -> PathBuf {
    target().join("packages")
}

/// File in which tests name what cannot run here.
static NOT_RUN: OnceLock<PathBuf> = OnceLock::new();
/// Environment variable that names the file.
const NOT_RUN_VARIABLE: &str = "HEDDLE_NOT_RUN";

/// Collects in a file what cannot run: all programs that start from now on append to it.
pub(crate) fn collect_not_run(path: PathBuf) {
    _ = NOT_RUN.set(path);
}

/// Appends a line to the file of what cannot run, if there is one.
pub(crate) fn not_run(text: &str) -> XtaskResult {
    let named = env::var_os(NOT_RUN_VARIABLE).filter(|name| !name.is_empty());
    let Some(path) = NOT_RUN.get().cloned().or(named.map(PathBuf::from)) else { return Ok(()) };
    let mut file = at(&path, fs::OpenOptions::new().create(true).append(true).open(&path))?;
    at(&path, writeln!(file, "{text}"))
}

/// Returns the exit code that a shell gives to a status.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Returns the status of an ended program.
fn status(command: &mut Command) -> XtaskResult<ExitStatus> {
    Ok(command.status().map_err(|reason| format!("{command:?}: {reason}"))?)
}

/// Runs a program to its end; its failure is an error that names the program.
pub(crate) fn run(command: &mut Command) -> XtaskResult {
    let status = status(command)?;
    if status.success() { Ok(()) } else { fail(format!("{command:?}: {status}")) }
}

/// Runs a program that prints the reason of its failure; the task ends with its exit code.
pub(crate) fn pass(command: &mut Command) -> XtaskResult {
    ended(status(command)?)
}

/// Returns the failure of an ended program.
pub(crate) fn ended(status: ExitStatus) -> XtaskResult {
    if status.success() { Ok(()) } else { Err(XtaskError::Program(exit_code(status))) }
}

/// Runs a program as `pass` does, and copies what it prints into a file, too.
pub(crate) fn tee(command: &mut Command, path: &Path) -> XtaskResult {
    let mut file = at(path, fs::File::create(path))?;
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|reason| format!("{command:?}: {reason}"))?;
    let mut printed = child.stdout.take().expect("it is piped");
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = printed.read(&mut buffer) {
        at(path, file.write_all(&buffer[..count]))?;
        // A closed stdout does not end the program: the file goes on.
        let mut stdout = std::io::stdout();
        _ = stdout.write_all(&buffer[..count]).and_then(|()| stdout.flush());
    }
    ended(child.wait().map_err(|reason| format!("{command:?}: {reason}"))?)
}

/// True if the program is on PATH and takes the arguments.
pub(crate) fn runs(name: &str, arguments: &[&str]) -> bool {
    program(name, arguments).output().is_ok_and(|output| output.status.success())
}

/// Runs a program and returns what it prints.
pub(crate) fn printed(command: &mut Command) -> XtaskResult<String> {
    let output = command.output().map_err(|reason| format!("{command:?}: {reason}"))?;
    if !output.status.success() {
        return fail(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns a program with these arguments.
pub(crate) fn program<S: AsRef<OsStr>>(
    name: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(name);
    command.args(arguments);
    if let Some(path) = NOT_RUN.get() {
        command.env(NOT_RUN_VARIABLE, path);
    }
    command
}

/// Returns cargo with a verb. On a CI machine an outdated Cargo.lock is an error, not an edit.
pub(crate) fn cargo(verb: &str) -> Command {
    let is_ci = env::var_os("CI").is_some_and(|value| !value.is_empty());
    let mut cargo = program("cargo", [verb]);
    cargo.args(is_ci.then_some("--locked")).current_dir(root());
    cargo
}

/// Returns a list of folders with another one in front, as `LD_LIBRARY_PATH` takes it.
pub(crate) fn in_front(folder: &Path, variable: &str) -> OsString {
    let mut list = folder.as_os_str().to_os_string();
    if let Some(rest) = env::var_os(variable).filter(|rest| !rest.is_empty()) {
        list.push(":");
        list.push(rest);
    }
    list
}

/// Names the path in an error of a file operation.
pub(crate) fn at<T>(path: &Path, result: std::io::Result<T>) -> XtaskResult<T> {
    result.map_err(|reason| XtaskError::Message(format!("{}: {reason}", path.display())))
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
