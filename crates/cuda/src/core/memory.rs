//! Memory: host memory with a table of allocations.
//!
//! Device pointers are looked up, so a copy beyond an allocation is an error code. Host pointers are valid by the
//! application's promise.

use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::graph_memory;
use crate::core::range_advice;
use crate::core::registry::HandleTable;
use crate::cuda::*;
use heddle_runtime::memory::{self, Contents};
use heddle_runtime::transfer;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Accesses that a range of addresses allows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RangeAccess {
    /// None.
    None,
    /// Reads.
    Read,
    /// Reads and writes.
    ReadWrite,
}

/// Kind of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllocationKind {
    /// Device memory.
    Device,
    /// Pinned host memory.
    Host,
    /// Application memory registered with the driver.
    Registered,
    /// Managed memory.
    Managed,
    /// Memory of a pool.
    Pool(CudaHandle),
    /// Memory of a graph.
    Graph {
        /// True from the launch of the node that allocates it until it is freed.
        is_used: bool,
    },
    /// Memory of a handle, mapped into a reserved range of addresses.
    Mapped(RangeAccess),
    /// Texels of an array.
    Array,
    /// Module variable.
    Variable,
}

/// Memory range known to the driver.
#[derive(Clone, Copy, Debug)]
pub struct CudaAllocation {
    /// Start address.
    pub start: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// Allocation kind.
    pub kind: AllocationKind,
    /// Allocation flags.
    pub flags: u32,
    /// Owning context.
    pub context: CudaHandle,
    /// Unique number.
    pub id: u64,
}

impl CudaAllocation {
    /// True if the driver allocated the memory.
    fn is_own(&self) -> bool {
        matches!(
            self.kind,
            AllocationKind::Device
                | AllocationKind::Host
                | AllocationKind::Managed
                | AllocationKind::Array
                | AllocationKind::Pool(_)
                | AllocationKind::Graph { .. }
        )
    }

    /// Returns the accesses that the memory allows.
    pub fn access(&self) -> RangeAccess {
        if let AllocationKind::Mapped(access) = self.kind { access } else { RangeAccess::ReadWrite }
    }

    /// True if the application sees host memory.
    pub fn is_of_host(&self) -> bool {
        matches!(self.kind, AllocationKind::Host | AllocationKind::Registered)
    }
}

/// Memory pool, backed by the system allocator.
#[derive(Debug, Default)]
pub struct CudaMemoryPool {
    /// Attributes by number, recorded only.
    pub attributes: [AtomicU64; 9],
    /// Bytes in use now, and the high-water mark.
    pub used: [AtomicU64; 2],
}

/// All pools.
pub static POOLS: HandleTable<CudaMemoryPool> = HandleTable::new();

/// Returns the device's default pool.
pub fn default_pool() -> CudaHandle {
    static DEFAULT: OnceLock<CudaHandle> = OnceLock::new();
    *DEFAULT.get_or_init(|| POOLS.publish(Arc::default()))
}

/// Alignment of allocations in bytes, as on GPUs.
const ALIGN: usize = 256;

static KNOWN: Mutex<BTreeMap<usize, CudaAllocation>> = Mutex::new(BTreeMap::new());
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

fn known() -> MutexGuard<'static, BTreeMap<usize, CudaAllocation>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Granularity of allocations in bytes, as on GPUs, where kernels with small overruns go unnoticed.
const PIECE: usize = 512;

/// Maximum size of an allocation that is cleared, in bytes.
const MOST_ZEROED: usize = 1 << 20;

fn layout(bytes: usize) -> CudaResult<Layout> {
    let bytes = bytes.checked_next_multiple_of(PIECE).ok_or(CudaError(CUDA_ERROR_OUT_OF_MEMORY))?;
    memory::layout_of(bytes, ALIGN).ok_or(CudaError(CUDA_ERROR_OUT_OF_MEMORY))
}

fn note(start: usize, bytes: usize, kind: AllocationKind, flags: u32) {
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    let context = context::current_handle();
    known().insert(start, CudaAllocation { start, bytes, kind, flags, context, id });
}

