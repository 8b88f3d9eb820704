//! The device, its contexts, and which one a thread uses.

use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::memory;
use crate::core::registry::HandleTable;
use crate::cuda::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A context. There is one device, so it keeps what was asked for, and owns what was made in it.
#[derive(Debug)]
pub struct CudaContext {
    /// Its handle.
    pub handle: CudaHandle,
    /// The flags that it was made with.
    pub flags: AtomicU32,
    /// Its limits, by number; they bound nothing.
    limits: [AtomicU64; 8],
    is_primary: bool,
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

/// Makes the driver ready.
pub fn initialize() {
    IS_INITIALIZED.store(true, Ordering::Release);
}

/// Whether that was done.
pub fn ensure_initialized() -> CudaResult<()> {
    ensure(IS_INITIALIZED.load(Ordering::Acquire), CUDA_ERROR_NOT_INITIALIZED)
}

/// There is device 0 and no other.
pub fn ensure_device(device: CUdevice) -> CudaResult<()> {
    ensure_initialized()?;
    ensure(device == 0, CUDA_ERROR_INVALID_DEVICE)
}

fn make(flags: u32, is_primary: bool) -> CudaHandle {
    let limits = [1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0].map(AtomicU64::new);
    let context = |handle| Arc::new(CudaContext { handle, flags: AtomicU32::new(flags), limits, is_primary });
    CONTEXTS.publish_with(context).0
}

/// The context of a handle.
pub fn find(handle: CudaHandle) -> CudaResult<Arc<CudaContext>> {
    ensure_initialized()?;
    CONTEXTS.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_CONTEXT))
}

impl CudaContext {
    /// A context of the application's own, which becomes the thread's.
    pub fn create(flags: u32) -> CudaHandle {
        let handle = make(flags, false);
        STACK.with_borrow_mut(|stack| stack.push(handle));
        handle
    }

    /// A limit.
    pub fn limit(&self, number: u32) -> CudaResult<&AtomicU64> {
        self.limits.get(number as usize).ok_or(CudaError(CUDA_ERROR_UNSUPPORTED_LIMIT))
    }
}

/// Ends a context with what was allocated in it. The primary one is released, not destroyed.
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
        memory::free_of_context(handle);
    }
}

/// The handle of the thread's context; 0 if it has none.
pub fn current_handle() -> CudaHandle {
    STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// The thread's context.
pub fn current() -> CudaResult<Arc<CudaContext>> {
    find(current_handle())
}

/// Makes a context the thread's, or none if the handle is 0.
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

/// Puts a context above the thread's.
pub fn push(handle: CudaHandle) -> CudaResult<()> {
    find(handle)?;
    STACK.with_borrow_mut(|stack| stack.push(handle));
    Ok(())
}

/// Takes the thread's context away.
pub fn pop() -> CudaResult<CudaHandle> {
    ensure_initialized()?;
    STACK.with_borrow_mut(Vec::pop).ok_or(CudaError(CUDA_ERROR_INVALID_CONTEXT))
}

fn primary() -> std::sync::MutexGuard<'static, Primary> {
    PRIMARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the primary context, which is made if need be.
pub fn retain_primary() -> CudaHandle {
    let mut primary = primary();
    let flags = primary.flags;
    primary.holders += 1;
    *primary.context.get_or_insert_with(|| make(flags, true))
}

/// Lets it go; with the last holder it ends.
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

/// Frees what was allocated in it. What holds it goes on to.
pub fn reset_primary() {
    if let Some(handle) = primary().context {
        memory::free_of_context(handle);
    }
}

/// Says how it is, or will be, made.
pub fn set_primary_flags(flags: u32) {
    let mut primary = primary();
    primary.flags = flags;
    if let Some(context) = primary.context.and_then(|handle| CONTEXTS.find(handle).ok()) {
        context.flags.store(flags, Ordering::Relaxed);
    }
}

/// Its flags, and whether it is there.
pub fn primary_state() -> (u32, bool) {
    let primary = primary();
    (primary.flags, primary.context.is_some())
}
