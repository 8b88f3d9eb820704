//! Partial linearization keeps at least what the other ways to fold keep.
#![forbid(unsafe_code)]

use heddle_testing::generate::{Profile, generate};
use heddle_testing::retained::{Retained, Way, retained};

const SEEDS: u64 = 2000;

#[test]
fn no_program_keeps_less_than_by_other_ways() {
    let mut sums = [Retained::default(); 4];
    let mut worse: Vec<(Way, u64)> = Vec::new();
    let mut programs = 0;
    for seed in 0..SEEDS {
        let profile = if seed % 2 == 0 { Profile::source() } else { Profile::uniform() };
        let all =
            retained(&generate(seed, &profile)).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
        let Some(all) = all else { continue };
        programs += 1;
        for (way, (sum, other)) in Way::ALL.into_iter().zip(sums.iter_mut().zip(all)) {
            sum.add(other);
            if all[0].is_worse(other) {
                worse.push((way, seed));
            }
        }
    }
    println!("{programs} programs: {sums:?}; worse: {worse:?}");
    assert!(programs > SEEDS / 2);
    assert!(worse.is_empty(), "{worse:?}");
    assert!(sums[1..].iter().all(|sum| sums[0].branches > sum.branches), "{sums:?}");
    assert!(sums[1..3].iter().all(|sum| sums[0].blocks < sum.blocks), "{sums:?}");
}
