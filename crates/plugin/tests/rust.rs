//! Loops of Rust through the plugin, as docs/marked-loops.md builds them: rustc writes bitcode, clang optimizes it, rustc links.
#![forbid(unsafe_code)]

mod common;

use common::{Scratch, plugin, run, sources};
use std::process::Command;

#[test]
fn loops_of_rust_become_vector_code() {
    let version = run(Command::new("rustc").arg("-vV")).stdout;
    if !String::from_utf8_lossy(&version).contains("LLVM version: 22.") {
        println!("not run: it takes a rustc of LLVM 22");
        return;
    }
    let scratch = Scratch::new("rust");
    let folder = sources().join("rust");
    let rustc = || {
        let mut command = Command::new("rustc");
        command.current_dir(&scratch.0).args(["--edition", "2024", "-C", "opt-level=3", "-C", "panic=abort"]);
        command
    };
    run(rustc()
        .args(["--crate-type=lib", "--emit=llvm-bc", "--cfg", "heddle", "-A", "warnings", "-g"])
        .args(["-C", "codegen-units=1", "-C", "no-prepopulate-passes"])
        .arg(folder.join("independent.rs"))
        .args(["-o", "loops.bc"]));
    let output = run(Command::new("clang-22")
        .current_dir(&scratch.0)
        .args(["-O3", "-Wno-override-module", "-Rpass=heddle", "-Rpass-missed=heddle"])
        .arg(format!("-fpass-plugin={}", plugin().display()))
        .args(["-c", "loops.bc", "-o", "loops.o"]));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed.matches("loop vectorized: ").count(), 3, "{printed}");
    for line in ["independent.rs:18:", "independent.rs:34:", "independent.rs:46:"] {
        assert!(
            printed.lines().any(|message| message.contains(line) && message.contains("loop vectorized")),
            "{printed}"
        );
    }
    let refused = "an iteration may end the program or throw (line 61)";
    assert!(printed.contains(refused), "{printed}");
    run(rustc().arg(folder.join("main.rs")).args(["-A", "warnings", "-C", "link-arg=loops.o", "-o", "all"]));
    let printed = run(&mut Command::new(scratch.0.join("all"))).stdout;
    assert_eq!(String::from_utf8_lossy(&printed), "all alike\n");
}
