//! Rules of strides that launches know.

use heddle_faults::KNOWN_STRIDES;
use heddle_faults::with_fault;
use heddle_testing::bounded_indices::keeps_promises;
use heddle_testing::caught::all_are_caught;
use heddle_testing::promise_by_strides;
use heddle_testing::strides::stride_kernel;

promise_by_strides!(heddle_faults::transform::kernels);

#[test]
fn every_rule_is_needed() {
    all_are_caught(KNOWN_STRIDES.iter().map(|&fault| (fault.name, fault)), &[], 2000, |seed, fault| {
        with_fault(fault, || keeps_promises(&stride_kernel(seed), &promised).is_err())
    });
}
