//! Equivalent mutants, listed in `mutants/equivalent.txt`. An entry has three lines and an empty one: the mutant's name
//! from `cargo mutants` without its position, the source line on which it begins, and the reason why it is equivalent.
//! Where several mutants of a line have the same name, `#2` after it denotes the second.

use crate::list::{Mutant, MutantOutcome};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Identifies a mutant in the list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct EquivalentKey {
    file: String,
    what: String,
    line: String,
    /// Index among the mutants of this name on this line, from 1.
    number: usize,
}

/// Marks the listed mutants. Fails if an entry matches no mutant.
pub(crate) fn mark(list: &Path, tree: &Path, mutants: &mut [Mutant]) -> Result<(), String> {
    let tell = |error: std::io::Error| format!("{}: {error}", list.display());
    let mut entries = read(&fs::read_to_string(list).map_err(tell)?)
        .ok_or(format!("{}: an entry has three lines: what, where, why", list.display()))?;
    let mut sources: HashMap<String, Vec<String>> = HashMap::new();
    let mut order: Vec<usize> = (0..mutants.len()).collect();
    order.sort_by(|&a, &b| (&mutants[a].file, mutants[a].at).cmp(&(&mutants[b].file, mutants[b].at)));
    let mut counts: HashMap<EquivalentKey, usize> = HashMap::new();
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
        let mut key = EquivalentKey { file: mutant.file.clone(), what, line, number: 0 };
        let count = counts.entry(key.clone()).or_default();
        *count += 1;
        key.number = *count;
        mutant.means_the_same = entries.remove(&key);
    }
    // Entries of other packages cannot be checked.
    let is_requested = |key: &&EquivalentKey| sources.contains_key(&key.file) || !tree.join(&key.file).exists();
    match entries.keys().find(is_requested) {
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
fn read(text: &str) -> Option<HashMap<EquivalentKey, String>> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("# "));
    let mut entries = HashMap::new();
    while let Some(name) = lines.next() {
        let (line, why) = (lines.next()?, lines.next()?);
        let (file, what) = name.split_once(": ")?;
        let (what, number) = match what.rsplit_once(" #") {
            Some((what, number)) => (what, number.parse().ok()?),
            None => (what, 1),
        };
        let key = EquivalentKey { file: file.into(), what: what.into(), line: line.into(), number };
        entries.insert(key, why.to_string());
    }
    Some(entries)
}

/// Returns listed mutants that a test kills.
pub(crate) fn noticed(mutants: &[Mutant]) -> impl Iterator<Item = &Mutant> {
    mutants.iter().filter(|mutant| {
        mutant.means_the_same.is_some()
            && matches!(mutant.outcome, MutantOutcome::Killed(_) | MutantOutcome::Overran(_))
    })
}
