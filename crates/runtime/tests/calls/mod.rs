//! What the tests that call drivers with wrong arguments share.

/// Numbers that look random and are the same each time.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// How many calls to make, and from which seed on: `HEDDLE_FUZZ_CALLS`, `HEDDLE_FUZZ_SEED`.
pub(crate) fn requested() -> (u64, u64) {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    (number("HEDDLE_FUZZ_CALLS", 60_000), number("HEDDLE_FUZZ_SEED", 1))
}

/// A few calls cannot have met all that many meet.
pub(crate) fn met_enough(calls: u64, done: u64, kinds: usize, wanted: usize) {
    assert!(
        done * 10 > calls && kinds >= wanted,
        "{done} of {calls} calls did something, {kinds} codes were given"
    );
}
