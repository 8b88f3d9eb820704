//! Sums of sparse matrices: `SpGEAM` and `csrgeam2`.

use super::helper::{DescriptionHandle, description};
use super::{C32, C64, length, transpose};
use crate::context::{SparseContext, SparseHandle};
use crate::descriptor::{
    Descriptor, RoutineStateHandle, SparseAddress, SparseMatrix, SparseMatrixHandle, one_kind,
};
use crate::elements::{IndexArray, SparseElements, SparseLayout};
use crate::status::{NOT_SUPPORTED, SparseResult, ensure, put, valid};
use heddle_blas::{Number, Transpose};
use heddle_solver::sparse_rows::add_rows;

/// Operands of a sum, and the result.
struct SparseSum {
    ops: (Transpose, Transpose),
    a: SparseMatrix,
    b: SparseMatrix,
    c: SparseMatrix,
}

impl SparseSum {
    /// Checks the arguments.
    ///
    /// # Safety
    /// The descriptors are there, or null.
    unsafe fn of(
        ops: (i32, i32),
        a: SparseMatrixHandle,
        b: SparseMatrixHandle,
        c: SparseMatrixHandle,
        kind: i32,
    ) -> SparseResult<SparseSum> {
        // SAFETY: the caller's promise.
        let (a, b, c) = unsafe { (*Descriptor::of(a)?, *Descriptor::of(b)?, *Descriptor::of(c)?) };
        let ops = (transpose(ops.0)?, transpose(ops.1)?);
        one_kind(kind, &[a.kind, b.kind, c.kind])?;
        ensure([a, b, c].iter().all(|it| it.layout == SparseLayout::Rows && it.batch == 1), NOT_SUPPORTED)?;
        let size = |it: &SparseMatrix, op| {
            if op == Transpose::No { (it.rows, it.columns) } else { (it.columns, it.rows) }
        };
        valid(size(&a, ops.0) == (c.rows, c.columns) && size(&b, ops.1) == (c.rows, c.columns))?;
        Ok(SparseSum { ops, a, b, c })
    }

    /// Writes the bounds of the rows. Returns the number of elements.
    ///
    /// # Safety
    /// The operands and the bounds are there.
    unsafe fn count<T: Number>(&self) -> SparseResult<i64> {
        let (a, b, c) = (self.a.elements::<T>(0)?, self.b.elements::<T>(0)?, self.c.elements::<T>(0)?);
        valid(!c.offsets.is_null())?;
        // SAFETY: the caller's promise.
        unsafe {
            let rows = add_rows(T::ONE, &a.load(self.ops.0), T::ONE, &b.load(self.ops.1));
            c.store_bounds(rows.iter().map(Vec::len));
            Ok(rows.iter().map(Vec::len).sum::<usize>() as i64)
        }
    }

    /// `C = alpha · op(A) + beta · op(B)`
    ///
    /// # Safety
    /// The operands, the result and the scalars are there.
    unsafe fn submit<T: Number>(
        self,
        context: &SparseContext,
        alpha: SparseAddress,
        beta: SparseAddress,
    ) -> SparseResult<()> {
        let (a, b, c) = (self.a.elements::<T>(0)?, self.b.elements::<T>(0)?, self.c.elements::<T>(0)?);
        // SAFETY: the caller's promise.
        unsafe { submit_sum((self.ops, context), alpha.cast(), a, beta.cast(), b, c) }
    }
}

/// Writes the sum of two matrices in the order of the handle's stream.
///
/// # Safety
/// The operands, the result and the scalars are there.
unsafe fn submit_sum<T: Number>(
    (ops, context): ((Transpose, Transpose), &SparseContext),
    alpha: *const T,
    a: SparseElements<T>,
    beta: *const T,
    b: SparseElements<T>,
    c: SparseElements<T>,
) -> SparseResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let (alpha, beta) = (context.scalar(alpha), context.scalar(beta));
        context.submit(move || {
            let (a, b) = (a.load(ops.0), b.load(ops.1));
            c.store(&add_rows(alpha.get(), &a, beta.get(), &b));
        })
    }
}

