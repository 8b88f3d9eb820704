//! Systems of sparse equations: `csrlsvqr`, `csrlsvlu`, `csrlsvchol`, for matrices on the device and on the host.

use super::{C32, C64, Re};
use crate::context::{SolverContext, SolverHandle};
use crate::memory::{length, read_array, write_array};
use crate::status::{SolverResult, valid};
use heddle_blas::{Number, Real};
use heddle_solver::sparse_rows::sort_rows;
use heddle_solver::sparse_system::{
    SparseDescription, SparseRow, SparseSolution, solve_by_rotations, solve_sparse_cholesky,
};

/// System of a matrix in compressed rows.
struct SparseProblem<T: Number> {
    n: usize,
    description: *const SparseDescription,
    values: *const T,
    rows: *const i32,
    columns: *const i32,
    b: *const T,
    tolerance: Re<T>,
    x: *mut T,
    singular: *mut i32,
}

impl<T: Number> SparseProblem<T> {
    /// Reads the rows, each with ascending columns.
    ///
    /// # Safety
    /// The matrix is there.
    unsafe fn load(&self, base: i64) -> Vec<SparseRow<T>> {
        // SAFETY: the caller's promise.
        unsafe {
            let bound = |i: usize| (i64::from(*self.rows.add(i)) - base).max(0) as usize;
            let row = |i: usize| {
                let element = |p: usize| {
                    let column = i64::from(*self.columns.add(p)) - base;
                    (usize::try_from(column).unwrap_or(usize::MAX), *self.values.add(p))
                };
                let elements = (bound(i)..bound(i + 1)).map(element);
                elements.filter(|it| it.0 < self.n).collect()
            };
            let mut rows: Vec<SparseRow<T>> = (0..self.n).map(row).collect();
            sort_rows(&mut rows);
            rows
        }
    }

    /// Solves the system in the order of the handle's stream.
    ///
    /// # Safety
    /// Pointers are valid as the interface requires.
    unsafe fn submit(self, handle: SolverHandle, is_positive: bool) -> SolverResult<()> {
        // SAFETY: the caller's promise.
        unsafe {
            let context = SolverContext::of(handle)?;
            valid(!self.description.is_null() && self.description.is_aligned())?;
            let description = self.description.read();
            valid(description.magic == SparseDescription::MAGIC)?;
            valid(!self.rows.is_null() && !self.singular.is_null())?;
            valid(self.n == 0 || !self.b.is_null() && !self.x.is_null())?;
            context.submit(move || {
                let (mut rows, b) = (self.load(description.base.into()), read_array(self.b, self.n));
                let tolerance = self.tolerance.to_f64();
                let SparseSolution { x, singular } = if is_positive {
                    for (i, row) in rows.iter_mut().enumerate() {
                        row.retain(|it| it.0 >= i);
                    }
                    solve_sparse_cholesky(rows, &b, tolerance)
                } else {
                    solve_by_rotations(rows, &b, tolerance)
                };
                write_array(self.x, &x);
                self.singular.write(singular.map_or(-1, |row| row as i32));
            })
        }
    }
}

routines! {
    fn qr[
        "SpScsrlsvqr": f32, "SpDcsrlsvqr": f64, "SpCcsrlsvqr": C32, "SpZcsrlsvqr": C64,
        "SpScsrlsvqrHost": f32, "SpDcsrlsvqrHost": f64, "SpCcsrlsvqrHost": C32, "SpZcsrlsvqrHost": C64,
        "SpScsrlsvluHost": f32, "SpDcsrlsvluHost": f64, "SpCcsrlsvluHost": C32, "SpZcsrlsvluHost": C64,
    ](
        handle: SolverHandle, n: i32, _count: i32, description: *const SparseDescription, values: *const T,
        rows: *const i32,
        columns: *const i32, b: *const T, tolerance: Re<T>, _reorder: i32, x: *mut T, singular: *mut i32,
    ) {
        let n = length(n.into())?;
        SparseProblem { n, description, values, rows, columns, b, tolerance, x, singular }.submit(handle, false)
    }

    fn cholesky[
        "SpScsrlsvchol": f32, "SpDcsrlsvchol": f64, "SpCcsrlsvchol": C32, "SpZcsrlsvchol": C64,
        "SpScsrlsvcholHost": f32, "SpDcsrlsvcholHost": f64, "SpCcsrlsvcholHost": C32, "SpZcsrlsvcholHost": C64,
    ](
        handle: SolverHandle, n: i32, _count: i32, description: *const SparseDescription, values: *const T,
        rows: *const i32,
        columns: *const i32, b: *const T, tolerance: Re<T>, _reorder: i32, x: *mut T, singular: *mut i32,
    ) {
        let n = length(n.into())?;
        SparseProblem { n, description, values, rows, columns, b, tolerance, x, singular }.submit(handle, true)
    }
}
