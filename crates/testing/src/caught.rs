//! Searches generated programs for one that shows a planted fault.

use std::fmt::Display;

/// A fault that takes more programs than these is better known beforehand.
const FEW: u64 = 100;

/// Fails unless one of `most_programs` programs shows each fault. `known` lists programs for rare faults, which are tried first. An
/// entry outdated by a change of the generator costs the time of a search, and no more.
pub fn all_are_caught<F: Copy, N: Display>(
    faults: impl IntoIterator<Item = (N, F)>,
    known: &[(&str, u64)],
    most_programs: u64,
    is_wrong: impl Fn(u64, F) -> bool,
) {
    let mut missed = Vec::new();
    for (name, fault) in faults {
        let name = name.to_string();
        let first = known.iter().filter(|(of, _)| *of == name).map(|&(_, seed)| seed);
        match first.chain(0..most_programs).find(|&seed| is_wrong(seed, fault)) {
            Some(seed) if seed > FEW && known.iter().all(|&(of, it)| (of, it) != (&*name, seed)) => {
                println!("{name}: caught by program {seed}, which is worth knowing");
            }
            Some(seed) => println!("{name}: caught by program {seed}"),
            None => missed.push(name),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
