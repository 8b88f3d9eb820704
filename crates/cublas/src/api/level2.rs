//! Level 2: a matrix and vectors.

use super::{C32, C64, Re};
use crate::arguments::{is_unit, transpose, triangle};
use crate::context::{Context, Handle};
use crate::status::{CublasResult, valid};
use heddle_blas::columns::{ColumnLayout, Columns};
use heddle_blas::level2::{self, Factors};
use heddle_blas::{Number, Transpose};

/// Operands of `y = alpha · A · x + beta · y`.
struct VectorProduct<T> {
    handle: Handle,
    alpha: *const T,
    a: Columns<T>,
    x: (*const T, isize),
    beta: *const T,
    y: (*mut T, isize),
}

impl<T: Number> VectorProduct<T> {
    /// Submits the product with a general matrix.
    ///
    /// # Safety
    /// Pointers are valid as the interface requires.
    unsafe fn submit(self, transpose: Transpose) -> CublasResult<()> {
        // SAFETY: the caller's promise.
        unsafe {
            let context = Context::of(self.handle)?;
            valid(!self.alpha.is_null() && !self.beta.is_null())?;
            if self.a.rows == 0 || self.a.count == 0 {
                return Ok(());
            }
            let (alpha, beta) = (context.scalar(self.alpha), context.scalar(self.beta));
            let VectorProduct { a, x, y, .. } = self;
            context.submit(move || {
                level2::gemv(transpose, Factors { alpha: alpha.get(), beta: beta.get() }, a, x, y)
            })
        }
    }

    /// Submits the product with a symmetric or Hermitian matrix.
    ///
    /// # Safety
    /// As for `submit`.
    unsafe fn submit_symmetric(self, hermitian: bool) -> CublasResult<()> {
        // SAFETY: the caller's promise.
        unsafe {
            let context = Context::of(self.handle)?;
            valid(!self.alpha.is_null() && !self.beta.is_null())?;
            if self.a.count == 0 {
                return Ok(());
            }
            let (alpha, beta) = (context.scalar(self.alpha), context.scalar(self.beta));
            let VectorProduct { a, x, y, .. } = self;
            context.submit(move || {
                level2::symv(hermitian, Factors { alpha: alpha.get(), beta: beta.get() }, a, x, y)
            })
        }
    }
}

/// Submits a product or a solution with a triangular matrix.
///
/// # Safety
/// Pointers are valid as the interface requires.
unsafe fn submit_triangular<T: Number>(
    handle: Handle,
    trans: i32,
    diag: i32,
    a: Columns<T>,
    x: (*mut T, isize),
    solve: bool,
) -> CublasResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = Context::of(handle)?;
        let (trans, unit) = (transpose(trans)?, is_unit(diag)?);
        if a.count == 0 {
            return Ok(());
        }
        context.submit(move || {
            if solve {
                level2::trsv(trans, unit, a, x);
            } else {
                level2::trmv(trans, unit, a, x);
            }
        })
    }
}

/// Submits an update of a matrix by a product of two vectors.
///
/// # Safety
/// Pointers are valid as the interface requires.
unsafe fn submit_update<T: Number, S: Number>(
    handle: Handle,
    alpha: *const S,
    a: Columns<T>,
    update: impl Fn(S, Columns<T>) + 'static,
) -> CublasResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = Context::of(handle)?;
        valid(!alpha.is_null())?;
        if a.count == 0 || a.rows == 0 {
            return Ok(());
        }
        let alpha = context.scalar(alpha);
        context.submit(move || {
            let alpha = alpha.get();
            if alpha != S::ZERO {
                update(alpha, a);
            }
        })
    }
}

