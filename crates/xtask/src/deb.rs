//! Debian packages: the command, headers, the OpenCL driver's registration, CUDA's libraries.
//!
//! The tree of all packages lies in `/usr/lib/heddle`: libheddle.so has no stable ABI version yet, so it is private to them.

use crate::machine::MachineKind;
use crate::run::{
    VERSION, XtaskResult, at, copy, files_below, fresh, packages, printed, program, read, root, run, target,
    write,
};
use crate::tree::{pkg_config, third_party, write_tree};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Folder of the tree.
const PLACE: &str = "usr/lib/heddle";

/// A Debian package.
struct DebianPackage {
    name: &'static str,
    section: &'static str,
    depends: &'static str,
    more: &'static str,
    summary: &'static str,
    description: &'static str,
    /// Parts of the tree, files or folders.
    parts: &'static [&'static str],
}

const LIBC: &str = "libc6 (>= 2.36), libgcc-s1 (>= 4.2)";

const PACKAGES: [DebianPackage; 4] = [
    DebianPackage {
        name: "heddle",
        section: "devel",
        depends: LIBC,
        more: "",
        summary: "SIMD compiler for OpenCL, CUDA and C on the CPU",
        description: "The command heddle and its library, with LLVM and clang in it.",
        parts: &["bin", "lib/libheddle.so"],
    },
    DebianPackage {
        name: "libheddle-dev",
        section: "libdevel",
        depends: "heddle (= ${version})",
        more: "",
        summary: "SIMD compiler as a library: headers",
        description: "Headers of the C interface, and a file for pkg-config.",
        parts: &["include"],
    },
    DebianPackage {
        name: "heddle-opencl-icd",
        section: "libs",
        depends: "heddle (= ${version})",
        more: "Provides: opencl-icd\n",
        summary: "OpenCL driver for CPUs by Heddle",
        description: "Registers Heddle with the loaders of OpenCL.",
        parts: &[],
    },
    DebianPackage {
        name: "heddle-cuda",
        section: "libs",
        depends: "heddle (= ${version}), libc6 (>= 2.36), libgcc-s1 (>= 4.2)",
        more: "",
        summary: "CUDA driver and runtime for CPUs by Heddle",
        description: "Libraries under the names of CUDA, which `heddle run` puts before others.",
        parts: &["lib/heddle"],
    },
];

/// Text after the MIT license in copyright files.
const COPYRIGHT: &str = "
Alternatively Heddle is licensed under the Apache License, Version 2.0. On Debian systems its text is in
/usr/share/common-licenses/Apache-2.0.

libheddle.so of the package heddle contains code of LLVM, clang, zlib, zstd and the C++ library of GCC: their
licenses are in /usr/share/doc/heddle/THIRD-PARTY.gz.
";

const MANUAL: &str = "\
.TH HEDDLE 1
.SH NAME
heddle \\- SIMD compiler for OpenCL, CUDA and C on the CPU
.SH SYNOPSIS
.B heddle
.I VERB
.RI [ OPTION \\&...]
.SH DESCRIPTION
.B heddle \\-\\-help
lists all verbs,
.B heddle
.I VERB
.B \\-\\-help
the options of one.
.B heddle run \\-\\- PROGRAM
runs a program on the drivers for OpenCL and CUDA, and
.B heddle doctor
reports what is found.
";

/// Tags of lintian for packages without a packager.
const ANONYMOUS: &str = "bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact";

/// Returns name and address of the packager: `DEBFULLNAME` and `DEBEMAIL`, as Debian's tools have them.
fn maintainer() -> String {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.into());
    format!("{} <{}>", variable("DEBFULLNAME", "Heddle"), variable("DEBEMAIL", "root@localhost"))
}

/// Builds the libraries and writes the packages; returns their paths.
pub(crate) fn make(kind: MachineKind) -> XtaskResult<Vec<PathBuf>> {
    kind.build()?;
    let tree = target().join("deb/tree");
    fresh(&tree)?;
    write_tree(kind, &tree)?;
    at(&packages(), fs::create_dir_all(packages()))?;
    let paths: XtaskResult<Vec<PathBuf>> = PACKAGES.iter().map(|package| package.make(kind, &tree)).collect();
    let paths = paths?;
    if printed(&mut program("lintian", ["--version"])).is_err() {
        println!("lintian is missing: the packages are not checked");
        return Ok(paths);
    }
    let mut lintian =
        program("lintian", ["--allow-root", "--tag-display-limit", "0", "--fail-on", "error,warning"]);
    if std::env::var_os("DEBEMAIL").is_none() {
        println!("DEBEMAIL is not set: these packages have no packager");
        lintian.args(["--suppress-tags", ANONYMOUS]);
    }
    run(lintian.args(&paths))?;
    Ok(paths)
}

