//! Byte memory: objects with bounds, a poison bit for each byte, and a private space for each lane.
//!
//! An address carries its space in its upper bits, so a generic pointer is the same number as the pointer that it
//! was cast from. Gaps separate objects, so an access past the end of one hits no other. Objects placed by the host
//! have host addresses without a space, for programs that treat addresses as numbers. A private address is the same
//! number in every lane and denotes the lane's own object. Private addresses carry the nesting level of launches: all
//! lanes of a region see the private objects of the function that launched it.

use crate::fault::FaultKind;
use crate::limits::{BYTES_PER_WORK, Budget, LimitKind};
use heddle_ir::Space;
use rustc_hash::FxHashMap;
use std::sync::Arc;

const SPACE_SHIFT: u32 = 60;
const LEVEL_SHIFT: u32 = 52;
const GAP: u64 = 4096;

/// Bytes that an object takes besides its contents and their poison bytes.
const OBJECT_COST: u64 = 128;

/// Object in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryObject {
    /// Name of the global or argument.
    pub name: Option<Arc<str>>,
    /// Address space.
    pub space: Space,
    /// First address.
    pub address: u64,
    /// Contents.
    pub bytes: Vec<u8>,
    /// Poison flag of each byte.
    pub poison: Vec<bool>,
}

impl MemoryObject {
    /// Returns the memory that an object of this size takes, in bytes.
    pub fn cost(size: u64) -> u64 {
        size.saturating_mul(2).saturating_add(OBJECT_COST)
    }

    /// Writes a value's bytes, or poison.
    pub fn write(&mut self, offset: usize, size: usize, value: Option<u128>) {
        let bytes = value.unwrap_or(0).to_le_bytes();
        for (index, byte) in self.bytes[offset..offset + size].iter_mut().enumerate() {
            *byte = bytes.get(index).copied().unwrap_or(0);
        }
        self.poison[offset..offset + size].fill(value.is_none());
    }

    /// Reads a value's bytes. Returns none if one of them is poison.
    pub fn read(&self, offset: usize, size: usize) -> Option<u128> {
        if self.poison[offset..offset + size].contains(&true) {
            return None;
        }
        let mut bytes = [0; 16];
        bytes[..size].copy_from_slice(&self.bytes[offset..offset + size]);
        Some(u128::from_le_bytes(bytes))
    }

    /// Describes the first byte of `now` that differs from this object. Ignores poison and differences between NaNs.
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

/// Returns the aligned words of four and of eight bytes around a byte.
fn words_at(bytes: &[u8], at: usize) -> (Option<u32>, Option<u64>) {
    let part = |size: usize| bytes.get(at / size * size..at / size * size + size);
    let four = part(4).and_then(|part| part.try_into().ok()).map(u32::from_le_bytes);
    (four, part(8).and_then(|part| part.try_into().ok()).map(u64::from_le_bytes))
}

/// True if both are NaNs of one width.
fn are_nans(one: (Option<u32>, Option<u64>), other: (Option<u32>, Option<u64>)) -> bool {
    let single = |word: Option<u32>| word.is_some_and(|bits| f32::from_bits(bits).is_nan());
    let double = |word: Option<u64>| word.is_some_and(|bits| f64::from_bits(bits).is_nan());
    single(one.0) && single(other.0) || double(one.1) && double(other.1)
}

/// Objects of one space, by ascending address.
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

    /// Adds an object at its own address.
    fn place(&mut self, object: MemoryObject) {
        let end = self.objects.partition_point(|known| known.address <= object.address);
        self.objects.insert(end, object);
    }

    fn find(&self, address: u64) -> Option<usize> {
        let end = self.objects.partition_point(|object| object.address <= address);
        end.checked_sub(1)
    }
}

/// Private memories of the lanes of a brush.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PrivateMemory {
    lanes: Vec<Heap>,
    /// Lane of each live object, in order of allocation.
    allocated: Vec<usize>,
    /// Level of the sequential code that launched the brush.
    host: Option<usize>,
    /// Number of enclosing launches; part of private addresses.
    nesting: u64,
}

/// Object and offset of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ResolvedAddress {
    pub(crate) heap: HeapId,
    pub(crate) object: usize,
    pub(crate) offset: usize,
}

/// Heap of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum HeapId {
    Shared(Space),
    Private { level: usize, lane: usize },
}

/// Memory of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    global: Heap,
    local: Heap,
    constant: Heap,
    /// Objects placed by the host.
    placed: Heap,
    private: Vec<PrivateMemory>,
    /// First shared object of each name.
    names: FxHashMap<Arc<str>, (Space, usize)>,
    shared_cost: u64,
}

impl Memory {
    /// Creates an empty memory.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Adds an object with these bytes, without poison, and returns its address. Private objects are allocated by the
    /// program only; their space is replaced by global.
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

    /// Adds global objects at host addresses. Addresses are below 2^60 and do not overlap; names are those of globals of the
    /// program.
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

    /// Returns the objects placed by the host, by address.
    pub fn placed(&self) -> &[MemoryObject] {
        &self.placed.objects
    }

    /// Iterates over the shared objects that are not placed, space by space, in insertion order.
    pub fn objects(&self) -> impl Iterator<Item = &MemoryObject> {
        self.global.objects.iter().chain(&self.constant.objects).chain(&self.local.objects)
    }

    /// Iterates over the shared objects that are not placed, mutably.
    pub fn objects_mut(&mut self) -> impl Iterator<Item = &mut MemoryObject> {
        self.global.objects.iter_mut().chain(&mut self.constant.objects).chain(&mut self.local.objects)
    }

    /// Returns the object of this name.
    pub fn object(&self, name: &str) -> Option<&MemoryObject> {
        let &(space, index) = self.names.get(name)?;
        Some(&self.heap(HeapId::Shared(space)).objects[index])
    }

    /// Returns the object of this name, mutably.
    pub fn object_mut(&mut self, name: &str) -> Option<&mut MemoryObject> {
        let &(space, index) = self.names.get(name)?;
        Some(&mut self.shared_mut(space).objects[index])
    }

    /// Returns the bytes that all shared objects take.
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

    /// Makes all local objects poison, at the start of a new group.
    pub(crate) fn poison_local(&mut self, budget: &mut Budget) -> Result<(), FaultKind> {
        for object in &mut self.local.objects {
            budget.work(1 + object.bytes.len() as u64 / BYTES_PER_WORK)?;
            object.poison.fill(true);
        }
        Ok(())
    }

    /// Opens the private memories of a brush and returns their level. Levels close in reverse order.
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

    /// Allocates a poison object in the memory of each of these lanes, at one address for all.
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

    /// True if an address denotes private objects, one for each lane of the brush at this level.
    pub(crate) fn is_lane_private(&self, address: u64, level: usize) -> bool {
        let is_private = Space::ALL.get((address >> SPACE_SHIFT) as usize) == Some(&Space::Private);
        is_private && address >> LEVEL_SHIFT & 0xff == self.private[level].nesting
    }

    /// Returns the number of private objects of all lanes, for `release`.
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

    /// Finds the object that contains these bytes, as seen by a lane of the brush at this level.
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
                    // The host of a region is sequential code with one lane.
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
        // Differences between NaNs are ignored, and so is poison.
        now[8..12].copy_from_slice(&0xffc0_0001u32.to_le_bytes());
        now[0] = 7;
        object.poison[0] = true;
        assert_eq!(object.first_difference(&now), None);
        now[12..].copy_from_slice(&5f32.to_le_bytes());
        let message = object.first_difference(&now).expect("there is one");
        assert_eq!(
            message,
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
