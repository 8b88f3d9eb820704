//! Mutants that mean the same as the program, by the list `mutants/equivalent.txt`: three lines for each, and an empty
//! one. What it is, as `cargo mutants` names it, without its place in the file; the line of the source that it begins on;
//! why nothing can tell. Where several on a line have one name, `#2` behind it stands for the second.

use crate::list::{Fate, Mutant};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Identifies a mutant in the list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    file: String,
    what: String,
    line: String,
    /// Index among the mutants of this name on this line, from 1.
    number: usize,
}

/// Marks the mutants that are listed. Fails if an entry is about none that there is.
pub(crate) fn mark(list: &Path, tree: &Path, mutants: &mut [Mutant]) -> Result<(), String> {
    let tell = |error: std::io::Error| format!("{}: {error}", list.display());
    let mut entries = read(&fs::read_to_string(list).map_err(tell)?)
        .ok_or(format!("{}: an entry has three lines: what, where, why", list.display()))?;
    let mut sources: HashMap<String, Vec<String>> = HashMap::new();
    let mut order: Vec<usize> = (0..mutants.len()).collect();
    order.sort_by(|&a, &b| (&mutants[a].file, mutants[a].at).cmp(&(&mutants[b].file, mutants[b].at)));
    let mut counts: HashMap<Key, usize> = HashMap::new();
    for mutant in order {
        let mutant = &mut mutants[mutant];
        if !entries.keys().any(|key| key.file == mutant.file) {
            continue;
        }
        if !sources.contains_key(&mutant.file) {
            let text = crate::weave::original(&tree.join(&mutant.file))?;
            sources.insert(mutant.file.clone(), text.lines().map(|line| line.trim().to_string()).collect());
        }
        let line = sources[&mutant.file].get(mutant.at.0 - 1).cloned().unwrap_or_default();
        let place = format!("{}:{}:{}: ", mutant.file, mutant.at.0, mutant.at.1);
        let what = mutant.name.strip_prefix(&place).unwrap_or(&mutant.name).to_string();
        let mut key = Key { file: mutant.file.clone(), what, line, number: 0 };
        let count = counts.entry(key.clone()).or_default();
        *count += 1;
        key.number = *count;
        mutant.means_the_same = entries.remove(&key);
    }
    // Of other packages than these nobody knows.
    let is_asked = |key: &&Key| sources.contains_key(&key.file) || !tree.join(&key.file).exists();
    match entries.keys().find(is_asked) {
        Some(key) => Err(format!(
            "{}: there is no `{}: {}` on a line `{}`",
            list.display(),
            key.file,
            key.what,
            key.line
        )),
        None => Ok(()),
    }
}

/// The entries, with the reasons.
fn read(text: &str) -> Option<HashMap<Key, String>> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("# "));
    let mut entries = HashMap::new();
    while let Some(name) = lines.next() {
        let (line, why) = (lines.next()?, lines.next()?);
        let (file, what) = name.split_once(": ")?;
        let (what, number) = match what.rsplit_once(" #") {
            Some((what, number)) => (what, number.parse().ok()?),
            None => (what, 1),
        };
        let key = Key { file: file.into(), what: what.into(), line: line.into(), number };
        entries.insert(key, why.to_string());
    }
    Some(entries)
}

/// Returns listed mutants that a test kills.
pub(crate) fn noticed(mutants: &[Mutant]) -> impl Iterator<Item = &Mutant> {
    mutants.iter().filter(|mutant| {
        mutant.means_the_same.is_some() && matches!(mutant.fate, Fate::Killed(_) | Fate::Overran(_))
    })
}
