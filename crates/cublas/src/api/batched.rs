//! Batches of matrices of one size, by arrays of pointers or at equal distances.

use super::level3::stored;
use super::{C32, C64};
use crate::arguments::{Index, is_right, is_unit, transpose, triangle};
use crate::context::{Context, Handle};
use crate::status::{CublasResult, valid};
use heddle_blas::batch::for_each;
use heddle_blas::columns::{ColumnLayout, Columns};
use heddle_blas::gemm::Product;
use heddle_blas::level2::{self, Factors};
use heddle_blas::level3::TriangularSystem;
use heddle_blas::view::{Structure, View, ViewMut, Written};
use heddle_blas::{Number, factor};

/// Matrices of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MatrixBatch<T> {
    /// At equal distances, in elements.
    Strided(*mut T, isize),
    /// By an array of pointers.
    Pointers(*const *mut T),
}

impl<T> MatrixBatch<T> {
    /// Returns matrices of an array.
    pub(crate) fn pointers(array: *const *const T) -> MatrixBatch<T> {
        MatrixBatch::Pointers(array.cast::<*mut T>())
    }

    /// Returns the address of a matrix.
    ///
    /// # Safety
    /// The array is there.
    pub(crate) unsafe fn at(self, item: usize) -> *mut T {
        match self {
            MatrixBatch::Strided(first, distance) => first.wrapping_offset(item as isize * distance),
            // SAFETY: the caller's promise.
            MatrixBatch::Pointers(array) => unsafe { *array.add(item) },
        }
    }
}

/// Arguments of a batch of products.
struct ProductBatch<T> {
    handle: Handle,
    trans: (i32, i32),
    size: (usize, usize, usize),
    alpha: *const T,
    a: (MatrixBatch<T>, i64),
    b: (MatrixBatch<T>, i64),
    beta: *const T,
    c: (MatrixBatch<T>, i64),
    count: usize,
}

impl<T: Number> ProductBatch<T> {
    /// Checks the arguments, and submits the products.
    ///
    /// # Safety
    /// Pointers are valid as the interface requires.
    unsafe fn submit(self) -> CublasResult<()> {
        let ProductBatch { size: (m, n, k), a, b, c, count, .. } = self;
        // SAFETY: the caller's promise; the results do not overlap.
        unsafe {
            let context = Context::of(self.handle)?;
            let (transa, transb) = (transpose(self.trans.0)?, transpose(self.trans.1)?);
            let lda = a.1.leading(stored(transa, m, k).0)?;
            let ldb = b.1.leading(stored(transb, k, n).0)?;
            let ldc = c.1.leading(m)?;
            valid(!self.alpha.is_null() && !self.beta.is_null())?;
            if m == 0 || n == 0 || count == 0 {
                return Ok(());
            }
            let (alpha, beta) = (context.scalar(self.alpha), context.scalar(self.beta));
            context.submit(move || {
                let (alpha, beta) = (alpha.get(), beta.get());
                for_each(count, m * n * k, |item| {
                    let a = View::new(a.0.at(item), lda).operand(transa);
                    let b = View::new(b.0.at(item), ldb).operand(transb);
                    let c = ViewMut::new(c.0.at(item), ldc);
                    Product { m, n, k, alpha, a, b, beta, c, written: Written::All }.run();
                });
            })
        }
    }
}

/// Arguments of a batch of products with vectors.
struct VectorBatch<T> {
    handle: Handle,
    trans: i32,
    size: (usize, usize),
    alpha: *const T,
    a: (MatrixBatch<T>, i64),
    x: (MatrixBatch<T>, isize),
    beta: *const T,
    y: (MatrixBatch<T>, isize),
    count: usize,
}

