//! Lowering of private arrays: generated programs cover it and refine their sources.

use heddle_testing::arrays::{ArrayCounts, lowers, profile, widens};
use heddle_testing::generate::generate;

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
