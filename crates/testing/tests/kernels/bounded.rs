//! Kernels with promises about their indices.

use heddle_testing::bounded_indices::{IndexOutcome, broken_kernels, index_kernel, keeps_promises};
use heddle_testing::promise_by_ranges;

promise_by_ranges!(heddle_transform::kernels);

#[test]
fn launches_keep_what_is_promised() {
    let mut counts = [0; 4];
    for seed in 1..4000 {
        match keeps_promises(&index_kernel(seed), &promised) {
            Ok(outcome) => counts[outcome as usize] += 1,
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    let [_, broken, _, equal] = counts;
    assert_eq!(IndexOutcome::Equal as usize, 3);
    assert!(broken > 80 && equal > 2000, "{counts:?} kernels: none, broken, faulty, equal");
}

#[test]
fn launches_that_would_break_promises_are_known() {
    for kernel in broken_kernels() {
        let outcome = keeps_promises(&kernel, &promised);
        assert!(matches!(outcome, Ok(IndexOutcome::Broken | IndexOutcome::None)), "{outcome:?}: {kernel:?}");
    }
}
