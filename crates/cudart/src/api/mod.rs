//! The C interface: one function for each entry of the runtime.
#![allow(non_snake_case)]

/// Entries that return a code. A name after `|` is the same entry for programs whose default stream is the thread's own: `in`
/// says which argument is a stream.
macro_rules! entries {
    () => {};
    (fn $name:ident ($($argument:ident: $type:ty),* $(,)?) $body:block $($rest:tt)*) => {
        entries!(@entry $name ($($argument: $type),*) $body);
        entries! { $($rest)* }
    };
    (fn $name:ident | $own:ident ($($argument:ident: $type:ty),* $(,)?) $body:block $($rest:tt)*) => {
        entries!(@entry $name ($($argument: $type),*) $body);
        entries!(@own $own $name ($($argument: $type),*) {});
        entries! { $($rest)* }
    };
    (fn $name:ident | $own:ident in $stream:ident ($($argument:ident: $type:ty),* $(,)?) $body:block $($rest:tt)*) => {
        entries!(@entry $name ($($argument: $type),*) $body);
        entries!(@own $own $name ($($argument: $type),*) { let $stream = $crate::api::own_stream($stream); });
        entries! { $($rest)* }
    };
    (@entry $name:ident ($($argument:ident: $type:ty),*) $body:block) => {
        #[doc = concat!("`", stringify!($name), "` of the runtime.")]
        ///
        /// # Safety
        /// Pointers are null or valid as the interface requires.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::errors::CudartCode {
            $crate::state::answer(move || -> $crate::errors::CudartResult<()> { $body })
        }
    };
    (@own $own:ident $name:ident ($($argument:ident: $type:ty),*) { $($shadow:tt)* }) => {
        #[doc = concat!("[`", stringify!($name), "`] for programs whose default stream is the thread's own.")]
        ///
        /// # Safety
        /// As for that one.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $own($($argument: $type),*) -> $crate::errors::CudartCode {
            $($shadow)*
            // SAFETY: the caller's promise.
            unsafe { $name($($argument),*) }
        }
    };
}

/// Entries that the driver has in the same form.
macro_rules! forward {
    ($(fn $name:ident $(| $own:ident in $stream:ident)? ($($argument:ident: $type:ty),* $(,)?) => $entry:ident;)*) => {
        entries! {
            $(fn $name $(| $own in $stream)? ($($argument: $type),*) {
                $crate::state::ready()?;
                // SAFETY: the caller's promise; the driver looks at what it is handed.
                $crate::errors::done(unsafe { $crate::driver::$entry($($argument),*) })
            })*
        }
    };
}

pub mod device;
pub mod memory;
pub mod texture;
pub mod copies;
pub mod stream;
pub mod launch;
pub mod graph;
pub mod graph_nodes;
pub mod refused;

use crate::MAJOR;
use crate::driver::{DriverHandle, Ptr};
use crate::errors::{CudartError, CudartResult, INVALID_VALUE};

/// Each thread's own stream, as a handle.
const PER_THREAD: DriverHandle = 2;

/// The stream that is meant where the default one is the thread's own.
pub(crate) fn own_stream(stream: DriverHandle) -> DriverHandle {
    if stream == 0 { PER_THREAD } else { stream }
}

/// A pointer that arrived as a number.
pub(crate) fn pointer_at<T>(address: usize) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address)
}

/// Returns edge data and the argument after it. Programs of CUDA 12 pass no edge data, and the next argument in its place.
pub(crate) fn edges_and_next(at_edges: usize, after: usize) -> (Ptr, usize) {
    if MAJOR > 12 { (pointer_at(at_edges), after) } else { (std::ptr::null_mut(), at_edges) }
}

/// Writes to a place of the program's; a null pointer is an error.
///
/// # Safety
/// The place is there, or null.
pub(crate) unsafe fn write<T>(place: *mut T, value: T) -> CudartResult<()> {
    if place.is_null() {
        return Err(CudartError(INVALID_VALUE));
    }
    // SAFETY: the caller's promise.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Reads at a place of the program's; a null pointer is an error.
///
/// # Safety
/// The place is there, or null.
pub(crate) unsafe fn read<T: Copy>(place: *const T) -> CudartResult<T> {
    // SAFETY: the caller's promise.
    if place.is_null() { Err(CudartError(INVALID_VALUE)) } else { Ok(unsafe { place.read_unaligned() }) }
}
