//! Handles, modes, logging, and copies between host and device.

use crate::context::{Context, Handle};
use crate::status::{CublasError, CublasResult, EXECUTION_FAILED, put, valid};
use heddle_hostcall::Stream;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Version of the interface: major, minor, patch.
const VERSION: [i32; 3] = if crate::MAJOR == 12 { [12, 9, 0] } else { [13, 0, 0] };

/// Callback of the program for messages of the log, of which there are none.
static LOGGER: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

entries! {
    fn cublasCreate_v2(handle: *mut Handle) {
        valid(!handle.is_null())?;
        heddle_hostcall::ready()?;
        put(handle, Context::create())
    }
    fn cublasDestroy_v2(handle: Handle) {
        Context::destroy(handle)
    }
    fn cublasGetVersion_v2(handle: Handle, version: *mut i32) {
        Context::of(handle)?;
        let [major, minor, patch] = VERSION;
        put(version, major * 10_000 + minor * 100 + patch)
    }
    fn cublasGetProperty(kind: i32, value: *mut i32) {
        valid((0..3).contains(&kind))?;
        put(value, VERSION[kind as usize])
    }
    fn cublasSetStream_v2(handle: Handle, stream: Stream) {
        Context::of(handle)?.stream.set(stream);
        Ok(())
    }
    fn cublasGetStream_v2(handle: Handle, stream: *mut Stream) {
        put(stream, Context::of(handle)?.stream.get())
    }
    fn cublasSetPointerMode_v2(handle: Handle, mode: i32) {
        let context = Context::of(handle)?;
        valid((0..=1).contains(&mode))?;
        context.is_device_mode.set(mode == 1);
        Ok(())
    }
    fn cublasGetPointerMode_v2(handle: Handle, mode: *mut i32) {
        put(mode, Context::of(handle)?.is_device_mode.get().into())
    }
    fn cublasSetAtomicsMode(handle: Handle, mode: i32) {
        let context = Context::of(handle)?;
        valid((0..=1).contains(&mode))?;
        context.atomics_mode.set(mode);
        Ok(())
    }
    fn cublasGetAtomicsMode(handle: Handle, mode: *mut i32) {
        put(mode, Context::of(handle)?.atomics_mode.get())
    }
    fn cublasSetMathMode(handle: Handle, mode: i32) {
        let context = Context::of(handle)?;
        // One choice, and a flag: all of them compute with the types of the call.
        valid(matches!(mode & !16, 0..=4 | 8))?;
        context.math_mode.set(mode);
        Ok(())
    }
    fn cublasGetMathMode(handle: Handle, mode: *mut i32) {
        put(mode, Context::of(handle)?.math_mode.get())
    }
    fn cublasSetSmCountTarget(handle: Handle, processors: i32) {
        let context = Context::of(handle)?;
        valid(processors >= 0)?;
        context.processors.set(processors);
        Ok(())
    }
    fn cublasGetSmCountTarget(handle: Handle, processors: *mut i32) {
        put(processors, Context::of(handle)?.processors.get())
    }
    fn cublasSetEmulationStrategy(handle: Handle, strategy: i32) {
        let context = Context::of(handle)?;
        valid((0..=2).contains(&strategy))?;
        context.emulation.set(strategy);
        Ok(())
    }
    fn cublasGetEmulationStrategy(handle: Handle, strategy: *mut i32) {
        put(strategy, Context::of(handle)?.emulation.get())
    }
    fn cublasSetWorkspace_v2(handle: Handle, workspace: *mut c_void, bytes: usize) {
        // Routines keep their own memory.
        Context::of(handle)?;
        valid(workspace.addr().is_multiple_of(256) || bytes == 0)
    }
    fn cublasLoggerConfigure(_on: i32, _to_output: i32, _to_error: i32, _file: *const c_char) {
        Ok(())
    }
    fn cublasSetLoggerCallback(callback: *mut c_void) {
        LOGGER.store(callback, Ordering::Relaxed);
        Ok(())
    }
    fn cublasGetLoggerCallback(callback: *mut *mut c_void) {
        put(callback, LOGGER.load(Ordering::Relaxed))
    }
}