routines! {
    fn gemv["Sgemv_v2": f32, "Dgemv_v2": f64, "Cgemv_v2": C32, "Zgemv_v2": C64](
        handle: Handle, trans: i32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int,
        beta: *const T, y: *mut T, incy: Int,
    ) {
        Context::of(handle)?;
        let trans = transpose(trans)?;
        let (m, n) = (m.length()?, n.length()?);
        let layout = ColumnLayout::General { ld: lda.leading(m)? };
        let a = Columns { pointer: a.cast_mut(), rows: m, count: n, layout };
        VectorProduct { handle, alpha, a, x: (x, incx.increment()?), beta, y: (y, incy.increment()?) }.submit(trans)
    }

    fn gbmv["Sgbmv_v2": f32, "Dgbmv_v2": f64, "Cgbmv_v2": C32, "Zgbmv_v2": C64](
        handle: Handle, trans: i32, m: Int, n: Int, kl: Int, ku: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int,
        beta: *const T, y: *mut T, incy: Int,
    ) {
        Context::of(handle)?;
        let trans = transpose(trans)?;
        let (m, n, lower, upper) = (m.length()?, n.length()?, kl.length()?, ku.length()?);
        let layout = ColumnLayout::Band { ld: lda.leading(lower + upper + 1)?, lower, upper };
        let a = Columns { pointer: a.cast_mut(), rows: m, count: n, layout };
        VectorProduct { handle, alpha, a, x: (x, incx.increment()?), beta, y: (y, incy.increment()?) }.submit(trans)
    }

    fn symv["Ssymv_v2": f32, "Dsymv_v2": f64, "Csymv_v2": C32, "Zsymv_v2": C64](
        handle: Handle, uplo: i32, n: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n) = (triangle(uplo)?, n.length()?);
        let a = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
        VectorProduct { handle, alpha, a, x: (x, incx.increment()?), beta, y: (y, incy.increment()?) }.submit_symmetric(false)
    }

    fn hemv["Chemv_v2": C32, "Zhemv_v2": C64](
        handle: Handle, uplo: i32, n: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n) = (triangle(uplo)?, n.length()?);
        let a = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
        VectorProduct { handle, alpha, a, x: (x, incx.increment()?), beta, y: (y, incy.increment()?) }.submit_symmetric(true)
    }

    fn sbmv["Ssbmv_v2": f32, "Dsbmv_v2": f64](
        handle: Handle, uplo: i32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T,
        incy: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n, width) = (triangle(uplo)?, n.length()?, k.length()?);
        let a = Columns::square(a, n, ColumnLayout::TriangleBand { ld: lda.leading(width + 1)?, triangle, width });
        VectorProduct { handle, alpha, a, x: (x, incx.increment()?), beta, y: (y, incy.increment()?) }.submit_symmetric(false)
    }

    fn hbmv["Chbmv_v2": C32, "Zhbmv_v2": C64](
        handle: Handle, uplo: i32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T,
        incy: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n, width) = (triangle(uplo)?, n.length()?, k.length()?);
        let a = Columns::square(a, n, ColumnLayout::TriangleBand { ld: lda.leading(width + 1)?, triangle, width });
        VectorProduct { handle, alpha, a, x: (x, incx.increment()?), beta, y: (y, incy.increment()?) }.submit_symmetric(true)
    }

    fn spmv["Sspmv_v2": f32, "Dspmv_v2": f64](
        handle: Handle, uplo: i32, n: Int, alpha: *const T, ap: *const T, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int,
    ) {
        Context::of(handle)?;
        let a = Columns::square(ap, n.length()?, ColumnLayout::Packed { triangle: triangle(uplo)? });
        VectorProduct { handle, alpha, a, x: (x, incx.increment()?), beta, y: (y, incy.increment()?) }.submit_symmetric(false)
    }

    fn hpmv["Chpmv_v2": C32, "Zhpmv_v2": C64](
        handle: Handle, uplo: i32, n: Int, alpha: *const T, ap: *const T, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int,
    ) {
        Context::of(handle)?;
        let a = Columns::square(ap, n.length()?, ColumnLayout::Packed { triangle: triangle(uplo)? });
        VectorProduct { handle, alpha, a, x: (x, incx.increment()?), beta, y: (y, incy.increment()?) }.submit_symmetric(true)
    }

    fn trmv["Strmv_v2": f32, "Dtrmv_v2": f64, "Ctrmv_v2": C32, "Ztrmv_v2": C64](
        handle: Handle, uplo: i32, trans: i32, diag: i32, n: Int, a: *const T, lda: Int, x: *mut T, incx: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n) = (triangle(uplo)?, n.length()?);
        let a = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
        submit_triangular(handle, trans, diag, a, (x, incx.increment()?), false)
    }

    fn trsv["Strsv_v2": f32, "Dtrsv_v2": f64, "Ctrsv_v2": C32, "Ztrsv_v2": C64](
        handle: Handle, uplo: i32, trans: i32, diag: i32, n: Int, a: *const T, lda: Int, x: *mut T, incx: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n) = (triangle(uplo)?, n.length()?);
        let a = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
        submit_triangular(handle, trans, diag, a, (x, incx.increment()?), true)
    }

    fn tbmv["Stbmv_v2": f32, "Dtbmv_v2": f64, "Ctbmv_v2": C32, "Ztbmv_v2": C64](
        handle: Handle, uplo: i32, trans: i32, diag: i32, n: Int, k: Int, a: *const T, lda: Int, x: *mut T, incx: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n, width) = (triangle(uplo)?, n.length()?, k.length()?);
        let a = Columns::square(a, n, ColumnLayout::TriangleBand { ld: lda.leading(width + 1)?, triangle, width });
        submit_triangular(handle, trans, diag, a, (x, incx.increment()?), false)
    }

    fn tbsv["Stbsv_v2": f32, "Dtbsv_v2": f64, "Ctbsv_v2": C32, "Ztbsv_v2": C64](
        handle: Handle, uplo: i32, trans: i32, diag: i32, n: Int, k: Int, a: *const T, lda: Int, x: *mut T, incx: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n, width) = (triangle(uplo)?, n.length()?, k.length()?);
        let a = Columns::square(a, n, ColumnLayout::TriangleBand { ld: lda.leading(width + 1)?, triangle, width });
        submit_triangular(handle, trans, diag, a, (x, incx.increment()?), true)
    }

    fn tpmv["Stpmv_v2": f32, "Dtpmv_v2": f64, "Ctpmv_v2": C32, "Ztpmv_v2": C64](
        handle: Handle, uplo: i32, trans: i32, diag: i32, n: Int, ap: *const T, x: *mut T, incx: Int,
    ) {
        Context::of(handle)?;
        let a = Columns::square(ap, n.length()?, ColumnLayout::Packed { triangle: triangle(uplo)? });
        submit_triangular(handle, trans, diag, a, (x, incx.increment()?), false)
    }

    fn tpsv["Stpsv_v2": f32, "Dtpsv_v2": f64, "Ctpsv_v2": C32, "Ztpsv_v2": C64](
        handle: Handle, uplo: i32, trans: i32, diag: i32, n: Int, ap: *const T, x: *mut T, incx: Int,
    ) {
        Context::of(handle)?;
        let a = Columns::square(ap, n.length()?, ColumnLayout::Packed { triangle: triangle(uplo)? });
        submit_triangular(handle, trans, diag, a, (x, incx.increment()?), true)
    }

    fn geru["Sger_v2": f32, "Dger_v2": f64, "Cgeru_v2": C32, "Zgeru_v2": C64](
        handle: Handle, m: Int, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int,
    ) {
        Context::of(handle)?;
        let (m, n, x, y) = (m.length()?, n.length()?, (x, incx.increment()?), (y, incy.increment()?));
        let a = Columns { pointer: a, rows: m, count: n, layout: ColumnLayout::General { ld: lda.leading(m)? } };
        submit_update(handle, alpha, a, move |alpha, a| level2::ger(alpha, false, a, x, y))
    }

    fn gerc["Cgerc_v2": C32, "Zgerc_v2": C64](
        handle: Handle, m: Int, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int,
    ) {
        Context::of(handle)?;
        let (m, n, x, y) = (m.length()?, n.length()?, (x, incx.increment()?), (y, incy.increment()?));
        let a = Columns { pointer: a, rows: m, count: n, layout: ColumnLayout::General { ld: lda.leading(m)? } };
        submit_update(handle, alpha, a, move |alpha, a| level2::ger(alpha, true, a, x, y))
    }

    fn syr["Ssyr_v2": f32, "Dsyr_v2": f64, "Csyr_v2": C32, "Zsyr_v2": C64](
        handle: Handle, uplo: i32, n: Int, alpha: *const T, x: *const T, incx: Int, a: *mut T, lda: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n, x) = (triangle(uplo)?, n.length()?, (x, incx.increment()?));
        let a = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
        submit_update(handle, alpha, a, move |alpha, a| level2::syr(false, alpha, a, x))
    }

    fn her["Cher_v2": C32, "Zher_v2": C64](
        handle: Handle, uplo: i32, n: Int, alpha: *const Re<T>, x: *const T, incx: Int, a: *mut T, lda: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n, x) = (triangle(uplo)?, n.length()?, (x, incx.increment()?));
        let a = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
        submit_update(handle, alpha, a, move |alpha, a| level2::syr(true, T::from_real(alpha), a, x))
    }

    fn spr["Sspr_v2": f32, "Dspr_v2": f64](handle: Handle, uplo: i32, n: Int, alpha: *const T, x: *const T, incx: Int, ap: *mut T) {
        Context::of(handle)?;
        let (triangle, n, x) = (triangle(uplo)?, n.length()?, (x, incx.increment()?));
        let a = Columns::square(ap, n, ColumnLayout::Packed { triangle });
        submit_update(handle, alpha, a, move |alpha, a| level2::syr(false, alpha, a, x))
    }

    fn hpr["Chpr_v2": C32, "Zhpr_v2": C64](handle: Handle, uplo: i32, n: Int, alpha: *const Re<T>, x: *const T, incx: Int, ap: *mut T) {
        Context::of(handle)?;
        let (triangle, n, x) = (triangle(uplo)?, n.length()?, (x, incx.increment()?));
        let a = Columns::square(ap, n, ColumnLayout::Packed { triangle });
        submit_update(handle, alpha, a, move |alpha, a| level2::syr(true, T::from_real(alpha), a, x))
    }

    fn syr2["Ssyr2_v2": f32, "Dsyr2_v2": f64, "Csyr2_v2": C32, "Zsyr2_v2": C64](
        handle: Handle, uplo: i32, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n, x, y) = (triangle(uplo)?, n.length()?, (x, incx.increment()?), (y, incy.increment()?));
        let a = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
        submit_update(handle, alpha, a, move |alpha, a| level2::syr2(false, alpha, a, x, y))
    }

    fn her2["Cher2_v2": C32, "Zher2_v2": C64](
        handle: Handle, uplo: i32, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int,
    ) {
        Context::of(handle)?;
        let (triangle, n, x, y) = (triangle(uplo)?, n.length()?, (x, incx.increment()?), (y, incy.increment()?));
        let a = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
        submit_update(handle, alpha, a, move |alpha, a| level2::syr2(true, alpha, a, x, y))
    }

    fn spr2["Sspr2_v2": f32, "Dspr2_v2": f64](
        handle: Handle, uplo: i32, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, ap: *mut T,
    ) {
        Context::of(handle)?;
        let (triangle, n, x, y) = (triangle(uplo)?, n.length()?, (x, incx.increment()?), (y, incy.increment()?));
        let a = Columns::square(ap, n, ColumnLayout::Packed { triangle });
        submit_update(handle, alpha, a, move |alpha, a| level2::syr2(false, alpha, a, x, y))
    }

    fn hpr2["Chpr2_v2": C32, "Zhpr2_v2": C64](
        handle: Handle, uplo: i32, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, ap: *mut T,
    ) {
        Context::of(handle)?;
        let (triangle, n, x, y) = (triangle(uplo)?, n.length()?, (x, incx.increment()?), (y, incy.increment()?));
        let a = Columns::square(ap, n, ColumnLayout::Packed { triangle });
        submit_update(handle, alpha, a, move |alpha, a| level2::syr2(true, alpha, a, x, y))
    }
}

