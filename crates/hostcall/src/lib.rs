//! The driver that CUDA's libraries find, and their work on the host in the order of its streams.
//!
//! Heddle's driver runs a command in its call, and its device memory is memory of the host: a library does its work in its own
//! call, too. While a stream is captured, the work becomes a host node of the graph instead.
#![deny(unsafe_op_in_unsafe_fn)]

mod interface;

pub use interface::report_refused;

use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// Handle of a stream: the runtime's and the driver's are the same.
pub type Stream = usize;

/// Reason why work cannot be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostcallError {
    /// There is no driver.
    NoDriver,
    /// The driver is not Heddle's: its device memory is out of the host's reach.
    OtherDriver,
    /// The driver's code.
    Driver(i32),
}

/// Returns the driver that lies next to this library, or that the loader finds; or 0.
pub fn library() -> usize {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        // SAFETY: an all-zero record is valid; the address is of this library, whose name is a text.
        let own = unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            let own: fn() -> usize = library;
            match libc::dladdr(own as *const c_void, &mut info) != 0 && !info.dli_fname.is_null() {
                true => CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned(),
                false => String::new(),
            }
        };
        let next_to_it = std::path::Path::new(&own).with_file_name("libcuda.so.1");
        let next_to_it = CString::new(next_to_it.to_string_lossy().as_ref()).unwrap_or_default();
        for path in [next_to_it.as_c_str(), c"libcuda.so.1"] {
            // SAFETY: the path is a text.
            let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
            if !library.is_null() {
                return library.expose_provenance();
            }
        }
        0
    })
}

/// Returns the address of a driver's entry, or 0.
pub fn address(name: &CStr) -> usize {
    match library() {
        0 => 0,
        // SAFETY: the library stays open, and the name is a text.
        library => unsafe { libc::dlsym(std::ptr::with_exposed_provenance_mut(library), name.as_ptr()) }
            .expose_provenance(),
    }
}

macro_rules! driver {
    ($(fn $name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[allow(non_snake_case)]
        fn $name($($argument: $type),*) -> Result<(), HostcallError> {
            static ADDRESS: OnceLock<usize> = OnceLock::new();
            let name = const {
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name has no zero byte"),
                }
            };
            let address = *ADDRESS.get_or_init(|| address(name));
            if address == 0 {
                return Err(HostcallError::NoDriver);
            }
            // SAFETY: the driver has a function of this type by this name; callers in this file pass places that are there.
            let code = unsafe {
                std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> i32>(address)($($argument),*)
            };
            if code == 0 { Ok(()) } else { Err(HostcallError::Driver(code)) }
        }
    )*};
}

driver! {
    fn cuInit(flags: u32);
    fn cuDeviceGetName(name: *mut c_char, room: i32, device: i32);
    fn cuDevicePrimaryCtxRetain(context: *mut usize, device: i32);
    fn cuCtxGetCurrent(context: *mut usize);
    fn cuCtxSetCurrent(context: usize);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuStreamIsCapturing(stream: Stream, status: *mut i32);
    fn cuStreamSynchronize(stream: Stream);
    fn cuLaunchHostFunc(stream: Stream, function: *const c_void, data: *const c_void);
}

/// Initializes the driver, and puts the thread into the primary context unless it is in one.
///
/// # Errors
/// There is no driver of Heddle, or it fails.
pub fn ready() -> Result<(), HostcallError> {
    static STARTED: OnceLock<Result<(), HostcallError>> = OnceLock::new();
    static PRIMARY: OnceLock<Result<usize, HostcallError>> = OnceLock::new();
    (*STARTED.get_or_init(|| {
        cuInit(0)?;
        let mut name = [0; 64];
        cuDeviceGetName(name.as_mut_ptr(), 64, 0)?;
        // SAFETY: the driver ends the name with a zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        if name.to_bytes().starts_with(b"Heddle") { Ok(()) } else { Err(HostcallError::OtherDriver) }
    }))?;
    let mut current = 0;
    cuCtxGetCurrent(&mut current)?;
    if current != 0 {
        return Ok(());
    }
    let primary = PRIMARY.get_or_init(|| {
        let mut context = 0;
        cuDevicePrimaryCtxRetain(&mut context, 0).map(|()| context)
    });
    cuCtxSetCurrent((*primary)?)
}

/// Returns the bytes of memory that are free, as the driver tells them. The thread is [`ready`].
///
/// # Errors
/// The thread is in no context.
pub fn free_memory() -> Result<usize, HostcallError> {
    let (mut free, mut total) = (0, 0);
    cuMemGetInfo_v2(&mut free, &mut total).map(|()| free)
}

/// Work that a graph does.
type GraphWork = Box<dyn Fn()>;

extern "C" fn run_captured(work: *mut c_void) {
    // SAFETY: `submit` hands this to the driver with work that it leaks.
    let work = unsafe { &*work.cast::<GraphWork>() };
    // No caller can receive an error.
    let _ = catch_unwind(AssertUnwindSafe(work));
}

/// True if what a stream gets becomes part of a graph.
///
/// # Errors
/// There is no such stream.
pub fn is_capturing(stream: Stream) -> Result<bool, HostcallError> {
    let mut status = 0;
    cuStreamIsCapturing(stream, &mut status)?;
    Ok(status != 0)
}

/// Waits for a stream; it fails while the stream is captured.
///
/// # Errors
/// The stream is captured, or has failed.
pub fn synchronize(stream: Stream) -> Result<(), HostcallError> {
    cuStreamSynchronize(stream)
}

/// Does work in the order of a stream: now, or whenever a graph that captures it is launched. The driver has no hook at the end of a
/// graph, so that captured work stays in memory, some 100 bytes a call.
///
/// # Errors
/// There is no such stream, or its capture is invalid.
pub fn submit(stream: Stream, work: impl Fn() + 'static) -> Result<(), HostcallError> {
    if !is_capturing(stream)? {
        work();
        return Ok(());
    }
    let work: *mut GraphWork = Box::into_raw(Box::new(Box::new(work)));
    let function: extern "C" fn(*mut c_void) = run_captured;
    cuLaunchHostFunc(stream, function as *const c_void, work.cast::<c_void>()).inspect_err(|_| {
        // SAFETY: the driver did not take it.
        drop(unsafe { Box::from_raw(work) });
    })
}
