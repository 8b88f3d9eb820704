//! Byte memory: objects with bounds, a poison bit for each byte, and a space of its own for each lane.
//!
//! An address carries its space in its upper bits, so a generic pointer is the same number as the pointer that it
//! was cast from. Objects lie apart, so running over the end of one meets nothing. Those that the host has placed lie at
//! addresses of the host, which carry no space, for programs to which addresses are numbers. Private addresses are the same
//! number in every lane and mean the lane's own object; those of a function that launches a region carry the
//! nesting level and are seen by all lanes of the region.

use crate::fault::FaultKind;
use crate::limits::{BYTES_PER_WORK, Budget, LimitKind};
use heddle_ir::Space;
use rustc_hash::FxHashMap;
use std::sync::Arc;

const SPACE_SHIFT: u32 = 60;
const LEVEL_SHIFT: u32 = 52;
const GAP: u64 = 4096;

/// What an object takes beside its bytes, for which there is one byte each that says whether they are ⊤.
const OBJECT_COST: u64 = 128;

/// An object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryObject {
    /// The name of the global or of the argument that it is, if it is one.
    pub name: Option<Arc<str>>,
    /// Where it lies.
    pub space: Space,
    /// Its first address.
    pub address: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether each byte is ⊤.
    pub poison: Vec<bool>,
}

impl MemoryObject {
    /// What an object of this size takes in memory.
    pub fn cost(size: u64) -> u64 {
        size.saturating_mul(2).saturating_add(OBJECT_COST)
    }

    /// Writes a value's bytes, or ⊤.
    pub fn write(&mut self, offset: usize, size: usize, value: Option<u128>) {
        let bytes = value.unwrap_or(0).to_le_bytes();
        for (index, byte) in self.bytes[offset..offset + size].iter_mut().enumerate() {
            *byte = bytes.get(index).copied().unwrap_or(0);
        }
        self.poison[offset..offset + size].fill(value.is_none());
    }

    /// Reads a value's bytes; ⊤ if one of them is.
    pub fn read(&self, offset: usize, size: usize) -> Option<u128> {
        if self.poison[offset..offset + size].contains(&true) {
            return None;
        }
        let mut bytes = [0; 16];
        bytes[..size].copy_from_slice(&self.bytes[offset..offset + size]);
        Some(u128::from_le_bytes(bytes))
    }

    /// The first byte that memory has otherwise than this object, in words. What is ⊤ may be anything, and so may NaNs.
    pub fn first_difference(&self, now: &[u8]) -> Option<String> {
        let differs = |at: &usize| now[*at] != self.bytes[*at] && !self.poison[*at];
        for at in (0..now.len().min(self.bytes.len())).filter(differs) {
            let (ours, theirs) = (words_at(now, at), words_at(&self.bytes, at));
            if are_nans(ours, theirs) {
                continue;
            }
            let show = |word: u32| {
                format!("{word:#010x} ({}, or {:?} as a float)", word as i32, f32::from_bits(word))
            };
            return Some(match (ours.0, theirs.0) {
                (Some(ours), Some(theirs)) => {
                    format!("byte {}: {}, not {}", at / 4 * 4, show(ours), show(theirs))
                }
                _ => format!("byte {at}: {}, not {}", now[at], self.bytes[at]),
            });
        }
        None
    }
}

/// The words around a byte: of four and of eight bytes.
fn words_at(bytes: &[u8], at: usize) -> (Option<u32>, Option<u64>) {
    let part = |size: usize| bytes.get(at / size * size..at / size * size + size);
    let four = part(4).and_then(|part| part.try_into().ok()).map(u32::from_le_bytes);
    (four, part(8).and_then(|part| part.try_into().ok()).map(u64::from_le_bytes))
}

/// Whether both have NaNs where a byte is.
fn are_nans(one: (Option<u32>, Option<u64>), other: (Option<u32>, Option<u64>)) -> bool {
    let single = |word: Option<u32>| word.is_some_and(|bits| f32::from_bits(bits).is_nan());
    let double = |word: Option<u64>| word.is_some_and(|bits| f64::from_bits(bits).is_nan());
    single(one.0) && single(other.0) || double(one.1) && double(other.1)
}

/// Objects of one space, in the order of their addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Heap {
    objects: Vec<MemoryObject>,
    next: u64,
}

