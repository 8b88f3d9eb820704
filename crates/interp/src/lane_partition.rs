//! Disjoint sets of lanes by key, so that operations apply to a set instead of to each lane.

use crate::lanes::LaneMask;
use smallvec::SmallVec;

/// Disjoint sets of lanes, each under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LanePartition<K, M> {
    sets: SmallVec<[(K, M); 4]>,
}

impl<K: Copy + PartialEq, M: LaneMask> LanePartition<K, M> {
    /// Creates a partition without lanes.
    pub(crate) fn new() -> LanePartition<K, M> {
        LanePartition { sets: SmallVec::new() }
    }

    /// Moves lanes to the set of this key.
    pub(crate) fn put(&mut self, key: K, lanes: M) {
        if lanes.is_none() {
            return;
        }
        // Fast path: no other lanes are left, as for all lanes together.
        if self.sets.iter().all(|&(_, members)| (members & !lanes).is_none()) {
            self.sets.clear();
            self.sets.push((key, lanes));
            return;
        }
        let mut is_there = false;
        self.sets.retain(|(other, members)| {
            if *other == key {
                is_there = true;
                *members |= lanes;
            } else {
                *members &= !lanes;
            }
            !members.is_none()
        });
        if !is_there {
            self.sets.push((key, lanes));
        }
    }

    /// Returns the key of a lane.
    pub(crate) fn of(&self, lane: usize) -> Option<K> {
        self.iter().find(|(_, lanes)| lanes.has(lane)).map(|(key, _)| key)
    }

    /// Returns the lanes under this key.
    pub(crate) fn lanes(&self, key: K) -> M {
        self.iter().find(|(other, _)| *other == key).map_or(M::NONE, |(_, lanes)| lanes)
    }

    /// Iterates over the sets, none of them empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, M)> + Clone + '_ {
        self.sets.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_in_one_set() {
        let mut sets: LanePartition<char, u128> = LanePartition::new();
        sets.put('a', 0b1111);
        sets.put('b', 0b0110);
        sets.put('c', 0);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|lane| sets.of(lane)),
            [Some('a'), Some('b'), Some('b'), Some('a'), None]
        );
        sets.put('a', 0b0110);
        assert_eq!((sets.lanes('a'), sets.lanes('b')), (0b1111, 0));
        assert_eq!(sets.iter().collect::<Vec<_>>(), [('a', 0b1111)]);
    }
}
