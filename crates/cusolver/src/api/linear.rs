//! Triangular factors and their systems: `getrf`, `getrs`, `potrf`, `potrs`, `potri`, and batches.

use super::{C32, C64};
use crate::context::{SolverContext, SolverHandle};
use crate::memory::{DeviceMatrix, length, read_array, report, transpose, triangle, write_array};
use crate::status::{SolverResult, valid};
use heddle_blas::{Number, Triangle, factor};
use heddle_solver::cholesky::{factor_cholesky, invert_cholesky, solve_cholesky};
use heddle_solver::dense::DenseMatrix;

/// Numbers of exchanged rows, with 32 or 64 bits.
pub(crate) trait PivotNumber: Copy + 'static {
    /// Returns the number as routines write it.
    fn from_pivot(pivot: i32) -> Self;
    /// Returns the number as routines read it.
    fn pivot(self) -> i32;
}

impl PivotNumber for i32 {
    fn from_pivot(pivot: i32) -> i32 {
        pivot
    }
    fn pivot(self) -> i32 {
        self
    }
}

impl PivotNumber for i64 {
    fn from_pivot(pivot: i32) -> i64 {
        pivot.into()
    }
    fn pivot(self) -> i32 {
        i32::try_from(self).unwrap_or(i32::MAX)
    }
}

/// Factors with row exchanges, or without a place for pivots without them.
///
/// # Safety
/// Pointers are valid as the interface requires.
pub(crate) unsafe fn factor_lu<T: Number, P: PivotNumber>(
    handle: SolverHandle,
    (m, n): (i64, i64),
    (a, lda): (*mut T, i64),
    pivots: *mut P,
    info: *mut i32,
) -> SolverResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = SolverContext::of(handle)?;
        let (m, n) = (length(m)?, length(n)?);
        let a = DeviceMatrix::new(a, lda, m, n)?;
        context.submit(move || {
            let mut numbers = vec![0_i32; m.min(n)];
            let place = if pivots.is_null() { std::ptr::null_mut() } else { numbers.as_mut_ptr() };
            let found = factor::getrf(m, n, a.view_mut(), place);
            if !pivots.is_null() {
                let numbers: Vec<P> = numbers.into_iter().map(P::from_pivot).collect();
                write_array(pivots, &numbers);
            }
            report(info, found);
        })
    }
}

/// Solves a system of a matrix that [`factor_lu`] has factored.
///
/// # Safety
/// Pointers are valid as the interface requires.
pub(crate) unsafe fn solve_lu<T: Number, P: PivotNumber>(
    handle: SolverHandle,
    trans: i32,
    (n, sides): (i64, i64),
    (a, lda): (*const T, i64),
    pivots: *const P,
    (b, ldb): (*mut T, i64),
    info: *mut i32,
) -> SolverResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = SolverContext::of(handle)?;
        let (trans, n, sides) = (transpose(trans)?, length(n)?, length(sides)?);
        let (a, b) = (DeviceMatrix::new(a, lda, n, n)?, DeviceMatrix::new(b, ldb, n, sides)?);
        context.submit(move || {
            let count = if pivots.is_null() { 0 } else { n };
            let numbers: Vec<i32> = read_array(pivots, count).into_iter().map(P::pivot).collect();
            let place = if pivots.is_null() { std::ptr::null() } else { numbers.as_ptr() };
            factor::getrs(trans, n, sides, a.view(), place, b.view_mut());
            report(info, 0);
        })
    }
}

/// Returns the lower triangular matrix that a triangle stores, itself or transposed.
fn lower_of<T: Number>(a: DenseMatrix<T>, triangle: Triangle) -> DenseMatrix<T> {
    if triangle == Triangle::Lower { a } else { a.adjoint() }
}

/// Factors a positive definite matrix.
///
/// # Safety
/// The matrix is there.
unsafe fn factor_one<T: Number>(a: DeviceMatrix<T>, triangle: Triangle) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        let mut lower = lower_of(a.load(), triangle);
        let info = factor_cholesky(&mut lower);
        a.store_triangle(&lower, triangle);
        info
    }
}

/// Solves a system of a factored positive definite matrix.
///
/// # Safety
/// The matrices are there.
unsafe fn solve_one<T: Number>(a: DeviceMatrix<T>, triangle: Triangle, b: DeviceMatrix<T>) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sides = b.load();
        solve_cholesky(&lower_of(a.load(), triangle), &mut sides);
        b.store(&sides);
    }
}

/// Factors a positive definite matrix.
///
/// # Safety
/// Pointers are valid as the interface requires.
pub(crate) unsafe fn factor_positive<T: Number>(
    handle: SolverHandle,
    uplo: i32,
    n: i64,
    (a, lda): (*mut T, i64),
    info: *mut i32,
) -> SolverResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = SolverContext::of(handle)?;
        let (triangle, n) = (triangle(uplo)?, length(n)?);
        let a = DeviceMatrix::new(a, lda, n, n)?;
        context.submit(move || report(info, factor_one(a, triangle)))
    }
}

/// Solves a system of a matrix that [`factor_positive`] has factored.
///
/// # Safety
/// Pointers are valid as the interface requires.
pub(crate) unsafe fn solve_positive<T: Number>(
    handle: SolverHandle,
    uplo: i32,
    (n, sides): (i64, i64),
    (a, lda): (*const T, i64),
    (b, ldb): (*mut T, i64),
    info: *mut i32,
) -> SolverResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = SolverContext::of(handle)?;
        let (triangle, n, sides) = (triangle(uplo)?, length(n)?, length(sides)?);
        let (a, b) = (DeviceMatrix::new(a, lda, n, n)?, DeviceMatrix::new(b, ldb, n, sides)?);
        context.submit(move || {
            solve_one(a, triangle, b);
            report(info, 0);
        })
    }
}

