//! Sets of lanes of a brush: [`LaneSet`], and the representation during a run.
//!
//! Each instruction uses them, so the interpreter is compiled twice: with one `u128` for up to 128 lanes, and with
//! [`LaneSet`] for more.

use heddle_ir::types::MAX_LANES;
use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// Number of lanes in one word.
pub(crate) const WORD: usize = u128::BITS as usize;
const WORDS: usize = (MAX_LANES as usize).div_ceil(WORD);

/// Set of lanes of a brush.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LaneSet([u128; WORDS]);

impl LaneSet {
    /// Empty set.
    pub const NONE: LaneSet = LaneSet([0; WORDS]);
    /// Set of all lanes.
    pub const EVERY: LaneSet = LaneSet([u128::MAX; WORDS]);

    /// True if the set is empty.
    pub fn is_empty(self) -> bool {
        self == LaneSet::NONE
    }

    /// True if the set contains the lane; false for numbers beyond the maximum.
    pub fn contains(self, lane: usize) -> bool {
        self.0.get(lane / WORD).is_some_and(|word| word >> (lane % WORD) & 1 == 1)
    }

    /// Iterates over the lanes in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> + Clone {
        LaneMask::lanes(self)
    }
}

impl FromIterator<usize> for LaneSet {
    /// Collects lanes; ignores numbers beyond the maximum.
    fn from_iter<I: IntoIterator<Item = usize>>(lanes: I) -> LaneSet {
        let mut set = LaneSet::NONE;
        for lane in lanes {
            if let Some(word) = set.0.get_mut(lane / WORD) {
                *word |= 1 << (lane % WORD);
            }
        }
        set
    }
}

impl fmt::Debug for LaneSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Representation of a set of lanes during a run.
pub(crate) trait LaneMask:
    Copy
    + Eq
    + fmt::Debug
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + BitAndAssign
    + BitOrAssign
{
    /// Empty set.
    const NONE: Self;
    /// Set of all lanes that fit.
    const EVERY: Self;
    /// Returns the first `lanes` lanes, at least one.
    fn first(lanes: usize) -> Self;
    /// Returns the set of one lane.
    fn of(lane: usize) -> Self;
    /// Returns the lanes whose lowest bit is set.
    fn of_bits(bits: &[u128]) -> Self;
    /// Converts to a [`LaneSet`].
    fn to_set(self) -> LaneSet;
    /// True if the set contains the lane.
    fn has(self, lane: usize) -> bool;
    /// Returns the number of lanes.
    fn count(self) -> u32;
    /// Iterates over the lanes in ascending order.
    fn lanes(self) -> impl Iterator<Item = usize> + Clone;

    /// True if the set is empty.
    #[inline]
    fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl LaneMask for u128 {
    const NONE: u128 = 0;
    const EVERY: u128 = u128::MAX;

    #[inline]
    fn first(lanes: usize) -> u128 {
        u128::MAX >> (WORD - lanes)
    }

    #[inline]
    fn of(lane: usize) -> u128 {
        1 << lane
    }

    #[inline]
    fn of_bits(bits: &[u128]) -> u128 {
        bits.iter().rev().fold(0, |holds, bit| holds << 1 | bit & 1)
    }

    fn to_set(self) -> LaneSet {
        let mut set = LaneSet::NONE;
        set.0[0] = self;
        set
    }

    #[inline]
    fn has(self, lane: usize) -> bool {
        self >> lane & 1 == 1
    }

    #[inline]
    fn count(self) -> u32 {
        self.count_ones()
    }

    #[inline]
    fn lanes(self) -> impl Iterator<Item = usize> + Clone {
        let mut rest = self;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let lane = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                lane
            })
        })
    }
}

impl LaneMask for LaneSet {
    const NONE: LaneSet = LaneSet::NONE;
    const EVERY: LaneSet = LaneSet::EVERY;

    fn first(lanes: usize) -> LaneSet {
        LaneSet(std::array::from_fn(|word| match lanes.saturating_sub(word * WORD) {
            0 => 0,
            left => u128::MAX >> (WORD - left.min(WORD)),
        }))
    }

    fn of(lane: usize) -> LaneSet {
        LaneSet::from_iter([lane])
    }

    fn of_bits(bits: &[u128]) -> LaneSet {
        let mut set = LaneSet::NONE;
        for (word, bits) in set.0.iter_mut().zip(bits.chunks(WORD)) {
            *word = u128::of_bits(bits);
        }
        set
    }

    fn to_set(self) -> LaneSet {
        self
    }

    fn has(self, lane: usize) -> bool {
        self.contains(lane)
    }

    fn count(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    fn lanes(self) -> impl Iterator<Item = usize> + Clone {
        (0..).zip(self.0).flat_map(|(word, bits)| bits.lanes().map(move |lane| word * WORD + lane))
    }
}

impl BitAnd for LaneSet {
    type Output = LaneSet;
    fn bitand(self, other: LaneSet) -> LaneSet {
        LaneSet(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }
}

impl BitOr for LaneSet {
    type Output = LaneSet;
    fn bitor(self, other: LaneSet) -> LaneSet {
        LaneSet(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

impl Not for LaneSet {
    type Output = LaneSet;
    fn not(self) -> LaneSet {
        LaneSet(self.0.map(|word| !word))
    }
}

impl BitAndAssign for LaneSet {
    fn bitand_assign(&mut self, other: LaneSet) {
        *self = *self & other;
    }
}

impl BitOrAssign for LaneSet {
    fn bitor_assign(&mut self, other: LaneSet) {
        *self = *self | other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_all_words_are_distinct() {
        let lanes = [0, 1, 127, 128, 200, 255, 256, 383, 384, 511];
        let set = LaneSet::from_iter(lanes);
        assert_eq!(set.iter().collect::<Vec<_>>(), lanes);
        assert_eq!(set.count(), 10);
        assert!(lanes.iter().all(|&lane| set.contains(lane) && LaneSet::of(lane) & !set == LaneSet::NONE));
        assert!(!set.contains(2) && !set.contains(129) && !set.contains(512) && !set.contains(usize::MAX));
        assert_eq!(LaneSet::from_iter([512, 1 << 40]), LaneSet::NONE);
    }

    #[test]
    fn both_forms_agree_where_both_have_room() {
        for lanes in [1, 7, 64, 127, 128] {
            assert_eq!(u128::first(lanes).to_set(), LaneSet::first(lanes), "{lanes}");
            assert_eq!(LaneSet::first(lanes).count() as usize, lanes);
        }
        for lanes in [129, 192, 256, 500, 512] {
            assert_eq!(LaneSet::first(lanes), (0..lanes).collect(), "{lanes}");
        }
        let bits: Vec<u128> = (0..300).map(|lane| (lane * lane) % 3).collect();
        let odd = |lane: &usize| bits[*lane] & 1 == 1;
        assert_eq!(LaneSet::of_bits(&bits), (0..300).filter(odd).collect());
        assert_eq!(u128::of_bits(&bits[..100]).to_set(), (0..100).filter(odd).collect());
    }
}
