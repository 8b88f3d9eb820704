//! Shared virtual memory and unified shared memory: allocations of a context that kernels and the host use by the same
//! addresses.

use crate::cl::*;
use crate::core::device::Device;
use crate::core::memory::{Address, ClMemory};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Access by the device, by the address that the host has.
const DEVICE_ACCESS: u64 = CL_SVM_CAPABILITY_SINGLE_ADDRESS_SPACE_KHR
    | CL_SVM_CAPABILITY_DEVICE_READ_KHR
    | CL_SVM_CAPABILITY_DEVICE_WRITE_KHR
    | CL_SVM_CAPABILITY_DEVICE_ATOMIC_ACCESS_KHR
    | CL_SVM_CAPABILITY_INDIRECT_ACCESS_KHR;
/// Access by the host at any time, also while the device uses the memory.
const HOST_ACCESS: u64 = CL_SVM_CAPABILITY_HOST_READ_KHR
    | CL_SVM_CAPABILITY_HOST_WRITE_KHR
    | CL_SVM_CAPABILITY_CONCURRENT_ACCESS_KHR
    | CL_SVM_CAPABILITY_CONCURRENT_ATOMIC_ACCESS_KHR;
/// Memory of the context, and not of a device.
const OF_CONTEXT: u64 = CL_SVM_CAPABILITY_DEVICE_UNASSOCIATED_KHR | CL_SVM_CAPABILITY_CONTEXT_ACCESS_KHR;

/// Capabilities of the types of shared virtual memory, by index: coarse-grained and fine-grained buffers, memory of the
/// device, of the host, of both, and of the system. All of it is the host's; a type has what programs may rely on.
pub const SVM_TYPES: [u64; 6] = [
    DEVICE_ACCESS | OF_CONTEXT | CL_SVM_CAPABILITY_HOST_MAP_KHR,
    DEVICE_ACCESS | OF_CONTEXT | CL_SVM_CAPABILITY_HOST_MAP_KHR | HOST_ACCESS,
    DEVICE_ACCESS | CL_SVM_CAPABILITY_DEVICE_OWNED_KHR,
    DEVICE_ACCESS | OF_CONTEXT | HOST_ACCESS | CL_SVM_CAPABILITY_HOST_OWNED_KHR,
    DEVICE_ACCESS | HOST_ACCESS,
    DEVICE_ACCESS
        | OF_CONTEXT
        | CL_SVM_CAPABILITY_HOST_MAP_KHR
        | HOST_ACCESS
        | CL_SVM_CAPABILITY_SYSTEM_ALLOCATED_KHR,
];
/// Index of coarse-grained buffers in [`SVM_TYPES`].
pub const COARSE_GRAINED: u32 = 0;
/// Index of fine-grained buffers in [`SVM_TYPES`].
pub const FINE_GRAINED: u32 = 1;

/// Returns the index of the type that has all required capabilities and most of the desired ones; the first of several.
/// Memory without a device cannot be of a type that needs one.
pub fn suggested_type(required: u64, desired: u64, has_device: bool) -> Option<u32> {
    let needs_device = |of: u64| of & CL_SVM_CAPABILITY_DEVICE_UNASSOCIATED_KHR == 0;
    let fits = |of: u64| of & required == required && (has_device || !needs_device(of));
    let wanted = |of: u64| (of & desired).count_ones();
    let most = SVM_TYPES.into_iter().filter(|&of| fits(of)).map(wanted).max()?;
    let index = SVM_TYPES.into_iter().position(|of| fits(of) && wanted(of) == most)?;
    u32::try_from(index).ok()
}

/// Interface that an allocation was made by.
#[derive(Clone, Debug)]
pub enum SharedMemoryKind {
    /// Shared virtual memory.
    Svm(SvmAttributes),
    /// Unified shared memory of the host.
    Host,
    /// Unified shared memory of a device.
    Device(Arc<Device>),
    /// Unified shared memory of the host and of devices: of the named one, or of all.
    Shared(Option<Arc<Device>>),
}

impl SharedMemoryKind {
    /// Returns the attributes of shared virtual memory.
    pub fn svm(&self) -> Option<&SvmAttributes> {
        if let SharedMemoryKind::Svm(attributes) = self { Some(attributes) } else { None }
    }
}

/// Attributes that shared virtual memory was allocated with (`cl_khr_unified_svm`).
#[derive(Clone, Debug, Default)]
pub struct SvmAttributes {
    /// Index in [`SVM_TYPES`].
    pub type_index: u32,
    /// Properties with their terminator; empty if there were none.
    pub properties: Vec<u64>,
    /// Accesses that the application does without.
    pub access: u64,
    /// Device that the memory is associated with.
    pub device: Option<Arc<Device>>,
}

impl SvmAttributes {
    /// Returns the capabilities of the memory's type.
    pub fn capabilities(&self) -> u64 {
        SVM_TYPES.get(self.type_index as usize).copied().unwrap_or(0)
    }
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

    /// True if shared virtual memory starts at an address.
    pub fn is_svm(&self, address: usize) -> bool {
        let is_start = self.find(address).is_some_and(|(start, _)| start == address);
        is_start && self.kind(address).is_some_and(|kind| kind.svm().is_some())
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
        (address - start < allocation.bytes).then(|| allocation.kind.clone())
    }

    /// Returns start and size of all allocations by address.
    pub fn all(&self) -> Vec<(usize, usize)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(&start, allocation)| (start, allocation.bytes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_have_what_is_required() {
        for required in (0..15).map(|bit| 1 << bit).chain(SVM_TYPES) {
            let index = suggested_type(required, 0, true).expect("each capability is one of a type");
            assert_eq!(SVM_TYPES[index as usize] & required, required);
        }
        assert_eq!(suggested_type(1 << 15, 0, true), None);
        assert_eq!(suggested_type(CL_SVM_CAPABILITY_DEVICE_OWNED_KHR, 0, false), None);
    }

    #[test]
    fn desires_decide_between_types() {
        let host = CL_SVM_CAPABILITY_HOST_OWNED_KHR;
        assert_eq!(suggested_type(0, 0, false), Some(COARSE_GRAINED));
        assert_eq!(suggested_type(0, host, false), Some(3));
        assert_eq!(suggested_type(CL_SVM_CAPABILITY_HOST_MAP_KHR, host, false), Some(COARSE_GRAINED));
        assert_eq!(suggested_type(0, HOST_ACCESS, false), Some(FINE_GRAINED));
    }
}
