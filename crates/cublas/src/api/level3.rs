//! Level 3: products of matrices, and triangular systems.

use super::{C32, C64, Re};
use crate::arguments::{is_right, is_unit, transpose, triangle};
use crate::context::{Context, Handle, ScalarArgument};
use crate::status::{CublasResult, valid};
use heddle_blas::gemm::Product;
use heddle_blas::level3::{self, SidedProduct, SymmetricUpdate, TriangularSystem};
use heddle_blas::view::{Structure, View, ViewMut, Written};
use heddle_blas::{Number, Transpose, Triangle};

/// Returns rows and columns of an operand as it is stored.
pub(crate) fn stored(transpose: Transpose, rows: usize, columns: usize) -> (usize, usize) {
    if transpose == Transpose::No { (rows, columns) } else { (columns, rows) }
}

/// Arguments of a symmetric or Hermitian update.
struct UpdateArguments<T> {
    handle: Handle,
    uplo: i32,
    trans: i32,
    n: usize,
    k: usize,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    c: *mut T,
    ldc: i64,
    hermitian: bool,
    /// True if products of both orders are added.
    twice: bool,
}

impl<T: Number> UpdateArguments<T> {
    /// Checks the arguments, and submits the update with factors that the work reads.
    ///
    /// # Safety
    /// Pointers are valid as the interface requires.
    unsafe fn submit<A: Copy + 'static, B: Copy + 'static>(
        self,
        (alpha, alpha_of): (*const A, fn(A) -> T),
        (beta, beta_of): (*const B, fn(B) -> T),
    ) -> CublasResult<()> {
        use crate::arguments::Index;
        let UpdateArguments { n, k, a, b, c, hermitian, twice, .. } = self;
        // SAFETY: the caller's promise.
        unsafe {
            let context = Context::of(self.handle)?;
            let (triangle, trans) = (triangle(self.uplo)?, transpose(self.trans)?);
            // Complex updates have no third choice.
            valid(!T::IS_COMPLEX || trans == Transpose::No || (trans == Transpose::Conjugate) == hermitian)?;
            let rows = stored(trans, n, k).0;
            let (lda, ldb, ldc) = (self.lda.leading(rows)?, self.ldb.leading(rows)?, self.ldc.leading(n)?);
            valid(!alpha.is_null() && !beta.is_null())?;
            if n == 0 {
                return Ok(());
            }
            let (alpha, beta): (ScalarArgument<A>, ScalarArgument<B>) =
                (context.scalar(alpha), context.scalar(beta));
            context.submit(move || {
                let update = SymmetricUpdate {
                    n,
                    k,
                    alpha: alpha_of(alpha.get()),
                    a: View::new(a, lda).operand(trans),
                    b: View::new(b, ldb).operand(trans),
                    beta: beta_of(beta.get()),
                    c: ViewMut::new(c, ldc),
                    triangle,
                    hermitian,
                };
                if twice { update.run_twice() } else { update.run() }
            })
        }
    }
}

/// Submits a product with a symmetric or Hermitian matrix.
///
/// # Safety
/// Pointers are valid as the interface requires.
#[allow(clippy::too_many_arguments)]
unsafe fn submit_symm<T: Number>(
    handle: Handle,
    (side, uplo): (i32, i32),
    (m, n): (usize, usize),
    alpha: *const T,
    (a, lda): (*const T, i64),
    (b, ldb): (*const T, i64),
    beta: *const T,
    (c, ldc): (*mut T, i64),
    structure: fn(Triangle) -> Structure,
) -> CublasResult<()> {
    use crate::arguments::Index;
    // SAFETY: the caller's promise.
    unsafe {
        let context = Context::of(handle)?;
        let (is_right, structure) = (is_right(side)?, structure(triangle(uplo)?));
        let (lda, ldb, ldc) = (lda.leading(if is_right { n } else { m })?, ldb.leading(m)?, ldc.leading(m)?);
        valid(!alpha.is_null() && !beta.is_null())?;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let (alpha, beta) = (context.scalar(alpha), context.scalar(beta));
        context.submit(move || {
            let (a, b, c) = (View::new(a, lda).with(structure), View::new(b, ldb), ViewMut::new(c, ldc));
            SidedProduct { is_right, m, n, alpha: alpha.get(), a, b, beta: beta.get(), c }.run();
        })
    }
}

