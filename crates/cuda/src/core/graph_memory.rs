//! Memory of graphs.
//!
//! It is reserved when the node that allocates it is added, so its address is the same in all launches. A launch of that node begins its
//! use; a free, by a node or by the application, ends it. It is given back with the last graph that has the node. If it is in
//! use then, it becomes ordinary memory, which the application frees.

use crate::core::error::CudaResult;
use crate::core::memory::{self, AllocationKind};
use crate::cuda::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory that a node of a graph allocates.
#[derive(Debug)]
pub struct GraphMemory {
    /// First byte.
    pub start: CUdeviceptr,
    /// Size in bytes.
    pub bytes: usize,
    id: u64,
}

/// A number of bytes: now, and the maximum so far.
#[derive(Debug)]
struct GraphBytes {
    now: AtomicU64,
    most: AtomicU64,
}

impl GraphBytes {
    const fn new() -> GraphBytes {
        GraphBytes { now: AtomicU64::new(0), most: AtomicU64::new(0) }
    }

    fn add(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.now.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

static USED: GraphBytes = GraphBytes::new();
static RESERVED: GraphBytes = GraphBytes::new();

/// Returns an attribute of `CUgraphMem_attribute`: bytes in use, their maximum, bytes reserved, their maximum.
pub fn attribute(number: u32) -> u64 {
    let counter = match number {
        0 => &USED.now,
        1 => &USED.most,
        2 => &RESERVED.now,
        _ => &RESERVED.most,
    };
    counter.load(Ordering::Relaxed)
}

/// Resets a maximum to the bytes of now.
pub fn reset_attribute(number: u32) {
    let counter = if number == 1 { &USED } else { &RESERVED };
    counter.most.store(counter.now.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Counts bytes whose use begins or ends.
pub(super) fn count_used(bytes: usize, begins: bool) {
    if begins { USED.add(bytes) } else { USED.subtract(bytes) }
}

impl GraphMemory {
    /// Reserves memory.
    pub fn reserve(bytes: usize) -> CudaResult<GraphMemory> {
        let start = memory::allocate(bytes, AllocationKind::Graph { is_used: false }, 0)?;
        RESERVED.add(bytes);
        Ok(GraphMemory { start, bytes, id: memory::find(start).map_or(0, |found| found.id) })
    }

    /// Begins the use of the memory. A launch may find that its last use has not ended.
    pub fn begin_use(&self) -> CudaResult<()> {
        memory::begin_use(self.start, self.id)
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        RESERVED.subtract(self.bytes);
        memory::release_of_graph(self.start, self.id);
    }
}