impl<T: Number> VectorBatch<T> {
    /// Checks the arguments, and submits the products.
    ///
    /// # Safety
    /// Pointers are valid as the interface requires.
    unsafe fn submit(self) -> CublasResult<()> {
        let VectorBatch { size: (m, n), a, x, y, count, .. } = self;
        // SAFETY: the caller's promise; the results do not overlap.
        unsafe {
            let context = Context::of(self.handle)?;
            let trans = transpose(self.trans)?;
            let layout = ColumnLayout::General { ld: a.1.leading(m)? };
            valid(!self.alpha.is_null() && !self.beta.is_null())?;
            if m == 0 || n == 0 || count == 0 {
                return Ok(());
            }
            let (alpha, beta) = (context.scalar(self.alpha), context.scalar(self.beta));
            context.submit(move || {
                let factors = Factors { alpha: alpha.get(), beta: beta.get() };
                for_each(count, m * n, |item| {
                    let a = Columns { pointer: a.0.at(item), rows: m, count: n, layout };
                    level2::gemv(trans, factors, a, (x.0.at(item), x.1), (y.0.at(item), y.1));
                });
            })
        }
    }
}

routines! {
    fn gemm_batched[
        "SgemmBatched": f32, "DgemmBatched": f64, "CgemmBatched": C32, "ZgemmBatched": C64, "Cgemm3mBatched": C32,
    ](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const T, a: *const *const T, lda: Int,
        b: *const *const T, ldb: Int, beta: *const T, c: *const *const T, ldc: Int, count: Int,
    ) {
        Context::of(handle)?;
        ProductBatch {
            handle, trans: (transa, transb), size: (m.length()?, n.length()?, k.length()?), alpha, a: (MatrixBatch::pointers(a), lda.wide()),
            b: (MatrixBatch::pointers(b), ldb.wide()), beta, c: (MatrixBatch::pointers(c), ldc.wide()), count: count.length()?,
        }.submit()
    }

    fn gemm_strided[
        "SgemmStridedBatched": f32, "DgemmStridedBatched": f64, "CgemmStridedBatched": C32, "ZgemmStridedBatched": C64,
        "Cgemm3mStridedBatched": C32,
    ](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, stride_a: i64,
        b: *const T, ldb: Int, stride_b: i64, beta: *const T, c: *mut T, ldc: Int, stride_c: i64, count: Int,
    ) {
        Context::of(handle)?;
        ProductBatch {
            handle, trans: (transa, transb), size: (m.length()?, n.length()?, k.length()?), alpha,
            a: (MatrixBatch::Strided(a.cast_mut(), stride_a as isize), lda.wide()), b: (MatrixBatch::Strided(b.cast_mut(), stride_b as isize), ldb.wide()),
            beta, c: (MatrixBatch::Strided(c, stride_c as isize), ldc.wide()), count: count.length()?,
        }.submit()
    }

    fn gemv_batched["SgemvBatched": f32, "DgemvBatched": f64, "CgemvBatched": C32, "ZgemvBatched": C64](
        handle: Handle, trans: i32, m: Int, n: Int, alpha: *const T, a: *const *const T, lda: Int, x: *const *const T, incx: Int,
        beta: *const T, y: *const *const T, incy: Int, count: Int,
    ) {
        Context::of(handle)?;
        VectorBatch {
            handle, trans, size: (m.length()?, n.length()?), alpha, a: (MatrixBatch::pointers(a), lda.wide()),
            x: (MatrixBatch::pointers(x), incx.increment()?), beta, y: (MatrixBatch::pointers(y), incy.increment()?), count: count.length()?,
        }.submit()
    }

    fn gemv_strided["SgemvStridedBatched": f32, "DgemvStridedBatched": f64, "CgemvStridedBatched": C32, "ZgemvStridedBatched": C64](
        handle: Handle, trans: i32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, stride_a: i64, x: *const T, incx: Int, stride_x: i64,
        beta: *const T, y: *mut T, incy: Int, stride_y: i64, count: Int,
    ) {
        Context::of(handle)?;
        VectorBatch {
            handle, trans, size: (m.length()?, n.length()?), alpha, a: (MatrixBatch::Strided(a.cast_mut(), stride_a as isize), lda.wide()),
            x: (MatrixBatch::Strided(x.cast_mut(), stride_x as isize), incx.increment()?), beta,
            y: (MatrixBatch::Strided(y, stride_y as isize), incy.increment()?), count: count.length()?,
        }.submit()
    }

    fn trsm_batched["StrsmBatched": f32, "DtrsmBatched": f64, "CtrsmBatched": C32, "ZtrsmBatched": C64](
        handle: Handle, side: i32, uplo: i32, trans: i32, diag: i32, m: Int, n: Int, alpha: *const T, a: *const *const T, lda: Int,
        b: *const *const T, ldb: Int, count: Int,
    ) {
        let context = Context::of(handle)?;
        let (is_right, triangle, trans, unit) = (is_right(side)?, triangle(uplo)?, transpose(trans)?, is_unit(diag)?);
        let (m, n, count) = (m.length()?, n.length()?, count.length()?);
        let (lda, ldb) = (lda.leading(if is_right { n } else { m })?, ldb.leading(m)?);
        valid(!alpha.is_null())?;
        if m == 0 || n == 0 || count == 0 { return Ok(()); }
        let (alpha, a, b) = (context.scalar(alpha), MatrixBatch::pointers(a), MatrixBatch::pointers(b));
        context.submit(move || {
            let alpha = alpha.get();
            for_each(count, m * n * if is_right { n } else { m }, |item| {
                let a = View::new(a.at(item), lda).with(Structure::Triangular { triangle, unit }).operand(trans);
                TriangularSystem { is_right, m, n, alpha, a, b: ViewMut::new(b.at(item), ldb) }.solve();
            });
        })
    }
}

