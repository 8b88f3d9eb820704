//! Rules of second forms of kernels.

use heddle_faults::DIVIDED;
use heddle_faults::with_fault;
use heddle_testing::caught::all_are_caught;
use heddle_testing::divide_by_forms;
use heddle_testing::divided::{clamping_kernel, cuts_at_guards, divides_by, dividing_kernel, guarded_kernel};
use heddle_testing::grid_iterations::{grid_kernel, spreads_iterations};

/// Maximum number of kernels until a fault must show.
const MOST_PROGRAMS: u64 = 8000;

divide_by_forms!(heddle_faults::transform::kernels);

#[test]
fn every_rule_is_needed() {
    all_are_caught(DIVIDED.iter().map(|&fault| (fault.name, fault)), &[], MOST_PROGRAMS, |seed, fault| {
        with_fault(fault, || {
            divides_by(&dividing_kernel(seed), &forms).is_err()
                || cuts_at_guards(&guarded_kernel(seed), &forms).is_err()
                || cuts_at_guards(&clamping_kernel(seed), &forms).is_err()
                || spreads_iterations(&grid_kernel(seed), &forms).is_err()
        })
    });
}