impl Heap {
    fn add(&mut self, base: u64, object: MemoryObject, align: u32) -> u64 {
        let align = u64::from(align.max(1)).max(16);
        let address = base + self.next.max(GAP).next_multiple_of(align);
        let object = MemoryObject { address, ..object };
        self.next = address - base + object.bytes.len() as u64 + GAP;
        self.objects.push(object);
        address
    }

    /// Adds an object where it lies already.
    fn place(&mut self, object: MemoryObject) {
        let behind = self.objects.partition_point(|known| known.address <= object.address);
        self.objects.insert(behind, object);
    }

    fn find(&self, address: u64) -> Option<usize> {
        let behind = self.objects.partition_point(|object| object.address <= address);
        behind.checked_sub(1)
    }
}

/// The private memories of a brush.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PrivateMemory {
    lanes: Vec<Heap>,
    /// The lane of each object there is, in the order in which they were allocated.
    allocated: Vec<usize>,
    /// The level of the sequential code that launched the brush, if it did.
    host: Option<usize>,
    /// How many launches lie around the brush; private addresses carry it.
    nesting: u64,
}

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ResolvedAddress {
    pub(crate) heap: HeapId,
    pub(crate) object: usize,
    pub(crate) offset: usize,
}

/// Which heap an object lies in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum HeapId {
    Shared(Space),
    Private { level: usize, lane: usize },
}

/// The memory of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    global: Heap,
    local: Heap,
    constant: Heap,
    /// What the host has placed.
    placed: Heap,
    private: Vec<PrivateMemory>,
    /// The first shared object of each name.
    names: FxHashMap<Arc<str>, (Space, usize)>,
    shared_cost: u64,
}

impl Memory {
    /// An empty memory.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Adds an object with these bytes, none of them ⊤, and says where it lies. Private objects are the
    /// program's own affair and cannot be added.
    pub fn add(&mut self, space: Space, name: Option<&str>, align: u32, bytes: Vec<u8>) -> u64 {
        let space = if matches!(space, Space::Generic | Space::Private) { Space::Global } else { space };
        let poison = vec![false; bytes.len()];
        self.shared_cost = self.shared_cost.saturating_add(MemoryObject::cost(bytes.len() as u64));
        let name: Option<Arc<str>> = name.map(Arc::from);
        let object = MemoryObject { name: name.clone(), space, address: 0, bytes, poison };
        let heap = self.shared_mut(space);
        let place = (space, heap.objects.len());
        let address = heap.add((space as u64) << SPACE_SHIFT, object, align);
        if let Some(name) = name {
            self.names.entry(name).or_insert(place);
        }
        address
    }

    /// Adds global objects at addresses of the host, which are below 2^60 and where they do not overlap, with names for globals
    /// of the program.
    pub fn place(&mut self, objects: impl IntoIterator<Item = (u64, Option<String>, Vec<u8>)>) {
        for (address, name, bytes) in objects {
            let poison = vec![false; bytes.len()];
            self.shared_cost = self.shared_cost.saturating_add(MemoryObject::cost(bytes.len() as u64));
            let name = name.map(Arc::from);
            self.placed.place(MemoryObject { name, space: Space::Global, address, bytes, poison });
        }
        for (index, object) in self.placed.objects.iter().enumerate() {
            if let Some(name) = &object.name {
                self.names.insert(Arc::clone(name), (Space::Generic, index));
            }
        }
    }

    /// The objects that the host has placed, by their addresses.
    pub fn placed(&self) -> &[MemoryObject] {
        &self.placed.objects
    }

    /// The shared objects that are not placed, space by space, in the order in which they were added.
    pub fn objects(&self) -> impl Iterator<Item = &MemoryObject> {
        self.global.objects.iter().chain(&self.constant.objects).chain(&self.local.objects)
    }

    /// The shared objects, to change them.
    pub fn objects_mut(&mut self) -> impl Iterator<Item = &mut MemoryObject> {
        self.global.objects.iter_mut().chain(&mut self.constant.objects).chain(&mut self.local.objects)
    }

    /// The object of this name.
    pub fn object(&self, name: &str) -> Option<&MemoryObject> {
        let &(space, index) = self.names.get(name)?;
        Some(&self.heap(HeapId::Shared(space)).objects[index])
    }

    /// The object of this name, to change it.
    pub fn object_mut(&mut self, name: &str) -> Option<&mut MemoryObject> {
        let &(space, index) = self.names.get(name)?;
        Some(&mut self.shared_mut(space).objects[index])
    }