/// Largest matrix that `matinvBatched` takes.
const LARGEST_INVERSE: usize = 32;

/// Factors a batch.
///
/// # Safety
/// Pointers are valid as the interface requires.
unsafe fn getrf<T: Number>(
    handle: Handle,
    n: i32,
    a: *const *mut T,
    lda: i32,
    pivots: *mut i32,
    info: *mut i32,
    count: i32,
) -> CublasResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = Context::of(handle)?;
        let (n, count) = (n.length()?, count.length()?);
        let lda = lda.leading(n)?;
        if n == 0 || count == 0 {
            return Ok(());
        }
        context.submit(move || {
            for_each(count, n * n * n / 3, |item| {
                let pivots = if pivots.is_null() { pivots } else { pivots.add(item * n) };
                *info.add(item) = factor::getrf(n, n, ViewMut::new(*a.add(item), lda), pivots);
            });
        })
    }
}

/// Inverts a factored batch.
///
/// # Safety
/// Pointers are valid as the interface requires.
#[allow(clippy::too_many_arguments)]
unsafe fn getri<T: Number>(
    handle: Handle,
    n: i32,
    a: *const *const T,
    lda: i32,
    pivots: *const i32,
    c: *const *mut T,
    ldc: i32,
    info: *mut i32,
    count: i32,
) -> CublasResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = Context::of(handle)?;
        let (n, count) = (n.length()?, count.length()?);
        let (lda, ldc) = (lda.leading(n)?, ldc.leading(n)?);
        if n == 0 || count == 0 {
            return Ok(());
        }
        context.submit(move || {
            for_each(count, n * n * n, |item| {
                let pivots = if pivots.is_null() { pivots } else { pivots.add(item * n) };
                *info.add(item) =
                    factor::getri(n, View::new(*a.add(item), lda), pivots, ViewMut::new(*c.add(item), ldc));
            });
        })
    }
}

