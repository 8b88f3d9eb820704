//! Nests whose levels become dimensions of a brush: a slice of those of `./x fuzz nests`.

use heddle_testing::nest_cases::{NestCounts, check_nests};
use std::time::Duration;

/// Number of nests, and the first seed.
const NESTS: u64 = 500;
const SEED: u64 = 1;
/// Percentage of nests that must become brushes, and of which each feature must be.
const LEAST_SPREAD: u64 = 95;
const LEAST_FEATURE: u64 = 3;

#[test]
fn nests_as_brushes_do_what_one_thread_does() {
    let NestCounts { nests, spread, features, finds } = check_nests(SEED, Some(NESTS), Duration::MAX, 1);
    assert_eq!((nests, &finds[..]), (NESTS, &[][..]));
    assert!(spread * 100 >= NESTS * LEAST_SPREAD, "{spread} of {NESTS} became brushes");
    let rare: Vec<_> = features.iter().filter(|feature| feature.1 * 100 < NESTS * LEAST_FEATURE).collect();
    assert!(rare.is_empty() && features.len() >= 25, "{rare:?} of {features:?}");
}