    /// What all shared objects take.
    pub fn cost(&self) -> u64 {
        self.shared_cost
    }

    fn shared_mut(&mut self, space: Space) -> &mut Heap {
        match space {
            Space::Local => &mut self.local,
            Space::Constant => &mut self.constant,
            Space::Generic => &mut self.placed,
            Space::Global | Space::Private => &mut self.global,
        }
    }

    fn heap(&self, id: HeapId) -> &Heap {
        match id {
            HeapId::Shared(Space::Local) => &self.local,
            HeapId::Shared(Space::Constant) => &self.constant,
            HeapId::Shared(Space::Generic) => &self.placed,
            HeapId::Shared(_) => &self.global,
            HeapId::Private { level, lane } => &self.private[level].lanes[lane],
        }
    }

    pub(crate) fn target(&self, target: ResolvedAddress) -> &MemoryObject {
        &self.heap(target.heap).objects[target.object]
    }

    pub(crate) fn target_mut(&mut self, target: ResolvedAddress) -> &mut MemoryObject {
        let heap = match target.heap {
            HeapId::Shared(space) => self.shared_mut(space),
            HeapId::Private { level, lane } => &mut self.private[level].lanes[lane],
        };
        &mut heap.objects[target.object]
    }

    /// Makes the bytes of all local objects ⊤: a new group begins.
    pub(crate) fn forget_local(&mut self, budget: &mut Budget) -> Result<(), FaultKind> {
        for object in &mut self.local.objects {
            budget.work(1 + object.bytes.len() as u64 / BYTES_PER_WORK)?;
            object.poison.fill(true);
        }
        Ok(())
    }

    /// Opens the private memories of a brush; they are closed in reverse order.
    pub(crate) fn open_level(&mut self, lanes: usize, host: Option<usize>) -> usize {
        let nesting = host.map_or(0, |host| self.private[host].nesting + 1);
        self.private.push(PrivateMemory {
            lanes: vec![Heap::default(); lanes],
            allocated: Vec::new(),
            host,
            nesting,
        });
        self.private.len() - 1
    }

    pub(crate) fn close_level(&mut self, budget: &mut Budget) {
        for heap in self.private.pop().map(|level| level.lanes).unwrap_or_default() {
            heap.objects
                .iter()
                .for_each(|object| budget.give_back(MemoryObject::cost(object.bytes.len() as u64)));
        }
    }

    /// Adds an object of ⊤ bytes to these lanes' memories, at one address for all of them.
    pub(crate) fn allocate(
        &mut self,
        level: usize,
        lanes: impl Iterator<Item = usize> + Clone,
        size: u64,
        align: u32,
        budget: &mut Budget,
    ) -> Result<u64, FaultKind> {
        let count = lanes.clone().count() as u64;
        budget.hold(MemoryObject::cost(size).saturating_mul(count))?;
        budget.work(count.saturating_mul(1 + size / BYTES_PER_WORK))?;
        let level = &mut self.private[level];
        let base = (Space::Private as u64) << SPACE_SHIFT | level.nesting << LEVEL_SHIFT;
        let next = level.lanes.iter().map(|heap| heap.next).max().unwrap_or(0);
        // Alignment may use up addresses faster than memory.
        if next.saturating_add(size).saturating_add(u64::from(align)) >= 1 << (LEVEL_SHIFT - 1) {
            return Err(budget.exceeded(LimitKind::Memory));
        }
        let mut address = 0;
        for lane in lanes {
            let (bytes, poison) = (vec![0; size as usize], vec![true; size as usize]);
            let object = MemoryObject { name: None, space: Space::Private, address: 0, bytes, poison };
            let heap = &mut level.lanes[lane];
            heap.next = next;
            address = heap.add(base, object, align);
            level.allocated.push(lane);
        }
        Ok(address)
    }

    /// Whether an address is one of private objects of which each lane of the brush at this level has its own.
    pub(crate) fn is_own(&self, address: u64, level: usize) -> bool {
        let is_private = Space::ALL.get((address >> SPACE_SHIFT) as usize) == Some(&Space::Private);
        is_private && address >> LEVEL_SHIFT & 0xff == self.private[level].nesting
    }

    /// How many private objects all lanes hold: what `release` goes back to.
    pub(crate) fn mark(&self, level: usize) -> usize {
        self.private[level].allocated.len()
    }

