//! Rules of fast versions of regions.

use heddle_faults::VERSIONS;
use heddle_faults::with_fault;
use heddle_testing::caught::all_are_caught;
use heddle_testing::lower_with_versions;
use heddle_testing::region_versions::{version_kernel, versions_hold};

lower_with_versions!(heddle_faults::transform);

#[test]
fn every_rule_is_needed() {
    all_are_caught(
        VERSIONS.iter().map(|&fault| (fault.name, fault)),
        &[("Below", 3166), ("Wrapped", 665), ("Negative", 375), ("Last", 320)],
        6000,
        |seed, fault| with_fault(fault, || versions_hold(&version_kernel(seed), &lowered).is_err()),
    );
}
