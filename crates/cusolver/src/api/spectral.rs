//! Eigenvalues and singular values: `syevd`, `syevdx`, `syevj`, `sygvd`, `sygvdx`, `sygvj`, `gesvd`, `gesvdj`, `gesvda`, and batches.

use super::{C32, C64, Re};
use crate::context::{RoutineOptions, SolverContext, SolverHandle};
use crate::memory::{DeviceMatrix, length, report, triangle, write_array};
use crate::status::{INVALID_VALUE, SolverError, SolverResult, valid};
use heddle_blas::{Number, Real, Triangle};
use heddle_solver::dense::DenseMatrix;
use heddle_solver::reflector::norm;
use heddle_solver::singular::{SingularVectors, singular_factors};
use heddle_solver::spectrum::{GeneralizedProblem, Spectrum, generalized_spectrum, hermitian_spectrum};

/// Eigenvalues that are wanted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum EigenRange {
    /// All of them.
    All,
    /// Those with these numbers, counted from one.
    Numbers(usize, usize),
    /// Those above the first number, up to the second one.
    Between(f64, f64),
}

impl EigenRange {
    /// Reads `cusolverEigRange_t` and its arguments.
    pub(crate) fn of(
        code: i32,
        (low, high): (f64, f64),
        (first, last): (i64, i64),
        n: usize,
    ) -> SolverResult<EigenRange> {
        match code {
            1001 => Ok(EigenRange::All),
            1002 => {
                valid(n == 0 || first >= 1 && last >= first && last as usize <= n)?;
                Ok(EigenRange::Numbers(first as usize, last as usize))
            }
            1003 => {
                valid(low < high)?;
                Ok(EigenRange::Between(low, high))
            }
            _ => Err(SolverError(INVALID_VALUE)),
        }
    }

    fn holds(self, place: usize, value: f64) -> bool {
        match self {
            EigenRange::All => true,
            EigenRange::Numbers(first, last) => (first..=last).contains(&(place + 1)),
            EigenRange::Between(low, high) => value > low && value <= high,
        }
    }
}

/// Arguments of an eigenproblem, checked.
pub(crate) struct EigenProblem<T: Number> {
    /// Matrix, and what becomes its eigenvectors.
    pub(crate) a: DeviceMatrix<T>,
    /// The other matrix, if the problem has one.
    pub(crate) b: Option<(GeneralizedProblem, DeviceMatrix<T>)>,
    pub(crate) triangle: Triangle,
    pub(crate) wants_vectors: bool,
    pub(crate) range: EigenRange,
    /// Place of the values.
    pub(crate) values: *mut Re<T>,
}

impl<T: Number> EigenProblem<T> {
    /// Checks the arguments of a problem of one matrix, and of all eigenvalues.
    pub(crate) fn new(
        mode: i32,
        uplo: i32,
        n: i64,
        (a, lda): (*mut T, i64),
        values: *mut Re<T>,
    ) -> SolverResult<EigenProblem<T>> {
        let n = length(n)?;
        valid((0..=1).contains(&mode) && (n == 0 || !values.is_null()))?;
        let a = DeviceMatrix::new(a, lda, n, n)?;
        Ok(EigenProblem {
            a,
            b: None,
            triangle: triangle(uplo)?,
            wants_vectors: mode == 1,
            range: EigenRange::All,
            values,
        })
    }

    /// Adds the other matrix.
    pub(crate) fn generalized(
        self,
        problem: i32,
        n: i64,
        (b, ldb): (*mut T, i64),
    ) -> SolverResult<EigenProblem<T>> {
        let problem = match problem {
            1 => GeneralizedProblem::Quotient,
            2 => GeneralizedProblem::LeftProduct,
            3 => GeneralizedProblem::RightProduct,
            _ => return Err(SolverError(INVALID_VALUE)),
        };
        let n = length(n)?;
        Ok(EigenProblem { b: Some((problem, DeviceMatrix::new(b, ldb, n, n)?)), ..self })
    }