    /// Frees the private objects allocated since the mark.
    pub(crate) fn release(&mut self, level: usize, mark: usize, budget: &mut Budget) {
        let level = &mut self.private[level];
        for lane in level.allocated.drain(mark..).rev() {
            let heap = &mut level.lanes[lane];
            if let Some(object) = heap.objects.pop() {
                budget.give_back(MemoryObject::cost(object.bytes.len() as u64));
            }
            let end = |object: &MemoryObject| {
                (object.address & ((1 << LEVEL_SHIFT) - 1)) + object.bytes.len() as u64
            };
            heap.next = heap.objects.last().map_or(0, |object| end(object) + GAP);
        }
    }

    /// Finds the object that holds these bytes, as seen by a lane of the brush at this level.
    pub(crate) fn find(
        &self,
        address: u64,
        size: u64,
        level: usize,
        lane: usize,
    ) -> Result<ResolvedAddress, FaultKind> {
        let out_of_bounds = |near: Option<String>| FaultKind::OutOfBounds { address, bytes: size, near };
        let heap = match Space::ALL.get((address >> SPACE_SHIFT) as usize) {
            Some(Space::Private) => {
                let nesting = address >> LEVEL_SHIFT & 0xff;
                let mut owner = HeapId::Private { level, lane };
                let mut here = level;
                while self.private[here].nesting > nesting {
                    // The host of a region is sequential code: it has one lane.
                    here = self.private[here].host.unwrap_or(here);
                    owner = HeapId::Private { level: here, lane: 0 };
                }
                if self.private[here].nesting != nesting {
                    return Err(out_of_bounds(None));
                }
                owner
            }
            Some(Space::Generic) if !self.placed.objects.is_empty() => HeapId::Shared(Space::Generic),
            Some(Space::Generic) | None => {
                let near = (address < GAP).then(|| "close to the null pointer".into());
                return Err(out_of_bounds(near));
            }
            Some(&space) => HeapId::Shared(space),
        };
        let objects = &self.heap(heap).objects;
        let object = self.heap(heap).find(address).ok_or_else(|| out_of_bounds(None))?;
        let offset = address - objects[object].address;
        if offset.saturating_add(size) > objects[object].bytes.len() as u64 {
            let name = objects[object].name.as_deref().unwrap_or("an object");
            let near = format!("{name} has {} bytes, and this is byte {offset}", objects[object].bytes.len());
            return Err(out_of_bounds(Some(near)));
        }
        Ok(ResolvedAddress { heap, object, offset: offset as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let mut memory = Memory::new();
        let bytes: Vec<u8> =
            [1f32, 2.0, f32::NAN, 4.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        memory.add(Space::Global, None, 16, bytes.clone());
        let mut object = memory.objects().next().expect("it was added").clone();
        assert_eq!(object.first_difference(&bytes), None);
        let mut now = bytes;
        // Another NaN is no difference, and neither is what the oracle does not know.
        now[8..12].copy_from_slice(&0xffc0_0001u32.to_le_bytes());
        now[0] = 7;
        object.poison[0] = true;
        assert_eq!(object.first_difference(&now), None);
        now[12..].copy_from_slice(&5f32.to_le_bytes());
        let told = object.first_difference(&now).expect("there is one");
        assert_eq!(
            told,
            "byte 12: 0x40a00000 (1084227584, or 5.0 as a float), not 0x40800000 (1082130432, or 4.0 as a float)"
        );
    }

    #[test]
    fn placed_objects_are_found_where_the_host_has_them() {
        let mut memory = Memory::new();
        memory.place([
            (0x7000_0000_2000, Some("b".into()), vec![2; 16]),
            (0x7000_0000_1000, None, vec![1; 16]),
        ]);
        let own = memory.add(Space::Global, None, 16, vec![3; 16]);
        let found = |address: u64| memory.find(address, 4, 0, 0).map(|target| memory.target(target).bytes[0]);
        assert_eq!(found(0x7000_0000_100c), Ok(1));
        assert_eq!(found(0x7000_0000_2000), Ok(2));
        assert_eq!(found(own), Ok(3));
        assert!(found(0x7000_0000_100d).is_err() && found(0x7000_0000_3000).is_err() && found(8).is_err());
        assert_eq!(memory.object("b").map(|object| object.address), Some(0x7000_0000_2000));
    }
}
