//! Handles: what the application holds instead of objects.
//!
//! A handle is a number that is never used again, so one that was destroyed is never another object's. It stands for nothing
//! in memory: whether it is alive is looked up in the table of its kind.

use crate::core::error::{CudaError, CudaResult};
use crate::cuda::{CUDA_ERROR_INVALID_HANDLE, CudaHandle};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Handles of all kinds are numbered together; the first ones have a meaning of their own.
static NEXT: AtomicU64 = AtomicU64::new(0x1_0000);

/// All objects of a kind that have handles.
#[derive(Debug)]
pub struct HandleTable<T> {
    objects: RwLock<FxHashMap<CudaHandle, Arc<T>>>,
}

impl<T> HandleTable<T> {
    /// An empty table.
    pub const fn new() -> HandleTable<T> {
        HandleTable { objects: RwLock::new(FxHashMap::with_hasher(FxBuildHasher)) }
    }

    /// Gives an object a handle.
    pub fn publish(&self, object: Arc<T>) -> CudaHandle {
        self.publish_with(|_| object).0
    }

    /// Makes an object that knows its handle.
    pub fn publish_with(&self, make: impl FnOnce(CudaHandle) -> Arc<T>) -> (CudaHandle, Arc<T>) {
        // Handles look like addresses: some applications look at the last bits.
        let handle = NEXT.fetch_add(16, Ordering::Relaxed);
        let object = make(handle);
        self.objects.write().unwrap_or_else(PoisonError::into_inner).insert(handle, Arc::clone(&object));
        (handle, object)
    }

    /// The object of a handle.
    pub fn find(&self, handle: CudaHandle) -> CudaResult<Arc<T>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.get(&handle).map(Arc::clone).ok_or(CudaError(CUDA_ERROR_INVALID_HANDLE))
    }

    /// Takes an object out: its handle is none any more.
    pub fn remove(&self, handle: CudaHandle) -> CudaResult<Arc<T>> {
        let removed = self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(&handle);
        removed.ok_or(CudaError(CUDA_ERROR_INVALID_HANDLE))
    }

    /// Does something for each object, in any order.
    pub fn each(&self, mut work: impl FnMut(&T)) {
        let objects: Vec<Arc<T>> =
            self.objects.read().unwrap_or_else(PoisonError::into_inner).values().map(Arc::clone).collect();
        objects.iter().for_each(|object| work(object));
    }
}

impl<T> Default for HandleTable<T> {
    fn default() -> HandleTable<T> {
        HandleTable::new()
    }
}
