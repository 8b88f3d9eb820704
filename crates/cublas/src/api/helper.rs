//! Handles, modes and copies.

use crate::context::{Context, Handle, answer};
use crate::status::{CublasError, Status, valid};
use heddle_hostcall::Stream;

/// Entries that have one form.
macro_rules! entries {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the library.")]
        ///
        /// # Safety
        /// Pointers are null or valid as the interface requires.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> Status {
            // SAFETY: the caller's promise.
            answer(move || unsafe { $body })
        }
    )*};
}

/// Writes a result; a null pointer is an error.
///
/// # Safety
/// The place is there, or null.
unsafe fn put<V>(place: *mut V, value: V) -> Result<(), CublasError> {
    valid(!place.is_null())?;
    // SAFETY: the caller's promise.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

entries! {
    fn cublasCreate_v2(handle: *mut Handle) {
        valid(!handle.is_null())?;
        heddle_hostcall::ready()?;
        put(handle, Context::create())
    }
    fn cublasDestroy_v2(handle: Handle) {
        Context::destroy(handle)
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
}
