//! Handles, the version, logging, and descriptions of matrices of the older interface.

use crate::VERSION;
use crate::context::{SparseContext, SparseHandle};
use crate::status::{SparseResult, put, valid};
use heddle_hostcall::Stream;
use heddle_solver::sparse_system::SparseDescription;
use std::ffi::c_void;

/// Handle of a description.
pub(crate) type DescriptionHandle = *mut SparseDescription;

/// Finds a description.
///
/// # Safety
/// The pointer is of a description, or null; nobody else uses it.
pub(crate) unsafe fn description<'a>(
    pointer: *mut SparseDescription,
) -> SparseResult<&'a mut SparseDescription> {
    valid(!pointer.is_null() && pointer.is_aligned())?;
    // SAFETY: the caller's promise.
    let found = unsafe { &mut *pointer };
    valid(found.magic == SparseDescription::MAGIC)?;
    Ok(found)
}

entries! {
    fn cusparseCreate(handle: *mut SparseHandle) {
        valid(!handle.is_null())?;
        heddle_hostcall::ready()?;
        put(handle, SparseContext::create())
    }
    fn cusparseDestroy(handle: SparseHandle) {
        SparseContext::destroy(handle)
    }
    fn cusparseGetVersion(handle: SparseHandle, version: *mut i32) {
        SparseContext::of(handle)?;
        let [major, minor, patch] = VERSION;
        put(version, major * 1000 + minor * 100 + patch)
    }
    fn cusparseGetProperty(kind: i32, value: *mut i32) {
        valid((0..3).contains(&kind))?;
        put(value, VERSION[kind as usize])
    }
    fn cusparseSetStream(handle: SparseHandle, stream: Stream) {
        SparseContext::of(handle)?.stream.set(stream);
        Ok(())
    }
    fn cusparseGetStream(handle: SparseHandle, stream: *mut Stream) {
        put(stream, SparseContext::of(handle)?.stream.get())
    }
    fn cusparseSetPointerMode(handle: SparseHandle, mode: i32) {
        let context = SparseContext::of(handle)?;
        valid((0..=1).contains(&mode))?;
        context.is_device_mode.set(mode == 1);
        Ok(())
    }
    fn cusparseGetPointerMode(handle: SparseHandle, mode: *mut i32) {
        put(mode, SparseContext::of(handle)?.is_device_mode.get().into())
    }

    fn cusparseLoggerSetCallback(_callback: *mut c_void) { Ok(()) }
    fn cusparseLoggerSetFile(_file: *mut c_void) { Ok(()) }
    fn cusparseLoggerOpenFile(_name: *const c_void) { Ok(()) }
    fn cusparseLoggerSetLevel(_level: i32) { Ok(()) }
    fn cusparseLoggerSetMask(_mask: i32) { Ok(()) }
    fn cusparseLoggerForceDisable() { Ok(()) }

    fn cusparseCreateMatDescr(place: *mut *mut SparseDescription) {
        valid(!place.is_null())?;
        let made = SparseDescription { magic: SparseDescription::MAGIC, kind: 0, fill: 0, diagonal: 0, base: 0 };
        put(place, Box::into_raw(Box::new(made)))
    }
    fn cusparseDestroyMatDescr(pointer: *mut SparseDescription) {
        description(pointer)?.magic = 0;
        drop(Box::from_raw(pointer));
        Ok(())
    }
    fn cusparseSetMatType(pointer: *mut SparseDescription, kind: i32) {
        valid((0..=3).contains(&kind))?;
        description(pointer)?.kind = kind;
        Ok(())
    }
    fn cusparseSetMatFillMode(pointer: *mut SparseDescription, fill: i32) {
        valid((0..=1).contains(&fill))?;
        description(pointer)?.fill = fill;
        Ok(())
    }
    fn cusparseSetMatDiagType(pointer: *mut SparseDescription, diagonal: i32) {
        valid((0..=1).contains(&diagonal))?;
        description(pointer)?.diagonal = diagonal;
        Ok(())
    }
    fn cusparseSetMatIndexBase(pointer: *mut SparseDescription, base: i32) {
        valid((0..=1).contains(&base))?;
        description(pointer)?.base = base;
        Ok(())
    }
}

/// Defines queries of descriptions, which answer with a value instead of a status; that of a wrong pointer is 0.
macro_rules! description_queries {
    ($($name:ident $field:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the library.")]
        ///
        /// # Safety
        /// The pointer is of a description, or null.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(pointer: *mut SparseDescription) -> i32 {
            // SAFETY: the caller's promise.
            unsafe { description(pointer) }.map_or(0, |it| it.$field)
        }
    )*};
}

description_queries! {
    cusparseGetMatType kind;
    cusparseGetMatFillMode fill;
    cusparseGetMatDiagType diagonal;
    cusparseGetMatIndexBase base;
}
