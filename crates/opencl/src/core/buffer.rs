//! Memory objects: buffers, sub-buffers, and the memory of images.

use crate::cl::*;
use crate::core::context::{ClContext, Destructors};
use crate::core::device::{BASE_ALIGN, device};
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::image::ImageView;
use crate::core::memory::{Address, ClMemory};
use crate::core::registry::ObjectHandle;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Buffer, sub-buffer or image.
pub struct ClBuffer {
    pub(crate) handle: ObjectHandle<ClBuffer>,
    /// Owning context.
    pub context: Arc<ClContext>,
    /// Access and allocation flags (`CL_MEM_…`).
    pub flags: u64,
    /// Its size in bytes.
    pub size: usize,
    /// Offset in the parent buffer; 0 without one.
    pub origin: usize,
    /// Format and shape of an image.
    pub image: Option<ImageView>,
    /// Memory object whose memory a sub-buffer or an image uses.
    pub parent: Option<Arc<ClBuffer>>,
    /// The application's memory that it uses; null if it has its own.
    pub host_pointer: Address,
    /// Creation properties, with the terminating zero.
    pub properties: Vec<u64>,
    /// True if the buffer uses shared virtual memory.
    pub uses_svm: bool,
    memory: Arc<ClMemory>,
    maps: Mutex<Vec<usize>>,
    /// Destructor callbacks.
    pub destructors: Destructors,
}

crate::object!(ClBuffer, CL_INVALID_MEM_OBJECT);

impl fmt::Debug for ClBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({:?}, {} bytes)", self.handle, self.size)
    }
}

const DEVICE_ACCESS: u64 = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
const HOST_ACCESS: u64 = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
const HOST_POINTER: u64 = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

fn is_at_most_one(flags: u64) -> bool {
    flags.count_ones() <= 1
}

/// Checks the flags of a new memory object.
pub fn check_access(flags: u64) -> ClResult<()> {
    ensure(flags & !(DEVICE_ACCESS | HOST_ACCESS | HOST_POINTER) == 0, CL_INVALID_VALUE)?;
    ensure(is_at_most_one(flags & DEVICE_ACCESS) && is_at_most_one(flags & HOST_ACCESS), CL_INVALID_VALUE)?;
    let uses_host = flags & CL_MEM_USE_HOST_PTR != 0;
    ensure(!uses_host || flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR) == 0, CL_INVALID_VALUE)
}

/// Adds the default access of kernels to flags without one.
fn with_access(flags: u64) -> u64 {
    if flags & DEVICE_ACCESS == 0 { flags | CL_MEM_READ_WRITE } else { flags }
}

impl ClBuffer {
    /// Creates a buffer.
    ///
    /// # Safety
    /// A host pointer that is not null leads to as many bytes, which stay as long as the buffer if it is to use them.
    pub unsafe fn create(
        context: &Arc<ClContext>,
        properties: Vec<u64>,
        flags: u64,
        size: usize,
        host_pointer: Address,
    ) -> ClResult<ClBuffer> {
        check_access(flags)?;
        let uses_host = flags & CL_MEM_USE_HOST_PTR != 0;
        ensure(size != 0 && size as u64 <= device().max_allocation(), CL_INVALID_BUFFER_SIZE)?;
        let wants_pointer = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
        ensure(wants_pointer != host_pointer.pointer().is_null(), CL_INVALID_HOST_PTR)?;
        // A buffer in shared virtual memory is no larger than the allocation.
        let address = host_pointer.number();
        let is_shared = uses_host && context.svm.find(address).is_some();
        ensure(!is_shared || context.svm.holds(address, size), CL_INVALID_BUFFER_SIZE)?;
        let memory = if uses_host {
            ClMemory::of_host(host_pointer)
        } else {
            ClMemory::allocate(size, BASE_ALIGN).ok_or(ClError(CL_MEM_OBJECT_ALLOCATION_FAILURE))?
        };
        if flags & CL_MEM_COPY_HOST_PTR != 0 {
            // SAFETY: the caller's promise for the host's bytes; the buffer has as many.
            unsafe { memory.base().copy_from(host_pointer, size) };
        }
        Ok(ClBuffer {
            handle: ObjectHandle::default(),
            context: context.clone(),
            flags: with_access(flags),
            size,
            origin: 0,
            image: None,
            parent: None,
            host_pointer: if uses_host { host_pointer } else { Address::new::<u8>(std::ptr::null()) },
            properties,
            uses_svm: uses_host && context.svm.holds(host_pointer.number(), size),
            memory: Arc::new(memory),
            maps: Mutex::default(),
            destructors: Destructors::default(),
        })
    }

