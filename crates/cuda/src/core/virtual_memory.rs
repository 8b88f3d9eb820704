//! Virtual memory management: reserved ranges of addresses, handles of memory, and mappings of handles into ranges.
//!
//! A range is pages without access. A handle is a file in memory (`memfd`), so that several ranges can show the same memory. A mapping
//! puts pages of the file in the place of pages of the range; the table of known memory has it with its accesses. The memory lives as
//! long as its handle or a mapping.

use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::memory::{self, RangeAccess};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use heddle_runtime::machine_memory;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Unit of handles and mappings in bytes, as on GPUs.
pub const GRANULARITY: usize = 2 << 20;

/// `CUmemAllocationProp` in words of 64 bits.
pub type MemoryProperties = [u64; 4];

/// Memory of a handle.
#[derive(Debug)]
pub struct PhysicalMemory {
    handle: CudaHandle,
    file: OwnedFd,
    bytes: usize,
    /// Properties, as the application gave them.
    pub properties: MemoryProperties,
    /// References to the handle; none while only mappings keep the memory.
    references: Mutex<u64>,
}

/// All handles.
static MEMORIES: HandleTable<PhysicalMemory> = HandleTable::new();
/// Bytes of all memories.
static CREATED: AtomicUsize = AtomicUsize::new(0);

/// Mapping of a handle into a range.
#[derive(Debug)]
struct AddressMapping {
    bytes: usize,
    memory: Arc<PhysicalMemory>,
    access: LocationAccess,
}

/// Accesses by the device and by the host, which are one: the greater ones count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocationAccess {
    /// Accesses of the device.
    pub device: RangeAccess,
    /// Accesses of the host.
    pub host: RangeAccess,
}

/// Reserved range with its mappings by their starts.
#[derive(Debug)]
struct AddressRange {
    bytes: usize,
    mappings: BTreeMap<usize, AddressMapping>,
}

/// Ranges by their starts.
type AddressRanges = BTreeMap<usize, AddressRange>;

fn ranges() -> MutexGuard<'static, AddressRanges> {
    static RANGES: Mutex<AddressRanges> = Mutex::new(BTreeMap::new());
    RANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the bytes of all memories that live.
pub fn created_bytes() -> usize {
    CREATED.load(Ordering::Relaxed)
}