/// `cublasGetCudartVersion`
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetCudartVersion() -> usize {
    crate::MAJOR as usize * 1000
}

/// `cublasXerbla`: reports a wrong argument of a routine.
///
/// # Safety
/// The name is a text, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasXerbla(name: *const c_char, argument: i32) {
    if !name.is_null() {
        use std::io::Write as _;
        // SAFETY: the caller's promise.
        let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy();
        // Ignore write errors: nobody can receive the message.
        let _ = writeln!(
            std::io::stderr(),
            "On entry to {name} parameter number {argument} had an illegal value"
        );
    }
}

/// Rows and columns of elements that are copied.
struct ElementCopy {
    rows: i64,
    columns: i64,
    bytes: i64,
    /// Address, elements from row to row, elements from column to column.
    from: (*const u8, i64, i64),
    into: (*mut u8, i64, i64),
}

impl ElementCopy {
    /// Checks the arguments, and copies in the order of a stream.
    ///
    /// # Safety
    /// Pointers are valid as the interface requires.
    unsafe fn submit(self, stream: Stream) -> CublasResult<()> {
        let ElementCopy { rows, columns, bytes, from, into } = self;
        valid(rows >= 0 && columns >= 0 && bytes > 0 && from.1 > 0 && into.1 > 0)?;
        valid(columns == 1 || (from.2 >= rows.max(1) && into.2 >= rows.max(1)))?;
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        valid(!from.0.is_null() && !into.0.is_null())?;
        heddle_hostcall::ready()?;
        let copy = move || {
            let at = |(pointer, row, column): (*const u8, i64, i64), i: i64, j: i64| {
                pointer.wrapping_offset(((i * row + j * column) * bytes) as isize)
            };
            for j in 0..columns {
                // SAFETY: the caller's promise.
                unsafe {
                    if from.1 == 1 && into.1 == 1 {
                        at((into.0, 1, into.2), 0, j)
                            .cast_mut()
                            .copy_from(at(from, 0, j), (rows * bytes) as usize);
                    } else {
                        for i in 0..rows {
                            at((into.0, into.1, into.2), i, j)
                                .cast_mut()
                                .copy_from(at(from, i, j), bytes as usize);
                        }
                    }
                }
            }
        };
        heddle_hostcall::submit(stream, copy).map_err(|_| CublasError(EXECUTION_FAILED))
    }
}

/// Defines copies of vectors and matrices: the default stream's, and those of a stream that is an argument.
macro_rules! copies {
    ($($vector:literal $matrix:literal $vector_function:ident $matrix_function:ident ($($stream:ident: $kind:ty)?) $used:expr;)*) => {$(
        entries! { both
            fn $vector_function[$vector](
                n: Int, bytes: Int, x: *const u8, incx: Int, y: *mut u8, incy: Int $(, $stream: $kind)?
            ) {
                let (from, into) = ((x, incx.wide(), 0), (y, incy.wide(), 0));
                ElementCopy { rows: n.wide(), columns: 1, bytes: bytes.wide(), from, into }.submit($used)
            }
            fn $matrix_function[$matrix](
                rows: Int, columns: Int, bytes: Int, a: *const u8, lda: Int, b: *mut u8, ldb: Int $(, $stream: $kind)?
            ) {
                let (from, into) = ((a, 1, lda.wide()), (b, 1, ldb.wide()));
                ElementCopy { rows: rows.wide(), columns: columns.wide(), bytes: bytes.wide(), from, into }.submit($used)
            }
        }
    )*};
}

copies! {
    "SetVector" "SetMatrix" set_vector set_matrix () 0;
    "GetVector" "GetMatrix" get_vector get_matrix () 0;
    "SetVectorAsync" "SetMatrixAsync" set_vector_async set_matrix_async (stream: Stream) stream;
    "GetVectorAsync" "GetMatrixAsync" get_vector_async get_matrix_async (stream: Stream) stream;
}