    /// Returns the flags of a memory object that uses this one's memory; it may not allow more.
    pub(super) fn inherited(&self, flags: u64) -> ClResult<u64> {
        ensure(flags & !(DEVICE_ACCESS | HOST_ACCESS) == 0, CL_INVALID_VALUE)?;
        ensure(
            is_at_most_one(flags & DEVICE_ACCESS) && is_at_most_one(flags & HOST_ACCESS),
            CL_INVALID_VALUE,
        )?;
        let device = match flags & DEVICE_ACCESS {
            0 => self.flags & DEVICE_ACCESS,
            requested => requested,
        };
        let host = match flags & HOST_ACCESS {
            0 => self.flags & HOST_ACCESS,
            requested => requested,
        };
        let whole = self.flags;
        let widens = (whole & CL_MEM_WRITE_ONLY != 0 && device & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY) != 0)
            || (whole & CL_MEM_READ_ONLY != 0 && device & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY) != 0)
            || (whole & CL_MEM_HOST_WRITE_ONLY != 0 && host & CL_MEM_HOST_READ_ONLY != 0)
            || (whole & CL_MEM_HOST_READ_ONLY != 0 && host & CL_MEM_HOST_WRITE_ONLY != 0)
            || (whole & CL_MEM_HOST_NO_ACCESS != 0
                && host & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY) != 0);
        ensure(!widens, CL_INVALID_VALUE)?;
        Ok(device | host | (whole & HOST_POINTER))
    }

    /// Creates a sub-buffer.
    pub fn part(self: &Arc<ClBuffer>, flags: u64, origin: usize, size: usize) -> ClResult<ClBuffer> {
        ensure(self.parent.is_none(), CL_INVALID_MEM_OBJECT)?;
        let flags = self.inherited(flags)?;
        ensure(size != 0, CL_INVALID_BUFFER_SIZE)?;
        ensure(origin.checked_add(size).is_some_and(|end| end <= self.size), CL_INVALID_VALUE)?;
        ensure(origin.is_multiple_of(BASE_ALIGN), CL_MISALIGNED_SUB_BUFFER_OFFSET)?;
        let mut part = self.sharing(Vec::new(), flags, size, None);
        part.origin = origin;
        if !self.host_pointer.pointer().is_null() {
            part.host_pointer = self.host_pointer.plus(origin);
        }
        Ok(part)
    }

    /// Creates a memory object that uses this one's memory from its start on.
    pub(super) fn sharing(
        self: &Arc<ClBuffer>,
        properties: Vec<u64>,
        flags: u64,
        size: usize,
        image: Option<ImageView>,
    ) -> ClBuffer {
        ClBuffer {
            handle: ObjectHandle::default(),
            context: self.context.clone(),
            flags,
            size,
            origin: self.origin,
            image,
            parent: Some(self.clone()),
            host_pointer: self.host_pointer,
            properties,
            uses_svm: self.uses_svm,
            memory: self.memory.clone(),
            maps: Mutex::default(),
            destructors: Destructors::default(),
        }
    }

    /// Creates the memory object of an image.
    pub(super) fn of_image(
        context: &Arc<ClContext>,
        properties: Vec<u64>,
        flags: u64,
        (size, host_pointer): (usize, Address),
        memory: Arc<ClMemory>,
        image: ImageView,
    ) -> ClBuffer {
        ClBuffer {
            handle: ObjectHandle::default(),
            context: context.clone(),
            flags: with_access(flags),
            size,
            origin: 0,
            image: Some(image),
            parent: None,
            host_pointer,
            properties,
            uses_svm: context.svm.holds(host_pointer.number(), size),
            memory,
            maps: Mutex::default(),
            destructors: Destructors::default(),
        }
    }

    /// Returns the address of the first byte.
    pub fn base(&self) -> Address {
        self.memory.base().plus(self.origin)
    }

    /// Returns the address of a byte range that lies within the buffer.
    pub fn range(&self, offset: usize, bytes: usize) -> ClResult<Address> {
        let fits = offset.checked_add(bytes).is_some_and(|end| end <= self.size);
        if fits { Ok(self.base().plus(offset)) } else { Err(ClError(CL_INVALID_VALUE)) }
    }

    /// True if both are the same buffer or parts of it.
    pub fn shares_memory(&self, other: &ClBuffer) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// True if host commands may read (`writes`: write) the buffer.
    pub fn allows_host(&self, writes: bool) -> bool {
        let forbidden = if writes { CL_MEM_HOST_READ_ONLY } else { CL_MEM_HOST_WRITE_ONLY };
        self.flags & (forbidden | CL_MEM_HOST_NO_ACCESS) == 0
    }

    /// Records a map at an address in the buffer.
    pub fn add_map(&self, at: Address) {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner).push(at.number());
    }

    /// Removes a map; false if there is none at that address.
    pub fn take_map(&self, at: Address) -> bool {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = maps.iter().position(|&map| map == at.number()) else { return false };
        maps.swap_remove(index);
        true
    }

    /// Returns the number of maps.
    pub fn map_count(&self) -> usize {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Drop for ClBuffer {
    fn drop(&mut self) {
        self.destructors.run();
    }
}
