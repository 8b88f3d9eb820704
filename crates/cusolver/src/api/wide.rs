//! The interface with integers of 64 bits, whose kinds of numbers are arguments, `cudaDataType`.

use super::linear::{factor_lu, factor_positive, solve_lu, solve_positive};
use super::orthogonal::factor_orthogonal;
use super::spectral::{EigenProblem, EigenRange, SingularProblem, eigen_batch};
use super::{C32, C64, Re};
use crate::context::{OptionsHandle, SolverContext, SolverHandle};
use crate::memory::{length, report};
use crate::status::{NOT_SUPPORTED, SolverError, SolverResult, ensure, put, valid};
use heddle_blas::{Number, Real};
use std::ffi::c_void;

/// Address of numbers.
type Pointer = *mut c_void;

/// `CUDA_R_32F`, `CUDA_R_64F`, `CUDA_C_32F`, `CUDA_C_64F`
const KINDS: [i32; 4] = [0, 1, 4, 5];

/// Computes an expression with the type `T` of a `cudaDataType`, as which all arguments have to agree.
macro_rules! with_kind {
    ($kind:expr, $type:ident => $body:expr) => {
        match $kind {
            0 => {
                type $type = f32;
                $body
            }
            1 => {
                type $type = f64;
                $body
            }
            4 => {
                type $type = C32;
                $body
            }
            5 => {
                type $type = C64;
                $body
            }
            _ => Err(SolverError(NOT_SUPPORTED)),
        }
    };
}

/// An error unless kinds of numbers are one, which is supported.
fn one_kind(kind: i32, others: &[i32]) -> SolverResult<()> {
    ensure(KINDS.contains(&kind) && others.iter().all(|other| *other == kind), NOT_SUPPORTED)
}

/// An error unless a kind of numbers is that of the real parts of another.
fn real_kind(kind: i32, real: i32) -> SolverResult<()> {
    ensure(real == kind % 4, NOT_SUPPORTED)
}

/// Answers the sizes of the work areas.
///
/// # Safety
/// Pointers are null or valid as the interface requires.
unsafe fn sizes(handle: SolverHandle, on_device: *mut usize, on_host: *mut usize) -> SolverResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        SolverContext::of(handle)?;
        put(on_device, 1)?;
        put(on_host, 0)
    }
}

/// Reads a bound of eigenvalues, which a range of another kind does not have.
///
/// # Safety
/// The pointer leads to a number of the type, or is null.
unsafe fn bound<R: Real>(place: Pointer) -> f64 {
    // SAFETY: the caller's promise.
    if place.is_null() { 0.0 } else { unsafe { place.cast::<R>().read_unaligned() }.to_f64() }
}

/// Solves an eigenproblem for a range of the values.
///
/// # Safety
/// Pointers are valid as the interface requires.
#[allow(clippy::too_many_arguments)]
unsafe fn eigen_range<T: Number>(
    handle: SolverHandle,
    (mode, range, uplo): (i32, i32, i32),
    n: i64,
    (a, lda): (Pointer, i64),
    (low, high, first, last): (Pointer, Pointer, i64, i64),
    found: *mut i64,
    values: Pointer,
    info: *mut i32,
) -> SolverResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let bounds = (bound::<Re<T>>(low), bound::<Re<T>>(high));
        let range = EigenRange::of(range, bounds, (first, last), length(n)?)?;
        let problem = EigenProblem::<T>::new(mode, uplo, n, (a.cast(), lda), values.cast())?;
        EigenProblem { range, ..problem }.submit(handle, found, info)
    }
}

