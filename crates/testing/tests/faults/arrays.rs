//! Rules of the lowering of private arrays left out, one at a time: each is caught. And what generated programs cover of it.

use crate::caught::all_are_caught;
use heddle_ir::{Function, Module};
use heddle_testing::arrays::{ArrayCounts, lowers, lowers_by, profile, widens};
use heddle_testing::file_test::{RunPasses, failures_with_passes};
use heddle_testing::generate::generate;
use heddle_transform::ArrayRule;
use heddle_transform::private_arrays::lower_private_arrays_without;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Maximum number of programs until a fault must show.
const MOST_PROGRAMS: u64 = 5000;

/// Rules that generated programs rarely need, or never, since they store no poison to arrays of several sizes: each with the file
/// whose runs do.
const RARE: &[(ArrayRule, &str, RunPasses)] = &[
    (ArrayRule::Freeze, "arrays-union-uninitialized.hed", |module, _| without(module, ArrayRule::Freeze)),
    (ArrayRule::SeveralArrays, "arrays-two.hed", |module, _| without(module, ArrayRule::SeveralArrays)),
    (ArrayRule::Overlap, "arrays-overlap.hed", |module, _| without(module, ArrayRule::Overlap)),
];

/// Programs that show a fault.
const KNOWN: &[(&str, u64)] =
    &[("Alignment", 177), ("Position", 1266), ("Neighbours", 1887), ("Joins", 1664), ("Fills", 220)];

fn without(module: &mut Module, rule: ArrayRule) -> Result<(), String> {
    module.functions.iter_mut().for_each(|func| _ = lower_private_arrays_without(func, Some(rule)));
    Ok(())
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transform").join(name)
}

#[test]
fn every_rule_is_needed() {
    for (rule, file, fault) in RARE {
        let failures = failures_with_passes(&path(file), *fault).expect("the file is there");
        assert!(!failures.is_empty(), "{file} does not catch {rule:?}");
    }
    let is_rare = |rule: ArrayRule| RARE.iter().any(|&(rare, ..)| rare == rule);
    let rules = ArrayRule::ALL.into_iter().filter(|&rule| !is_rare(rule));
    all_are_caught(rules.map(|rule| (format!("{rule:?}"), rule)), KNOWN, MOST_PROGRAMS, |seed, rule| {
        let pass = |func: &mut Function| lower_private_arrays_without(func, Some(rule));
        let case = generate(seed, &profile());
        !matches!(catch_unwind(AssertUnwindSafe(|| lowers_by(&case, &pass))), Ok(Ok(_)))
    });
}

#[test]
fn programs_with_lowered_arrays_refine_their_sources() {
    let mut all = ArrayCounts::default();
    for seed in 0..3000 {
        let case = generate(seed, &profile());
        all.add(&lowers(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}")));
    }
    println!("{all:?}");
    assert!(all.changed * 4 > all.programs, "{all:?}");
    assert!(all.promoted > 300 && all.transfers[1] * 10 < all.transfers[0] * 9, "{all:?}");
}

#[test]
fn programs_with_lowered_arrays_are_widened() {
    for seed in 0..300 {
        let case = generate(seed, &profile());
        widens(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
    }
}
