//! Many short lists in two flat arrays (compressed sparse rows): adjacency, children, members.

use std::ops::Range;

/// One list of `T` per key `0..n`. All items are in one array, in key order.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    /// Start of each key's list, then the end of the last list and one spare entry.
    start: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Sorts the items by key; the sort is stable.
    pub(crate) fn new(num_keys: usize, items: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        // During the fill, entry `key + 1` is the position of the next item of `key`. After it, that is the start of the
        // list of `key + 1`.
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

    /// Returns the list of a key.
    #[inline]
    pub(crate) fn get(&self, key: usize) -> &[T] {
        &self.items[self.start[key] as usize..self.start[key + 1] as usize]
    }

    /// Returns the concatenated lists of a range of keys.
    pub(crate) fn concat(&self, keys: Range<usize>) -> &[T] {
        &self.items[self.start[keys.start] as usize..self.start[keys.end] as usize]
    }
}