/// Allocates memory.
pub fn allocate(bytes: usize, kind: AllocationKind, flags: u32) -> CudaResult<CUdeviceptr> {
    ensure(bytes > 0, CUDA_ERROR_INVALID_VALUE)?;
    let layout = layout(bytes)?;
    let pool = match kind {
        AllocationKind::Pool(pool) => {
            Some(POOLS.find(pool).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?)
        }
        _ => None,
    };
    // Programs read memory that is fresh on a GPU, and zero, without writing it. Larger memory is fresh from the system, too.
    let contents = match kind {
        AllocationKind::Device | AllocationKind::Managed if bytes <= MOST_ZEROED => Contents::Zeros,
        _ => Contents::Unknown,
    };
    let start = memory::allocate(layout, contents).ok_or(CudaError(CUDA_ERROR_OUT_OF_MEMORY))?;
    if let Some(pool) = pool {
        let now = pool.used[0].fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        pool.used[1].fetch_max(now, Ordering::Relaxed);
    }
    let start = start.as_ptr().expose_provenance();
    note(start, bytes, kind, flags);
    Ok(start as CUdeviceptr)
}

fn give_back(allocation: &CudaAllocation) {
    if allocation.kind == (AllocationKind::Graph { is_used: true }) {
        graph_memory::count_used(allocation.bytes, false);
    }
    if let AllocationKind::Pool(pool) = allocation.kind
        && let Ok(pool) = POOLS.find(pool)
    {
        pool.used[0].fetch_sub(allocation.bytes as u64, Ordering::Relaxed);
    }
    if allocation.kind == AllocationKind::Managed {
        range_advice::forget(allocation.start, allocation.bytes);
    }
    let start = NonNull::new(std::ptr::with_exposed_provenance_mut(allocation.start));
    if let (true, Ok(layout), Some(start)) = (allocation.is_own(), layout(allocation.bytes), start) {
        // SAFETY: it was allocated with this layout, and has just been taken out of the table, so it is freed once.
        unsafe { memory::free(start, layout) };
    }
}

/// Frees the allocation at an address if its kind matches. Memory of a graph stays reserved.
pub fn free(start: CUdeviceptr, is_kind: impl Fn(AllocationKind) -> bool) -> CudaResult<()> {
    let mut known = known();
    let found = known.get_mut(&(start as usize)).filter(|it| is_kind(it.kind));
    let found = found.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
    if let AllocationKind::Graph { is_used } = &mut found.kind {
        ensure(std::mem::take(is_used), CUDA_ERROR_INVALID_VALUE)?;
        graph_memory::count_used(found.bytes, false);
        return Ok(());
    }
    let allocation = *found;
    known.remove(&allocation.start);
    drop(known);
    give_back(&allocation);
    Ok(())
}

/// Begins the use of a graph's memory.
pub fn begin_use(start: CUdeviceptr, id: u64) -> CudaResult<()> {
    let mut known = known();
    let found = known.get_mut(&(start as usize)).filter(|it| it.id == id);
    match found.map(|it| (&mut it.kind, it.bytes)) {
        Some((AllocationKind::Graph { is_used }, bytes)) => {
            if !std::mem::replace(is_used, true) {
                graph_memory::count_used(bytes, true);
            }
            Ok(())
        }
        _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
    }
}

/// Gives a graph's memory back, or leaves it to the application if it is in use. Does nothing after the end of its context.
pub fn release_of_graph(start: CUdeviceptr, id: u64) {
    let mut known = known();
    let Some(found) = known.get_mut(&(start as usize)).filter(|it| it.id == id) else { return };
    if found.kind == (AllocationKind::Graph { is_used: true }) {
        graph_memory::count_used(found.bytes, false);
        found.kind = AllocationKind::Device;
        return;
    }
    let allocation = *found;
    known.remove(&allocation.start);
    drop(known);
    give_back(&allocation);
}

/// Frees the allocations of a context.
pub fn free_of_context(context: CudaHandle) {
    let mut known = known();
    let of: Vec<CudaAllocation> =
        known.values().filter(|it| it.context == context && it.is_own()).copied().collect();
    of.iter().for_each(|it| _ = known.remove(&it.start));
    drop(known);
    of.iter().for_each(give_back);
}

