//! The example for C: built against the header and the library, as its users would.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo puts the libraries of this profile.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.parent().and_then(Path::parent).expect("tests lie below their libraries").to_path_buf()
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|reason| panic!("{command:?}: {reason}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_example_gives_what_scalar_code_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = libraries();
    assert!(
        library.join("libheddle.so").exists(),
        "{} has no libheddle.so: build the workspace",
        library.display()
    );
    let folder = std::env::temp_dir().join(format!("heddle-capi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let program = folder.join("main");
    let example = root.join("examples/c-api");
    said(Command::new("cc").arg("-O1").arg("-ffp-contract=off").arg("-I").arg(root.join("include")).args([
        example.join("main.c").as_os_str(),
        example.join("smooth.c").as_os_str(),
        "-L".as_ref(),
        library.as_os_str(),
        "-lheddle".as_ref(),
        "-o".as_ref(),
        program.as_os_str(),
    ]));
    let run = |file: &Path| {
        let mut command = Command::new("timeout");
        command.arg("60").arg(&program).arg(file).env("LD_LIBRARY_PATH", &library);
        command
    };
    let told = said(&mut run(&example.join("smooth.c")));
    assert!(told.starts_with("_ZGV") && told.ends_with("uuul_smooth: 0 of 1024 values differ\n"), "{told}");
    let output = run(&example.join("nowhere.c")).output().expect("it runs");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && messages.contains("nowhere.c"), "{messages}");
    let _ = std::fs::remove_dir_all(&folder);
}
