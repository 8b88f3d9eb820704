//! Level 1: vectors.

use crate::Number;
use crate::vectors::vectorized;

/// Returns the address of a vector's first element: with a negative increment, vectors begin at their end.
#[inline(always)]
fn first<T>(x: *const T, n: usize, increment: isize) -> *const T {
    if increment < 0 { x.wrapping_offset((1 - n as isize) * increment) } else { x }
}

vectorized! {
    /// `y += alpha · x`
    ///
    /// # Safety
    /// The vectors are there.
    pub unsafe fn axpy<T: Number>(n: usize, alpha: T, x: *const T, incx: isize, y: *mut T, incy: isize) {
        // SAFETY: the caller's promise.
        unsafe {
            if incx == 1 && incy == 1 {
                for i in 0..n {
                    *y.add(i) += alpha * *x.add(i);
                }
            } else {
                let (x, y) = (first(x, n, incx), first(y, n, incy).cast_mut());
                for i in 0..n as isize {
                    *y.wrapping_offset(i * incy) += alpha * *x.wrapping_offset(i * incx);
                }
            }
        }
    }
}