entries! {
    fn cusparseSpGEAM_bufferSize(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: SparseMatrixHandle,
        _beta: SparseAddress, b: SparseMatrixHandle, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, state: RoutineStateHandle, size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        SparseSum::of((op_a, op_b), a, b, c, kind)?;
        Descriptor::of(state)?;
        put(size, 1)
    }
    fn cusparseSpGEAM_nnz(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: SparseMatrixHandle,
        _beta: SparseAddress, b: SparseMatrixHandle, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, state: RoutineStateHandle, _buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let sum = SparseSum::of((op_a, op_b), a, b, c, kind)?;
        Descriptor::of(state)?;
        let count = context.compute(|| with_kind!(kind, T => sum.count::<T>()))??;
        Descriptor::of(c)?.count = count;
        Ok(())
    }
    fn cusparseSpGEAM(
        handle: SparseHandle, op_a: i32, op_b: i32, alpha: SparseAddress, a: SparseMatrixHandle,
        beta: SparseAddress, b: SparseMatrixHandle, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, state: RoutineStateHandle, _buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let sum = SparseSum::of((op_a, op_b), a, b, c, kind)?;
        Descriptor::of(state)?;
        valid(!alpha.is_null() && !beta.is_null())?;
        with_kind!(kind, T => sum.submit::<T>(context, alpha, beta))
    }
    fn cusparseXcsrgeam2Nnz(
        handle: SparseHandle, m: i32, n: i32, of_a: DescriptionHandle, count_a: i32, offsets_a: *mut i32,
        indices_a: *mut i32, of_b: DescriptionHandle,
        count_b: i32, offsets_b: *mut i32, indices_b: *mut i32, of_c: DescriptionHandle, offsets_c: *mut i32,
        total: *mut i32, _buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let size = (length(m.into())?, length(n.into())?);
        // The structure is that of any numbers: indices stand for values, which do not matter.
        let a = compressed(of_a, size, count_a, indices_a.cast::<f32>(), offsets_a, indices_a)?;
        let b = compressed(of_b, size, count_b, indices_b.cast::<f32>(), offsets_b, indices_b)?;
        let c = compressed(of_c, size, 0, std::ptr::null_mut::<f32>(), offsets_c, std::ptr::null_mut())?;
        valid(!total.is_null())?;
        context.compute(|| {
            let rows = add_rows(1.0, &a.load(Transpose::No), 1.0, &b.load(Transpose::No));
            c.store_bounds(rows.iter().map(Vec::len));
            put(total, rows.iter().map(Vec::len).sum::<usize>() as i32)
        })?
    }
}

/// Returns the elements of a matrix of the older interface.
///
/// # Safety
/// The description is there, or null.
pub(crate) unsafe fn compressed<T>(
    of: DescriptionHandle,
    (rows, columns): (usize, usize),
    count: i32,
    values: *mut T,
    offsets: *mut i32,
    indices: *mut i32,
) -> SparseResult<SparseElements<T>> {
    // SAFETY: the caller's promise.
    let base = unsafe { description(of)? }.base.into();
    valid(!offsets.is_null())?;
    let (layout, count) = (SparseLayout::Rows, length(count.into())?);
    let (offsets, indices) = (IndexArray::Narrow(offsets), IndexArray::Narrow(indices));
    Ok(SparseElements { layout, rows, columns, count, offsets, indices, values, base })
}

routines! {
    fn csrgeam2_size[
        "Scsrgeam2_bufferSizeExt": f32, "Dcsrgeam2_bufferSizeExt": f64, "Ccsrgeam2_bufferSizeExt": C32,
        "Zcsrgeam2_bufferSizeExt": C64,
    ](
        handle: SparseHandle, _m: i32, _n: i32, _alpha: *const T, of_a: DescriptionHandle, _count_a: i32,
        _values_a: *mut T, _offsets_a: *mut i32,
        _indices_a: *mut i32, _beta: *const T, of_b: DescriptionHandle, _count_b: i32, _values_b: *mut T,
        _offsets_b: *mut i32,
        _indices_b: *mut i32, of_c: DescriptionHandle, _values_c: *mut T, _offsets_c: *mut i32,
        _indices_c: *mut i32, size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        description(of_a)?;
        description(of_b)?;
        description(of_c)?;
        put(size, 1)
    }

    fn csrgeam2["Scsrgeam2": f32, "Dcsrgeam2": f64, "Ccsrgeam2": C32, "Zcsrgeam2": C64](
        handle: SparseHandle, m: i32, n: i32, alpha: *const T, of_a: DescriptionHandle, count_a: i32,
        values_a: *mut T, offsets_a: *mut i32,
        indices_a: *mut i32, beta: *const T, of_b: DescriptionHandle, count_b: i32, values_b: *mut T,
        offsets_b: *mut i32,
        indices_b: *mut i32, of_c: DescriptionHandle, values_c: *mut T, offsets_c: *mut i32,
        indices_c: *mut i32, _buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let size = (length(m.into())?, length(n.into())?);
        valid(!alpha.is_null() && !beta.is_null())?;
        let a = compressed(of_a, size, count_a, values_a, offsets_a, indices_a)?;
        let b = compressed(of_b, size, count_b, values_b, offsets_b, indices_b)?;
        let c = compressed(of_c, size, 0, values_c, offsets_c, indices_c)?;
        submit_sum(((Transpose::No, Transpose::No), context), alpha, a, beta, b, c)
    }
}
