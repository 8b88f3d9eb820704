//! The example in Rust, as docs/llvm.md builds it: rustc writes bitcode, Heddle makes objects of it, rustc links them.
#![cfg(target_arch = "x86_64")]

mod common;

use common::{Folder, heddle, succeed};
use std::process::{Command, Output};

fn rustc(folder: &Folder, arguments: &[&str]) -> Output {
    Command::new("rustc").current_dir(&folder.0).args(arguments).output().expect("rustc runs")
}

#[test]
fn rust_functions_become_vector_code_that_rust_calls() {
    let folder = Folder::new("rust");
    let version = succeed(rustc(&folder, &["-vV"]));
    if !version.contains("LLVM version: 22.") || !is_x86_feature_detected!("avx2") {
        let reason = "it takes a rustc of LLVM 22, and AVX2";
        heddle_testing::not_run::not_run("vector code of Rust functions", reason);
        return;
    }
    let example = format!("{}/../../examples/rust-kernel/src", env!("CARGO_MANIFEST_DIR"));
    let (kernel, main) = (format!("{example}/kernel.rs"), format!("{example}/main.rs"));
    let plain = ["--edition", "2024", "-C", "panic=abort", "-C", "opt-level=1"];
    let to_bitcode =
        ["--crate-type=lib", "--emit=llvm-bc", "-g", "-C", "no-vectorize-loops", "-C", "no-vectorize-slp"];
    succeed(rustc(&folder, &[&plain[..], &to_bitcode, &[&kernel, "-o", "kernel.bc"]].concat()));
    for (name, params) in [("smooth", "uniform,uniform,linear:4,linear:1"), ("collatz", "linear:4,linear:4")]
    {
        let object = format!("{name}.o");
        let vectorize = ["vectorize", "kernel.bc", "--func", name, "--lanes", "8", "--param", params];
        succeed(heddle(&folder.0, &[&vectorize[..], &["--target", "haswell", "-o", &object]].concat()));
    }
    let objects = ["-C", "link-arg=smooth.o", "-C", "link-arg=collatz.o"];
    succeed(rustc(&folder, &[&plain[..], &objects, &[&main, "-o", "all"]].concat()));
    let printed = succeed(Command::new(folder.0.join("all")).output().expect("it runs"));
    assert!(printed.contains("[1.6666666, 4.6666665, 9.666667, 16.666666]"), "{printed}");
    // What a lane does that panics, the program does.
    let wrong = Command::new(folder.0.join("all")).arg("wrong").output().expect("it runs");
    let printed = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success(), "{printed}");
    assert!(printed.contains("index out of bounds: the len is 100 but the index is 100"), "{printed}");
    assert!(printed.contains("kernel.rs"), "{printed}");
}