    /// Solves the problem. Returns the report, and the number of eigenvalues that were wanted.
    ///
    /// # Safety
    /// The matrices and the place of the values are there.
    pub(crate) unsafe fn run(&self) -> (i32, usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let a = self.a.load().hermitian(self.triangle);
            let Spectrum { values, vectors, info } = match self.b {
                None => hermitian_spectrum(a, self.wants_vectors),
                Some((problem, b)) => {
                    let mut factor = b.load().hermitian(self.triangle);
                    let found = generalized_spectrum(problem, &a, &mut factor, self.wants_vectors);
                    b.store_triangle(&factor, self.triangle);
                    found
                }
            };
            let chosen: Vec<usize> =
                (0..values.len()).filter(|i| self.range.holds(*i, values[*i].to_f64())).collect();
            write_array(self.values, &chosen.iter().map(|i| values[*i]).collect::<Vec<_>>());
            if let Some(vectors) = vectors {
                let of_chosen = |i: usize, j: usize| vectors.get(i, chosen[j]);
                self.a.store(&DenseMatrix::from_fn(vectors.rows(), chosen.len(), of_chosen));
            }
            (info, chosen.len())
        }
    }

    /// Solves the problem in the order of the handle's stream.
    ///
    /// # Safety
    /// Pointers are valid as the interface requires.
    pub(crate) unsafe fn submit<I: TryFrom<usize> + 'static>(
        self,
        handle: SolverHandle,
        found: *mut I,
        info: *mut i32,
    ) -> SolverResult<()> {
        // SAFETY: the caller's promise.
        unsafe {
            SolverContext::of(handle)?.submit(move || {
                let (failed, count) = self.run();
                if let (false, Ok(count)) = (found.is_null(), I::try_from(count)) {
                    found.write(count);
                }
                report(info, failed);
            })
        }
    }
}

/// No place for the number of eigenvalues.
const NOWHERE: *mut i32 = std::ptr::null_mut();

routines! {
    fn syevd["DnSsyevd": f32, "DnDsyevd": f64, "DnCheevd": C32, "DnZheevd": C64](
        handle: SolverHandle, mode: i32, uplo: i32, n: i32, a: *mut T, lda: i32, values: *mut Re<T>,
        _work: *mut T, _size: i32,
        info: *mut i32,
    ) {
        EigenProblem::new(mode, uplo, n.into(), (a, lda.into()), values)?.submit(handle, NOWHERE, info)
    }

    fn syevdx["DnSsyevdx": f32, "DnDsyevdx": f64, "DnCheevdx": C32, "DnZheevdx": C64](
        handle: SolverHandle, mode: i32, range: i32, uplo: i32, n: i32, a: *mut T, lda: i32, low: Re<T>,
        high: Re<T>, first: i32, last: i32,
        found: *mut i32, values: *mut Re<T>, _work: *mut T, _size: i32, info: *mut i32,
    ) {
        let range = EigenRange::of(range, (low.to_f64(), high.to_f64()), (first.into(), last.into()), length(n.into())?)?;
        let problem = EigenProblem::new(mode, uplo, n.into(), (a, lda.into()), values)?;
        EigenProblem { range, ..problem }.submit(handle, found, info)
    }

    fn syevj["DnSsyevj": f32, "DnDsyevj": f64, "DnCheevj": C32, "DnZheevj": C64](
        handle: SolverHandle, mode: i32, uplo: i32, n: i32, a: *mut T, lda: i32, values: *mut Re<T>,
        _work: *mut T, _size: i32,
        info: *mut i32, options: *mut RoutineOptions,
    ) {
        RoutineOptions::of(options)?;
        EigenProblem::new(mode, uplo, n.into(), (a, lda.into()), values)?.submit(handle, NOWHERE, info)
    }

    fn syevj_batched["DnSsyevjBatched": f32, "DnDsyevjBatched": f64, "DnCheevjBatched": C32, "DnZheevjBatched": C64](
        handle: SolverHandle, mode: i32, uplo: i32, n: i32, a: *mut T, lda: i32, values: *mut Re<T>,
        _work: *mut T, _size: i32,
        info: *mut i32, options: *mut RoutineOptions, count: i32,
    ) {
        RoutineOptions::of(options)?;
        eigen_batch(handle, (mode, uplo), n.into(), (a, lda.into()), values, info, count.into())
    }

    fn sygvd["DnSsygvd": f32, "DnDsygvd": f64, "DnChegvd": C32, "DnZhegvd": C64](
        handle: SolverHandle, problem: i32, mode: i32, uplo: i32, n: i32, a: *mut T, lda: i32, b: *mut T,
        ldb: i32, values: *mut Re<T>,
        _work: *mut T, _size: i32, info: *mut i32,
    ) {
        EigenProblem::new(mode, uplo, n.into(), (a, lda.into()), values)?
            .generalized(problem, n.into(), (b, ldb.into()))?
            .submit(handle, NOWHERE, info)
    }

    fn sygvdx["DnSsygvdx": f32, "DnDsygvdx": f64, "DnChegvdx": C32, "DnZhegvdx": C64](
        handle: SolverHandle, problem: i32, mode: i32, range: i32, uplo: i32, n: i32, a: *mut T, lda: i32,
        b: *mut T, ldb: i32,
        low: Re<T>, high: Re<T>, first: i32, last: i32, found: *mut i32, values: *mut Re<T>, _work: *mut T,
        _size: i32, info: *mut i32,
    ) {
        let range = EigenRange::of(range, (low.to_f64(), high.to_f64()), (first.into(), last.into()), length(n.into())?)?;
        let whole = EigenProblem::new(mode, uplo, n.into(), (a, lda.into()), values)?;
        let whole = whole.generalized(problem, n.into(), (b, ldb.into()))?;
        EigenProblem { range, ..whole }.submit(handle, found, info)
    }

    fn sygvj["DnSsygvj": f32, "DnDsygvj": f64, "DnChegvj": C32, "DnZhegvj": C64](
        handle: SolverHandle, problem: i32, mode: i32, uplo: i32, n: i32, a: *mut T, lda: i32, b: *mut T,
        ldb: i32, values: *mut Re<T>,
        _work: *mut T, _size: i32, info: *mut i32, options: *mut RoutineOptions,
    ) {
        RoutineOptions::of(options)?;
        EigenProblem::new(mode, uplo, n.into(), (a, lda.into()), values)?
            .generalized(problem, n.into(), (b, ldb.into()))?
            .submit(handle, NOWHERE, info)
    }
}