entries! {
    fn cusolverDnXgetrf_bufferSize(
        handle: SolverHandle, _options: OptionsHandle, _m: i64, _n: i64, kind: i32, _a: Pointer, _lda: i64,
        compute: i32, on_device: *mut usize,
        on_host: *mut usize,
    ) {
        one_kind(kind, &[compute])?;
        sizes(handle, on_device, on_host)
    }
    fn cusolverDnXgetrf(
        handle: SolverHandle, _options: OptionsHandle, m: i64, n: i64, kind: i32, a: Pointer, lda: i64,
        pivots: *mut i64, compute: i32,
        _device: Pointer, _device_size: usize, _host: Pointer, _host_size: usize, info: *mut i32,
    ) {
        one_kind(kind, &[compute])?;
        with_kind!(kind, T => factor_lu::<T, i64>(handle, (m, n), (a.cast(), lda), pivots, info))
    }
    fn cusolverDnXgetrs(
        handle: SolverHandle, _options: OptionsHandle, trans: i32, n: i64, sides: i64, kind: i32, a: Pointer,
        lda: i64, pivots: *const i64,
        kind_b: i32, b: Pointer, ldb: i64, info: *mut i32,
    ) {
        one_kind(kind, &[kind_b])?;
        let a = (a, lda);
        with_kind!(kind, T => {
            let (a, b) = ((a.0.cast::<T>().cast_const(), a.1), (b.cast::<T>(), ldb));
            solve_lu(handle, trans, (n, sides), a, pivots, b, info)
        })
    }

    fn cusolverDnXpotrf_bufferSize(
        handle: SolverHandle, _options: OptionsHandle, _uplo: i32, _n: i64, kind: i32, _a: Pointer, _lda: i64,
        compute: i32,
        on_device: *mut usize, on_host: *mut usize,
    ) {
        one_kind(kind, &[compute])?;
        sizes(handle, on_device, on_host)
    }
    fn cusolverDnXpotrf(
        handle: SolverHandle, _options: OptionsHandle, uplo: i32, n: i64, kind: i32, a: Pointer, lda: i64, compute: i32,
        _device: Pointer, _device_size: usize, _host: Pointer, _host_size: usize, info: *mut i32,
    ) {
        one_kind(kind, &[compute])?;
        with_kind!(kind, T => factor_positive::<T>(handle, uplo, n, (a.cast(), lda), info))
    }
    fn cusolverDnXpotrs(
        handle: SolverHandle, _options: OptionsHandle, uplo: i32, n: i64, sides: i64, kind: i32, a: Pointer,
        lda: i64, kind_b: i32, b: Pointer,
        ldb: i64, info: *mut i32,
    ) {
        one_kind(kind, &[kind_b])?;
        with_kind!(kind, T => {
            let (a, b) = ((a.cast::<T>().cast_const(), lda), (b.cast::<T>(), ldb));
            solve_positive(handle, uplo, (n, sides), a, b, info)
        })
    }

    fn cusolverDnXgeqrf_bufferSize(
        handle: SolverHandle, _options: OptionsHandle, _m: i64, _n: i64, kind: i32, _a: Pointer, _lda: i64,
        kind_tau: i32, _tau: Pointer,
        compute: i32, on_device: *mut usize, on_host: *mut usize,
    ) {
        one_kind(kind, &[kind_tau, compute])?;
        sizes(handle, on_device, on_host)
    }
    fn cusolverDnXgeqrf(
        handle: SolverHandle, _options: OptionsHandle, m: i64, n: i64, kind: i32, a: Pointer, lda: i64,
        kind_tau: i32, tau: Pointer, compute: i32,
        _device: Pointer, _device_size: usize, _host: Pointer, _host_size: usize, info: *mut i32,
    ) {
        one_kind(kind, &[kind_tau, compute])?;
        with_kind!(kind, T => factor_orthogonal::<T>(handle, (m, n), (a.cast(), lda), tau.cast(), info))
    }

    fn cusolverDnXsyevd_bufferSize(
        handle: SolverHandle, _options: OptionsHandle, _mode: i32, _uplo: i32, _n: i64, kind: i32, _a: Pointer,
        _lda: i64, kind_w: i32,
        _values: Pointer, compute: i32, on_device: *mut usize, on_host: *mut usize,
    ) {
        one_kind(kind, &[compute])?;
        real_kind(kind, kind_w)?;
        sizes(handle, on_device, on_host)
    }
    fn cusolverDnXsyevd(
        handle: SolverHandle, _options: OptionsHandle, mode: i32, uplo: i32, n: i64, kind: i32, a: Pointer,
        lda: i64, kind_w: i32, values: Pointer,
        compute: i32, _device: Pointer, _device_size: usize, _host: Pointer, _host_size: usize, info: *mut i32,
    ) {
        one_kind(kind, &[compute])?;
        real_kind(kind, kind_w)?;
        let nowhere: *mut i64 = std::ptr::null_mut();
        with_kind!(kind, T => {
            EigenProblem::<T>::new(mode, uplo, n, (a.cast(), lda), values.cast())?.submit(handle, nowhere, info)
        })
    }
    fn cusolverDnXsyevBatched_bufferSize(
        handle: SolverHandle, _options: OptionsHandle, _mode: i32, _uplo: i32, _n: i64, kind: i32, _a: Pointer,
        _lda: i64, kind_w: i32,
        _values: Pointer, compute: i32, on_device: *mut usize, on_host: *mut usize, _count: i64,
    ) {
        one_kind(kind, &[compute])?;
        real_kind(kind, kind_w)?;
        sizes(handle, on_device, on_host)
    }
    fn cusolverDnXsyevBatched(
        handle: SolverHandle, _options: OptionsHandle, mode: i32, uplo: i32, n: i64, kind: i32, a: Pointer,
        lda: i64, kind_w: i32, values: Pointer,
        compute: i32, _device: Pointer, _device_size: usize, _host: Pointer, _host_size: usize, info: *mut i32,
        count: i64,
    ) {
        one_kind(kind, &[compute])?;
        real_kind(kind, kind_w)?;
        with_kind!(kind, T => eigen_batch::<T>(handle, (mode, uplo), n, (a.cast(), lda), values.cast(), info, count))
    }
    fn cusolverDnXsyevdx_bufferSize(
        handle: SolverHandle, _options: OptionsHandle, _mode: i32, _range: i32, _uplo: i32, _n: i64, kind: i32,
        _a: Pointer, _lda: i64,
        _low: Pointer, _high: Pointer, _first: i64, _last: i64, _found: *mut i64, kind_w: i32,
        _values: Pointer, compute: i32,
        on_device: *mut usize, on_host: *mut usize,
    ) {
        one_kind(kind, &[compute])?;
        real_kind(kind, kind_w)?;
        sizes(handle, on_device, on_host)
    }
    fn cusolverDnXsyevdx(
        handle: SolverHandle, _options: OptionsHandle, mode: i32, range: i32, uplo: i32, n: i64, kind: i32,
        a: Pointer, lda: i64, low: Pointer,
        high: Pointer, first: i64, last: i64, found: *mut i64, kind_w: i32, values: Pointer, compute: i32,
        _device: Pointer,
        _device_size: usize, _host: Pointer, _host_size: usize, info: *mut i32,
    ) {
        one_kind(kind, &[compute])?;
        real_kind(kind, kind_w)?;
        let (codes, bounds) = ((mode, range, uplo), (low, high, first, last));
        with_kind!(kind, T => eigen_range::<T>(handle, codes, n, (a, lda), bounds, found, values, info))
    }

    fn cusolverDnXgesvd_bufferSize(
        handle: SolverHandle, _options: OptionsHandle, _left: i8, _right: i8, _m: i64, _n: i64, kind: i32,
        _a: Pointer, _lda: i64, kind_s: i32,
        _values: Pointer, kind_u: i32, _u: Pointer, _ldu: i64, kind_v: i32, _v: Pointer, _ldv: i64,
        compute: i32, on_device: *mut usize,
        on_host: *mut usize,
    ) {
        one_kind(kind, &[kind_u, kind_v, compute])?;
        real_kind(kind, kind_s)?;
        sizes(handle, on_device, on_host)
    }
    fn cusolverDnXgesvd(
        handle: SolverHandle, _options: OptionsHandle, left: i8, right: i8, m: i64, n: i64, kind: i32,
        a: Pointer, lda: i64, kind_s: i32,
        values: Pointer, kind_u: i32, u: Pointer, ldu: i64, kind_v: i32, v: Pointer, ldv: i64, compute: i32,
        _device: Pointer,
        _device_size: usize, _host: Pointer, _host_size: usize, info: *mut i32,
    ) {
        one_kind(kind, &[kind_u, kind_v, compute])?;
        real_kind(kind, kind_s)?;
        let context = SolverContext::of(handle)?;
        with_kind!(kind, T => {
            let (a, u, v) = ((a.cast(), lda), (u.cast(), ldu), (v.cast(), ldv));
            let problem = SingularProblem::<T>::with_jobs((left, right), (m, n), a, values.cast(), u, v)?;
            context.submit(move || report(info, problem.run().0))
        })
    }
    fn cusolverDnXgesvdp_bufferSize(
        handle: SolverHandle, _options: OptionsHandle, _mode: i32, _economic: i32, _m: i64, _n: i64, kind: i32,
        _a: Pointer, _lda: i64, kind_s: i32,
        _values: Pointer, kind_u: i32, _u: Pointer, _ldu: i64, kind_v: i32, _v: Pointer, _ldv: i64,
        compute: i32, on_device: *mut usize,
        on_host: *mut usize,
    ) {
        one_kind(kind, &[kind_u, kind_v, compute])?;
        real_kind(kind, kind_s)?;
        sizes(handle, on_device, on_host)
    }
    fn cusolverDnXgesvdp(
        handle: SolverHandle, _options: OptionsHandle, mode: i32, economic: i32, m: i64, n: i64, kind: i32,
        a: Pointer, lda: i64, kind_s: i32,
        values: Pointer, kind_u: i32, u: Pointer, ldu: i64, kind_v: i32, v: Pointer, ldv: i64, compute: i32,
        _device: Pointer,
        _device_size: usize, _host: Pointer, _host_size: usize, info: *mut i32, error: *mut f64,
    ) {
        one_kind(kind, &[kind_u, kind_v, compute])?;
        real_kind(kind, kind_s)?;
        let context = SolverContext::of(handle)?;
        valid(!error.is_null())?;
        with_kind!(kind, T => {
            let (a, u, v) = ((a.cast(), lda), (u.cast(), ldu), (v.cast(), ldv));
            let problem = SingularProblem::<T>::with_mode((mode, economic != 0), (m, n), a, values.cast(), u, v)?;
            context.submit(move || {
                report(info, problem.run().0);
                // The matrix is not perturbed.
                error.write(0.0);
            })
        })
    }
}
