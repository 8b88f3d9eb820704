//! Handles: stream, modes and workspace of calls.

use crate::status::{CublasError, CublasResult, NOT_INITIALIZED};
use heddle_hostcall::Stream;
use std::cell::Cell;

/// Handle of a context.
pub type Handle = *mut Context;

/// State that a program's handle stands for.
#[derive(Debug)]
pub struct Context {
    magic: Cell<u64>,
    /// Stream of the calls.
    pub stream: Cell<Stream>,
    /// True if scalars and scalar results are read and written when the work is done.
    pub is_device_mode: Cell<bool>,
    /// `cublasMath_t`.
    pub math_mode: Cell<i32>,
    /// `cublasAtomicsMode_t`.
    pub atomics_mode: Cell<i32>,
    /// Processors that calls should use, or 0.
    pub processors: Cell<i32>,
    /// `cublasEmulationStrategy_t`.
    pub emulation: Cell<i32>,
}

/// Distinguishes contexts from other memory.
const MAGIC: u64 = 0x6865_6464_6c65_626c;

impl Context {
    /// Makes a context.
    pub fn create() -> Handle {
        Box::into_raw(Box::new(Context {
            magic: Cell::new(MAGIC),
            stream: Cell::new(0),
            is_device_mode: Cell::new(false),
            math_mode: Cell::new(0),
            atomics_mode: Cell::new(0),
            processors: Cell::new(0),
            emulation: Cell::new(0),
        }))
    }

    /// Finds the context of a handle.
    ///
    /// # Safety
    /// The handle is of a context, or null; the context outlives the call.
    pub unsafe fn of<'a>(handle: Handle) -> CublasResult<&'a Context> {
        if handle.is_null() || !handle.is_aligned() {
            return Err(CublasError(NOT_INITIALIZED));
        }
        // SAFETY: the caller's promise.
        let context = unsafe { &*handle };
        if context.magic.get() == MAGIC { Ok(context) } else { Err(CublasError(NOT_INITIALIZED)) }
    }

    /// Ends a context.
    ///
    /// # Safety
    /// As for [`Context::of`]; nobody uses the context afterwards.
    pub unsafe fn destroy(handle: Handle) -> CublasResult<()> {
        // SAFETY: the caller's promise; a context comes from `create`.
        unsafe {
            Context::of(handle)?.magic.set(0);
            drop(Box::from_raw(handle));
        }
        Ok(())
    }

    /// Does work in the order of the stream.
    pub fn submit(&self, work: impl Fn() + 'static) -> CublasResult<()> {
        heddle_hostcall::ready()?;
        Ok(heddle_hostcall::submit(self.stream.get(), work)?)
    }

    /// Takes a scalar argument: now, or when the work is done, as the pointer mode says.
    ///
    /// # Safety
    /// The pointer is valid then.
    pub unsafe fn scalar<T: Copy>(&self, pointer: *const T) -> ScalarArgument<T> {
        if self.is_device_mode.get() {
            ScalarArgument::Later(pointer)
        } else {
            // SAFETY: the caller's promise.
            ScalarArgument::Value(unsafe { pointer.read_unaligned() })
        }
    }
}

/// Number argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum ScalarArgument<T> {
    /// The value at the call.
    Value(T),
    /// The place that the work reads.
    Later(*const T),
}

impl<T: Copy> ScalarArgument<T> {
    /// Returns the value for the work.
    ///
    /// # Safety
    /// The place is there.
    pub unsafe fn get(self) -> T {
        match self {
            ScalarArgument::Value(value) => value,
            // SAFETY: the caller's promise.
            ScalarArgument::Later(place) => unsafe { place.read_unaligned() },
        }
    }
}