/// Solves a batch of eigenproblems, whose matrices and values follow each other.
///
/// # Safety
/// Pointers are valid as the interface requires.
pub(crate) unsafe fn eigen_batch<T: Number>(
    handle: SolverHandle,
    (mode, uplo): (i32, i32),
    n: i64,
    (a, lda): (*mut T, i64),
    values: *mut Re<T>,
    info: *mut i32,
    count: i64,
) -> SolverResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let (context, count) = (SolverContext::of(handle)?, length(count)?);
        let first = EigenProblem::new(mode, uplo, n, (a, lda), values)?;
        context.submit(move || {
            for item in 0..count as isize {
                let a = first.a.moved(item * (lda * n) as isize);
                let values = values.wrapping_offset(item * n as isize);
                let (failed, _) = EigenProblem { a, values, ..first }.run();
                report(if info.is_null() { info } else { info.offset(item) }, failed);
            }
        })
    }
}

/// Places of singular factors.
pub(crate) struct SingularProblem<T: Number> {
    pub(crate) a: DeviceMatrix<T>,
    pub(crate) values: *mut Re<T>,
    /// Place of the columns of `U`, if they are wanted.
    pub(crate) left: Option<(DeviceMatrix<T>, SingularVectors)>,
    /// Place of the columns of `V`, if they are wanted.
    pub(crate) right: Option<(DeviceMatrix<T>, SingularVectors)>,
    /// True if the place on the right takes the conjugate transpose of `V`.
    pub(crate) is_adjoint: bool,
    /// Number of values that are written.
    pub(crate) rank: usize,
}

