//! Generated programs, linearized: all branches that may diverge, and some more.

use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::linear::{LinearizeCounts, linearizes};

fn linearize_all(profile: &GeneratorProfile, count: u64) -> (LinearizeCounts, u64) {
    let mut sum = LinearizeCounts::default();
    let mut entirely = 0;
    for seed in 0..count {
        match linearizes(&generate(seed, profile)) {
            Ok(done) => {
                sum.add(&done);
                entirely += u64::from(done.functions[0] > 0 && done.functions[1] == 0);
            }
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    // A count of programs means nothing without what they covered.
    println!("{sum:?}, {entirely} programs of {count} entirely");
    (sum, entirely)
}

#[test]
fn programs_with_uniform_loops_refine_their_sources() {
    let (sum, entirely) = linearize_all(&GeneratorProfile::uniform(), 1500);
    assert!(entirely > 1200);
    assert!(sum.branches[0] > 2000 && sum.branches[1] > 1000 && sum.selects > 2000);
    assert!(sum.guards > 20 && sum.loops > 100 && sum.empty_steps > 1000);
}

#[test]
fn programs_with_loops_made_uniform_refine_their_sources() {
    let (sum, entirely) = linearize_all(&GeneratorProfile::source(), 800);
    assert!(entirely > 700);
    assert!(sum.branches[0] > 5000 && sum.branches[1] > 1000 && sum.selects > 5000);
    assert!(sum.loops > 1000 && sum.empty_steps > 5000);
}
