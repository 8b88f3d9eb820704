//! Regions with fast versions.

use heddle_testing::lower_with_versions;
use heddle_testing::region_versions::{version_kernel, versions_hold};

lower_with_versions!(heddle_transform);

#[test]
fn launches_in_versions_do_the_same() {
    let mut versions = 0;
    for seed in 0..3000 {
        match versions_hold(&version_kernel(seed), &lowered) {
            Ok(has_version) => versions += u32::from(has_version),
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    assert!(versions > 1500, "{versions} kernels");
}