routines! {
    fn gemm[
        "Sgemm_v2": f32, "Dgemm_v2": f64, "Cgemm_v2": C32, "Zgemm_v2": C64, "Cgemm3m": C32, "Zgemm3m": C64,
    ](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int,
        b: *const T, ldb: Int, beta: *const T, c: *mut T, ldc: Int,
    ) {
        let context = Context::of(handle)?;
        let (transa, transb) = (transpose(transa)?, transpose(transb)?);
        let (m, n, k) = (m.length()?, n.length()?, k.length()?);
        let lda = lda.leading(stored(transa, m, k).0)?;
        let ldb = ldb.leading(stored(transb, k, n).0)?;
        let ldc = ldc.leading(m)?;
        valid(!alpha.is_null() && !beta.is_null())?;
        if m == 0 || n == 0 { return Ok(()); }
        let (alpha, beta) = (context.scalar(alpha), context.scalar(beta));
        context.submit(move || {
            Product {
                m, n, k, alpha: alpha.get(), beta: beta.get(), written: Written::All,
                a: View::new(a, lda).operand(transa), b: View::new(b, ldb).operand(transb), c: ViewMut::new(c, ldc),
            }.run();
        })
    }

    fn symm["Ssymm_v2": f32, "Dsymm_v2": f64, "Csymm_v2": C32, "Zsymm_v2": C64](
        handle: Handle, side: i32, uplo: i32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T,
        c: *mut T, ldc: Int,
    ) {
        Context::of(handle)?;
        let size = (m.length()?, n.length()?);
        let (a, b, c) = ((a, lda.wide()), (b, ldb.wide()), (c, ldc.wide()));
        submit_symm(handle, (side, uplo), size, alpha, a, b, beta, c, Structure::Symmetric)
    }

    fn hemm["Chemm_v2": C32, "Zhemm_v2": C64](
        handle: Handle, side: i32, uplo: i32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T,
        c: *mut T, ldc: Int,
    ) {
        Context::of(handle)?;
        let size = (m.length()?, n.length()?);
        let (a, b, c) = ((a, lda.wide()), (b, ldb.wide()), (c, ldc.wide()));
        submit_symm(handle, (side, uplo), size, alpha, a, b, beta, c, Structure::Hermitian)
    }

    fn syrk["Ssyrk_v2": f32, "Dsyrk_v2": f64, "Csyrk_v2": C32, "Zsyrk_v2": C64](
        handle: Handle, uplo: i32, trans: i32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, beta: *const T, c: *mut T, ldc: Int,
    ) {
        Context::of(handle)?;
        let (n, k, lda, ldc) = (n.length()?, k.length()?, lda.wide(), ldc.wide());
        UpdateArguments { handle, uplo, trans, n, k, a, lda, b: a, ldb: lda, c, ldc, hermitian: false, twice: false }
            .submit((alpha, |alpha| alpha), (beta, |beta| beta))
    }

    fn herk["Cherk_v2": C32, "Zherk_v2": C64](
        handle: Handle, uplo: i32, trans: i32, n: Int, k: Int, alpha: *const Re<T>, a: *const T, lda: Int, beta: *const Re<T>, c: *mut T,
        ldc: Int,
    ) {
        Context::of(handle)?;
        let (n, k, lda, ldc) = (n.length()?, k.length()?, lda.wide(), ldc.wide());
        UpdateArguments { handle, uplo, trans, n, k, a, lda, b: a, ldb: lda, c, ldc, hermitian: true, twice: false }
            .submit((alpha, T::from_real), (beta, T::from_real))
    }

    fn syr2k["Ssyr2k_v2": f32, "Dsyr2k_v2": f64, "Csyr2k_v2": C32, "Zsyr2k_v2": C64](
        handle: Handle, uplo: i32, trans: i32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T,
        c: *mut T, ldc: Int,
    ) {
        Context::of(handle)?;
        let (n, k, lda, ldb, ldc) = (n.length()?, k.length()?, lda.wide(), ldb.wide(), ldc.wide());
        UpdateArguments { handle, uplo, trans, n, k, a, lda, b, ldb, c, ldc, hermitian: false, twice: true }
            .submit((alpha, |alpha| alpha), (beta, |beta| beta))
    }

    fn her2k["Cher2k_v2": C32, "Zher2k_v2": C64](
        handle: Handle, uplo: i32, trans: i32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int,
        beta: *const Re<T>, c: *mut T, ldc: Int,
    ) {
        Context::of(handle)?;
        let (n, k, lda, ldb, ldc) = (n.length()?, k.length()?, lda.wide(), ldb.wide(), ldc.wide());
        UpdateArguments { handle, uplo, trans, n, k, a, lda, b, ldb, c, ldc, hermitian: true, twice: true }
            .submit((alpha, |alpha| alpha), (beta, T::from_real))
    }

    fn syrkx["Ssyrkx": f32, "Dsyrkx": f64, "Csyrkx": C32, "Zsyrkx": C64](
        handle: Handle, uplo: i32, trans: i32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T,
        c: *mut T, ldc: Int,
    ) {
        Context::of(handle)?;
        let (n, k, lda, ldb, ldc) = (n.length()?, k.length()?, lda.wide(), ldb.wide(), ldc.wide());
        UpdateArguments { handle, uplo, trans, n, k, a, lda, b, ldb, c, ldc, hermitian: false, twice: false }
            .submit((alpha, |alpha| alpha), (beta, |beta| beta))
    }

    fn herkx["Cherkx": C32, "Zherkx": C64](
        handle: Handle, uplo: i32, trans: i32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int,
        beta: *const Re<T>, c: *mut T, ldc: Int,
    ) {
        Context::of(handle)?;
        let (n, k, lda, ldb, ldc) = (n.length()?, k.length()?, lda.wide(), ldb.wide(), ldc.wide());
        UpdateArguments { handle, uplo, trans, n, k, a, lda, b, ldb, c, ldc, hermitian: true, twice: false }
            .submit((alpha, |alpha| alpha), (beta, T::from_real))
    }

    fn trmm["Strmm_v2": f32, "Dtrmm_v2": f64, "Ctrmm_v2": C32, "Ztrmm_v2": C64](
        handle: Handle, side: i32, uplo: i32, trans: i32, diag: i32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, b: *const T,
        ldb: Int, c: *mut T, ldc: Int,
    ) {
        let context = Context::of(handle)?;
        let (is_right, triangle, trans, unit) = (is_right(side)?, triangle(uplo)?, transpose(trans)?, is_unit(diag)?);
        let (m, n) = (m.length()?, n.length()?);
        let (lda, ldb, ldc) = (lda.leading(if is_right { n } else { m })?, ldb.leading(m)?, ldc.leading(m)?);
        valid(!alpha.is_null())?;
        if m == 0 || n == 0 { return Ok(()); }
        let alpha = context.scalar(alpha);
        context.submit(move || {
            let a = View::new(a, lda).with(Structure::Triangular { triangle, unit }).operand(trans);
            let (b, c) = (View::new(b, ldb), ViewMut::new(c, ldc));
            level3::trmm(SidedProduct { is_right, m, n, alpha: alpha.get(), a, b, beta: T::ZERO, c });
        })
    }

    fn trsm["Strsm_v2": f32, "Dtrsm_v2": f64, "Ctrsm_v2": C32, "Ztrsm_v2": C64](
        handle: Handle, side: i32, uplo: i32, trans: i32, diag: i32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, b: *mut T, ldb: Int,
    ) {
        let context = Context::of(handle)?;
        let (is_right, triangle, trans, unit) = (is_right(side)?, triangle(uplo)?, transpose(trans)?, is_unit(diag)?);
        let (m, n) = (m.length()?, n.length()?);
        let (lda, ldb) = (lda.leading(if is_right { n } else { m })?, ldb.leading(m)?);
        valid(!alpha.is_null())?;
        if m == 0 || n == 0 { return Ok(()); }
        let alpha = context.scalar(alpha);
        context.submit(move || {
            let a = View::new(a, lda).with(Structure::Triangular { triangle, unit }).operand(trans);
            TriangularSystem { is_right, m, n, alpha: alpha.get(), a, b: ViewMut::new(b, ldb) }.solve();
        })
    }

    fn geam["Sgeam": f32, "Dgeam": f64, "Cgeam": C32, "Zgeam": C64](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, beta: *const T, b: *const T, ldb: Int,
        c: *mut T, ldc: Int,
    ) {
        let context = Context::of(handle)?;
        let (transa, transb) = (transpose(transa)?, transpose(transb)?);
        let (m, n) = (m.length()?, n.length()?);
        let (lda, ldb) = (lda.leading(stored(transa, m, n).0)?, ldb.leading(stored(transb, m, n).0)?);
        let ldc = ldc.leading(m)?;
        valid(!alpha.is_null() && !beta.is_null())?;
        // The result may replace an operand only where each element is read before it is written.
        valid(!std::ptr::eq(a, c) || (transa == Transpose::No && lda == ldc))?;
        valid(!std::ptr::eq(b, c) || (transb == Transpose::No && ldb == ldc))?;
        if m == 0 || n == 0 { return Ok(()); }
        let (alpha, beta) = (context.scalar(alpha), context.scalar(beta));
        context.submit(move || {
            let (a, b) = (View::new(a, lda).operand(transa), View::new(b, ldb).operand(transb));
            level3::geam(m, n, alpha.get(), a, beta.get(), b, ViewMut::new(c, ldc));
        })
    }

    fn dgmm["Sdgmm": f32, "Ddgmm": f64, "Cdgmm": C32, "Zdgmm": C64](
        handle: Handle, side: i32, m: Int, n: Int, a: *const T, lda: Int, x: *const T, incx: Int, c: *mut T, ldc: Int,
    ) {
        let context = Context::of(handle)?;
        let (is_right, m, n) = (is_right(side)?, m.length()?, n.length()?);
        let (lda, ldc, incx) = (lda.leading(m)?, ldc.leading(m)?, incx.wide() as isize);
        if m == 0 || n == 0 { return Ok(()); }
        context.submit(move || level3::dgmm(is_right, m, n, View::new(a, lda), (x, incx), ViewMut::new(c, ldc)))
    }
}
