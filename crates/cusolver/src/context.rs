//! Handles, and the objects that hold options of routines.

use crate::status::{NOT_INITIALIZED, SolverResult, ensure, valid};
use heddle_hostcall::Stream;
use std::cell::Cell;

/// State that a program's handle stands for, of the dense and of the sparse interface.
#[derive(Debug)]
pub struct SolverContext {
    magic: Cell<u64>,
    /// Stream of the calls.
    pub stream: Cell<Stream>,
    /// `cusolverDeterministicMode_t`.
    pub deterministic: Cell<i32>,
    /// `cusolverMathMode_t`.
    pub math_mode: Cell<i32>,
}

/// Handle of a context.
pub type SolverHandle = *mut SolverContext;

/// Distinguishes contexts from other memory.
const MAGIC: u64 = 0x6865_6464_6c65_736f;

impl SolverContext {
    /// Makes a context.
    pub fn create() -> SolverHandle {
        let (magic, stream) = (Cell::new(MAGIC), Cell::new(0));
        let (deterministic, math_mode) = (Cell::new(1), Cell::new(1));
        Box::into_raw(Box::new(SolverContext { magic, stream, deterministic, math_mode }))
    }

    /// Finds the context of a handle.
    ///
    /// # Safety
    /// The handle is of a context, or null; the context outlives the call.
    pub unsafe fn of<'a>(handle: SolverHandle) -> SolverResult<&'a SolverContext> {
        ensure(!handle.is_null() && handle.is_aligned(), NOT_INITIALIZED)?;
        // SAFETY: the caller's promise.
        let context = unsafe { &*handle };
        ensure(context.magic.get() == MAGIC, NOT_INITIALIZED)?;
        Ok(context)
    }

    /// Ends a context.
    ///
    /// # Safety
    /// As for [`SolverContext::of`]; nobody uses the context afterwards.
    pub unsafe fn destroy(handle: SolverHandle) -> SolverResult<()> {
        // SAFETY: the caller's promise; a context comes from `create`.
        unsafe {
            SolverContext::of(handle)?.magic.set(0);
            drop(Box::from_raw(handle));
        }
        Ok(())
    }

    /// Does work in the order of the stream.
    pub fn submit(&self, work: impl Fn() + 'static) -> SolverResult<()> {
        heddle_hostcall::ready()?;
        Ok(heddle_hostcall::submit(self.stream.get(), work)?)
    }
}

/// Options of a routine: `syevjInfo_t`, `gesvdjInfo_t` and `cusolverDnParams_t`. Tolerances and sweeps are those of Jacobi's method,
/// which no routine here uses: they are checked, and kept.
#[derive(Debug)]
pub struct RoutineOptions {
    magic: u64,
    /// Tolerance.
    pub tolerance: f64,
    /// Maximum number of sweeps.
    pub sweeps: i32,
}

/// Handle of options.
pub type OptionsHandle = *mut RoutineOptions;

/// Distinguishes options from other memory.
const OPTIONS_MAGIC: u64 = 0x6865_6464_6c65_6f70;

impl RoutineOptions {
    /// Makes options.
    pub fn create() -> *mut RoutineOptions {
        Box::into_raw(Box::new(RoutineOptions { magic: OPTIONS_MAGIC, tolerance: 0.0, sweeps: 100 }))
    }

    /// Finds options.
    ///
    /// # Safety
    /// The pointer is of options, or null; nobody else uses them.
    pub unsafe fn of<'a>(options: *mut RoutineOptions) -> SolverResult<&'a mut RoutineOptions> {
        valid(!options.is_null() && options.is_aligned())?;
        // SAFETY: the caller's promise.
        let options = unsafe { &mut *options };
        valid(options.magic == OPTIONS_MAGIC)?;
        Ok(options)
    }

    /// Ends options.
    ///
    /// # Safety
    /// As for [`RoutineOptions::of`]; nobody uses them afterwards.
    pub unsafe fn destroy(options: *mut RoutineOptions) -> SolverResult<()> {
        // SAFETY: the caller's promise; options come from `create`.
        unsafe {
            RoutineOptions::of(options)?.magic = 0;
            drop(Box::from_raw(options));
        }
        Ok(())
    }
}
