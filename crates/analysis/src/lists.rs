//! Many short lists in two flat arrays: adjacency, children, members.

use std::ops::Range;

/// One list of `T` per key `0..n`. The items of all lists lie in one array, in the order of their keys.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    /// Where each key's list starts; one more entry ends the last list, and one is spare.
    start: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Sorts the items by key. Items of one key keep their order.
    pub(crate) fn new(num_keys: usize, items: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        // While items are put in place, entry `key + 1` is where the next one of `key` goes; in the end that is
        // where the list of `key + 1` starts.
        let mut start = vec![0; num_keys + 2];
        let mut filler = None;
        for (key, item) in items.clone() {
            start[key + 2] += 1;
            filler = Some(item);
        }
        let mut total = 0;
        for slot in &mut start {
            total += *slot;
            *slot = total;
        }
        let mut sorted = filler.map_or_else(Vec::new, |item| vec![item; total as usize]);
        for (key, item) in items {
            let slot = &mut start[key + 1];
            sorted[*slot as usize] = item;
            *slot += 1;
        }
        Self { start, items: sorted }
    }

    /// The list of this key.
    #[inline]
    pub(crate) fn get(&self, key: usize) -> &[T] {
        &self.items[self.start[key] as usize..self.start[key + 1] as usize]
    }

    /// The lists of these keys, one after the other.
    pub(crate) fn concat(&self, keys: Range<usize>) -> &[T] {
        &self.items[self.start[keys.start] as usize..self.start[keys.end] as usize]
    }
}
