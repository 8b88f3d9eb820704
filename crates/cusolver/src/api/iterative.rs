//! Systems and least squares with refinement, `…gesv` and `…gels`: solved in the type of the matrices at once, so that there is
//! nothing to refine, whatever the lower precision is.

use super::{C32, C64};
use crate::context::{SolverContext, SolverHandle};
use crate::memory::{DeviceMatrix, length, report, write_array};
use crate::status::{NOT_SUPPORTED, ensure, put, valid};
use heddle_blas::view::{View, ViewMut};
use heddle_blas::{Transpose, factor};
use heddle_solver::orthogonal::least_squares;
use std::ffi::c_void;

routines! {
    fn gesv[
        "DnZZgesv": C64, "DnZCgesv": C64, "DnZKgesv": C64, "DnZEgesv": C64, "DnZYgesv": C64, "DnCCgesv": C32,
        "DnCEgesv": C32,
        "DnCKgesv": C32, "DnCYgesv": C32, "DnDDgesv": f64, "DnDSgesv": f64, "DnDHgesv": f64, "DnDBgesv": f64,
        "DnDXgesv": f64,
        "DnSSgesv": f32, "DnSHgesv": f32, "DnSBgesv": f32, "DnSXgesv": f32,
    ](
        handle: SolverHandle, n: i32, sides: i32, a: *mut T, lda: i32, pivots: *mut i32, b: *mut T, ldb: i32,
        x: *mut T, ldx: i32,
        _work: *mut c_void, _size: usize, steps: *mut i32, info: *mut i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (n, sides) = (length(n.into())?, length(sides.into())?);
        let a = DeviceMatrix::new(a, lda.into(), n, n)?;
        let (b, x) = (DeviceMatrix::new(b, ldb.into(), n, sides)?, DeviceMatrix::new(x, ldx.into(), n, sides)?);
        put(steps, 0)?;
        context.submit(move || {
            let (mut factors, mut numbers) = (a.load().elements().to_vec(), vec![0; n]);
            let found = factor::getrf(n, n, ViewMut::new(factors.as_mut_ptr(), n as isize), numbers.as_mut_ptr());
            if !pivots.is_null() { write_array(pivots, &numbers); }
            if found == 0 {
                // The right sides stay as they are.
                x.store(&b.load());
                let factors = View::new(factors.as_ptr(), n as isize);
                factor::getrs(Transpose::No, n, sides, factors, numbers.as_ptr(), x.view_mut());
            }
            report(info, found);
        })
    }

    fn gels[
        "DnZZgels": C64, "DnZCgels": C64, "DnZKgels": C64, "DnZEgels": C64, "DnZYgels": C64, "DnCCgels": C32,
        "DnCEgels": C32,
        "DnCKgels": C32, "DnCYgels": C32, "DnDDgels": f64, "DnDSgels": f64, "DnDHgels": f64, "DnDBgels": f64,
        "DnDXgels": f64,
        "DnSSgels": f32, "DnSHgels": f32, "DnSBgels": f32, "DnSXgels": f32,
    ](
        handle: SolverHandle, m: i32, n: i32, sides: i32, a: *mut T, lda: i32, b: *mut T, ldb: i32, x: *mut T, ldx: i32,
        _work: *mut c_void, _size: usize, steps: *mut i32, info: *mut i32,
    ) {
        let context = SolverContext::of(handle)?;
        let (m, n, sides) = (length(m.into())?, length(n.into())?, length(sides.into())?);
        // Systems with fewer equations than unknowns are not in the interface.
        ensure(m >= n, NOT_SUPPORTED)?;
        let a = DeviceMatrix::new(a, lda.into(), m, n)?;
        let (b, x) = (DeviceMatrix::new(b, ldb.into(), m, sides)?, DeviceMatrix::new(x, ldx.into(), n, sides)?);
        put(steps, 0)?;
        context.submit(move || {
            let mut right = b.load();
            let found = least_squares(a.load(), &mut right);
            if found == 0 { x.store(&right); }
            report(info, found);
        })
    }

    fn gesv_size[
        "DnZZgesv_bufferSize": C64, "DnZCgesv_bufferSize": C64, "DnZKgesv_bufferSize": C64, "DnZEgesv_bufferSize": C64,
        "DnZYgesv_bufferSize": C64, "DnCCgesv_bufferSize": C32, "DnCEgesv_bufferSize": C32, "DnCKgesv_bufferSize": C32,
        "DnCYgesv_bufferSize": C32, "DnDDgesv_bufferSize": f64, "DnDSgesv_bufferSize": f64, "DnDHgesv_bufferSize": f64,
        "DnDBgesv_bufferSize": f64, "DnDXgesv_bufferSize": f64, "DnSSgesv_bufferSize": f32, "DnSHgesv_bufferSize": f32,
        "DnSBgesv_bufferSize": f32, "DnSXgesv_bufferSize": f32,
    ](
        handle: SolverHandle, _n: i32, _sides: i32, _a: *mut T, _lda: i32, _pivots: *mut i32, _b: *mut T,
        _ldb: i32, _x: *mut T,
        _ldx: i32, _work: *mut c_void, size: *mut usize,
    ) {
        SolverContext::of(handle)?;
        valid(!size.is_null())?;
        put(size, 1)
    }

    fn gels_size[
        "DnZZgels_bufferSize": C64, "DnZCgels_bufferSize": C64, "DnZKgels_bufferSize": C64, "DnZEgels_bufferSize": C64,
        "DnZYgels_bufferSize": C64, "DnCCgels_bufferSize": C32, "DnCEgels_bufferSize": C32, "DnCKgels_bufferSize": C32,
        "DnCYgels_bufferSize": C32, "DnDDgels_bufferSize": f64, "DnDSgels_bufferSize": f64, "DnDHgels_bufferSize": f64,
        "DnDBgels_bufferSize": f64, "DnDXgels_bufferSize": f64, "DnSSgels_bufferSize": f32, "DnSHgels_bufferSize": f32,
        "DnSBgels_bufferSize": f32, "DnSXgels_bufferSize": f32,
    ](
        handle: SolverHandle, _m: i32, _n: i32, _sides: i32, _a: *mut T, _lda: i32, _b: *mut T, _ldb: i32,
        _x: *mut T, _ldx: i32,
        _work: *mut c_void, size: *mut usize,
    ) {
        SolverContext::of(handle)?;
        valid(!size.is_null())?;
        put(size, 1)
    }
}
