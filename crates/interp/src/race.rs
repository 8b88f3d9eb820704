//! Finds races: accesses of different lanes to one byte that nothing orders, one of them a write.
//!
//! Only barriers and launches order lanes, and only those of one group. That lanes of a brush run in lock-step orders nothing
//! here: a program is race-free if it would be so with each lane on its own.

use crate::fault::FaultKind;
use crate::limits::Budget;
use crate::memory::{HeapId, ResolvedAddress};
use heddle_ir::Space;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

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

/// What accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ItemEpoch {
    /// Linear number in the launch.
    pub(crate) number: u32,
    /// Linear number of the group.
    pub(crate) group: u32,
    /// How many barriers, beginnings and ends of launches the group has passed.
    pub(crate) epoch: u32,
}

/// Stands for no item.
const NO_ITEM: u32 = u32::MAX;

/// What made one kind of access to a byte, as far as it matters: two items of the running group since its last barrier,
/// so that each finds one that is not itself, and one item of another group.
#[derive(Clone, Copy, Debug)]
struct Accessors {
    here: [u32; 2],
    elsewhere: u32,
    group: u32,
    epoch: u32,
}

impl Accessors {
    const NONE: Accessors = Accessors { here: [NO_ITEM; 2], elsewhere: NO_ITEM, group: 0, epoch: 0 };

    /// One whose access nothing orders with one of this item.
    fn unordered_with(&self, item: ItemEpoch) -> Option<u32> {
        let is_here = self.group != item.group || self.epoch == item.epoch;
        let here = self.here.into_iter().filter(|_| is_here);
        here.chain([self.elsewhere]).find(|&other| other != NO_ITEM && other != item.number)
    }

    fn note(&mut self, item: ItemEpoch) {
        if self.group != item.group {
            let was_here = self.here[0] != NO_ITEM;
            self.elsewhere = if was_here { self.here[0] } else { self.elsewhere };
        }
        if (self.group, self.epoch) != (item.group, item.epoch) {
            self.here = [NO_ITEM; 2];
            (self.group, self.epoch) = (item.group, item.epoch);
        }
        if !self.here.contains(&item.number)
            && let Some(free) = self.here.iter_mut().find(|other| **other == NO_ITEM)
        {
            *free = item.number;
        }
    }
}

/// What the notes on a page take in memory.
const PAGE_COST: u64 = (PAGE * size_of::<ShadowByte>()) as u64 + 64;

/// The accesses to a byte: by whether they write, and by whether they are atomic.
#[derive(Clone, Copy, Debug)]
struct ShadowByte([[Accessors; 2]; 2]);

/// How many bytes of an object are noted together, if one of them is.
const PAGE: usize = 64;

type ShadowPages = FxHashMap<(HeapId, usize, usize), Box<[ShadowByte; PAGE]>>;

/// What has been accessed so far, page by page.
#[derive(Clone, Default, Debug)]
pub(crate) struct RaceDetector {
    shared: ShadowPages,
    local: ShadowPages,
}

impl RaceDetector {
    /// Notes an access; says which other item it races with.
    pub(crate) fn note(
        &mut self,
        target: ResolvedAddress,
        size: usize,
        item: ItemEpoch,
        (is_write, is_atomic): (bool, bool),
        budget: &mut Budget,
    ) -> Result<Option<(usize, u32)>, FaultKind> {
        let pages = match target.heap {
            HeapId::Shared(Space::Local) => &mut self.local,
            _ => &mut self.shared,
        };
        let mut race = None;
        let end = target.offset + size;
        let mut offset = target.offset;
        while offset < end {
            let page = offset / PAGE;
            let page_end = end.min((page + 1) * PAGE);
            budget.work((page_end - offset) as u64)?;
            let shadows = match pages.entry((target.heap, target.object, page)) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(place) => {
                    budget.hold(PAGE_COST)?;
                    place.insert(Box::new([ShadowByte([[Accessors::NONE; 2]; 2]); PAGE]))
                }
            };
            for ShadowByte(shadow) in &mut shadows[offset % PAGE..=(page_end - 1) % PAGE] {
                // Two accesses race unless both read or both are atomic.
                let rivals = &shadow[usize::from(!is_write)..];
                for accessors in rivals.iter().flat_map(|kinds| &kinds[..if is_atomic { 1 } else { 2 }]) {
                    race = race.or_else(|| Some((offset, accessors.unordered_with(item)?)));
                }
                shadow[usize::from(is_write)][usize::from(is_atomic)].note(item);
                offset += 1;
            }
        }
        Ok(race)
    }

    /// Forgets the local objects: a new group has its own.
    pub(crate) fn forget_local(&mut self, budget: &mut Budget) {
        budget.give_back(PAGE_COST * self.local.len() as u64);
        self.local.clear();
    }
}
