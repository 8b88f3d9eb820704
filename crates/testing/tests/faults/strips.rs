//! Strip-mining: what generated programs cover of it.

use heddle_testing::generate::generate;
use heddle_testing::strips::{StripCounts, profile, strips, widens};

#[test]
fn programs_with_strips_refine_their_sources() {
    let mut all = StripCounts::default();
    for seed in 0..2000 {
        let case = generate(seed, &profile());
        all.add(&strips(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}")));
    }
    println!("{all:?}");
    assert!(all.changed * 8 > all.programs, "{all:?}");
}

#[test]
fn programs_with_strips_are_widened() {
    for seed in 0..300 {
        let case = generate(seed, &profile());
        widens(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
    }
}
