//! Scalar replacement: generated programs cover it.

use heddle_testing::generate::generate;
use heddle_testing::scalars::{ReplacementCounts, profile, replaces};

#[test]
fn generated_programs_cover_it() {
    let mut all = ReplacementCounts::default();
    for seed in 0..150 {
        let case = generate(seed, &profile());
        all.add(&replaces(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}")));
    }
    println!("{all:?}");
    let found = all.all;
    assert!(all.changed * 2 > all.programs, "{all:?}");
    assert!(found.loads > 300 && found.inserted > 80 && found.hoisted > 300 && found.phis > 25, "{all:?}");
}
