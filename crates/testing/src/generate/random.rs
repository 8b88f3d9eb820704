//! A small deterministic random number generator: a seed gives the same numbers on every machine.

/// SplitMix64: one addition and a few multiplications a number, any seed is a good one.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    /// Where in the sequence numbers are drawn once more, if they are.
    again: Option<u64>,
}

/// In a replay, one in this many numbers is changed.
const NOISE: u64 = 12;

impl Random {
    /// The sequence of this seed.
    pub const fn new(seed: u64) -> Random {
        Random { state: seed, again: None }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        let new = step(&mut self.state);
        let Some(again) = &mut self.again else { return new };
        let old = step(again);
        if new.is_multiple_of(NOISE) { new } else { old }
    }

    /// True in `percent` of 100 cases, whatever was drawn before.
    pub fn new_chance(&mut self, percent: u32) -> bool {
        step(&mut self.state) % 100 < percent.into()
    }

    /// Position in the sequence.
    pub fn place(&self) -> u64 {
        self.again.unwrap_or(self.state)
    }

    /// Replays the numbers from a position on, with few changes; returns the former position, to which a second call
    /// returns.
    pub fn draw_again(&mut self, from: Option<u64>) -> Option<u64> {
        std::mem::replace(&mut self.again, from)
    }

    /// The next 128 bits.
    pub fn wide_bits(&mut self) -> u128 {
        u128::from(self.bits()) << 64 | u128::from(self.bits())
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Returns a number in `low..=high`; the full range gives any number.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below((high - low) as usize + 1) as u32
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// One of the items, which are not none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Returns an item, with probabilities proportional to the weights, which are not all 0.
    pub fn weighted<T: Copy>(&mut self, items: &[(T, u32)]) -> T {
        let total: u32 = items.iter().map(|&(_, weight)| weight).sum();
        let mut at = self.below(total as usize) as u32;
        for &(item, weight) in items {
            if at < weight {
                return item;
            }
            at -= weight;
        }
        unreachable!("the draw is below the sum of the weights")
    }
}

fn step(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
