//! XORWOW: Marsaglia, "Xorshift RNGs", JSS 2003, with a seed and jumps between sequences.

use crate::sequences::Recurrence;
use std::sync::OnceLock;

/// Words of the state without the counter.
const WORDS: usize = 5;
/// Sequences that outputs are dealt to.
const SEQUENCES: usize = 4096;
/// Increment of the counter.
const STEP: u32 = 362_437;
/// Steps between sequences, as a power of two. The counter returns to its value after them.
const SEQUENCE_BITS: usize = 67;

type State = [u32; WORDS];

/// Linear map of the states' bits: the image of each.
#[derive(Clone)]
struct BitMatrix(Vec<State>);

impl BitMatrix {
    /// Returns the map of one step.
    fn step() -> BitMatrix {
        let bit = |bit: usize| {
            let mut state = [0; WORDS];
            state[bit / 32] = 1 << (bit % 32);
            step(state)
        };
        BitMatrix((0..32 * WORDS).map(bit).collect())
    }

    fn apply(&self, state: State) -> State {
        let mut image = [0; WORDS];
        for (word, bits) in state.into_iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let column = &self.0[32 * word + bits.trailing_zeros() as usize];
                for (image, column) in image.iter_mut().zip(column) {
                    *image ^= column;
                }
                bits &= bits - 1;
            }
        }
        image
    }

    fn squared(&self) -> BitMatrix {
        BitMatrix(self.0.iter().map(|column| self.apply(*column)).collect())
    }
}

/// Returns the state after one step, without the counter.
fn step([a, b, c, d, e]: State) -> State {
    let t = a ^ (a >> 2);
    [b, c, d, e, (e ^ (e << 4)) ^ (t ^ (t << 1))]
}

/// Returns the maps of 2⁰, 2¹, 2² … steps, up to those between sequences.
fn powers() -> &'static [BitMatrix] {
    static POWERS: OnceLock<Vec<BitMatrix>> = OnceLock::new();
    POWERS.get_or_init(|| {
        let mut powers = vec![BitMatrix::step()];
        for bit in 0..SEQUENCE_BITS {
            let next = powers[bit].squared();
            powers.push(next);
        }
        powers
    })
}

/// All sequences of a seed. Word `i` of the states is in `words[(first + i) % 5]`, so that a step writes one word.
#[allow(missing_debug_implementations)]
pub struct Xorwow {
    words: [Vec<u32>; WORDS],
    first: usize,
    counter: u32,
    seed: u64,
}

impl Xorwow {
    /// Returns the sequences of a seed.
    pub fn new(seed: u64) -> Xorwow {
        let mut sequences = Xorwow { words: Default::default(), first: 0, counter: 0, seed };
        sequences.seek(0);
        sequences
    }
}

impl Recurrence for Xorwow {
    fn sequences(&self) -> usize {
        SEQUENCES
    }

    fn seek(&mut self, row: u64) {
        let (low, high) = (self.seed as u32 ^ 0xaad2_6b49, (self.seed >> 32) as u32 ^ 0xf7dc_efdd);
        let (t0, t1) = (1_099_087_573_u32.wrapping_mul(low), 2_591_861_531_u32.wrapping_mul(high));
        let counter = 6_615_241_u32.wrapping_add(t1).wrapping_add(t0);
        self.counter = counter.wrapping_add(STEP.wrapping_mul(row as u32));
        let mut state = [
            123_456_789_u32.wrapping_add(t0),
            362_436_069 ^ t0,
            521_288_629_u32.wrapping_add(t1),
            88_675_123 ^ t1,
            5_783_321_u32.wrapping_add(t0),
        ];
        let powers = powers();
        for bit in (0..64).filter(|bit| row >> bit & 1 == 1) {
            state = powers[bit].apply(state);
        }
        self.words = std::array::from_fn(|_| Vec::with_capacity(SEQUENCES));
        self.first = 0;
        for _ in 0..SEQUENCES {
            for (words, word) in self.words.iter_mut().zip(state) {
                words.push(word);
            }
            state = powers[SEQUENCE_BITS].apply(state);
        }
    }

    fn next_row(&mut self, row: &mut Vec<u32>) {
        self.counter = self.counter.wrapping_add(STEP);
        let mut first = std::mem::take(&mut self.words[self.first]);
        let last = &self.words[(self.first + WORDS - 1) % WORDS];
        row.clear();
        row.extend(first.iter_mut().zip(last).map(|(a, e)| {
            let t = *a ^ (*a >> 2);
            *a = (e ^ (e << 4)) ^ (t ^ (t << 1));
            a.wrapping_add(self.counter)
        }));
        self.words[self.first] = first;
        self.first = (self.first + 1) % WORDS;
    }
}
