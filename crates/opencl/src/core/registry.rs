//! Handles: what the application holds instead of objects.
//!
//! A handle is the address of a slot, whose first word is the dispatch table, as the loader wants it. Slots are never
//! given back to the system: the loader reads the first word even of a handle that was released. Whether a handle is
//! alive is looked up in a table, by kind of object, and never read from the slot.
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

/// How many slots stay unused after they were freed, so that a handle that is used after its release is rarely the
/// handle of something else.
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
        // Fresh slots come before those that rest.
        for slot in Vec::leak(slots).iter().rev() {
            free.push_front(std::ptr::from_ref(slot).addr());
            std::ptr::from_ref(slot).expose_provenance();
        }
    }
    free.pop_front().unwrap_or_default()
}

/// An object that the application has handles of.
pub trait ClObject: Sized + Send + Sync + 'static {
    /// The error code of a handle that is none of such an object.
    const INVALID: i32;
    /// The table of such objects.
    fn registry() -> &'static ObjectRegistry<Self>;
    /// Where the object keeps its handle.
    fn handle(&self) -> &ObjectHandle<Self>;
}

/// The handle of an object, once it has one.
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
    /// There as long as the application holds a reference.
    owner: Option<Arc<T>>,
    references: u32,
}

/// All objects of a kind that have handles.
#[derive(Debug)]
pub struct ObjectRegistry<T> {
    entries: RwLock<FxHashMap<usize, RegistryEntry<T>>>,
}

impl<T> ObjectRegistry<T> {
    /// An empty table.
    pub const fn new() -> ObjectRegistry<T> {
        ObjectRegistry { entries: RwLock::new(FxHashMap::with_hasher(rustc_hash::FxBuildHasher)) }
    }
}

impl<T> Default for ObjectRegistry<T> {
    fn default() -> ObjectRegistry<T> {
        ObjectRegistry::new()
    }
}

/// Gives an object a handle, of which the application holds the one reference.
pub fn publish<T: ClObject>(object: Arc<T>) -> *mut c_void {
    let address = *object.handle().address.get_or_init(take_slot);
    let entry = RegistryEntry { object: Arc::downgrade(&object), owner: Some(object), references: 1 };
    T::registry().entries.write().unwrap_or_else(PoisonError::into_inner).insert(address, entry);
    std::ptr::with_exposed_provenance_mut(address)
}

/// The handle of an object; null if it never got one.
pub fn handle_of<T: ClObject>(object: &T) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(object.handle().address.get().copied().unwrap_or(0))
}

/// The object of a handle.
pub fn find<T: ClObject>(handle: *mut c_void) -> ClResult<Arc<T>> {
    let entries = T::registry().entries.read().unwrap_or_else(PoisonError::into_inner);
    let entry = entries.get(&handle.addr()).and_then(|entry| entry.object.upgrade());
    entry.ok_or(ClError(T::INVALID))
}

/// Counts one more reference of the application.
pub fn retain<T: ClObject>(handle: *mut c_void) -> ClResult<()> {
    let mut entries = T::registry().entries.write().unwrap_or_else(PoisonError::into_inner);
    let entry = entries.get_mut(&handle.addr()).ok_or(ClError(T::INVALID))?;
    let object = entry.object.upgrade().ok_or(ClError(T::INVALID))?;
    entry.references = entry.references.saturating_add(1);
    entry.owner = Some(object);
    Ok(())
}

/// Counts one reference of the application less; the object may end with the last one. Says whether it was the last.
pub fn release<T: ClObject>(handle: *mut c_void) -> ClResult<bool> {
    let mut entries = T::registry().entries.write().unwrap_or_else(PoisonError::into_inner);
    let entry = entries.get_mut(&handle.addr()).ok_or(ClError(T::INVALID))?;
    if entry.references == 0 {
        return Err(ClError(T::INVALID));
    }
    entry.references -= 1;
    let last = if entry.references == 0 { entry.owner.take() } else { None };
    // An object that ends takes its handle out of this table.
    drop(entries);
    Ok(last.is_some())
}

/// How many references the application holds.
pub fn references<T: ClObject>(object: &T) -> u32 {
    let entries = T::registry().entries.read().unwrap_or_else(PoisonError::into_inner);
    let address = object.handle().address.get().copied().unwrap_or(0);
    entries.get(&address).map_or(1, |entry| entry.references.max(1))
}

/// How many objects of a kind have handles.
pub fn count<T: ClObject>() -> usize {
    T::registry().entries.read().unwrap_or_else(PoisonError::into_inner).len()
}

/// Says that a type is one that the application has handles of: its error code, and the field that holds the handle.
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
