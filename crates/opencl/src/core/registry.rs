//! Handles of objects in the C interface.
//!
//! A handle is the address of a slot, whose first word points to the dispatch table, as the loader requires. Slots are
//! never freed: the loader reads the first word even of a released handle. A table per object type tells live handles;
//! the slot itself is never read.
//!
//! Invariant: a handle is in the table as long as its object lives, which may be longer than the application holds it:
//! a queue keeps its context alive, and its context's handle with it.

use crate::core::error::{ClError, ClResult};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

/// Number of released slots that stay unused, so that a stale handle rarely aliases a new object.
const RESTING: usize = 4096;
const SLOTS_AT_ONCE: usize = 256;

#[repr(C)]
struct DispatchSlot {
    dispatch: &'static crate::api::dispatch::DispatchTable,
    // Handles of objects are 16 bytes apart, as those of an allocator would be.
    _reserved: usize,
}

static FREE: Mutex<VecDeque<usize>> = Mutex::new(VecDeque::new());

fn take_slot() -> usize {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    if free.len() <= RESTING {
        let slots: Vec<DispatchSlot> = (0..SLOTS_AT_ONCE)
            .map(|_| DispatchSlot { dispatch: &crate::api::dispatch::TABLE, _reserved: 0 })
            .collect();
        // Use fresh slots before released ones.
        for slot in Vec::leak(slots).iter().rev() {
            free.push_front(std::ptr::from_ref(slot).addr());
            std::ptr::from_ref(slot).expose_provenance();
        }
    }
    free.pop_front().unwrap_or_default()
}

/// Object with handles in the C interface.
pub trait ClObject: Sized + Send + Sync + 'static {
    /// Error code for an invalid handle.
    const INVALID: i32;
    /// Returns the registry of the type.
    fn registry() -> &'static ObjectRegistry<Self>;
    /// Returns the object's handle field.
    fn handle(&self) -> &ObjectHandle<Self>;
}

/// Handle of an object, set on publication.
pub struct ObjectHandle<T: ClObject> {
    address: OnceLock<usize>,
    of: PhantomData<fn() -> T>,
}

impl<T: ClObject> Default for ObjectHandle<T> {
    fn default() -> ObjectHandle<T> {
        ObjectHandle { address: OnceLock::new(), of: PhantomData }
    }
}

impl<T: ClObject> fmt::Debug for ObjectHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address.get().copied().unwrap_or(0))
    }
}

impl<T: ClObject> Drop for ObjectHandle<T> {
    fn drop(&mut self) {
        let Some(&address) = self.address.get() else { return };
        T::registry().entries.write().unwrap_or_else(PoisonError::into_inner).remove(&address);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push_back(address);
    }
}

#[derive(Debug)]
struct RegistryEntry<T> {
    object: Weak<T>,
    /// Set while the application holds a reference.
    owner: Option<Arc<T>>,
    references: u32,
}

/// Published objects of a type.
#[derive(Debug)]
pub struct ObjectRegistry<T> {
    entries: RwLock<FxHashMap<usize, RegistryEntry<T>>>,
}

impl<T> ObjectRegistry<T> {
    /// Creates an empty table.
    pub const fn new() -> ObjectRegistry<T> {
        ObjectRegistry { entries: RwLock::new(FxHashMap::with_hasher(rustc_hash::FxBuildHasher)) }
    }
}

impl<T> Default for ObjectRegistry<T> {
    fn default() -> ObjectRegistry<T> {
        ObjectRegistry::new()
    }
}

/// Publishes an object and returns its handle, with one reference held by the application.
pub fn publish<T: ClObject>(object: Arc<T>) -> *mut c_void {
    let address = *object.handle().address.get_or_init(take_slot);
    let entry = RegistryEntry { object: Arc::downgrade(&object), owner: Some(object), references: 1 };
    T::registry().entries.write().unwrap_or_else(PoisonError::into_inner).insert(address, entry);
    std::ptr::with_exposed_provenance_mut(address)
}

/// Returns the handle of an object; null if it was never published.
pub fn handle_of<T: ClObject>(object: &T) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(object.handle().address.get().copied().unwrap_or(0))
}

/// Looks up the object of a handle.
pub fn find<T: ClObject>(handle: *mut c_void) -> ClResult<Arc<T>> {
    let entries = T::registry().entries.read().unwrap_or_else(PoisonError::into_inner);
    let entry = entries.get(&handle.addr()).and_then(|entry| entry.object.upgrade());
    entry.ok_or(ClError(T::INVALID))
}

/// Increments the application's reference count.
pub fn retain<T: ClObject>(handle: *mut c_void) -> ClResult<()> {
    let mut entries = T::registry().entries.write().unwrap_or_else(PoisonError::into_inner);
    let entry = entries.get_mut(&handle.addr()).ok_or(ClError(T::INVALID))?;
    let object = entry.object.upgrade().ok_or(ClError(T::INVALID))?;
    entry.references = entry.references.saturating_add(1);
    entry.owner = Some(object);
    Ok(())
}

/// Decrements the application's reference count, which may drop the object. Returns whether it was the last reference.
pub fn release<T: ClObject>(handle: *mut c_void) -> ClResult<bool> {
    let mut entries = T::registry().entries.write().unwrap_or_else(PoisonError::into_inner);
    let entry = entries.get_mut(&handle.addr()).ok_or(ClError(T::INVALID))?;
    if entry.references == 0 {
        return Err(ClError(T::INVALID));
    }
    entry.references -= 1;
    let last = if entry.references == 0 { entry.owner.take() } else { None };
    // Dropping the object takes the lock again to remove its handle.
    drop(entries);
    Ok(last.is_some())
}

/// Returns the application's reference count.
pub fn references<T: ClObject>(object: &T) -> u32 {
    let entries = T::registry().entries.read().unwrap_or_else(PoisonError::into_inner);
    let address = object.handle().address.get().copied().unwrap_or(0);
    entries.get(&address).map_or(1, |entry| entry.references.max(1))
}

/// Returns the number of published objects of a type.
pub fn count<T: ClObject>() -> usize {
    T::registry().entries.read().unwrap_or_else(PoisonError::into_inner).len()
}

/// Implements [`ClObject`] for a type with a `handle` field and this error code.
#[macro_export]
macro_rules! object {
    ($type:ty, $code:expr) => {
        impl $crate::core::registry::ClObject for $type {
            const INVALID: i32 = $code;
            fn registry() -> &'static $crate::core::registry::ObjectRegistry<Self> {
                static REGISTRY: $crate::core::registry::ObjectRegistry<$type> =
                    $crate::core::registry::ObjectRegistry::new();
                &REGISTRY
            }
            fn handle(&self) -> &$crate::core::registry::ObjectHandle<Self> {
                &self.handle
            }
        }
    };
}
