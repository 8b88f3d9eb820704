//! The wheel in a fresh Debian without compiler and LLVM: tests/packages/fresh_root.sh.

use crate::run::{
    XtaskResult, at, copy, fail, files_below, fresh, printed, program, read, root, run, target, tool_folder,
};
use crate::tools::{install_wheels, is_installed, stamp};
use std::fs;
use std::path::{Path, PathBuf};

/// Version of Debian that the wheel promises to run on.
const SUITE: &str = "bookworm";
/// Its packages beyond the essential ones, and the version of its Python.
const PACKAGES: &str = "--include=python3,python3-venv,ca-certificates";
const PYTHON: &str = "3.11";

/// Creates the root once.
fn fresh_root() -> XtaskResult<PathBuf> {
    let folder = target().join("fresh-root");
    let stamp = folder.join("made");
    if !stamp.exists() {
        fresh(&folder)?;
        run(program("debootstrap", ["--variant=minbase", PACKAGES, SUITE]).arg(&folder))
            .map_err(|reason| format!("{reason}; it takes root and Debian's debootstrap"))?;
        at(&stamp, fs::write(&stamp, ""))?;
    }
    Ok(folder)
}

/// Platforms whose wheels run there.
const PLATFORMS: [&str; 5] = [
    "manylinux_2_36_x86_64",
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
];

/// Wheels that documents install next to the own one, with what they need.
const OTHERS: [&str; 3] = ["pyopencl", "numpy", "pytest"];

/// Downloads the other wheels once: PyOpenCL and pytest with what they need, and the packages of the CUDA tests.
fn download(into: &Path) -> XtaskResult {
    let list = root().join("tests/cuda/requirements.txt");
    let contents = format!("{}\n{}", OTHERS.join(" "), read(&list)?);
    if is_installed(into, &contents) {
        return Ok(());
    }
    fresh(into)?;
    let list = list.to_string_lossy().into_owned();
    for wanted in [&OTHERS[..], &["--no-deps", "--requirement", &list]] {
        let mut pip = program("python3", ["-m", "pip", "download", "--quiet", "--only-binary", ":all:"]);
        pip.args(["--python-version", PYTHON, "--implementation", "cp"]);
        pip.args(PLATFORMS.iter().flat_map(|platform| ["--platform", platform]));
        run(pip.arg("--dest").arg(into).args(wanted))?;
    }
    stamp(into, &contents)
}

/// Documents that install the wheel.
const DOCUMENTS: [&str; 5] =
    ["README.md", "python/README.md", "docs/howto/python.md", "docs/howto/ci.md", "examples/ci/github.yml"];

/// Checkers of wheels.
const CHECKERS: [&str; 2] = ["auditwheel==6.8.2", "twine==7.0.0"];

/// Checks the metadata, and that the wheel needs no more of the system than its name says.
fn check_wheel(wheel: &Path) -> XtaskResult {
    let folder = tool_folder("wheel-checkers");
    if !is_installed(&folder, &CHECKERS.join(" ")) {
        fresh(&folder)?;
        install_wheels(&folder, CHECKERS)?;
        stamp(&folder, &CHECKERS.join(" "))?;
    }
    let tool = |name: &str| folder.join("bin").join(name).to_string_lossy().into_owned();
    run(program(tool("twine"), ["check", "--strict"]).arg(wheel))?;
    let found = printed(program(tool("auditwheel"), ["show"]).arg(wheel))?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let platform = name.trim_end_matches(".whl").rsplit('-').next().unwrap_or_default();
    println!("{}", found.trim());
    if found.contains(&format!("\"{platform}\"")) {
        Ok(())
    } else {
        fail(format!("auditwheel does not find {platform}"))
    }
}

/// Installs the wheel in the root, and runs programs of all interfaces there.
pub(crate) fn try_wheel(wheel: &Path) -> XtaskResult {
    check_wheel(wheel)?;
    let folder = fresh_root()?;
    let wheels = target().join("wheels");
    download(&wheels)?;
    let place = folder.join("heddle");
    fresh(&place)?;
    for file in files_below(&wheels)? {
        copy(&file, &place.join("wheels").join(file.file_name().unwrap_or_default()))?;
    }
    copy(wheel, &place.join("wheels").join(wheel.file_name().unwrap_or_default()))?;
    for (from, into) in
        [("tests/packages", ""), ("python/tests", "python_tests"), ("tests/documents", "documents")]
    {
        for file in files_below(&root().join(from))? {
            copy(&file, &place.join(into).join(file.file_name().unwrap_or_default()))?;
        }
    }
    copy(&root().join("tests/documents/document_blocks.py"), &place.join("document_blocks.py"))?;
    for document in DOCUMENTS {
        copy(&root().join(document), &place.join("user_documents").join(document))?;
    }
    // Processes of the root see no others, and their /proc goes with them.
    let script = ["--mount", "--pid", "--fork", "--mount-proc"];
    let mut unshare = program("unshare", script);
    unshare.arg(format!("--root={}", folder.display())).arg("/usr/bin/env").arg("-i");
    unshare.arg("PATH=/usr/bin:/bin").args(["sh", "/heddle/fresh_root.sh", "/heddle"]);
    run(&mut unshare)?;
    let size = printed(program("du", ["-sh"]).arg(wheel))?;
    println!("{}", size.trim());
    Ok(())
}
