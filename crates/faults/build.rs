//! Weaves the faults of `planted/*.txt` into copies of the sources of passes.
//!
//! A file declares its faults in lines `# Name: the rule that the fault breaks`. An edit is the path of a source file after `@`,
//! the lines that it replaces (`-`), and their replacement (`+`), in which `planted!(Name)` is the condition of a fault. The replaced
//! lines stand once in the source file; indentation does not count.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Copied source trees: path below `crates/`, and the module that holds the copy.
const TREES: [(&str, &str); 2] = [("analysis/src", "analysis"), ("transform/src", "transform")];

/// Files of the harness that name types of `analysis`, as copies that name those of the woven one.
const HARNESS: [&str; 3] = ["divergence_property", "levels_oracle", "shapes_oracle"];

/// Modules of which the original serves, so that the harness and the copy share their types.
const SHARED: [(&str, &str); 1] = [("transform/src/target.rs", "pub use heddle_transform::target::*;")];

#[derive(Debug)]
struct SourceEdit {
    old: Vec<String>,
    new: Vec<String>,
}

/// Faults and edits of all files.
#[derive(Default)]
struct PlantedFaults {
    /// Declared names, rules and numbers, by file.
    declared: BTreeMap<String, Vec<(String, String, u32)>>,
    /// Edits by path below `crates/`.
    edits: BTreeMap<String, Vec<SourceEdit>>,
    /// Number of the last fault.
    last: u32,
}

fn main() {
    if let Err(error) = weave() {
        eprintln!("heddle-faults: {error}");
        std::process::exit(1);
    }
}

fn weave() -> Result<(), String> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no output folder")?);
    let crates = here.parent().ok_or("the package lies in `crates`")?;
    let mut faults = PlantedFaults::default();
    for path in files_below(&here.join("planted"), "txt")? {
        faults.read(&path)?;
    }
    let woven = out.join("woven");
    if woven.exists() {
        fs::remove_dir_all(&woven).map_err(|error| error.to_string())?;
    }
    let mut root = String::new();
    for (tree, module) in TREES {
        for path in files_below(&crates.join(tree), "rs")? {
            let name = path.strip_prefix(crates).map_err(|error| error.to_string())?;
            let name = name.to_string_lossy().replace('\\', "/");
            let text = match SHARED.iter().find(|(shared, _)| *shared == name) {
                Some((_, text)) => (*text).into(),
                None => faults.apply(&name, &read(&path)?)?,
            };
            let text = in_module(&text, module)
                .replace(&format!("crate::{module}::is_planted"), "crate::is_planted")
                .replace("#[cfg(test)]", "#[cfg(any())]");
            write(&woven.join(&name), &text)?;
        }
        write_module(&mut root, module, &woven.join(tree).join("lib.rs"));
    }
    root += &faults.constants();
    if let Some(path) = faults.edits.keys().next() {
        return Err(format!("planted faults name {path}, which is no source file of the copies"));
    }
    write(&out.join("woven.rs"), &root)?;
    let mut root = String::new();
    for file in HARNESS {
        let text = read(&crates.join(format!("testing/src/{file}.rs")))?
            .replace("heddle_analysis::", "heddle_faults::analysis::");
        let mut text = replace_paths(&text, "crate::", "heddle_testing::");
        for other in HARNESS {
            text = text.replace(&format!("heddle_testing::{other}"), &format!("crate::harness::{other}"));
        }
        let path = woven.join(format!("{file}.rs"));
        write(&path, &text)?;
        write_module(&mut root, file, &path);
    }
    write(&out.join("harness.rs"), &root)?;
    println!("cargo::rerun-if-changed=planted");
    println!("cargo::rerun-if-changed=build.rs");
    for (tree, _) in TREES {
        println!("cargo::rerun-if-changed={}", crates.join(tree).display());
    }
    for file in HARNESS {
        println!("cargo::rerun-if-changed={}", crates.join(format!("testing/src/{file}.rs")).display());
    }
    Ok(())
}

