//! Libraries that packages are linked with beyond a build: archives of Debian, and for aarch64 its cross compiler and libraries below target/aarch64.

use crate::machine::MachineKind;
use crate::run::{XtaskResult, at, fail, fresh, pass, printed, program, runs, target, write};
use crate::tools::{install_packages, is_installed, stamp};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Packages with archives that are linked into the library.
const ARCHIVES: [&str; 2] = ["libzstd-dev", "zlib1g-dev"];
/// Compiler for aarch64, and an emulator.
const CROSS_COMPILER: [&str; 3] = ["g++-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"];
/// Packages for aarch64 that are linked into the library.
const CROSS_LIBRARIES: [&str; 5] =
    ["llvm-22-dev", "libclang-22-dev", "libclang-common-22-dev", "libzstd-dev", "zlib1g-dev"];

/// Installs what packages for a kind of machine are linked with.
pub(crate) fn bring(kind: MachineKind) -> XtaskResult {
    if !kind.is_own() {
        bring_aarch64()?;
    }
    for archive in ["libzstd.a", "libz.a"] {
        let path = printed(&mut program("cc", [format!("-print-file-name={archive}")]))?;
        if !Path::new(path.trim()).exists() {
            install_packages(&ARCHIVES)?;
        }
    }
    Ok(())
}

fn bring_aarch64() -> XtaskResult {
    if !runs("aarch64-linux-gnu-g++", &["--version"]) {
        install_packages(&CROSS_COMPILER)?;
    }
    let triple = "aarch64-unknown-linux-gnu";
    if !runs("rustup", &["target", "add", triple]) {
        let sysroot = printed(&mut program("rustc", ["--print", "sysroot"]))?;
        if !Path::new(sysroot.trim()).join("lib/rustlib").join(triple).exists() {
            return fail(format!("Rust's library for aarch64 is missing: rustup target add {triple}"));
        }
    }
    let folder = target().join("aarch64");
    if is_installed(&folder, &CROSS_LIBRARIES.join(" ")) {
        return Ok(());
    }
    fresh(&folder)?;
    unpack_libraries(&folder)?;
    write_llvm_config(&folder)?;
    stamp(&folder, &CROSS_LIBRARIES.join(" "))
}

/// Unpacks Debian's packages for arm64 below a folder; their lists are apart from those of this machine.
fn unpack_libraries(folder: &Path) -> XtaskResult {
    let (apt, debs) = (folder.join("apt"), folder.join("debs"));
    for part in ["lists/partial", "archives/partial"] {
        at(&apt, fs::create_dir_all(apt.join(part)))?;
    }
    at(&debs, fs::create_dir_all(&debs))?;
    write(&apt.join("status"), "")?;
    let apt_get = |words: &[&str]| {
        let mut command =
            program("apt-get", ["-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64"]);
        command.args(["-o", "APT::Sandbox::User=root", "-o"]).arg(format!("Dir::Cache={}", apt.display()));
        command.arg("-o").arg(format!("Dir::State::lists={}", apt.join("lists").display()));
        command.arg("-o").arg(format!("Dir::State::status={}", apt.join("status").display()));
        command.arg("-qq").args(words).current_dir(&debs);
        command
    };
    pass(&mut apt_get(&["update"]))?;
    if pass(apt_get(&["download"]).args(CROSS_LIBRARIES)).is_err() {
        return fail(format!("Debian's packages for arm64 are out of reach: {}", CROSS_LIBRARIES.join(" ")));
    }
    for entry in at(&debs, fs::read_dir(&debs))? {
        pass(program("dpkg", ["-x"]).arg(at(&debs, entry)?.path()).arg(folder.join("root")))?;
    }
    Ok(())
}

/// Writes LLVM's configuration program, which build scripts of both machines ask.
fn write_llvm_config(folder: &Path) -> XtaskResult {
    let prefix = printed(&mut program("llvm-config-22", ["--prefix"]))?;
    let (prefix, root) = (prefix.trim(), folder.join("root"));
    let script = format!(
        "#!/bin/sh\ncase $TARGET in\n  aarch64*) llvm-config-22 \"$@\" | sed 's#{prefix}#{}{prefix}#g' ;;\n  \
         *) exec llvm-config-22 \"$@\" ;;\nesac\n",
        root.display()
    );
    let path = folder.join("llvm/bin/llvm-config");
    write(&path, script)?;
    at(&path, fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
}
