//! The archive, and a release: all packages with checksums, components and notes.

use crate::machine::MachineKind;
use crate::run::{
    VERSION, XtaskResult, at, copy, fresh, packages, printed, program, read, root, run, target, write,
};
use crate::tree::write_tree;
use crate::{deb, wheel};
use std::fs;
use std::path::{Path, PathBuf};

/// Builds the libraries and writes an archive that runs from any folder; returns its path.
pub(crate) fn archive(kind: MachineKind) -> XtaskResult<PathBuf> {
    kind.build()?;
    let name = format!("heddle-{VERSION}-{}-linux", kind.name);
    let folder = target().join("archive").join(&name);
    fresh(&folder)?;
    write_tree(kind, &folder)?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root().join(file), &folder.join(file))?;
    }
    check_archive(kind, &folder)?;
    at(&packages(), fs::create_dir_all(packages()))?;
    let path = packages().join(format!("{name}.tar.xz"));
    let options = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "-cJf"];
    // Most of it is machine code, of which higher levels save little for their time.
    run(program("tar", options)
        .env("XZ_OPT", "-3 -T0")
        .arg(&path)
        .arg("-C")
        .arg(target().join("archive"))
        .arg(&name))?;
    Ok(path)
}

/// Builds a program with the tree in the archive's folder, and runs it, emulated if it is for another machine.
fn check_archive(kind: MachineKind, folder: &Path) -> XtaskResult {
    let test = target().join("archive/vector_add");
    let mut cc = program(kind.tool("cc"), ["-O1"]);
    cc.arg(root().join("tests/packages/vector_add.c")).arg("-I").arg(folder.join("include"));
    let lib = folder.join("lib");
    cc.arg("-L").arg(&lib).arg(format!("-Wl,-rpath,{}", lib.display())).arg("-lheddle");
    run(cc.arg("-o").arg(&test))?;
    let cache = target().join("archive/cache");
    let mut command = kind.command(&test);
    run(command.env("HEDDLE_CACHE_DIR", cache))?;
    run(kind.command(&folder.join("bin/heddle")).arg("--version"))
}

/// Makes all packages, `SHA256SUMS`, `heddle-sbom.json` and `RELEASE-NOTES.md`.
pub(crate) fn make(kind: MachineKind) -> XtaskResult {
    fresh(&packages())?;
    wheel::make(kind)?;
    archive(kind)?;
    deb::make(kind)?;
    write(&packages().join("RELEASE-NOTES.md"), notes(&read(&root().join("CHANGELOG.md"))?)?)?;
    write(&packages().join("heddle-sbom.json"), components()?)?;
    let mut names: Vec<String> = Vec::new();
    for entry in at(&packages(), fs::read_dir(packages()))? {
        names.push(at(&packages(), entry)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let sums = printed(program("sha256sum", &names).current_dir(packages()))?;
    write(&packages().join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    Ok(())
}

/// Returns the section of the changelog about this version.
fn notes(changelog: &str) -> XtaskResult<String> {
    let head = format!("\n## {VERSION}\n");
    let (_, rest) =
        changelog.split_once(&head).ok_or_else(|| format!("CHANGELOG.md has no section {VERSION}"))?;
    let text = rest.split("\n## ").next().unwrap_or(rest);
    Ok(format!("# Heddle {VERSION}\n{text}"))
}

/// Debian packages whose archives are linked into the library, by their names there.
const LINKED: [&str; 5] = ["llvm-22-dev", "libclang-22-dev", "zlib1g-dev", "libzstd-dev", "libstdc++-12-dev"];

/// Returns the components of the library in CycloneDX's format: crates, and what is linked from Debian.
fn components() -> XtaskResult<String> {
    let packages = crate::tree::PACKAGES;
    let mut cargo =
        program("cargo", ["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}|{l}"]);
    packages.iter().for_each(|package| _ = cargo.args(["--package", package]));
    let mut lines: Vec<String> = printed(cargo.current_dir(root()))?.lines().map(str::to_string).collect();
    lines.sort();
    lines.dedup();
    let mut entries: Vec<String> = Vec::new();
    for line in lines {
        let (package, license) = line.trim_end_matches(" (*)").split_once('|').unwrap_or((&line, ""));
        let mut words = package.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !name.is_empty() {
            entries.push(component(name, version.trim_start_matches('v'), "cargo", license));
        }
    }
    entries.dedup();
    for package in LINKED {
        let version = printed(&mut program("dpkg-query", ["--show", "--showformat=${Version}", package]))?;
        entries.push(component(package, &version, "deb/debian", ""));
    }
    let list = entries.join(",\n");
    Ok(format!(
        "{{\"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.6\", \"version\": 1,\n\
         \"metadata\": {{\"component\": {{\"type\": \"library\", \"name\": \"heddle\", \"version\": \"{VERSION}\"}}}},\n\
         \"components\": [\n{list}\n]}}\n"
    ))
}

fn component(name: &str, version: &str, registry: &str, license: &str) -> String {
    let license = match license.trim_end_matches(" (*)") {
        "" => String::new(),
        text => format!(", \"licenses\": [{{\"expression\": \"{}\"}}]", text.replace('/', " OR ")),
    };
    format!(
        "{{\"type\": \"library\", \"name\": \"{name}\", \"version\": \"{version}\", \
         \"purl\": \"pkg:{registry}/{name}@{version}\"{license}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::{component, notes};
    use crate::run::VERSION;

    #[test]
    fn notes_are_one_section() {
        let text =
            format!("# Changelog\n\n## Unreleased\n\n* new\n\n## {VERSION}\n\n* this\n\n## 0.0.1\n\n* old\n");
        assert_eq!(notes(&text), Ok(format!("# Heddle {VERSION}\n\n* this\n")));
        assert!(notes("# Changelog\n").is_err());
    }

    #[test]
    fn components_have_expressions_as_licenses() {
        let shown = component("a", "1.0", "cargo", "MIT/Apache-2.0");
        assert!(shown.contains("pkg:cargo/a@1.0") && shown.contains("MIT OR Apache-2.0"), "{shown}");
    }
}
