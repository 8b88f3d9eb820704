//! Shared virtual memory and unified shared memory: allocations of a context that kernels and the host use by the same
//! addresses.

use crate::core::memory::{Address, ClMemory};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Interface that an allocation was made by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedMemoryKind {
    /// Shared virtual memory.
    Svm,
    /// Unified shared memory of the host.
    Host,
    /// Unified shared memory of the device.
    Device,
    /// Unified shared memory of both.
    Shared,
}

#[derive(Debug)]
struct SvmAllocation {
    kind: SharedMemoryKind,
    bytes: usize,
    // Freed with the allocation.
    _memory: ClMemory,
}

/// Shared virtual memory of a context.
#[derive(Debug, Default)]
pub struct SvmAllocations(Mutex<BTreeMap<usize, SvmAllocation>>);

impl SvmAllocations {
    /// Allocates memory; none if it is exhausted.
    pub fn add(&self, kind: SharedMemoryKind, bytes: usize, align: usize) -> Option<Address> {
        let memory = ClMemory::allocate(bytes, align)?;
        let base = memory.base();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(base.number(), SvmAllocation { kind, bytes, _memory: memory });
        Some(base)
    }

    /// Frees the allocation that starts at an address; false if there is none.
    pub fn remove(&self, address: usize) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&address).is_some()
    }

    /// True if a range lies in one allocation.
    pub fn holds(&self, address: usize, bytes: usize) -> bool {
        self.find(address).is_some_and(|(start, size)| bytes <= size - (address - start))
    }

    /// Returns start and size of the allocation that contains an address.
    pub fn find(&self, address: usize) -> Option<(usize, usize)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (&start, allocation) = all.range(..=address).next_back()?;
        (address - start < allocation.bytes).then_some((start, allocation.bytes))
    }

    /// Returns the kind of the allocation that contains an address.
    pub fn kind(&self, address: usize) -> Option<SharedMemoryKind> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (&start, allocation) = all.range(..=address).next_back()?;
        (address - start < allocation.bytes).then_some(allocation.kind)
    }

    /// Returns start and size of all allocations by address.
    pub fn all(&self) -> Vec<(usize, usize)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(&start, allocation)| (start, allocation.bytes)).collect()
    }
}