impl<T: Number> SingularProblem<T> {
    /// Checks the arguments of `gesvd`, whose jobs are letters: all columns, one for each value, in place of the matrix, or none.
    pub(crate) fn with_jobs(
        (job_left, job_right): (i8, i8),
        (m, n): (i64, i64),
        (a, lda): (*mut T, i64),
        values: *mut Re<T>,
        (u, ldu): (*mut T, i64),
        (v, ldv): (*mut T, i64),
    ) -> SolverResult<SingularProblem<T>> {
        let (m, n) = (length(m)?, length(n)?);
        let k = m.min(n);
        valid(!(job_left == job_right && job_left as u8 == b'O') && (k == 0 || !values.is_null()))?;
        let a = DeviceMatrix::new(a, lda, m, n)?;
        let left = match job_left as u8 {
            b'A' => Some((DeviceMatrix::new(u, ldu, m, m)?, SingularVectors::Full)),
            b'S' => Some((DeviceMatrix::new(u, ldu, m, k)?, SingularVectors::Economic)),
            b'O' => Some((a, SingularVectors::Economic)),
            b'N' => None,
            _ => return Err(SolverError(INVALID_VALUE)),
        };
        let right = match job_right as u8 {
            b'A' => Some((DeviceMatrix::new(v, ldv, n, n)?, SingularVectors::Full)),
            b'S' => Some((DeviceMatrix::new(v, ldv, k, n)?, SingularVectors::Economic)),
            b'O' => Some((a, SingularVectors::Economic)),
            b'N' => None,
            _ => return Err(SolverError(INVALID_VALUE)),
        };
        Ok(SingularProblem { a, values, left, right, is_adjoint: true, rank: k })
    }

    /// Checks the arguments of `gesvdj`, which has both kinds of vectors or none.
    pub(crate) fn with_mode(
        (mode, is_economic): (i32, bool),
        (m, n): (i64, i64),
        (a, lda): (*mut T, i64),
        values: *mut Re<T>,
        (u, ldu): (*mut T, i64),
        (v, ldv): (*mut T, i64),
    ) -> SolverResult<SingularProblem<T>> {
        let (m, n) = (length(m)?, length(n)?);
        let k = m.min(n);
        valid((0..=1).contains(&mode) && (k == 0 || !values.is_null()))?;
        let kind = if is_economic { SingularVectors::Economic } else { SingularVectors::Full };
        let a = DeviceMatrix::new(a, lda, m, n)?;
        let (left, right) = if mode == 1 {
            let (of_u, of_v) = if is_economic { (k, k) } else { (m, n) };
            (
                Some((DeviceMatrix::new(u, ldu, m, of_u)?, kind)),
                Some((DeviceMatrix::new(v, ldv, n, of_v)?, kind)),
            )
        } else {
            (None, None)
        };
        Ok(SingularProblem { a, values, left, right, is_adjoint: false, rank: k })
    }

    /// Computes and writes the factors. Returns the report, and the norm of what the written ones leave of the matrix.
    ///
    /// # Safety
    /// The matrix and the places are there.
    pub(crate) unsafe fn run(&self) -> (i32, f64) {
        let kind = |side: &Option<(DeviceMatrix<T>, SingularVectors)>| {
            side.map_or(SingularVectors::Absent, |it| it.1)
        };
        // SAFETY: the caller's promise.
        unsafe {
            let found = singular_factors(self.a.load(), kind(&self.left), kind(&self.right));
            let count = self.rank.min(found.values.len());
            write_array(self.values, &found.values[..count]);
            if let (Some((place, _)), Some(u)) = (self.left, found.left) {
                place.store(&u);
            }
            if let (Some((place, _)), Some(v)) = (self.right, found.right) {
                place.store(&if self.is_adjoint { v.adjoint() } else { v });
            }
            (found.info, norm(&found.values[count..]))
        }
    }
}