/// Solves the systems of a factored batch.
///
/// # Safety
/// Pointers are valid as the interface requires.
#[allow(clippy::too_many_arguments)]
unsafe fn getrs<T: Number>(
    handle: Handle,
    trans: i32,
    n: i32,
    sides: i32,
    a: *const *const T,
    lda: i32,
    pivots: *const i32,
    b: *const *mut T,
    ldb: i32,
    info: *mut i32,
    count: i32,
) -> CublasResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = Context::of(handle)?;
        valid(!info.is_null())?;
        // The place is on the host, and names the argument that is wrong.
        let checks = [
            (1, transpose(trans).is_ok()),
            (2, n >= 0),
            (3, sides >= 0),
            (5, lda >= n.max(1)),
            (8, ldb >= n.max(1)),
            (10, count >= 0),
        ];
        if let Some((number, _)) = checks.iter().find(|(_, holds)| !holds) {
            info.write(-number);
            return valid(false);
        }
        info.write(0);
        let (trans, n, sides, count) = (transpose(trans)?, n.length()?, sides.length()?, count.length()?);
        let (lda, ldb) = (lda as isize, ldb as isize);
        if n == 0 || sides == 0 || count == 0 {
            return Ok(());
        }
        context.submit(move || {
            for_each(count, n * n * sides, |item| {
                let pivots = if pivots.is_null() { pivots } else { pivots.add(item * n) };
                factor::getrs(
                    trans,
                    n,
                    sides,
                    View::new(*a.add(item), lda),
                    pivots,
                    ViewMut::new(*b.add(item), ldb),
                );
            });
        })
    }
}

/// Inverts a batch of small matrices.
///
/// # Safety
/// Pointers are valid as the interface requires.
#[allow(clippy::too_many_arguments)]
unsafe fn matinv<T: Number>(
    handle: Handle,
    n: i32,
    a: *const *const T,
    lda: i32,
    c: *const *mut T,
    ldc: i32,
    info: *mut i32,
    count: i32,
) -> CublasResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = Context::of(handle)?;
        let (n, count) = (n.length()?, count.length()?);
        let (lda, ldc) = (lda.leading(n)?, ldc.leading(n)?);
        valid(n <= LARGEST_INVERSE)?;
        if n == 0 || count == 0 {
            return Ok(());
        }
        context.submit(move || {
            for_each(count, n * n * n, |item| {
                *info.add(item) =
                    factor::matinv(n, View::new(*a.add(item), lda), ViewMut::new(*c.add(item), ldc));
            });
        })
    }
}

// cuBLAS has no form of these for integers of 64 bits.
macro_rules! factorizations {
    ($($getrf:ident $getri:ident $getrs:ident $matinv:ident $type:ty;)*) => {$(
        entries! {
            fn $getrf(handle: Handle, n: i32, a: *const *mut $type, lda: i32, pivots: *mut i32, info: *mut i32, count: i32) {
                getrf(handle, n, a, lda, pivots, info, count)
            }
            fn $getri(
                handle: Handle, n: i32, a: *const *const $type, lda: i32, pivots: *const i32, c: *const *mut $type, ldc: i32, info: *mut i32,
                count: i32,
            ) {
                getri(handle, n, a, lda, pivots, c, ldc, info, count)
            }
            fn $getrs(
                handle: Handle, trans: i32, n: i32, sides: i32, a: *const *const $type, lda: i32, pivots: *const i32, b: *const *mut $type,
                ldb: i32, info: *mut i32, count: i32,
            ) {
                getrs(handle, trans, n, sides, a, lda, pivots, b, ldb, info, count)
            }
            fn $matinv(
                handle: Handle, n: i32, a: *const *const $type, lda: i32, c: *const *mut $type, ldc: i32, info: *mut i32, count: i32,
            ) {
                matinv(handle, n, a, lda, c, ldc, info, count)
            }
        }
    )*};
}

factorizations! {
    cublasSgetrfBatched cublasSgetriBatched cublasSgetrsBatched cublasSmatinvBatched f32;
    cublasDgetrfBatched cublasDgetriBatched cublasDgetrsBatched cublasDmatinvBatched f64;
    cublasCgetrfBatched cublasCgetriBatched cublasCgetrsBatched cublasCmatinvBatched C32;
    cublasZgetrfBatched cublasZgetriBatched cublasZgetrsBatched cublasZmatinvBatched C64;
}