routines! {
    fn getrf["DnSgetrf": f32, "DnDgetrf": f64, "DnCgetrf": C32, "DnZgetrf": C64](
        handle: SolverHandle, m: i32, n: i32, a: *mut T, lda: i32, _work: *mut T, pivots: *mut i32, info: *mut i32,
    ) {
        factor_lu(handle, (m.into(), n.into()), (a, lda.into()), pivots, info)
    }

    fn getrs["DnSgetrs": f32, "DnDgetrs": f64, "DnCgetrs": C32, "DnZgetrs": C64](
        handle: SolverHandle, trans: i32, n: i32, sides: i32, a: *const T, lda: i32, pivots: *const i32,
        b: *mut T, ldb: i32,
        info: *mut i32,
    ) {
        solve_lu(handle, trans, (n.into(), sides.into()), (a, lda.into()), pivots, (b, ldb.into()), info)
    }

    fn laswp["DnSlaswp": f32, "DnDlaswp": f64, "DnClaswp": C32, "DnZlaswp": C64](
        handle: SolverHandle, n: i32, a: *mut T, lda: i32, first: i32, last: i32, pivots: *const i32, increment: i32,
    ) {
        let context = SolverContext::of(handle)?;
        // The number of rows is no argument: columns are as long as exchanges need.
        valid(first >= 1 && last >= first && increment.abs() == 1 && lda >= last && !pivots.is_null())?;
        let a = DeviceMatrix::new(a, lda.into(), 0, length(n.into())?)?;
        context.submit(move || {
            let exchange = |k: i32| {
                let (row, other) = (k as usize - 1, *pivots.add(k as usize - 1) as usize);
                for j in 0..n as usize {
                    if other >= 1 && other - 1 != row {
                        a.view_mut().at(row, j).swap(a.view_mut().at(other - 1, j));
                    }
                }
            };
            if increment > 0 { (first..=last).for_each(exchange) } else { (first..=last).rev().for_each(exchange) }
        })
    }

    fn potrf["DnSpotrf": f32, "DnDpotrf": f64, "DnCpotrf": C32, "DnZpotrf": C64](
        handle: SolverHandle, uplo: i32, n: i32, a: *mut T, lda: i32, _work: *mut T, _size: i32, info: *mut i32,
    ) {
        factor_positive(handle, uplo, n.into(), (a, lda.into()), info)
    }

    fn potrs["DnSpotrs": f32, "DnDpotrs": f64, "DnCpotrs": C32, "DnZpotrs": C64](
        handle: SolverHandle, uplo: i32, n: i32, sides: i32, a: *const T, lda: i32, b: *mut T, ldb: i32, info: *mut i32,
    ) {
        solve_positive(handle, uplo, (n.into(), sides.into()), (a, lda.into()), (b, ldb.into()), info)
    }

    fn potri["DnSpotri": f32, "DnDpotri": f64, "DnCpotri": C32, "DnZpotri": C64](
        handle: SolverHandle, uplo: i32, n: i32, a: *mut T, lda: i32, _work: *mut T, _size: i32, info: *mut i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (triangle, n) = (triangle(uplo)?, length(n.into())?);
        let a = DeviceMatrix::new(a, lda.into(), n, n)?;
        context.submit(move || match invert_cholesky(&lower_of(a.load(), triangle)) {
            Ok(inverse) => {
                a.store_triangle(&inverse, triangle);
                report(info, 0);
            }
            Err(zero) => report(info, zero),
        })
    }

    fn potrf_batched["DnSpotrfBatched": f32, "DnDpotrfBatched": f64, "DnCpotrfBatched": C32, "DnZpotrfBatched": C64](
        handle: SolverHandle, uplo: i32, n: i32, a: *const *mut T, lda: i32, info: *mut i32, count: i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (triangle, n, count) = (triangle(uplo)?, length(n.into())?, length(count.into())?);
        let matrix = DeviceMatrix::new(std::ptr::NonNull::dangling().as_ptr(), lda.into(), n, n)?;
        valid(count == 0 || !a.is_null())?;
        context.submit(move || {
            for item in 0..count {
                let found = factor_one(matrix.of_array(a, item), triangle);
                if !info.is_null() { report(info.add(item), found); }
            }
        })
    }

    fn potrs_batched["DnSpotrsBatched": f32, "DnDpotrsBatched": f64, "DnCpotrsBatched": C32, "DnZpotrsBatched": C64](
        handle: SolverHandle, uplo: i32, n: i32, sides: i32, a: *const *mut T, lda: i32, b: *const *mut T,
        ldb: i32, info: *mut i32,
        count: i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (triangle, n, sides, count) = (triangle(uplo)?, length(n.into())?, length(sides.into())?, length(count.into())?);
        let somewhere = std::ptr::NonNull::dangling().as_ptr();
        let (of_a, of_b) = (DeviceMatrix::new(somewhere, lda.into(), n, n)?, DeviceMatrix::new(somewhere, ldb.into(), n, sides)?);
        valid(count == 0 || !a.is_null() && !b.is_null())?;
        context.submit(move || {
            for item in 0..count {
                solve_one(of_a.of_array(a, item), triangle, of_b.of_array(b, item));
            }
            report(info, 0);
        })
    }
}
