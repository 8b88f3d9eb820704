//! A tool's exit code is right even if the reader of its output stops reading.

use std::process::{Command, Stdio};

fn run_unread(tool: &str, args: &[&str]) {
    let mut child =
        Command::new(tool).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success(), "{}", output.status);
}

#[test]
fn a_fuzzer_that_nobody_reads() {
    run_unread(env!("CARGO_BIN_EXE_fuzz"), &["verify", "--count", "20"]);
    run_unread(env!("CARGO_BIN_EXE_fuzz"), &["--help"]);
}

#[test]
fn a_benchmark_that_nobody_reads() {
    run_unread(env!("CARGO_BIN_EXE_bench"), &[]);
}
