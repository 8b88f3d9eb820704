//! Partial linearization keeps at least as much control flow as the other methods.

use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::retained::{LinearizationMethod, MethodComparison, retained};

const SEEDS: u64 = 2000;

#[test]
fn no_program_keeps_less_than_by_other_ways() {
    let mut sums: [MethodComparison; 4] = Default::default();
    for seed in 0..SEEDS {
        let profile = if seed % 2 == 0 { GeneratorProfile::source() } else { GeneratorProfile::uniform() };
        let kept =
            retained(&generate(seed, &profile)).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
        if let Some(kept) = kept {
            MethodComparison::note(&mut sums, seed, kept);
        }
    }
    for (way, against) in LinearizationMethod::ALL.into_iter().zip(&sums).skip(1) {
        let MethodComparison { programs, ours, other, worse } = against;
        println!("{}: {against:?}", way.name());
        assert!(u64::from(*programs) > SEEDS / 2, "{}: {programs}", way.name());
        assert!(worse.is_empty(), "less is kept than by {}: {worse:?}", way.name());
        // Karrenberg & Hack keep the same branches, but lead to more blocks.
        assert!(ours.branches >= other.branches && ours.blocks < other.blocks, "{}: {against:?}", way.name());
    }
}
