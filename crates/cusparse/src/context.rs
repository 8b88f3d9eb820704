//! Handles: stream and pointer mode of calls.

use crate::status::{NOT_INITIALIZED, NOT_SUPPORTED, SparseResult, ensure};
use heddle_hostcall::Stream;
use std::cell::Cell;

/// State that a program's handle stands for.
#[derive(Debug)]
pub struct SparseContext {
    magic: Cell<u64>,
    /// Stream of the calls.
    pub stream: Cell<Stream>,
    /// True if scalars and scalar results are read and written when the work is done.
    pub is_device_mode: Cell<bool>,
}

/// Handle of a context.
pub type SparseHandle = *mut SparseContext;

/// Distinguishes contexts from other memory.
const MAGIC: u64 = 0x6865_6464_6c65_7370;

impl SparseContext {
    /// Makes a context.
    pub fn create() -> SparseHandle {
        let (stream, is_device_mode) = (Cell::new(0), Cell::new(false));
        Box::into_raw(Box::new(SparseContext { magic: Cell::new(MAGIC), stream, is_device_mode }))
    }

    /// Finds the context of a handle.
    ///
    /// # Safety
    /// The handle is of a context, or null; the context outlives the call.
    pub unsafe fn of<'a>(handle: SparseHandle) -> SparseResult<&'a SparseContext> {
        ensure(!handle.is_null() && handle.is_aligned(), NOT_INITIALIZED)?;
        // SAFETY: the caller's promise.
        let context = unsafe { &*handle };
        ensure(context.magic.get() == MAGIC, NOT_INITIALIZED)?;
        Ok(context)
    }

    /// Ends a context.
    ///
    /// # Safety
    /// As for [`SparseContext::of`]; nobody uses the context afterwards.
    pub unsafe fn destroy(handle: SparseHandle) -> SparseResult<()> {
        // SAFETY: the caller's promise; a context comes from `create`.
        unsafe {
            SparseContext::of(handle)?.magic.set(0);
            drop(Box::from_raw(handle));
        }
        Ok(())
    }

    /// Does work in the order of the stream.
    pub fn submit(&self, work: impl Fn() + 'static) -> SparseResult<()> {
        heddle_hostcall::ready()?;
        Ok(heddle_hostcall::submit(self.stream.get(), work)?)
    }

    /// Does work whose result the host needs after the call. It is refused while the stream is captured.
    pub fn compute<R>(&self, work: impl FnOnce() -> R) -> SparseResult<R> {
        heddle_hostcall::ready()?;
        ensure(!heddle_hostcall::is_capturing(self.stream.get())?, NOT_SUPPORTED)?;
        Ok(work())
    }

    /// Takes a scalar argument: now, or when the work is done, as the pointer mode says.
    ///
    /// # Safety
    /// The pointer is valid then.
    pub unsafe fn scalar<T: Copy>(&self, pointer: *const T) -> SparseScalar<T> {
        if self.is_device_mode.get() {
            SparseScalar::Later(pointer)
        } else {
            // SAFETY: the caller's promise.
            SparseScalar::Value(unsafe { pointer.read_unaligned() })
        }
    }
}

/// Number argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum SparseScalar<T> {
    /// The value at the call.
    Value(T),
    /// The place that the work reads.
    Later(*const T),
}

impl<T: Copy> SparseScalar<T> {
    /// Returns the value for the work.
    ///
    /// # Safety
    /// The place is there.
    pub unsafe fn get(self) -> T {
        match self {
            SparseScalar::Value(value) => value,
            // SAFETY: the caller's promise.
            SparseScalar::Later(place) => unsafe { place.read_unaligned() },
        }
    }
}
