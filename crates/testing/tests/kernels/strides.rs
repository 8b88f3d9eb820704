//! Kernels whose launches know strides.

use heddle_testing::bounded_indices::{IndexOutcome, keeps_promises};
use heddle_testing::promise_by_strides;
use heddle_testing::strides::stride_kernel;

promise_by_strides!(heddle_transform::kernels);

#[test]
fn launches_with_known_strides_do_the_same() {
    let mut equal = 0;
    for seed in 1..2000 {
        match keeps_promises(&stride_kernel(seed), &promised) {
            Ok(outcome) => equal += u32::from(outcome == IndexOutcome::Equal),
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    assert!(equal > 1000, "{equal} kernels");
}
