//! Memory for every type: of values, what a worker keeps from one group to the next, and what drivers give to applications.

use crate::arena::{Arena, GRAIN};
use crate::machine_memory;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A page of the larger kind: rows of large buffers are pages apart, and the processor remembers few of those.
pub(crate) const HUGE_PAGE: usize = 2 << 20;
/// From how many bytes on memory is in such pages of its own,
const LARGE: usize = 2 * HUGE_PAGE;
/// and from how many on it shares them.
const MIDDLING: usize = 64 << 10;

/// Initial contents of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// Zeros.
    Zeros,
    /// Unspecified: no time is spent on it.
    Unknown,
}

/// Where memory comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Heap,
    Shared,
    /// Pages of its own, zeros that the system backs when they are first touched: by the threads that need them, and never twice.
    OwnPages,
}

fn source_of(layout: Layout) -> Source {
    match layout.size() {
        LARGE.. => Source::OwnPages,
        MIDDLING.. if layout.align() <= GRAIN => Source::Shared,
        _ => Source::Heap,
    }
}

fn shared() -> MutexGuard<'static, Arena> {
    static SHARED: Mutex<Arena> = Mutex::new(Arena::new());
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Layout of an application's memory: large memory is in large pages.
pub fn layout_of(bytes: usize, align: usize) -> Option<Layout> {
    let align = if bytes >= LARGE { align.max(HUGE_PAGE) } else { align };
    Layout::from_size_align(bytes.max(1), align).ok()
}

/// Gets memory that lies as [`layout_of`] has it, which [`free`] takes back; none if the machine cannot back as much.
pub fn allocate(layout: Layout, contents: Contents) -> Option<NonNull<u8>> {
    // Less than that is not worth the questions.
    if layout.size() == 0 || layout.size() >= LARGE && layout.size() > machine_memory::free_bytes() {
        return None;
    }
    let start = match (source_of(layout), contents) {
        (Source::OwnPages, _) => map_pages(layout)?,
        (Source::Shared, _) => {
            let start = shared().take(layout.size())?;
            if contents == Contents::Zeros {
                // SAFETY: it has as many bytes; nothing else knows of it yet.
                unsafe { start.write_bytes(0, layout.size()) };
            }
            start
        }
        // SAFETY: the layout has bytes.
        (Source::Heap, Contents::Zeros) => NonNull::new(unsafe { alloc_zeroed(layout) })?,
        // SAFETY: as above.
        (Source::Heap, Contents::Unknown) => NonNull::new(unsafe { alloc(layout) })?,
    };
    machine_memory::give(layout.size());
    objects().insert(start.as_ptr() as u64, layout.size() as u64);
    Some(start)
}

/// Objects of [`allocate`], with their sizes, by their starts.
fn objects() -> MutexGuard<'static, BTreeMap<u64, u64>> {
    static OBJECTS: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns where the object of [`allocate`] lies that an address is in.
pub(crate) fn object(address: u64) -> Option<Range<u64>> {
    let (&start, &bytes) = objects().range(..=address).next_back()?;
    let object = start..start + bytes;
    object.contains(&address).then_some(object)
}

/// Takes memory back.
///
/// # Safety
/// It came from [`allocate`] with this layout, and nobody uses it any more.
pub unsafe fn free(start: NonNull<u8>, layout: Layout) {
    machine_memory::take_back(layout.size());
    objects().remove(&(start.as_ptr() as u64));
    match source_of(layout) {
        // SAFETY: the caller's promise.
        Source::Shared => unsafe { shared().give_back(start, layout.size()) },
        // SAFETY: as above.
        Source::OwnPages => unsafe { unmap_pages(start, layout) },
        // SAFETY: as above.
        Source::Heap => unsafe { dealloc(start.as_ptr(), layout) },
    }
}

/// Maps zeroed pages, large ones where the system has them.
fn map_pages(layout: Layout) -> Option<NonNull<u8>> {
    let (bytes, align) = (layout.size().checked_next_multiple_of(GRAIN)?, layout.align());
    let room = bytes.checked_add(align)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping that touches no other.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), room, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    let before = start.align_offset(align);
    // SAFETY: the parts before and behind the aligned memory are of this mapping, and page by page. Advice that the system does not take
    // changes nothing but speed.
    unsafe {
        let aligned = start.byte_add(before);
        if before > 0 {
            libc::munmap(start, before);
        }
        libc::munmap(aligned.byte_add(bytes), room - before - bytes);
        libc::madvise(aligned, bytes, libc::MADV_HUGEPAGE);
        NonNull::new(aligned.cast())
    }
}

/// Unmaps pages.
///
/// # Safety
/// They came from [`map_pages`] with this layout, and nobody uses them any more.
unsafe fn unmap_pages(start: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(start.as_ptr().cast(), layout.size().next_multiple_of(GRAIN)) };
}

/// Returns the bytes of the largest cache, if the system knows them.
pub(crate) fn cache_bytes() -> Option<u64> {
    static BYTES: OnceLock<Option<u64>> = OnceLock::new();
    // The C library asks the processor where it can, and the files of the system take ten times as long.
    *BYTES.get_or_init(|| largest_cache_of_library().or_else(largest_cache_of_system))
}

fn largest_cache_of_library() -> Option<u64> {
    let levels = [libc::_SC_LEVEL3_CACHE_SIZE, libc::_SC_LEVEL2_CACHE_SIZE];
    // SAFETY: it takes a number.
    let bytes = levels.into_iter().map(|level| unsafe { libc::sysconf(level) });
    bytes.filter_map(|bytes| u64::try_from(bytes).ok()).find(|bytes| *bytes > 0)
}

fn largest_cache_of_system() -> Option<u64> {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let sizes = caches.filter_map(|entry| {
        let size = std::fs::read_to_string(entry.ok()?.path().join("size")).ok()?;
        let size = size.trim();
        let (number, unit) = size.split_at(size.find(|letter: char| !letter.is_ascii_digit())?);
        let unit: u64 = match unit {
            "K" => 1 << 10,
            "M" => 1 << 20,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(unit)
    });
    sizes.max()
}

/// Unit of allocation: two cache lines, so that every vector is aligned.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct CacheLine([u8; 128]);

/// Aligned memory that grows on demand.
#[derive(Default)]
pub(crate) struct AlignedMemory {
    lines: Vec<CacheLine>,
}

impl AlignedMemory {
    /// Memory with these bytes.
    pub(crate) fn copy_of(bytes: &[u8]) -> AlignedMemory {
        let line = |chunk: &[u8]| {
            let mut line = [0; 128];
            line[..chunk.len()].copy_from_slice(chunk);
            CacheLine(line)
        };
        AlignedMemory { lines: bytes.chunks(128).map(line).collect() }
    }

    /// Its start.
    pub(crate) fn start(&self) -> *const u8 {
        self.lines.as_ptr().cast()
    }

    /// The start of so many bytes, of which nothing is known. None if there is not as much memory.
    pub(crate) fn bytes(&mut self, bytes: u64) -> Option<*mut u8> {
        let lines = usize::try_from(bytes.div_ceil(128)).ok()?.max(1);
        if lines > self.lines.len() {
            self.lines.try_reserve_exact(lines - self.lines.len()).ok()?;
            self.lines.resize(lines, CacheLine([0; 128]));
        }
        Some(self.lines.as_mut_ptr().cast())
    }
}