// cuBLAS has no form of these for integers of 64 bits.
macro_rules! triangle_copies {
    ($($tpttr:ident $trttp:ident $type:ty;)*) => {$(
        entries! {
            fn $tpttr(handle: Handle, uplo: i32, n: i32, ap: *const $type, a: *mut $type, lda: i32) {
                use crate::arguments::Index;
                let context = Context::of(handle)?;
                let (triangle, n) = (triangle(uplo)?, n.length()?);
                let from = Columns::square(ap, n, ColumnLayout::Packed { triangle });
                let into = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
                context.submit(move || level2::copy_triangle(from, into))
            }

            fn $trttp(handle: Handle, uplo: i32, n: i32, a: *const $type, lda: i32, ap: *mut $type) {
                use crate::arguments::Index;
                let context = Context::of(handle)?;
                let (triangle, n) = (triangle(uplo)?, n.length()?);
                let from = Columns::square(a, n, ColumnLayout::Triangle { ld: lda.leading(n)?, triangle });
                let into = Columns::square(ap, n, ColumnLayout::Packed { triangle });
                context.submit(move || level2::copy_triangle(from, into))
            }
        }
    )*};
}

triangle_copies! {
    cublasStpttr cublasStrttp f32;
    cublasDtpttr cublasDtrttp f64;
    cublasCtpttr cublasCtrttp C32;
    cublasZtpttr cublasZtrttp C64;
}
