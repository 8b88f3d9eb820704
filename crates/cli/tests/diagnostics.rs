//! What the command says of programs that are wrong or refused, as a newcomer meets it.
//!
//! The first line of each file of `tests/diagnostics` is a command; the file ends in its output and exit code:
//!
//! ```text
//! // heddle vectorize FILE --func f -o OUT/f.o
//! …
//! // output
//! // error: typo.c:3:10: …
//! ```
//!
//! `FILE` is the file itself, `OUT` a folder that goes. Of `analyze`, and with `--dump-each`, the standard output comes first. `HEDDLE_BLESS=1` rewrites what stands after `output`.
#![cfg(target_arch = "x86_64")]
#![forbid(unsafe_code)]

mod common;

use common::Folder;
use heddle_ir::Code;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/diagnostics")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("the folder can be listed");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// What begins a line of comment in a file.
fn comment(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("hed" | "ll") => ";",
        _ => "//",
    }
}

/// Removes what differs between machines from the output: LLVM's patch version and the test's folder.
fn settled(text: &str, out: &Path) -> String {
    let text = text.replace(&out.display().to_string(), "OUT");
    let mut parts = text.split("22.1.");
    let mut settled = parts.next().unwrap_or_default().to_string();
    for part in parts {
        settled.push_str("22.1.X");
        settled.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    settled
}

/// What a file's command says, line by line.
fn printed(path: &Path, command: &str, out: &Path) -> Vec<String> {
    let name = path.file_name().expect("a file").to_string_lossy();
    let words = command.split_whitespace().map(|word| match word {
        "FILE" => name.to_string(),
        _ => word.replace("OUT", &out.display().to_string()),
    });
    let mut heddle = Command::new(env!("CARGO_BIN_EXE_heddle"));
    heddle.current_dir(folder()).env("HEDDLE_CACHE", out.join("cache")).args(words);
    let output = heddle.output().expect("heddle runs");
    // Analyses and stages are on the standard output.
    let is_shown = command.starts_with("analyze") || command.contains("--dump-each");
    let shown = if is_shown { String::from_utf8_lossy(&output.stdout) } else { "".into() };
    let text = settled(&format!("{shown}{}", String::from_utf8_lossy(&output.stderr)), out);
    let code = output.status.code().map_or("none".into(), |code| code.to_string());
    text.lines().map(String::from).chain([format!("exit code {code}")]).collect()
}

fn check(path: &Path, bless: bool, message: &mut BTreeSet<String>) -> Option<String> {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let mark = comment(path);
    let command =
        text.lines().next().and_then(|line| line.strip_prefix(mark)?.trim().strip_prefix("heddle "));
    let Some(command) = command else {
        return Some(format!("{}: the first line runs nothing", path.display()));
    };
    let name = path.file_name().expect("a file").to_string_lossy();
    let out = Folder::new(&format!("diagnostics-{name}"));
    let printed = printed(path, command, &out.0);
    for line in &printed {
        message.extend(
            Code::ALL
                .iter()
                .map(|code| code.name())
                .filter(|code| line.contains(&format!("[{code}]")))
                .map(String::from),
        );
    }
    let begin = format!("{mark} output\n");
    let (before, after) = match text.find(&begin) {
        Some(at) => (&text[..at], &text[at + begin.len()..]),
        None => (&text[..], ""),
    };
    let golden: String =
        printed.iter().map(|line| format!("{}\n", format!("{mark} {line}").trim_end())).collect();
    if golden == after {
        return None;
    }
    if bless {
        let separator = if before.ends_with("\n\n") { "" } else { "\n" };
        std::fs::write(path, format!("{before}{separator}{begin}{golden}")).expect("the file can be written");
        return None;
    }
    Some(format!("{}:\nexpected\n{after}found\n{golden}", path.display()))
}

/// Codes that no program can cause through the command, with the test that checks each.
const ELSEWHERE: &[(Code, &str)] = &[
    (Code::Launch, "crates/capi/tests/wrong_calls.c"),
    (Code::Cancelled, "crates/capi/tests/wrong_calls.c"),
];
/// A mistake in Heddle; what is known of them is mended.
const OF_NO_PROGRAM: Code = Code::Internal;
/// Code of remarks on kernels, which `tests/clc` shows.
const OF_KERNELS: Code = Code::PrivateArray;

#[test]
fn each_file_has_its_output_and_each_code_a_file() {
    let bless = std::env::var_os("HEDDLE_BLESS").is_some();
    let mut message = BTreeSet::new();
    let wrong: Vec<String> = files().iter().filter_map(|path| check(path, bless, &mut message)).collect();
    assert!(wrong.is_empty(), "{}(HEDDLE_BLESS=1 rewrites the output)", wrong.join("\n"));
    for (code, file) in ELSEWHERE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        if text.contains(&format!("\"[{code}]\"")) {
            message.insert(code.name().into());
        }
    }
    let missing: Vec<&str> = Code::ALL
        .iter()
        .filter(|&&code| code != OF_NO_PROGRAM && code != OF_KERNELS && !message.contains(code.name()))
        .map(|code| code.name())
        .collect();
    assert!(missing.is_empty(), "no file of tests/diagnostics shows {missing:?}");
}

#[test]
fn another_text_is_noticed() {
    let folder = Folder::new("diagnostics-wrong");
    let path = folder.0.join("wrong.hed");
    std::fs::write(&path, "; heddle opt FILE -p dce\n; output\n; exit code 0\n").expect("a file");
    assert!(check(&path, false, &mut BTreeSet::new()).is_some());
    std::fs::write(&path, "; nothing\n").expect("a file");
    assert!(check(&path, false, &mut BTreeSet::new()).is_some());
}