impl PlantedFaults {
    fn read(&mut self, path: &Path) -> Result<(), String> {
        let text = read(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_uppercase().replace('-', "_");
        let fails = |number: usize, what: &str| Err(format!("{}:{}: {what}", path.display(), number + 1));
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut declared = Vec::new();
        let (mut source, mut edits): (_, Vec<SourceEdit>) = (None, Vec::new());
        let mut used: Vec<String> = Vec::new();
        let mut is_open = false;
        for (number, line) in text.lines().enumerate() {
            let (mark, rest) = (line.chars().next(), line.get(1..).unwrap_or("").trim());
            match mark {
                Some('#') => {
                    let Some((fault, rule)) = rest.split_once(": ") else {
                        return fails(number, "no `Name: rule`");
                    };
                    self.last += 1;
                    numbers.insert(fault.into(), self.last);
                    declared.push((fault.to_string(), rule.to_string(), self.last));
                }
                Some('@') => {
                    if let Some(source) = source.replace(rest.to_string()) {
                        self.edits.entry(source).or_default().append(&mut edits);
                    }
                    is_open = false;
                }
                Some('-') => {
                    if !is_open {
                        edits.push(SourceEdit { old: Vec::new(), new: Vec::new() });
                    }
                    is_open = true;
                    edits.last_mut().ok_or("no edit")?.old.push(rest.into());
                }
                Some('+') => {
                    let mut line = rest.to_string();
                    while let Some(at) = line.find("planted!(") {
                        let end = at + line[at..].find(')').ok_or("no `)`")?;
                        let fault = &line[at + "planted!(".len()..end];
                        let Some(chosen) = numbers.get(fault) else { return fails(number, "unknown fault") };
                        used.push(fault.into());
                        line.replace_range(at..=end, &format!("crate::is_planted({chosen})"));
                    }
                    is_open = false;
                    let Some(edit) = edits.last_mut() else { return fails(number, "`+` without `-`") };
                    edit.new.push(line);
                }
                None => is_open = false,
                Some(_) => return fails(number, "unknown mark; `#`, `@`, `-` and `+` are known"),
            }
        }
        if let Some(source) = source {
            self.edits.entry(source).or_default().append(&mut edits);
        }
        if let Some((fault, ..)) = declared.iter().find(|(fault, ..)| !used.contains(fault)) {
            return Err(format!("{}: no edit plants {fault}", path.display()));
        }
        self.declared.insert(name, declared);
        Ok(())
    }

    /// Applies the edits of a source file, and forgets them.
    fn apply(&mut self, name: &str, text: &str) -> Result<String, String> {
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        for edit in self.edits.remove(name).unwrap_or_default() {
            let matches = |at: &usize| {
                let window = lines[*at..].iter().map(|line| line.trim());
                at + edit.old.len() <= lines.len() && window.zip(&edit.old).all(|(line, old)| line == old)
            };
            let found: Vec<usize> = (0..lines.len()).filter(matches).collect();
            let &[at] = &found[..] else {
                return Err(format!(
                    "{name}: {} places have the lines of a planted fault:\n{}",
                    found.len(),
                    edit.old.join("\n")
                ));
            };
            // The lines of one edit stay one entry, which no other edit matches.
            lines.splice(at..at + edit.old.len(), [edit.new.join("\n")]);
        }
        Ok(lines.join("\n") + "\n")
    }

    /// Tables of the faults, one for each file.
    fn constants(&self) -> String {
        let mut text = String::new();
        for (file, faults) in &self.declared {
            let _ = writeln!(
                text,
                "/// Faults of the file of this name in `planted`.\npub const {file}: &[PlantedFault] = &["
            );
            for (name, rule, number) in faults {
                let _ = writeln!(
                    text,
                    "    PlantedFault {{ name: {name:?}, rule: {rule:?}, number: {number} }},"
                );
            }
            text += "];\n";
        }
        text
    }
}

/// The text of a crate's file as a file of a module.
fn in_module(text: &str, module: &str) -> String {
    replace_paths(text, "crate::", &format!("crate::{module}::"))
}

/// Replaces the head of paths, where no longer name ends in it.
fn replace_paths(text: &str, head: &str, new: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(head) {
        let (before, after) = rest.split_at(at);
        let is_longer = before.chars().next_back().is_some_and(|it| it.is_alphanumeric() || it == '_');
        result += before;
        result += if is_longer { head } else { new };
        rest = &after[head.len()..];
    }
    result + rest
}

fn write_module(root: &mut String, name: &str, path: &Path) {
    let _ = writeln!(root, "#[allow(warnings, clippy::all)]\n#[path = {path:?}]\npub mod {name};");
}

/// The files below a folder with an extension, in order.
fn files_below(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut work) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = work.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                work.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}