/// Registers memory of the application.
pub fn register(start: usize, bytes: usize, flags: u32) -> CudaResult<()> {
    ensure(start != 0 && bytes > 0 && start.checked_add(bytes).is_some(), CUDA_ERROR_INVALID_VALUE)?;
    let overlaps = known().range(..start + bytes).next_back().is_some_and(|(at, it)| at + it.bytes > start);
    ensure(!overlaps, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)?;
    note(start, bytes, AllocationKind::Registered, flags);
    Ok(())
}

/// Unregisters memory of the application.
pub fn unregister(start: usize) -> CudaResult<()> {
    free(start as CUdeviceptr, |kind| kind == AllocationKind::Registered)
        .map_err(|_| CudaError(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED))
}

/// Registers a module variable.
pub fn note_variable(start: usize, bytes: u64) {
    note(start, bytes as usize, AllocationKind::Variable, 0);
}

/// Unregisters a module variable.
pub fn forget_variable(start: usize) {
    let mut known = known();
    if known.get(&start).is_some_and(|it| it.kind == AllocationKind::Variable) {
        known.remove(&start);
    }
}

/// Registers mapped memory, or changes its accesses.
pub fn note_mapping(start: usize, bytes: usize, access: RangeAccess) {
    let mut known = known();
    match known.get_mut(&start) {
        Some(mapping) => mapping.kind = AllocationKind::Mapped(access),
        None => {
            drop(known);
            note(start, bytes, AllocationKind::Mapped(access), 0);
        }
    }
}

/// Unregisters mapped memory.
pub fn forget_mapping(start: usize) {
    let mut known = known();
    if known.get(&start).is_some_and(|it| matches!(it.kind, AllocationKind::Mapped(_))) {
        known.remove(&start);
    }
}

/// Returns all known memory ranges that can be read, by address.
pub fn all() -> Vec<CudaAllocation> {
    known().values().filter(|it| it.access() >= RangeAccess::Read).copied().collect()
}

/// Copies a memory range; parts freed meanwhile read as zero.
pub fn copy_of(piece: &CudaAllocation) -> Vec<u8> {
    let mut bytes = vec![0u8; piece.bytes];
    let to = CopySide::host(bytes.as_mut_ptr().expose_provenance() as u64);
    let _ = MemoryCopy::line(to, CopySide::device(piece.start as u64), piece.bytes).run();
    bytes
}

/// Returns the allocation that contains an address.
pub fn find(address: CUdeviceptr) -> Option<CudaAllocation> {
    let address = address as usize;
    let known = known();
    let (_, allocation) = known.range(..=address).next_back()?;
    (address - allocation.start < allocation.bytes).then_some(*allocation)
}

/// Returns an error unless the range lies in memory that can be read.
pub fn ensure_range(address: CUdeviceptr, bytes: usize) -> CudaResult<()> {
    ensure_access(address, bytes, RangeAccess::Read)
}

/// Returns an error unless the range lies in an allocation, or in mappings side by side, with these accesses.
pub fn ensure_access(address: CUdeviceptr, bytes: usize, access: RangeAccess) -> CudaResult<()> {
    let (mut at, mut left) = (address as usize, bytes);
    while left > 0 {
        let found = find(at as CUdeviceptr).filter(|found| found.access() >= access);
        let found = found.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let inside = found.bytes - (at - found.start);
        ensure(left <= inside || matches!(found.kind, AllocationKind::Mapped(_)), CUDA_ERROR_INVALID_VALUE)?;
        left = left.saturating_sub(inside);
        at += inside;
    }
    Ok(())
}

/// Source or destination of a copy: start, row pitch and slice pitch.
#[derive(Clone, Copy, Debug)]
pub struct CopySide {
    /// The first byte.
    pub start: u64,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Bytes from slice to slice.
    pub slice: usize,
    /// True if accesses are checked against the known allocations.
    pub is_known: bool,
}

/// A copy of rows in slices.
#[derive(Clone, Copy, Debug)]
pub struct MemoryCopy {
    /// Destination.
    pub to: CopySide,
    /// Source.
    pub from: CopySide,
    /// The bytes of a row.
    pub width: usize,
    /// The rows of a slice.
    pub height: usize,
    /// The slices.
    pub depth: usize,
}

impl CopySide {
    /// Memory of the device.
    pub fn device(start: CUdeviceptr) -> CopySide {
        CopySide { start, pitch: 0, slice: 0, is_known: true }
    }

