//! A planted fault is looked for in generated programs, one after the other, until one tells of it.

use std::fmt::Display;

/// A fault that takes more programs than these is better known beforehand.
const FEW: u64 = 100;

/// Fails unless some of so many programs tells of each fault. `known` has the programs that tell of those which few others tell of:
/// they are tried first. A number that the generator has left behind costs the time of a search, and no more.
pub(crate) fn all_are_caught<F: Copy, N: Display>(
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
