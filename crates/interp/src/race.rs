//! Finds races: accesses of different lanes to one byte that nothing orders, one of them a write.
//!
//! Only barriers order lanes, and only those of one group. That lanes of a brush run in lock-step orders nothing
//! here: a program is race-free if it would be so with each lane on its own.

use crate::memory::{HeapId, Target};
use rustc_hash::FxHashMap;

/// Two accesses that nothing orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// The name of the object, if it has one.
    pub object: Option<String>,
    /// The byte in the object.
    pub offset: usize,
    /// The work-items, by their linear numbers.
    pub items: [u32; 2],
    /// Whether the second access writes.
    pub is_write: bool,
}

impl std::fmt::Display for Race {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [first, second] = self.items;
        let how = if self.is_write { "writes" } else { "reads" };
        let object = self.object.as_deref().unwrap_or("an object");
        write!(f, "lane {second} {how} byte {} of {object}, which lane {first} accesses too", self.offset)
    }
}

/// Who accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    /// Linear number in the launch.
    pub(crate) number: u32,
    /// Linear number of the group.
    pub(crate) group: u32,
    /// How many barriers the group has passed.
    pub(crate) epoch: u32,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    item: Item,
    atomic: bool,
}

#[derive(Clone, Copy, Default, Debug)]
struct Shadow {
    write: Option<Seen>,
    read: Option<Seen>,
    /// Some read of this epoch came from another item than the last one.
    other_reader: bool,
    /// Some read came from another group than the last one.
    other_group_reads: bool,
}

/// What has been accessed so far.
#[derive(Clone, Default, Debug)]
pub(crate) struct Detector {
    shadows: FxHashMap<(HeapId, usize), Vec<Shadow>>,
}

impl Detector {
    /// Notes an access; says which other item it races with.
    pub(crate) fn note(
        &mut self,
        target: Target,
        size: usize,
        object_size: usize,
        item: Item,
        is_write: bool,
        atomic: bool,
    ) -> Option<(usize, u32)> {
        let shadows = self
            .shadows
            .entry((target.heap, target.object))
            .or_insert_with(|| vec![Shadow::default(); object_size]);
        let mut race = None;
        let all = target.offset..target.offset + size;
        for (offset, shadow) in all.clone().zip(&mut shadows[all]) {
            let unordered = |seen: &Seen| {
                seen.item.number != item.number
                    && (seen.item.group != item.group || seen.item.epoch == item.epoch)
                    && !(seen.atomic && atomic)
            };
            let mut other = shadow.write.filter(unordered);
            if is_write && other.is_none() {
                other = shadow.read.filter(|read| {
                    let same_epoch = read.item.epoch == item.epoch && read.item.group == item.group;
                    let others = shadow.other_group_reads || shadow.other_reader && same_epoch;
                    unordered(read) || others && !(read.atomic && atomic)
                });
            }
            if let Some(other) = other {
                race = race.or(Some((offset, other.item.number)));
            }
            let seen = Seen { item, atomic };
            if is_write {
                shadow.write = Some(seen);
            } else {
                if let Some(last) = shadow.read {
                    shadow.other_group_reads |= last.item.group != item.group;
                    let same_epoch = last.item.epoch == item.epoch && last.item.group == item.group;
                    shadow.other_reader =
                        same_epoch && (shadow.other_reader || last.item.number != item.number);
                }
                shadow.read = Some(seen);
            }
        }
        race
    }

    /// Forgets the local objects: a new group has its own.
    pub(crate) fn forget_local(&mut self) {
        self.shadows.retain(|(heap, _), _| *heap != HeapId::Shared(heddle_ir::Space::Local));
    }
}