    /// Memory of the host.
    pub fn host(start: u64) -> CopySide {
        CopySide { is_known: false, ..CopySide::device(start) }
    }

    /// Memory of either.
    pub fn any(start: u64) -> CopySide {
        CopySide { is_known: find(start).is_some(), ..CopySide::device(start) }
    }

    fn ensure(&self, width: usize, height: usize, depth: usize, access: RangeAccess) -> CudaResult<()> {
        ensure(self.start != 0, CUDA_ERROR_INVALID_VALUE)?;
        ensure(height == 1 || self.pitch >= width, CUDA_ERROR_INVALID_VALUE)?;
        let rows = (height - 1).checked_mul(self.pitch);
        let slices = (depth - 1).checked_mul(self.slice);
        let end = rows.zip(slices).and_then(|(rows, slices)| rows.checked_add(slices)?.checked_add(width));
        let end = end.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        if self.is_known { ensure_access(self.start, end, access) } else { Ok(()) }
    }
}

impl MemoryCopy {
    /// Builds a contiguous copy.
    pub fn line(to: CopySide, from: CopySide, bytes: usize) -> MemoryCopy {
        MemoryCopy { to, from, width: bytes, height: 1, depth: 1 }
    }

    /// True if the copy has no bytes.
    pub fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Returns an error unless the known ranges are large enough.
    pub fn check(&self) -> CudaResult<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.to.ensure(self.width, self.height, self.depth, RangeAccess::ReadWrite)?;
        self.from.ensure(self.width, self.height, self.depth, RangeAccess::Read)
    }

    /// Executes the copy after a recheck: memory may have been freed meanwhile.
    pub fn run(&self) -> CudaResult<()> {
        self.check()?;
        if self.is_empty() {
            return Ok(());
        }
        for z in 0..self.depth {
            for y in 0..self.height {
                let row = |side: &CopySide| side.start as usize + z * side.slice + y * side.pitch;
                let from = std::ptr::with_exposed_provenance::<u8>(row(&self.from));
                let to = std::ptr::with_exposed_provenance_mut::<u8>(row(&self.to));
                // SAFETY: of known memory it was checked that all rows are in it; of the host's it is the application's promise.
                unsafe { transfer::copy(from, to, self.width) };
            }
        }
        Ok(())
    }
}

/// Fill of rows with one value.
#[derive(Clone, Copy, Debug)]
pub struct MemoryFill {
    /// The first byte.
    pub start: CUdeviceptr,
    /// Bytes from row to row.
    pub pitch: usize,
    /// The value.
    pub value: u32,
    /// Its bytes: 1, 2 or 4.
    pub size: usize,
    /// The values of a row.
    pub width: usize,
    /// The rows.
    pub height: usize,
}

impl MemoryFill {
    /// Returns an error unless the fill stays in known memory.
    pub fn check(&self) -> CudaResult<()> {
        ensure(matches!(self.size, 1 | 2 | 4), CUDA_ERROR_INVALID_VALUE)?;
        ensure((self.start as usize).is_multiple_of(self.size), CUDA_ERROR_INVALID_VALUE)?;
        ensure(self.height <= 1 || self.pitch.is_multiple_of(self.size), CUDA_ERROR_INVALID_VALUE)?;
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        let width = self.width.checked_mul(self.size).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let rows = CopySide { pitch: self.pitch, ..CopySide::device(self.start) };
        rows.ensure(width, self.height, 1, RangeAccess::ReadWrite)
    }

    /// Executes the fill after a recheck.
    pub fn run(&self) -> CudaResult<()> {
        self.check()?;
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        let value = &self.value.to_le_bytes()[..self.size];
        let width = self.width * self.size;
        // Rows that touch are one; the pitch is a multiple of the value's size.
        let (bytes, rows) = match self.pitch <= width {
            true => (width + (self.height - 1) * self.pitch, 1),
            false => (width, self.height),
        };
        for y in 0..rows {
            let row = self.start as usize + y * self.pitch;
            let row = std::ptr::with_exposed_provenance_mut::<u8>(row);
            // SAFETY: it was checked that all rows are in known memory.
            unsafe { transfer::fill(row, value, bytes) };
        }
        Ok(())
    }
}