impl DebianPackage {
    fn make(&self, kind: MachineKind, tree: &Path) -> XtaskResult<PathBuf> {
        let folder = target().join("deb").join(self.name);
        fresh(&folder)?;
        for part in self.parts {
            let from = tree.join(part);
            let files = if from.is_dir() { files_below(&from)? } else { vec![from] };
            for file in files {
                let name = file.strip_prefix(tree).expect("it is below the tree");
                copy(&file, &folder.join(PLACE).join(name))?;
            }
        }
        self.write_own(kind, &folder)?;
        self.write_documents(&folder)?;
        self.set_modes(&folder)?;
        self.write_control(kind, &folder)?;
        let path = packages().join(format!("{}_{VERSION}_{}.deb", self.name, kind.debian));
        run(program("dpkg-deb", ["--root-owner-group", "-Zxz", "-z3", "--build"]).arg(&folder).arg(&path))?;
        Ok(path)
    }

    /// Writes what is not in the tree.
    fn write_own(&self, kind: MachineKind, folder: &Path) -> XtaskResult {
        let link = |to: &str, name: &str| {
            let path = folder.join(name);
            at(&path, fs::create_dir_all(path.parent().expect("it is in a folder")))?;
            at(&path, symlink(to, &path))
        };
        match self.name {
            "heddle" => link("../lib/heddle/bin/heddle", "usr/bin/heddle"),
            "libheddle-dev" => {
                link("../lib/heddle/include/heddle.h", "usr/include/heddle.h")?;
                link("../lib/heddle/include/heddle", "usr/include/heddle")?;
                let path = folder.join(format!("usr/lib/{}-linux-gnu/pkgconfig/heddle.pc", kind.name));
                write(&path, pkg_config("/usr/lib/heddle"))
            }
            "heddle-opencl-icd" => {
                write(&folder.join("etc/OpenCL/vendors/heddle.icd"), "/usr/lib/heddle/lib/libheddle.so\n")
            }
            _ => Ok(()),
        }
    }

    fn write_documents(&self, folder: &Path) -> XtaskResult {
        let documents = folder.join("usr/share/doc").join(self.name);
        let changelog = documents.join("changelog");
        let text = format!(
            "{} ({VERSION}) unstable; urgency=medium\n\n  * Release {VERSION}; see CHANGELOG.md of the sources.\n\n \
             -- {}  Thu, 01 Jan 2026 00:00:00 +0000\n",
            self.name,
            maintainer()
        );
        write(&changelog, text)?;
        run(program("gzip", ["-9n"]).arg(&changelog))?;
        write(&documents.join("copyright"), read(&root().join("LICENSE-MIT"))? + COPYRIGHT)?;
        if self.name != "heddle" {
            return Ok(());
        }
        let licenses = documents.join("THIRD-PARTY");
        write(&licenses, third_party()?)?;
        let manual = folder.join("usr/share/man/man1/heddle.1");
        write(&manual, MANUAL)?;
        run(program("gzip", ["-9n"]).args([&licenses, &manual]))?;
        let overrides = folder.join("usr/share/lintian/overrides/heddle");
        write(
            &overrides,
            "# One library for all systems, with its own LLVM and what that needs.\nheddle: embedded-library\n",
        )
    }

    /// Sets the permissions that Debian asks for, whatever the umask is.
    fn set_modes(&self, folder: &Path) -> XtaskResult {
        for path in files_below(folder)?.into_iter().filter(|path| !path.is_symlink()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_program = name == "ptxas" || path.parent().is_some_and(|it| it.ends_with("bin"));
            let mode = if is_program { 0o755 } else { 0o644 };
            at(&path, fs::set_permissions(&path, fs::Permissions::from_mode(mode)))?;
        }
        run(program("find", ["-type", "d", "-exec", "chmod", "755", "{}", "+"]).current_dir(folder))
    }

    fn write_control(&self, kind: MachineKind, folder: &Path) -> XtaskResult {
        let bytes: u64 =
            files_below(folder)?.iter().filter_map(|it| Some(it.symlink_metadata().ok()?.len())).sum();
        let control = format!(
            "Package: {}\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: {}\n\
             Installed-Size: {}\nDepends: {}\n{}Section: {}\nPriority: optional\nDescription: {}\n {}\n",
            self.name,
            kind.debian,
            maintainer(),
            bytes.div_ceil(1024),
            self.depends.replace("${version}", VERSION),
            self.more,
            self.section,
            self.summary,
            self.description,
        );
        write(&folder.join("DEBIAN/control"), control)?;
        if self.name == "heddle-opencl-icd" {
            write(&folder.join("DEBIAN/conffiles"), "/etc/OpenCL/vendors/heddle.icd\n")?;
        }
        Ok(())
    }
}
