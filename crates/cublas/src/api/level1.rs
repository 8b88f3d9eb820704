//! Level 1: vectors.
//!
//! A length of zero or less means an empty vector, as cuBLAS has it.

use super::{C32, C64, Re};
use crate::context::{Context, Handle};
use crate::status::{CublasResult, valid};
use heddle_blas::{Number, level1};

/// Returns the length of a vector.
fn length(n: i64) -> usize {
    n.max(0) as usize
}

/// Submits work that computes a scalar: the caller waits for it where the host reads it.
///
/// # Safety
/// The place is there when the work is done.
unsafe fn submit_result<V: 'static>(
    context: &Context,
    place: *mut V,
    of: impl Fn() -> V + 'static,
) -> CublasResult<()> {
    // SAFETY: the caller's promise.
    context.submit(move || unsafe { place.write_unaligned(of()) })
}

routines! {
    fn axpy["Saxpy_v2": f32, "Daxpy_v2": f64, "Caxpy_v2": C32, "Zaxpy_v2": C64](
        handle: Handle, n: Int, alpha: *const T, x: *const T, incx: Int, y: *mut T, incy: Int,
    ) {
        let context = Context::of(handle)?;
        valid(!alpha.is_null())?;
        let (n, incx, incy) = (length(n.wide()), incx.wide() as isize, incy.wide() as isize);
        if n == 0 { return Ok(()); }
        let alpha = context.scalar(alpha);
        context.submit(move || level1::axpy(n, alpha.get(), x, incx, y, incy))
    }

    fn copy["Scopy_v2": f32, "Dcopy_v2": f64, "Ccopy_v2": C32, "Zcopy_v2": C64](
        handle: Handle, n: Int, x: *const T, incx: Int, y: *mut T, incy: Int,
    ) {
        let context = Context::of(handle)?;
        let (n, incx, incy) = (length(n.wide()), incx.wide() as isize, incy.wide() as isize);
        if n == 0 { return Ok(()); }
        context.submit(move || level1::copy(n, x, incx, y, incy))
    }

    fn swap["Sswap_v2": f32, "Dswap_v2": f64, "Cswap_v2": C32, "Zswap_v2": C64](
        handle: Handle, n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int,
    ) {
        let context = Context::of(handle)?;
        let (n, incx, incy) = (length(n.wide()), incx.wide() as isize, incy.wide() as isize);
        if n == 0 { return Ok(()); }
        context.submit(move || level1::swap(n, x, incx, y, incy))
    }

    fn scal["Sscal_v2": f32, "Dscal_v2": f64, "Cscal_v2": C32, "Zscal_v2": C64](
        handle: Handle, n: Int, alpha: *const T, x: *mut T, incx: Int,
    ) {
        let context = Context::of(handle)?;
        valid(!alpha.is_null())?;
        let (n, incx) = (length(n.wide()), incx.wide() as isize);
        if n == 0 || incx <= 0 { return Ok(()); }
        let alpha = context.scalar(alpha);
        context.submit(move || level1::scal(n, alpha.get(), x, incx))
    }

    fn scal_real["Csscal_v2": C32, "Zdscal_v2": C64](handle: Handle, n: Int, alpha: *const Re<T>, x: *mut T, incx: Int) {
        let context = Context::of(handle)?;
        valid(!alpha.is_null())?;
        let (n, incx) = (length(n.wide()), incx.wide() as isize);
        if n == 0 || incx <= 0 { return Ok(()); }
        let alpha = context.scalar(alpha);
        context.submit(move || {
            // Real and imaginary parts are a vector of twice the length where elements follow each other.
            if incx == 1 {
                level1::scal(2 * n, alpha.get(), x.cast::<Re<T>>(), 1);
            } else {
                level1::scal(n, T::from_real(alpha.get()), x, incx);
            }
        })
    }

    fn dotu["Sdot_v2": f32, "Ddot_v2": f64, "Cdotu_v2": C32, "Zdotu_v2": C64](
        handle: Handle, n: Int, x: *const T, incx: Int, y: *const T, incy: Int, result: *mut T,
    ) {
        let context = Context::of(handle)?;
        valid(!result.is_null())?;
        let (n, incx, incy) = (length(n.wide()), incx.wide() as isize, incy.wide() as isize);
        submit_result(context, result, move || level1::dot(n, x, incx, y, incy, false))
    }

    fn dotc["Cdotc_v2": C32, "Zdotc_v2": C64](
        handle: Handle, n: Int, x: *const T, incx: Int, y: *const T, incy: Int, result: *mut T,
    ) {
        let context = Context::of(handle)?;
        valid(!result.is_null())?;
        let (n, incx, incy) = (length(n.wide()), incx.wide() as isize, incy.wide() as isize);
        submit_result(context, result, move || level1::dot(n, x, incx, y, incy, true))
    }

    fn nrm2["Snrm2_v2": f32, "Dnrm2_v2": f64, "Scnrm2_v2": C32, "Dznrm2_v2": C64](
        handle: Handle, n: Int, x: *const T, incx: Int, result: *mut Re<T>,
    ) {
        let context = Context::of(handle)?;
        valid(!result.is_null())?;
        let (n, incx) = (length(n.wide()), incx.wide() as isize);
        let n = if incx > 0 { n } else { 0 };
        submit_result(context, result, move || level1::nrm2(n, x, incx))
    }

    fn asum["Sasum_v2": f32, "Dasum_v2": f64, "Scasum_v2": C32, "Dzasum_v2": C64](
        handle: Handle, n: Int, x: *const T, incx: Int, result: *mut Re<T>,
    ) {
        let context = Context::of(handle)?;
        valid(!result.is_null())?;
        let (n, incx) = (length(n.wide()), incx.wide() as isize);
        let n = if incx > 0 { n } else { 0 };
        submit_result(context, result, move || level1::asum(n, x, incx))
    }

    fn amax["Isamax_v2": f32, "Idamax_v2": f64, "Icamax_v2": C32, "Izamax_v2": C64](
        handle: Handle, n: Int, x: *const T, incx: Int, result: *mut Int,
    ) {
        let context = Context::of(handle)?;
        valid(!result.is_null())?;
        let (n, incx) = (length(n.wide()), incx.wide() as isize);
        let n = if incx > 0 { n } else { 0 };
        submit_result(context, result, move || Int::narrow(level1::find_extreme(n, x, incx, false) as i64))
    }

    fn amin["Isamin_v2": f32, "Idamin_v2": f64, "Icamin_v2": C32, "Izamin_v2": C64](
        handle: Handle, n: Int, x: *const T, incx: Int, result: *mut Int,
    ) {
        let context = Context::of(handle)?;
        valid(!result.is_null())?;
        let (n, incx) = (length(n.wide()), incx.wide() as isize);
        let n = if incx > 0 { n } else { 0 };
        submit_result(context, result, move || Int::narrow(level1::find_extreme(n, x, incx, true) as i64))
    }

    fn rot["Srot_v2": f32, "Drot_v2": f64, "Crot_v2": C32, "Zrot_v2": C64](
        handle: Handle, n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int, c: *const Re<T>, s: *const T,
    ) {
        let context = Context::of(handle)?;
        valid(!c.is_null() && !s.is_null())?;
        let (n, incx, incy) = (length(n.wide()), incx.wide() as isize, incy.wide() as isize);
        if n == 0 { return Ok(()); }
        let (c, s) = (context.scalar(c), context.scalar(s));
        context.submit(move || level1::rot(n, x, incx, y, incy, T::from_real(c.get()), s.get()))
    }

    fn rot_real["Csrot_v2": C32, "Zdrot_v2": C64](
        handle: Handle, n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int, c: *const Re<T>, s: *const Re<T>,
    ) {
        let context = Context::of(handle)?;
        valid(!c.is_null() && !s.is_null())?;
        let (n, incx, incy) = (length(n.wide()), incx.wide() as isize, incy.wide() as isize);
        if n == 0 { return Ok(()); }
        let (c, s) = (context.scalar(c), context.scalar(s));
        context.submit(move || level1::rot(n, x, incx, y, incy, T::from_real(c.get()), T::from_real(s.get())))
    }

    fn rotm["Srotm_v2": f32, "Drotm_v2": f64](
        handle: Handle, n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int, parameters: *const Re<T>,
    ) {
        let context = Context::of(handle)?;
        valid(!parameters.is_null())?;
        let (n, incx, incy) = (length(n.wide()), incx.wide() as isize, incy.wide() as isize);
        if n == 0 { return Ok(()); }
        let parameters = context.scalar(parameters.cast::<level1::ModifiedRotation<Re<T>>>());
        context.submit(move || {
            if let Some(matrix) = level1::modified_matrix(parameters.get()) {
                level1::multiply_pairs(n, x, incx, y, incy, matrix.map(T::from_real));
            }
        })
    }
}

