//! Device, contexts, and the current context of each thread.

use crate::core::deferred;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::memory;
use crate::core::registry::HandleTable;
use crate::cuda::*;
use heddle_runtime::exit;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Context of the only device: records its flags and limits, and owns the objects created in it.
#[derive(Debug)]
pub struct CudaContext {
    /// Its handle.
    pub handle: CudaHandle,
    /// Creation flags.
    pub flags: AtomicU32,
    /// Limits by number; recorded, not enforced.
    limits: [AtomicU64; 8],
    is_primary: bool,
    /// Error of a launch, which all later calls return; 0 if there is none.
    sticky: AtomicU32,
}

/// All contexts.
pub static CONTEXTS: HandleTable<CudaContext> = HandleTable::new();

static IS_INITIALIZED: AtomicBool = AtomicBool::new(false);

struct Primary {
    context: Option<CudaHandle>,
    holders: u64,
    flags: u32,
}

static PRIMARY: Mutex<Primary> = Mutex::new(Primary { context: None, holders: 0, flags: 0 });

thread_local! {
    static STACK: RefCell<Vec<CudaHandle>> = const { RefCell::new(Vec::new()) };
}

/// Initializes the driver, before anything is compiled.
pub fn initialize() {
    exit::watch();
    IS_INITIALIZED.store(true, Ordering::Release);
}

/// Returns an error unless the driver is initialized.
pub fn ensure_initialized() -> CudaResult<()> {
    ensure(IS_INITIALIZED.load(Ordering::Acquire), CUDA_ERROR_NOT_INITIALIZED)
}

/// Returns an error unless the device is 0, the only one.
pub fn ensure_device(device: CUdevice) -> CudaResult<()> {
    ensure_initialized()?;
    ensure(device == 0, CUDA_ERROR_INVALID_DEVICE)
}

fn make(flags: u32, is_primary: bool) -> CudaHandle {
    let limits = [1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0].map(AtomicU64::new);
    let context = |handle| {
        Arc::new(CudaContext {
            handle,
            flags: AtomicU32::new(flags),
            limits,
            is_primary,
            sticky: AtomicU32::new(0),
        })
    };
    CONTEXTS.publish_with(context).0
}

/// Looks up the context of a handle.
pub fn find(handle: CudaHandle) -> CudaResult<Arc<CudaContext>> {
    ensure_initialized()?;
    CONTEXTS.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_CONTEXT))
}

impl CudaContext {
    /// Creates a context and makes it current on the thread.
    pub fn create(flags: u32) -> CudaHandle {
        let handle = make(flags, false);
        STACK.with_borrow_mut(|stack| stack.push(handle));
        handle
    }

    /// Returns a limit by its number.
    pub fn limit(&self, number: u32) -> CudaResult<&AtomicU64> {
        self.limits.get(number as usize).ok_or(CudaError(CUDA_ERROR_UNSUPPORTED_LIMIT))
    }
}

/// Destroys a context and its allocations. The primary context is released instead.
pub fn destroy(handle: CudaHandle) -> CudaResult<()> {
    ensure(!find(handle)?.is_primary, CUDA_ERROR_INVALID_CONTEXT)?;
    end(handle);
    STACK.with_borrow_mut(|stack| {
        if stack.last() == Some(&handle) {
            stack.pop();
        }
    });
    Ok(())
}

fn end(handle: CudaHandle) {
    if CONTEXTS.remove(handle).is_ok() {
        deferred::abandon(handle);
        memory::free_of_context(handle);
    }
}

/// Returns the handle of the thread's current context; 0 without one.
pub fn current_handle() -> CudaHandle {
    STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// Returns the thread's current context, or the error of a launch in it.
pub fn current() -> CudaResult<Arc<CudaContext>> {
    let context = find(current_handle())?;
    match context.sticky.load(Ordering::Relaxed) {
        0 => Ok(context),
        code => Err(CudaError(code)),
    }
}

/// Makes an error of a launch that of all later calls in the current context. Returns it.
pub fn stick(code: CUresult) -> CUresult {
    if let Ok(context) = find(current_handle()) {
        // The first error counts.
        let _ = context.sticky.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }
    code
}

/// Sets the thread's current context; 0 clears it.
pub fn set_current(handle: CudaHandle) -> CudaResult<()> {
    if handle != 0 {
        find(handle)?;
    }
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if handle != 0 {
            stack.push(handle);
        }
    });
    Ok(())
}

/// Pushes a context onto the thread's stack.
pub fn push(handle: CudaHandle) -> CudaResult<()> {
    find(handle)?;
    STACK.with_borrow_mut(|stack| stack.push(handle));
    Ok(())
}

/// Pops the thread's current context.
pub fn pop() -> CudaResult<CudaHandle> {
    ensure_initialized()?;
    STACK.with_borrow_mut(Vec::pop).ok_or(CudaError(CUDA_ERROR_INVALID_CONTEXT))
}

fn primary() -> std::sync::MutexGuard<'static, Primary> {
    PRIMARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Retains the primary context, creating it if needed.
pub fn retain_primary() -> CudaHandle {
    let mut primary = primary();
    let flags = primary.flags;
    primary.holders += 1;
    *primary.context.get_or_insert_with(|| make(flags, true))
}

/// Releases the primary context; the last release destroys it.
pub fn release_primary() -> CudaResult<()> {
    let mut primary = primary();
    ensure(primary.holders > 0, CUDA_ERROR_INVALID_CONTEXT)?;
    primary.holders -= 1;
    if primary.holders == 0
        && let Some(handle) = primary.context.take()
    {
        end(handle);
    }
    Ok(())
}

/// Frees the primary context's allocations; retain counts stay.
pub fn reset_primary() {
    if let Some(handle) = primary().context {
        deferred::abandon(handle);
        memory::free_of_context(handle);
        if let Ok(context) = CONTEXTS.find(handle) {
            context.sticky.store(0, Ordering::Relaxed);
        }
    }
}

/// Sets the primary context's flags, also before its creation.
pub fn set_primary_flags(flags: u32) {
    let mut primary = primary();
    primary.flags = flags;
    if let Some(context) = primary.context.and_then(|handle| CONTEXTS.find(handle).ok()) {
        context.flags.store(flags, Ordering::Relaxed);
    }
}

/// Returns the primary context's flags and whether it is active.
pub fn primary_state() -> (u32, bool) {
    let primary = primary();
    (primary.flags, primary.context.is_some())
}
