//! Handles of objects in the C interface.
//!
//! A handle is a number that is never reused, so a destroyed one never aliases another object. It is no address: the table
//! of its type tells live handles.

use crate::core::error::{CudaError, CudaResult};
use crate::cuda::{CUDA_ERROR_INVALID_HANDLE, CudaHandle};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Next handle of any type; small numbers are reserved.
static NEXT: AtomicU64 = AtomicU64::new(0x1_0000);

/// Published objects of a type.
#[derive(Debug)]
pub struct HandleTable<T> {
    objects: RwLock<FxHashMap<CudaHandle, Arc<T>>>,
}

impl<T> HandleTable<T> {
    /// Creates an empty table.
    pub const fn new() -> HandleTable<T> {
        HandleTable { objects: RwLock::new(FxHashMap::with_hasher(FxBuildHasher)) }
    }

    /// Publishes an object and returns its handle.
    pub fn publish(&self, object: Arc<T>) -> CudaHandle {
        self.publish_with(|_| object).0
    }

    /// Publishes an object that is created with its handle.
    pub fn publish_with(&self, make: impl FnOnce(CudaHandle) -> Arc<T>) -> (CudaHandle, Arc<T>) {
        // Handles look like addresses: some applications look at the last bits.
        let handle = NEXT.fetch_add(16, Ordering::Relaxed);
        let object = make(handle);
        self.objects.write().unwrap_or_else(PoisonError::into_inner).insert(handle, Arc::clone(&object));
        (handle, object)
    }

    /// Publishes a removed object under its handle again.
    pub fn restore(&self, handle: CudaHandle, object: Arc<T>) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).insert(handle, object);
    }

    /// Looks up the object of a handle.
    pub fn find(&self, handle: CudaHandle) -> CudaResult<Arc<T>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.get(&handle).map(Arc::clone).ok_or(CudaError(CUDA_ERROR_INVALID_HANDLE))
    }

    /// Removes an object and invalidates its handle.
    pub fn remove(&self, handle: CudaHandle) -> CudaResult<Arc<T>> {
        let removed = self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(&handle);
        removed.ok_or(CudaError(CUDA_ERROR_INVALID_HANDLE))
    }

    /// Visits each object, in any order.
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
