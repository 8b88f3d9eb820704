//! Sizes of work areas, by `…_bufferSize`: one element, since routines need none.

use crate::context::{SolverContext, SolverHandle};
use crate::status::{SolverResult, SolverStatus, answer, put};
use std::ffi::c_void;

/// Pointer argument, which is not used.
type P = *const c_void;

/// Answers the size of a work area.
///
/// # Safety
/// Pointers are null or valid as the interface requires.
unsafe fn work_size(handle: SolverHandle, size: *mut i32) -> SolverResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        SolverContext::of(handle)?;
        put(size, 1)
    }
}

/// Defines entries from the types of their arguments after the handle: before the place of the size, and after it.
macro_rules! work_sizes {
    ($($kinds:tt: $($name:ident)*;)*) => {$($( work_sizes! { @entry $name $kinds } )*)*};
    (@entry $name:ident ($($before:ty),*; $($after:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "` of the library.")]
        ///
        /// # Safety
        /// Pointers are null or valid as the interface requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: SolverHandle $(, _: $before)*, size: *mut i32 $(, _: $after)*) -> SolverStatus {
            // SAFETY: the caller's promise.
            answer(move || unsafe { work_size(handle, size) })
        }
    };
}

work_sizes! {
    (i32, i32, P, i32; ):
        cusolverDnSpotrf_bufferSize cusolverDnDpotrf_bufferSize cusolverDnCpotrf_bufferSize
        cusolverDnZpotrf_bufferSize cusolverDnSpotri_bufferSize cusolverDnDpotri_bufferSize
        cusolverDnCpotri_bufferSize cusolverDnZpotri_bufferSize cusolverDnSgetrf_bufferSize
        cusolverDnDgetrf_bufferSize cusolverDnCgetrf_bufferSize cusolverDnZgetrf_bufferSize
        cusolverDnSgeqrf_bufferSize cusolverDnDgeqrf_bufferSize cusolverDnCgeqrf_bufferSize
        cusolverDnZgeqrf_bufferSize;
    (i32, i32, i32, P, i32, P; ):
        cusolverDnSorgqr_bufferSize cusolverDnDorgqr_bufferSize cusolverDnCungqr_bufferSize
        cusolverDnZungqr_bufferSize cusolverDnSsyevd_bufferSize cusolverDnDsyevd_bufferSize
        cusolverDnCheevd_bufferSize cusolverDnZheevd_bufferSize;
    (i32, i32, i32, i32, i32, P, i32, P, P, i32; ):
        cusolverDnSormqr_bufferSize cusolverDnDormqr_bufferSize cusolverDnCunmqr_bufferSize
        cusolverDnZunmqr_bufferSize;
    (i32, i32; ):
        cusolverDnSgebrd_bufferSize cusolverDnDgebrd_bufferSize cusolverDnCgebrd_bufferSize
        cusolverDnZgebrd_bufferSize cusolverDnSgesvd_bufferSize cusolverDnDgesvd_bufferSize
        cusolverDnCgesvd_bufferSize cusolverDnZgesvd_bufferSize;
    (i32, i32, i32, i32, P, i32, f32, f32, i32, i32, P, P; ):
        cusolverDnSsyevdx_bufferSize cusolverDnCheevdx_bufferSize;
    (i32, i32, i32, i32, P, i32, f64, f64, i32, i32, P, P; ):
        cusolverDnDsyevdx_bufferSize cusolverDnZheevdx_bufferSize;
    (i32, i32, i32, i32, i32, P, i32, P, i32, f32, f32, i32, i32, P, P; ):
        cusolverDnSsygvdx_bufferSize cusolverDnChegvdx_bufferSize;
    (i32, i32, i32, i32, i32, P, i32, P, i32, f64, f64, i32, i32, P, P; ):
        cusolverDnDsygvdx_bufferSize cusolverDnZhegvdx_bufferSize;
    (i32, i32, i32, i32, P, i32, P, i32, P; ):
        cusolverDnSsygvd_bufferSize cusolverDnDsygvd_bufferSize cusolverDnChegvd_bufferSize
        cusolverDnZhegvd_bufferSize;
    (i32, i32, i32, P, i32, P; P, i32):
        cusolverDnSsyevjBatched_bufferSize cusolverDnDsyevjBatched_bufferSize
        cusolverDnCheevjBatched_bufferSize cusolverDnZheevjBatched_bufferSize;
    (i32, i32, i32, P, i32, P; P):
        cusolverDnSsyevj_bufferSize cusolverDnDsyevj_bufferSize cusolverDnCheevj_bufferSize
        cusolverDnZheevj_bufferSize;
    (i32, i32, i32, i32, P, i32, P, i32, P; P):
        cusolverDnSsygvj_bufferSize cusolverDnDsygvj_bufferSize cusolverDnChegvj_bufferSize
        cusolverDnZhegvj_bufferSize;
    (i32, i32, i32, P, i32, P, P, i32, P, i32; P, i32):
        cusolverDnSgesvdjBatched_bufferSize cusolverDnDgesvdjBatched_bufferSize
        cusolverDnCgesvdjBatched_bufferSize cusolverDnZgesvdjBatched_bufferSize;
    (i32, i32, i32, i32, P, i32, P, P, i32, P, i32; P):
        cusolverDnSgesvdj_bufferSize cusolverDnDgesvdj_bufferSize cusolverDnCgesvdj_bufferSize
        cusolverDnZgesvdj_bufferSize;
    (i32, i32, i32, i32, P, i32, i64, P, i64, P, i32, i64, P, i32, i64; i32):
        cusolverDnSgesvdaStridedBatched_bufferSize cusolverDnDgesvdaStridedBatched_bufferSize
        cusolverDnCgesvdaStridedBatched_bufferSize cusolverDnZgesvdaStridedBatched_bufferSize;
}
