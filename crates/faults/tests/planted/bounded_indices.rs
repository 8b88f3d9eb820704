//! Rules of promises about indices.

use heddle_faults::BOUNDED_INDICES;
use heddle_faults::with_fault;
use heddle_testing::bounded_indices::{broken_kernels, index_kernel, keeps_promises};
use heddle_testing::caught::all_are_caught;
use heddle_testing::promise_by_ranges;

/// Maximum number of kernels until a fault must show.
const MOST_PROGRAMS: u64 = 20_000;

promise_by_ranges!(heddle_faults::transform::kernels);

#[test]
fn every_rule_is_needed() {
    let broken = broken_kernels();
    all_are_caught(
        BOUNDED_INDICES.iter().map(|&fault| (fault.name, fault)),
        &[],
        MOST_PROGRAMS,
        |seed, fault| {
            with_fault(fault, || {
                let of_seed = || keeps_promises(&index_kernel(seed), &promised).is_err();
                broken.get(seed as usize).is_some_and(|kernel| keeps_promises(kernel, &promised).is_err())
                    || of_seed()
            })
        },
    );
}
