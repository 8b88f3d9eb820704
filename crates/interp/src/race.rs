//! Race detector: unordered accesses of different lanes to one byte, of which one is a write.
//!
//! Only barriers and launches order lanes, and only within a group. Lock-step execution of a brush orders nothing here: a
//! program is race-free if it is so with independent lanes.

use crate::fault::FaultKind;
use crate::limits::Budget;
use crate::memory::{HeapId, ResolvedAddress};
use heddle_ir::Space;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Two unordered accesses, of which one is a write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// Name of the object.
    pub object: Option<String>,
    /// Offset of the byte in the object.
    pub offset: usize,
    /// Linear numbers of the work-items.
    pub items: [u32; 2],
    /// True if the second access writes.
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

/// Work-item that makes an access, with its epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ItemEpoch {
    /// Linear number in the launch.
    pub(crate) number: u32,
    /// Linear number of the group.
    pub(crate) group: u32,
    /// Number of barriers, launch starts and launch ends that the group has passed.
    pub(crate) epoch: u32,
}

/// Sentinel: no item.
const NO_ITEM: u32 = u32::MAX;

/// Items that made one kind of access to a byte. Two items of the running group since its last barrier are enough, so that
/// each item finds one other than itself; so is one item of another group.
#[derive(Clone, Copy, Debug)]
struct Accessors {
    here: [u32; 2],
    elsewhere: u32,
    group: u32,
    epoch: u32,
}

impl Accessors {
    const NONE: Accessors = Accessors { here: [NO_ITEM; 2], elsewhere: NO_ITEM, group: 0, epoch: 0 };

    /// Returns an item whose access is unordered with one of this item.
    fn unordered_with(&self, item: ItemEpoch) -> Option<u32> {
        let is_here = self.group != item.group || self.epoch == item.epoch;
        let here = self.here.into_iter().filter(|_| is_here);
        here.chain([self.elsewhere]).find(|&other| other != NO_ITEM && other != item.number)
    }

    fn record(&mut self, item: ItemEpoch) {
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

/// Bytes that the shadow of a page takes.
const PAGE_COST: u64 = (PAGE * size_of::<ShadowByte>()) as u64 + 64;

/// Accessors of a byte, indexed by write and by atomic.
#[derive(Clone, Copy, Debug)]
struct ShadowByte([[Accessors; 2]; 2]);

/// Bytes of an object whose shadow is allocated together.
const PAGE: usize = 64;

type ShadowPages = FxHashMap<(HeapId, usize, usize), Box<[ShadowByte; PAGE]>>;

/// Shadow of the accessed memory, page by page.
#[derive(Clone, Default, Debug)]
pub(crate) struct RaceDetector {
    shared: ShadowPages,
    local: ShadowPages,
}

impl RaceDetector {
    /// Records an access. Returns the offset and the other item of a race.
    pub(crate) fn record(
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
                shadow[usize::from(is_write)][usize::from(is_atomic)].record(item);
                offset += 1;
            }
        }
        Ok(race)
    }

    /// Clears the shadow of local objects, at the start of a new group.
    pub(crate) fn clear_local(&mut self, budget: &mut Budget) {
        budget.give_back(PAGE_COST * self.local.len() as u64);
        self.local.clear();
    }
}