impl Drop for PhysicalMemory {
    fn drop(&mut self) {
        CREATED.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl PhysicalMemory {
    /// Creates memory, and a handle for it.
    pub fn create(bytes: usize, properties: MemoryProperties) -> CudaResult<CudaHandle> {
        ensure(bytes > 0 && bytes.is_multiple_of(GRANULARITY), CUDA_ERROR_INVALID_VALUE)?;
        let fits = created_bytes().checked_add(bytes).is_some_and(|all| all <= machine_memory::total_bytes());
        ensure(fits && bytes <= machine_memory::free_bytes(), CUDA_ERROR_OUT_OF_MEMORY)?;
        // SAFETY: the name is a text.
        let file = unsafe { libc::memfd_create(c"heddle".as_ptr(), libc::MFD_CLOEXEC) };
        ensure(file >= 0, CUDA_ERROR_OUT_OF_MEMORY)?;
        // SAFETY: the file has just been opened, and nothing else owns it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let length = libc::off_t::try_from(bytes).map_err(|_| CudaError(CUDA_ERROR_OUT_OF_MEMORY))?;
        // SAFETY: it takes no pointer.
        let is_sized = unsafe { libc::ftruncate(file.as_raw_fd(), length) } == 0;
        ensure(is_sized, CUDA_ERROR_OUT_OF_MEMORY)?;
        CREATED.fetch_add(bytes, Ordering::Relaxed);
        let references = Mutex::new(1);
        let memory = |handle| Arc::new(PhysicalMemory { handle, file, bytes, properties, references });
        Ok(MEMORIES.publish_with(memory).0)
    }

    /// Looks up the memory of a handle.
    pub fn find(handle: CudaHandle) -> CudaResult<Arc<PhysicalMemory>> {
        MEMORIES.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Gives up a reference to a handle.
    pub fn release(handle: CudaHandle) -> CudaResult<()> {
        let memory = PhysicalMemory::find(handle)?;
        let mut references = memory.references.lock().unwrap_or_else(PoisonError::into_inner);
        *references = references.saturating_sub(1);
        match *references {
            0 => MEMORIES.remove(handle).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Adds a reference to the handle of the memory that an address shows, and returns the handle.
    pub fn retain_at(address: CUdeviceptr) -> CudaResult<CudaHandle> {
        let memory = mapping_at(&ranges(), address as usize, |mapping| Arc::clone(&mapping.memory))?;
        let mut references = memory.references.lock().unwrap_or_else(PoisonError::into_inner);
        if *references == 0 {
            MEMORIES.restore(memory.handle, Arc::clone(&memory));
        }
        *references += 1;
        Ok(memory.handle)
    }
}

impl LocationAccess {
    const NONE: LocationAccess = LocationAccess { device: RangeAccess::None, host: RangeAccess::None };

    fn greater(self) -> RangeAccess {
        self.device.max(self.host)
    }
}

fn protection(access: RangeAccess) -> i32 {
    match access {
        RangeAccess::None => libc::PROT_NONE,
        RangeAccess::Read => libc::PROT_READ,
        RangeAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
    }
}

/// Maps pages without access; at a given place if it is part of a range.
///
/// # Safety
/// A place with `MAP_FIXED` is part of a range that nobody uses.
unsafe fn map_nothing(place: usize, bytes: usize, flags: i32) -> Option<usize> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let place = std::ptr::with_exposed_provenance_mut(place);
    // SAFETY: the caller's promise; without `MAP_FIXED` the mapping touches no other.
    let start = unsafe { libc::mmap(place, bytes, libc::PROT_NONE, flags, -1, 0) };
    (start != libc::MAP_FAILED).then(|| start.expose_provenance())
}

/// Unmaps pages of ranges.
///
/// # Safety
/// They came from [`map_nothing`], and nobody uses them.
unsafe fn unmap_pages(start: usize, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller's promise.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(start), bytes) };
    }
}

fn reserve_pages(bytes: usize, align: usize, hint: usize) -> Option<usize> {
    if hint != 0 && hint.is_multiple_of(align) {
        // SAFETY: a new mapping.
        let start = unsafe { map_nothing(hint, bytes, 0) }?;
        if start.is_multiple_of(align) {
            return Some(start);
        }
        // SAFETY: it has just been mapped.
        unsafe { unmap_pages(start, bytes) };
    }
    let room = bytes.checked_add(align)?;
    // SAFETY: a new mapping.
    let start = unsafe { map_nothing(0, room, 0) }?;
    let aligned = start.next_multiple_of(align);
    let before = aligned - start;
    // SAFETY: the pages before and after the range have just been mapped with it.
    unsafe {
        unmap_pages(start, before);
        unmap_pages(aligned + bytes, room - before - bytes);
    }
    Some(aligned)
}

/// Returns the unit of ranges in bytes.
fn page() -> usize {
    // SAFETY: it takes a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(GRANULARITY)
}

/// Reserves a range of addresses, at the hint if that is possible.
pub fn reserve(bytes: usize, align: usize, hint: CUdeviceptr) -> CudaResult<CUdeviceptr> {
    ensure(bytes > 0 && bytes.is_multiple_of(page()), CUDA_ERROR_INVALID_VALUE)?;
    ensure((hint as usize).is_multiple_of(page()), CUDA_ERROR_INVALID_VALUE)?;
    ensure(align == 0 || align.is_power_of_two(), CUDA_ERROR_INVALID_VALUE)?;
    let start = reserve_pages(bytes, align.max(GRANULARITY), hint as usize);
    let start = start.ok_or(CudaError(CUDA_ERROR_OUT_OF_MEMORY))?;
    ranges().insert(start, AddressRange { bytes, mappings: BTreeMap::new() });
    Ok(start as CUdeviceptr)
}

/// Gives a range back that has no mappings.
pub fn free(start: CUdeviceptr, bytes: usize) -> CudaResult<()> {
    let mut ranges = ranges();
    let range =
        ranges.get(&(start as usize)).filter(|range| range.bytes == bytes && range.mappings.is_empty());
    ensure(range.is_some(), CUDA_ERROR_INVALID_VALUE)?;
    ranges.remove(&(start as usize));
    // SAFETY: it was a range, and is taken out of the table once.
    unsafe { unmap_pages(start as usize, bytes) };
    Ok(())
}

/// Returns the range that some bytes are in.
fn range_around(ranges: &mut AddressRanges, start: usize, bytes: usize) -> CudaResult<&mut AddressRange> {
    let is_aligned = bytes > 0 && start.is_multiple_of(GRANULARITY) && bytes.is_multiple_of(GRANULARITY);
    ensure(is_aligned, CUDA_ERROR_INVALID_VALUE)?;
    let found = ranges.range_mut(..=start).next_back();
    let (&first, range) = found.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
    let is_inside = start.checked_add(bytes).is_some_and(|end| end <= first + range.bytes);
    ensure(is_inside, CUDA_ERROR_INVALID_VALUE)?;
    Ok(range)
}

/// Maps memory of a handle, from an offset on, without access.
pub fn map(start: CUdeviceptr, bytes: usize, offset: usize, handle: CudaHandle) -> CudaResult<()> {
    let (mut ranges, start) = (ranges(), start as usize);
    let memory = PhysicalMemory::find(handle)?;
    let range = range_around(&mut ranges, start, bytes)?;
    let fits = offset.checked_add(bytes).is_some_and(|end| end <= memory.bytes);
    ensure(fits && offset.is_multiple_of(GRANULARITY), CUDA_ERROR_INVALID_VALUE)?;
    let before = range.mappings.range(..start + bytes).next_back();
    let is_free = before.is_none_or(|(&other, mapping)| other + mapping.bytes <= start);
    ensure(is_free, CUDA_ERROR_INVALID_VALUE)?;
    let place = std::ptr::with_exposed_provenance_mut(start);
    let (flags, file) = (libc::MAP_SHARED | libc::MAP_FIXED, memory.file.as_raw_fd());
    // SAFETY: the place is part of a range, has no mapping, and the lock keeps others from it; the file has these bytes.
    let mapped = unsafe { libc::mmap(place, bytes, libc::PROT_NONE, flags, file, offset as libc::off_t) };
    ensure(mapped != libc::MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY)?;
    range.mappings.insert(start, AddressMapping { bytes, memory, access: LocationAccess::NONE });
    memory::note_mapping(start, bytes, RangeAccess::None);
    Ok(())
}

/// Returns the starts and bytes of mappings that together are a range of addresses; other ranges are an error.
fn whole_mappings(range: &AddressRange, start: usize, bytes: usize) -> CudaResult<Vec<(usize, usize)>> {
    let (mut found, mut at) = (Vec::new(), start);
    while at < start + bytes {
        let mapping = range.mappings.get(&at).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        found.push((at, mapping.bytes));
        at += mapping.bytes;
    }
    ensure(at == start + bytes, CUDA_ERROR_INVALID_VALUE)?;
    Ok(found)
}

/// Unmaps whole mappings.
pub fn unmap(start: CUdeviceptr, bytes: usize) -> CudaResult<()> {
    let (mut ranges, start) = (ranges(), start as usize);
    let range = range_around(&mut ranges, start, bytes)?;
    for (at, bytes) in whole_mappings(range, start, bytes)? {
        memory::forget_mapping(at);
        // SAFETY: the pages are a mapping of the range; the application promises that nobody uses them.
        let unmapped = unsafe { map_nothing(at, bytes, libc::MAP_FIXED) };
        ensure(unmapped.is_some(), CUDA_ERROR_OUT_OF_MEMORY)?;
        range.mappings.remove(&at);
    }
    Ok(())
}

/// Changes accesses of whole mappings.
pub fn set_access(
    start: CUdeviceptr,
    bytes: usize,
    change: impl Fn(LocationAccess) -> LocationAccess,
) -> CudaResult<()> {
    let (mut ranges, start) = (ranges(), start as usize);
    let range = range_around(&mut ranges, start, bytes)?;
    for (at, bytes) in whole_mappings(range, start, bytes)? {
        let Some(mapping) = range.mappings.get_mut(&at) else { continue };
        mapping.access = change(mapping.access);
        let access = mapping.access.greater();
        let place = std::ptr::with_exposed_provenance_mut(at);
        // SAFETY: the pages are a mapping of a range; the application promises that nobody uses them in another way.
        let done = unsafe { libc::mprotect(place, bytes, protection(access)) };
        ensure(done == 0, CUDA_ERROR_OUT_OF_MEMORY)?;
        memory::note_mapping(at, bytes, access);
    }
    Ok(())
}

fn mapping_at<T>(
    ranges: &AddressRanges,
    address: usize,
    get: impl Fn(&AddressMapping) -> T,
) -> CudaResult<T> {
    let range = ranges.range(..=address).next_back();
    let mapping = range.and_then(|(_, range)| range.mappings.range(..=address).next_back());
    let found = mapping.filter(|(start, mapping)| address - **start < mapping.bytes);
    found.map(|(_, mapping)| get(mapping)).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
}

/// Returns the accesses that were set for an address.
pub fn access_at(address: CUdeviceptr) -> CudaResult<LocationAccess> {
    mapping_at(&ranges(), address as usize, |mapping| mapping.access)
}
