//! Level 1: vectors.

use super::{C32, C64};
use crate::context::{Context, Handle};
use crate::status::valid;
use heddle_blas::level1;

routines! {
    fn axpy["Saxpy_v2": f32, "Daxpy_v2": f64, "Caxpy_v2": C32, "Zaxpy_v2": C64](
        handle: Handle, n: Int, alpha: *const T, x: *const T, incx: Int, y: *mut T, incy: Int,
    ) {
        let context = Context::of(handle)?;
        valid(!alpha.is_null())?;
        let (n, incx, incy) = (n.wide().max(0) as usize, incx.wide() as isize, incy.wide() as isize);
        if n == 0 { return Ok(()); }
        let alpha = context.scalar(alpha);
        context.submit(move || level1::axpy(n, alpha.get(), x, incx, y, incy))
    }
}
