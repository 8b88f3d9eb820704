//! Partial linearization keeps at least what the other ways to fold keep.

use heddle_testing::generate::{Profile, generate};
use heddle_testing::retained::{Against, Way, retained};

const SEEDS: u64 = 2000;

#[test]
fn no_program_keeps_less_than_by_other_ways() {
    let mut sums: [Against; 4] = Default::default();
    for seed in 0..SEEDS {
        let profile = if seed % 2 == 0 { Profile::source() } else { Profile::uniform() };
        let kept =
            retained(&generate(seed, &profile)).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
        if let Some(kept) = kept {
            Against::note(&mut sums, seed, kept);
        }
    }
    for (way, against) in Way::ALL.into_iter().zip(&sums).skip(1) {
        let Against { programs, ours, other, worse } = against;
        println!("{}: {against:?}", way.name());
        assert!(u64::from(*programs) > SEEDS / 2, "{}: {programs}", way.name());
        assert!(worse.is_empty(), "less is kept than by {}: {worse:?}", way.name());
        // Karrenberg & Hack keep the same branches, but lead to more blocks.
        assert!(ours.branches >= other.branches && ours.blocks < other.blocks, "{}: {against:?}", way.name());
    }
}
