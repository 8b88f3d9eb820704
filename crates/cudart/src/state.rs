//! Per-thread state: the last error, pending launch configurations, and the primary context.

use crate::driver::{self, DriverHandle};
use crate::errors::{CudartCode, CudartError, CudartResult, NOT_READY, SUCCESS, UNKNOWN, done};
use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

/// Three sizes, as C++ passes them.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dim3 {
    /// Along the first dimension.
    pub x: u32,
    /// Along the second.
    pub y: u32,
    /// Along the third.
    pub z: u32,
}

/// Size and stream of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory.
    pub shared: usize,
    /// The stream.
    pub stream: DriverHandle,
}

thread_local! {
    static LAST: Cell<CudartCode> = const { Cell::new(SUCCESS) };
    static PENDING: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// The last error, which is forgotten if that is wanted.
pub fn last_error(forget: bool) -> CudartCode {
    let last = LAST.get();
    if forget {
        LAST.set(SUCCESS);
    }
    last
}

/// Keeps the sizes that a launch is written with until it is done.
pub fn push(configuration: Configuration) {
    PENDING.with_borrow_mut(|pending| pending.push(configuration));
}

/// The sizes that were kept last.
pub fn pop() -> Option<Configuration> {
    PENDING.with_borrow_mut(Vec::pop)
}

/// Runs an entry, records its error and returns its code. A panic in the runtime becomes an error code, too.
pub fn answer(body: impl FnOnce() -> CudartResult<()>) -> CudartCode {
    let code = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(CudartError(code))) => code,
        Err(_) => UNKNOWN,
    };
    // "Not ready" is a status, not an error.
    if code != SUCCESS && code != NOT_READY {
        LAST.set(code);
    }
    code
}

/// Makes the driver ready, once.
pub fn initialize() -> CudartResult<()> {
    static STARTED: OnceLock<CudartCode> = OnceLock::new();
    // SAFETY: it takes no pointer.
    done(*STARTED.get_or_init(|| unsafe { driver::cuInit(0) }))
}

/// Puts the thread into the primary context, unless it is in one.
pub fn ready() -> CudartResult<()> {
    static PRIMARY: OnceLock<Result<DriverHandle, CudartCode>> = OnceLock::new();
    initialize()?;
    let mut current = 0;
    // SAFETY: the place is there.
    done(unsafe { driver::cuCtxGetCurrent(&mut current) })?;
    if current != 0 {
        return Ok(());
    }
    let primary = PRIMARY.get_or_init(|| {
        let mut context = 0;
        // SAFETY: the place is there.
        match unsafe { driver::cuDevicePrimaryCtxRetain(&mut context, 0) } {
            SUCCESS => Ok(context),
            code => Err(code),
        }
    });
    // SAFETY: it takes no pointer.
    primary.map_err(CudartError).and_then(|primary| done(unsafe { driver::cuCtxSetCurrent(primary) }))?;
    static LOADED: Once = Once::new();
    LOADED.call_once(crate::program::load_few);
    Ok(())
}

/// Tells once that an entry is called that the runtime does not have, if `HEDDLE_REPORT=1` asks for that.
pub fn report_refused(entry: &'static str) {
    static REPORTED: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    if std::env::var_os("HEDDLE_REPORT").is_none_or(|value| value != "1") {
        return;
    }
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !reported.contains(&entry) {
        reported.push(entry);
        // Ignore write errors: nobody can receive the message.
        let _ =
            writeln!(std::io::stderr(), "heddle: {entry} is not supported: it returns cudaErrorNotSupported");
    }
}