// These take no length, and have one form.
macro_rules! rotations {
    ($($rotg:ident $type:ty;)*) => {$(
        entries! {
            fn $rotg(handle: Handle, a: *mut $type, b: *mut $type, c: *mut Re<$type>, s: *mut $type) {
                let context = Context::of(handle)?;
                valid(!a.is_null() && !b.is_null() && !c.is_null() && !s.is_null())?;
                context.submit(move || {
                    let rotation = level1::rotg(*a, *b);
                    (*a, *c, *s) = (rotation.r, rotation.c, rotation.s);
                    if !<$type>::IS_COMPLEX {
                        *b = rotation.z;
                    }
                })
            }
        }
    )*};
}

rotations! {
    cublasSrotg_v2 f32;
    cublasDrotg_v2 f64;
    cublasCrotg_v2 C32;
    cublasZrotg_v2 C64;
}

macro_rules! modified_rotations {
    ($($rotmg:ident $type:ty;)*) => {$(
        entries! {
            fn $rotmg(handle: Handle, d1: *mut $type, d2: *mut $type, x1: *mut $type, y1: *const $type, parameters: *mut $type) {
                let context = Context::of(handle)?;
                valid(!d1.is_null() && !d2.is_null() && !x1.is_null() && !y1.is_null() && !parameters.is_null())?;
                let y1 = context.scalar(y1);
                context.submit(move || {
                    let [flag, h11, h21, h12, h22] = level1::rotmg(&mut *d1, &mut *d2, &mut *x1, y1.get());
                    *parameters = flag;
                    // Elements that the flag implies are not written.
                    if flag == -1.0 || flag == 1.0 {
                        (*parameters.add(1), *parameters.add(4)) = (h11, h22);
                    }
                    if flag == -1.0 || flag == 0.0 {
                        (*parameters.add(2), *parameters.add(3)) = (h21, h12);
                    }
                })
            }
        }
    )*};
}

modified_rotations! {
    cublasSrotmg_v2 f32;
    cublasDrotmg_v2 f64;
}
