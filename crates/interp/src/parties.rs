//! Parties: lanes by what they have in common, so that what is said of all of them is said once.

use smallvec::SmallVec;

/// Sets of lanes (bit per lane), each under a key. A lane is in one of them at most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Parties<K> {
    parties: SmallVec<[(K, u128); 4]>,
}

impl<K: Copy + PartialEq> Parties<K> {
    /// No lane is in any party.
    pub(crate) fn new() -> Parties<K> {
        Parties { parties: SmallVec::new() }
    }

    /// Moves lanes to the party of this key, from wherever they are.
    pub(crate) fn put(&mut self, key: K, lanes: u128) {
        if lanes == 0 {
            return;
        }
        // Most often all lanes are in one party, and stay together.
        if self.parties.iter().all(|(_, members)| members & !lanes == 0) {
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
            *members != 0
        });
        if !is_there {
            self.parties.push((key, lanes));
        }
    }

    /// The key of the party that a lane is in.
    pub(crate) fn of(&self, lane: usize) -> Option<K> {
        self.iter().find(|(_, lanes)| lanes >> lane & 1 == 1).map(|(key, _)| key)
    }

    /// The lanes under this key.
    pub(crate) fn lanes(&self, key: K) -> u128 {
        self.iter().find(|(other, _)| *other == key).map_or(0, |(_, lanes)| lanes)
    }

    /// All parties, none of them empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, u128)> + Clone + '_ {
        self.parties.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_in_one_party() {
        let mut parties = Parties::new();
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
