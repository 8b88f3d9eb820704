//! Orthogonal factors: `geqrf`, `orgqr`, `ormqr`, `gebrd`.

use super::{C32, C64, Re};
use crate::context::{SolverContext, SolverHandle};
use crate::memory::{DeviceMatrix, length, read_array, report, transpose, write_array};
use crate::status::{SolverResult, valid};
use heddle_blas::{Number, Real, Transpose};
use heddle_solver::orthogonal::factor_qr;
use heddle_solver::reflector::ReflectorSet;
use heddle_solver::singular::bidiagonalize;

/// Factors into `Q · R`.
///
/// # Safety
/// Pointers are valid as the interface requires.
pub(crate) unsafe fn factor_orthogonal<T: Number>(
    handle: SolverHandle,
    (m, n): (i64, i64),
    (a, lda): (*mut T, i64),
    tau: *mut T,
    info: *mut i32,
) -> SolverResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = SolverContext::of(handle)?;
        let (m, n) = (length(m)?, length(n)?);
        let a = DeviceMatrix::new(a, lda, m, n)?;
        valid(m == 0 || n == 0 || !tau.is_null())?;
        context.submit(move || {
            let set = factor_qr(a.load());
            a.store(&set.vectors);
            write_array(tau, &set.factors);
            report(info, 0);
        })
    }
}

routines! {
    fn geqrf["DnSgeqrf": f32, "DnDgeqrf": f64, "DnCgeqrf": C32, "DnZgeqrf": C64](
        handle: SolverHandle, m: i32, n: i32, a: *mut T, lda: i32, tau: *mut T, _work: *mut T, _size: i32,
        info: *mut i32,
    ) {
        factor_orthogonal(handle, (m.into(), n.into()), (a, lda.into()), tau, info)
    }

    fn orgqr["DnSorgqr": f32, "DnDorgqr": f64, "DnCungqr": C32, "DnZungqr": C64](
        handle: SolverHandle, m: i32, n: i32, k: i32, a: *mut T, lda: i32, tau: *const T, _work: *mut T,
        _size: i32, info: *mut i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (m, n, k) = (length(m.into())?, length(n.into())?, length(k.into())?);
        valid(n <= m && k <= n && (k == 0 || !tau.is_null()))?;
        let a = DeviceMatrix::new(a, lda.into(), m, n)?;
        context.submit(move || {
            let vectors = a.load();
            let vectors = vectors.copied(0..m, 0..k);
            let set = ReflectorSet { vectors, factors: read_array(tau, k), offset: 0 };
            a.store(&set.form(n));
            report(info, 0);
        })
    }

    fn ormqr["DnSormqr": f32, "DnDormqr": f64, "DnCunmqr": C32, "DnZunmqr": C64](
        handle: SolverHandle, side: i32, trans: i32, m: i32, n: i32, k: i32, a: *const T, lda: i32,
        tau: *const T, c: *mut T, ldc: i32,
        _work: *mut T, _size: i32, info: *mut i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (m, n, k, trans) = (length(m.into())?, length(n.into())?, length(k.into())?, transpose(trans)?);
        valid((0..=1).contains(&side) && !(T::IS_COMPLEX && trans == Transpose::Yes))?;
        let is_right = side == 1;
        let rows = if is_right { n } else { m };
        valid(k <= rows && (k == 0 || !tau.is_null()))?;
        let (a, c) = (DeviceMatrix::new(a, lda.into(), rows, k)?, DeviceMatrix::new(c, ldc.into(), m, n)?);
        context.submit(move || {
            let set = ReflectorSet { vectors: a.load(), factors: read_array(tau, k), offset: 0 };
            let (mut product, is_adjoint) = (c.load(), trans != Transpose::No);
            if is_right { set.apply_right(is_adjoint, &mut product) } else { set.apply(is_adjoint, &mut product) }
            c.store(&product);
            report(info, 0);
        })
    }

    fn gebrd["DnSgebrd": f32, "DnDgebrd": f64, "DnCgebrd": C32, "DnZgebrd": C64](
        handle: SolverHandle, m: i32, n: i32, a: *mut T, lda: i32, d: *mut Re<T>, e: *mut Re<T>, left: *mut T,
        right: *mut T,
        _work: *mut T, _size: i32, info: *mut i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (m, n) = (length(m.into())?, length(n.into())?);
        valid(m >= n)?;
        let a = DeviceMatrix::new(a, lda.into(), m, n)?;
        valid(n == 0 || !d.is_null() && !e.is_null() && !left.is_null() && !right.is_null())?;
        context.submit(move || {
            let form = bidiagonalize(a.load());
            a.store(&form.left.vectors);
            let numbers = |values: &[f64]| -> Vec<Re<T>> { values.iter().map(|it| Re::<T>::from_f64(*it)).collect() };
            write_array(d, &numbers(&form.diagonal));
            write_array(e, &numbers(&form.next));
            write_array(left, &form.left.factors);
            // The last row has nothing to reflect.
            let mut factors = form.right.factors;
            factors.resize(n, T::ZERO);
            write_array(right, &factors);
            report(info, 0);
        })
    }
}
