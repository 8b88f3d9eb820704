//! Parties: lanes by what they have in common, so that what is said of all of them is said once.

use crate::lanes::LaneMask;
use smallvec::SmallVec;

/// Sets of lanes, each under a key. A lane is in one of them at most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LanePartition<K, M> {
    parties: SmallVec<[(K, M); 4]>,
}

impl<K: Copy + PartialEq, M: LaneMask> LanePartition<K, M> {
    /// No lane is in any party.
    pub(crate) fn new() -> LanePartition<K, M> {
        LanePartition { parties: SmallVec::new() }
    }

    /// Moves lanes to the party of this key, from wherever they are.
    pub(crate) fn put(&mut self, key: K, lanes: M) {
        if lanes.is_none() {
            return;
        }
        // Most often all lanes are in one party, and stay together.
        if self.parties.iter().all(|&(_, members)| (members & !lanes).is_none()) {
            self.parties.clear();
            self.parties.push((key, lanes));
            return;
        }
        let mut is_there = false;
        self.parties.retain(|(other, members)| {
            if *other == key {
                is_there = true;
                *members |= lanes;
            } else {
                *members &= !lanes;
            }
            !members.is_none()
        });
        if !is_there {
            self.parties.push((key, lanes));
        }
    }

    /// The key of the party that a lane is in.
    pub(crate) fn of(&self, lane: usize) -> Option<K> {
        self.iter().find(|(_, lanes)| lanes.has(lane)).map(|(key, _)| key)
    }

    /// The lanes under this key.
    pub(crate) fn lanes(&self, key: K) -> M {
        self.iter().find(|(other, _)| *other == key).map_or(M::NONE, |(_, lanes)| lanes)
    }

    /// All parties, none of them empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, M)> + Clone + '_ {
        self.parties.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_in_one_party() {
        let mut parties: LanePartition<char, u128> = LanePartition::new();
        parties.put('a', 0b1111);
        parties.put('b', 0b0110);
        parties.put('c', 0);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|lane| parties.of(lane)),
            [Some('a'), Some('b'), Some('b'), Some('a'), None]
        );
        parties.put('a', 0b0110);
        assert_eq!((parties.lanes('a'), parties.lanes('b')), (0b1111, 0));
        assert_eq!(parties.iter().collect::<Vec<_>>(), [('a', 0b1111)]);
    }
}
