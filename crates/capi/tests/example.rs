//! C programs: the examples, and wrong calls, built against the headers and the library as their users would.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that was built with this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    // `cargo test` leaves it next to the test, `cargo build` above.
    let places = test.ancestors().skip(1).take(2).map(|folder| folder.join("libheddle_capi.so"));
    places.into_iter().find(|path| path.exists()).expect("`./x build` builds libheddle_capi.so")
}

fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|reason| panic!("{command:?}: {reason}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// A program of some sources, in a folder of its own, which goes with it.
struct Built {
    folder: PathBuf,
}

impl Built {
    fn new(name: &str, sources: &[PathBuf]) -> Built {
        let folder = std::env::temp_dir().join(format!("heddle-capi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        std::os::unix::fs::symlink(library(), folder.join("libheddle.so")).expect("the folder is new");
        let flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off"];
        let mut cc = Command::new("cc");
        cc.args(flags).arg("-I").arg(root().join("include")).args(sources);
        printed(cc.arg("-L").arg(&folder).arg("-lheddle").arg("-o").arg(folder.join("main")));
        Built { folder }
    }

    fn run(&self, arguments: &[PathBuf]) -> Command {
        let mut command = Command::new("timeout");
        command.arg("60").arg(self.folder.join("main")).args(arguments).env("LD_LIBRARY_PATH", &self.folder);
        command
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_example_gives_what_scalar_code_gives() {
    let example = root().join("examples/c-api");
    let program = Built::new("main", &[example.join("main.c"), example.join("smooth.c")]);
    let message = printed(&mut program.run(&[example.join("smooth.c")]));
    assert!(
        message.starts_with("_ZGV") && message.ends_with("uuul_smooth: 0 of 1024 values differ\n"),
        "{message}"
    );
    let output = program.run(&[example.join("nowhere.c")]).output().expect("it runs");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && messages.contains("nowhere.c"), "{messages}");
}

#[test]
fn the_example_with_a_kernel_counts_right() {
    let message = printed(&mut Built::new("kernel", &[root().join("examples/c-api/histogram.c")]).run(&[]));
    assert!(message.starts_with("kernel histogram: "), "{message}");
    assert!(message.contains("barriers: 2, states: 3"), "{message}");
    assert!(message.ends_with("0 of 256 counts differ\n"), "{message}");
}

#[test]
fn wrong_calls_are_answered() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong_calls.c");
    assert_eq!(printed(&mut Built::new("wrong", &[source]).run(&[])), "passed\n");
}
