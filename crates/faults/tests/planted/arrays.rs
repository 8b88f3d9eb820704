//! Rules of the lowering of private arrays.

use crate::{fault, transform_test};
use heddle_faults::PRIVATE_ARRAYS;
use heddle_faults::transform::private_arrays::lower_private_arrays;
use heddle_faults::with_fault;
use heddle_ir::{Function, Module};
use heddle_testing::arrays::{lowers_by, profile};
use heddle_testing::caught::all_are_caught;
use heddle_testing::file_test::{RunPasses, failures_with_passes};
use heddle_testing::generate::generate;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum number of programs until a fault must show.
const MOST_PROGRAMS: u64 = 5000;

/// Rules that generated programs rarely need, or never, since they store no poison to arrays of several sizes: each with the file
/// whose runs do.
const RARE: &[(&str, &str, RunPasses)] = &[
    ("Freeze", "arrays-union-uninitialized.hed", |module, _| without(module, "Freeze")),
    ("SeveralArrays", "arrays-two.hed", |module, _| without(module, "SeveralArrays")),
    ("Overlap", "arrays-overlap.hed", |module, _| without(module, "Overlap")),
];

/// Programs that show a fault.
const KNOWN: &[(&str, u64)] =
    &[("Alignment", 177), ("Position", 1266), ("Neighbours", 1887), ("Joins", 1664), ("Fills", 220)];

fn without(module: &mut Module, rule: &str) -> Result<(), String> {
    with_fault(fault(PRIVATE_ARRAYS, rule), || {
        module.functions.iter_mut().for_each(|func| _ = lower_private_arrays(func));
    });
    Ok(())
}

#[test]
fn every_rule_is_needed() {
    for (rule, file, fault) in RARE {
        let failures = failures_with_passes(&transform_test(file), *fault).expect("the file is there");
        assert!(!failures.is_empty(), "{file} does not catch {rule}");
    }
    let frequent = PRIVATE_ARRAYS.iter().filter(|fault| RARE.iter().all(|(rare, ..)| *rare != fault.name));
    all_are_caught(frequent.map(|&fault| (fault.name, fault)), KNOWN, MOST_PROGRAMS, |seed, fault| {
        let pass = |func: &mut Function| with_fault(fault, || lower_private_arrays(func));
        let case = generate(seed, &profile());
        !matches!(catch_unwind(AssertUnwindSafe(|| lowers_by(&case, &pass))), Ok(Ok(_)))
    });
}