routines! {
    fn gesvd["DnSgesvd": f32, "DnDgesvd": f64, "DnCgesvd": C32, "DnZgesvd": C64](
        handle: SolverHandle, job_left: i8, job_right: i8, m: i32, n: i32, a: *mut T, lda: i32,
        values: *mut Re<T>, u: *mut T, ldu: i32,
        v: *mut T, ldv: i32, _work: *mut T, _size: i32, _real_work: *mut Re<T>, info: *mut i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (u, v) = ((u, ldu.into()), (v, ldv.into()));
        let problem =
            SingularProblem::with_jobs((job_left, job_right), (m.into(), n.into()), (a, lda.into()), values, u, v)?;
        context.submit(move || report(info, problem.run().0))
    }

    fn gesvdj["DnSgesvdj": f32, "DnDgesvdj": f64, "DnCgesvdj": C32, "DnZgesvdj": C64](
        handle: SolverHandle, mode: i32, economic: i32, m: i32, n: i32, a: *mut T, lda: i32,
        values: *mut Re<T>, u: *mut T, ldu: i32,
        v: *mut T, ldv: i32, _work: *mut T, _size: i32, info: *mut i32, options: *mut RoutineOptions,
    ) {
        let context = SolverContext::of(handle)?;
        RoutineOptions::of(options)?;
        let (u, v) = ((u, ldu.into()), (v, ldv.into()));
        let problem =
            SingularProblem::with_mode((mode, economic != 0), (m.into(), n.into()), (a, lda.into()), values, u, v)?;
        context.submit(move || report(info, problem.run().0))
    }

    fn gesvdj_batched["DnSgesvdjBatched": f32, "DnDgesvdjBatched": f64, "DnCgesvdjBatched": C32, "DnZgesvdjBatched": C64](
        handle: SolverHandle, mode: i32, m: i32, n: i32, a: *mut T, lda: i32, values: *mut Re<T>, u: *mut T,
        ldu: i32, v: *mut T, ldv: i32,
        _work: *mut T, _size: i32, info: *mut i32, options: *mut RoutineOptions, count: i32,
    ) {
        let context = SolverContext::of(handle)?;
        RoutineOptions::of(options)?;
        let count = length(count.into())?;
        let (in_u, in_v) = ((u, ldu.into()), (v, ldv.into()));
        let first = SingularProblem::with_mode((mode, false), (m.into(), n.into()), (a, lda.into()), values, in_u, in_v)?;
        let (m, n) = (m as isize, n as isize);
        context.submit(move || {
            for item in 0..count as isize {
                let moved = |side: Option<(DeviceMatrix<T>, SingularVectors)>, distance: isize| {
                    side.map(|(matrix, kind)| (matrix.moved(item * distance), kind))
                };
                let (failed, _) = SingularProblem {
                    a: first.a.moved(item * lda as isize * n), values: values.wrapping_offset(item * m.min(n)),
                    left: moved(first.left, ldu as isize * m), right: moved(first.right, ldv as isize * n), ..first
                }.run();
                report(if info.is_null() { info } else { info.offset(item) }, failed);
            }
        })
    }

    fn gesvda["DnSgesvdaStridedBatched": f32, "DnDgesvdaStridedBatched": f64, "DnCgesvdaStridedBatched": C32, "DnZgesvdaStridedBatched": C64](
        handle: SolverHandle, mode: i32, rank: i32, m: i32, n: i32, a: *const T, lda: i32, stride_a: i64,
        values: *mut Re<T>, stride_s: i64,
        u: *mut T, ldu: i32, stride_u: i64, v: *mut T, ldv: i32, stride_v: i64, _work: *mut T, _size: i32,
        info: *mut i32,
        residuals: *mut f64, count: i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (count, rank, rows, columns) = (length(count.into())?, length(rank.into())?, length(m.into())?, length(n.into())?);
        valid((0..=1).contains(&mode) && rank <= rows.min(columns) && (rank == 0 || !values.is_null()))?;
        let a = DeviceMatrix::new(a, lda.into(), rows, columns)?;
        let wanted = |pointer: *mut T, ld: i32, rows: usize| -> SolverResult<_> {
            if mode == 0 { return Ok(None); }
            Ok(Some((DeviceMatrix::new(pointer, ld.into(), rows, rank)?, SingularVectors::Economic)))
        };
        let (left, right) = (wanted(u, ldu, rows)?, wanted(v, ldv, columns)?);
        context.submit(move || {
            for item in 0..count {
                let moved = |side: Option<(DeviceMatrix<T>, SingularVectors)>, distance: i64| {
                    side.map(|(matrix, kind)| (matrix.moved(item as isize * distance as isize), kind))
                };
                let (failed, left_over) = SingularProblem {
                    a: a.moved(item as isize * stride_a as isize),
                    values: values.wrapping_offset(item as isize * stride_s as isize),
                    left: moved(left, stride_u), right: moved(right, stride_v), is_adjoint: false, rank,
                }.run();
                if !info.is_null() { report(info.add(item), failed); }
                // The place of residuals is optional.
                if !residuals.is_null() { residuals.add(item).write(left_over); }
            }
        })
    }
}
