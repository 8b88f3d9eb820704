//! Triangular systems: `SpSV` and `SpSM`. The triangle and its diagonal are attributes of the matrix.

use super::transpose;
use crate::context::{SparseContext, SparseHandle};
use crate::descriptor::{
    DenseArray, DenseArrayHandle, DenseVector, DenseVectorHandle, Descriptor, RoutineStateHandle,
    SparseAddress, SparseMatrix, SparseMatrixHandle, one_kind,
};
use crate::status::{NOT_SUPPORTED, SparseResult, ensure, put, valid};
use heddle_blas::{Number, Transpose};
use heddle_solver::sparse_rows::solve_triangle;

/// Triangular system with right sides in a dense matrix.
struct TriangularProblem {
    ops: (Transpose, Transpose),
    a: SparseMatrix,
    b: DenseArray,
    c: DenseArray,
}

impl TriangularProblem {
    /// Checks the arguments of a system with several right sides.
    ///
    /// # Safety
    /// The descriptors are there, or null.
    unsafe fn of(
        ops: (i32, i32),
        a: SparseMatrixHandle,
        b: DenseArrayHandle,
        c: DenseArrayHandle,
        kind: i32,
    ) -> SparseResult<TriangularProblem> {
        // SAFETY: the caller's promise.
        let (a, b, c) = unsafe { (*Descriptor::of(a)?, *Descriptor::of(b)?, *Descriptor::of(c)?) };
        let ops = (transpose(ops.0)?, transpose(ops.1)?);
        one_kind(kind, &[a.kind, b.kind, c.kind])?;
        let size = if ops.1 == Transpose::No { (b.rows, b.columns) } else { (b.columns, b.rows) };
        valid(a.rows == a.columns && size == (c.rows, c.columns) && c.rows == a.rows)?;
        ensure(a.batch == 1 && b.batch == 1 && c.batch == 1, NOT_SUPPORTED)?;
        Ok(TriangularProblem { ops, a, b, c })
    }

    /// Checks the arguments of a system with one right side.
    ///
    /// # Safety
    /// The descriptors are there, or null.
    unsafe fn of_vectors(
        op: i32,
        a: SparseMatrixHandle,
        x: DenseVectorHandle,
        y: DenseVectorHandle,
        kind: i32,
    ) -> SparseResult<TriangularProblem> {
        // SAFETY: the caller's promise.
        let (a, x, y) = unsafe { (*Descriptor::of(a)?, *Descriptor::of(x)?, *Descriptor::of(y)?) };
        one_kind(kind, &[a.kind, x.kind, y.kind])?;
        valid(a.rows == a.columns && x.size == a.rows && y.size == a.rows)?;
        ensure(a.batch == 1, NOT_SUPPORTED)?;
        let column = |it: DenseVector| DenseArray {
            rows: it.size,
            columns: 1,
            ld: it.size.max(1),
            values: it.values,
            kind: it.kind,
            is_by_rows: false,
            batch: 1,
            stride: 0,
        };
        Ok(TriangularProblem { ops: (transpose(op)?, Transpose::No), a, b: column(x), c: column(y) })
    }

    /// Solves `op(A) · C = alpha · op(B)`.
    ///
    /// # Safety
    /// The matrices and the scalar are there.
    unsafe fn submit<T: Number>(self, context: &SparseContext, alpha: SparseAddress) -> SparseResult<()> {
        let TriangularProblem { ops, a, b, c } = self;
        let elements = a.elements::<T>(0)?;
        valid(!alpha.is_null())?;
        let is_lower = (a.fill == 0) == (ops.0 == Transpose::No);
        let (n, columns) = (c.rows as usize, c.columns as usize);
        // SAFETY: the caller's promise.
        unsafe {
            let alpha = context.scalar(alpha.cast::<T>());
            context.submit(move || {
                let (rows, alpha) = (elements.load(ops.0), alpha.get());
                let (from, to) = (b.view::<T>(0).operand(ops.1), c.view_mut::<T>(0));
                // The result may take the place of the right sides.
                let at = |p: usize| alpha * from.get(p % n, p / n);
                let mut sides: Vec<T> = (0..n * columns).map(at).collect();
                for (j, side) in sides.chunks_mut(n.max(1)).enumerate() {
                    solve_triangle(&rows, is_lower, a.diagonal == 1, side);
                    for (i, value) in side.iter().enumerate() {
                        to.at(i, j).write(*value);
                    }
                }
            })
        }
    }
}

entries! {
    fn cusparseSpSV_bufferSize(
        handle: SparseHandle, op: i32, _alpha: SparseAddress, a: SparseMatrixHandle, x: DenseVectorHandle,
        y: DenseVectorHandle, kind: i32, _algorithm: i32, state: RoutineStateHandle,
        size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        TriangularProblem::of_vectors(op, a, x, y, kind)?;
        Descriptor::of(state)?;
        put(size, 1)
    }
    fn cusparseSpSV_analysis(
        handle: SparseHandle, op: i32, _alpha: SparseAddress, a: SparseMatrixHandle, x: DenseVectorHandle,
        y: DenseVectorHandle, kind: i32, _algorithm: i32, state: RoutineStateHandle,
        _buffer: SparseAddress,
    ) {
        SparseContext::of(handle)?;
        TriangularProblem::of_vectors(op, a, x, y, kind)?;
        Descriptor::of(state).map(|_| ())
    }
    fn cusparseSpSV_solve(
        handle: SparseHandle, op: i32, alpha: SparseAddress, a: SparseMatrixHandle, x: DenseVectorHandle,
        y: DenseVectorHandle, kind: i32, _algorithm: i32, state: RoutineStateHandle,
    ) {
        let context = SparseContext::of(handle)?;
        let problem = TriangularProblem::of_vectors(op, a, x, y, kind)?;
        Descriptor::of(state)?;
        with_kind!(kind, T => problem.submit::<T>(context, alpha))
    }
    fn cusparseSpSM_bufferSize(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: SparseMatrixHandle,
        b: DenseArrayHandle, c: DenseArrayHandle, kind: i32, _algorithm: i32,
        state: RoutineStateHandle, size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        TriangularProblem::of((op_a, op_b), a, b, c, kind)?;
        Descriptor::of(state)?;
        put(size, 1)
    }
    fn cusparseSpSM_analysis(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: SparseMatrixHandle,
        b: DenseArrayHandle, c: DenseArrayHandle, kind: i32, _algorithm: i32,
        state: RoutineStateHandle, _buffer: SparseAddress,
    ) {
        SparseContext::of(handle)?;
        TriangularProblem::of((op_a, op_b), a, b, c, kind)?;
        Descriptor::of(state).map(|_| ())
    }
    fn cusparseSpSM_solve(
        handle: SparseHandle, op_a: i32, op_b: i32, alpha: SparseAddress, a: SparseMatrixHandle,
        b: DenseArrayHandle, c: DenseArrayHandle, kind: i32, _algorithm: i32,
        state: RoutineStateHandle,
    ) {
        let context = SparseContext::of(handle)?;
        let problem = TriangularProblem::of((op_a, op_b), a, b, c, kind)?;
        Descriptor::of(state)?;
        with_kind!(kind, T => problem.submit::<T>(context, alpha))
    }
}
