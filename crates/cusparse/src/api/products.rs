//! Products: `SpMV`, `SpMM`, `SDDMM`, `SpGEMM`.

use super::transpose;
use crate::context::{SparseContext, SparseHandle};
use crate::descriptor::{
    DenseArray, DenseArrayHandle, DenseVector, DenseVectorHandle, Descriptor, RoutineStateHandle,
    SparseAddress, SparseMatrix, SparseMatrixHandle, one_kind,
};
use crate::elements::SparseLayout;
use crate::status::{NOT_SUPPORTED, SparseResult, ensure, put, valid};
use heddle_blas::{Number, Transpose};
use heddle_solver::sparse_rows::multiply_rows;
use heddle_solver::sparse_system::SparseRow;

/// Returns rows and columns of an operand.
fn size_of_operand((rows, columns): (i64, i64), transpose: Transpose) -> (i64, i64) {
    if transpose == Transpose::No { (rows, columns) } else { (columns, rows) }
}

/// Returns `alpha · sum + beta · earlier`; an earlier value whose factor is zero is not read.
///
/// # Safety
/// The place is there.
#[inline(always)]
unsafe fn update<T: Number>(place: *mut T, alpha: T, sum: T, beta: T) {
    // SAFETY: the caller's promise.
    unsafe {
        let scaled = alpha * sum;
        place.write(if beta == T::ZERO { scaled } else { scaled + beta * place.read() });
    }
}

/// Operands of a product with a vector.
struct SparseVectorProduct {
    transpose: Transpose,
    a: SparseMatrix,
    x: DenseVector,
    y: DenseVector,
}

impl SparseVectorProduct {
    /// Checks the arguments.
    ///
    /// # Safety
    /// The descriptors are there, or null.
    unsafe fn of(
        op: i32,
        a: SparseMatrixHandle,
        x: DenseVectorHandle,
        y: DenseVectorHandle,
        kind: i32,
    ) -> SparseResult<SparseVectorProduct> {
        // SAFETY: the caller's promise.
        let (a, x, y) = unsafe { (*Descriptor::of(a)?, *Descriptor::of(x)?, *Descriptor::of(y)?) };
        let transpose = transpose(op)?;
        one_kind(kind, &[a.kind, x.kind, y.kind])?;
        valid((y.size, x.size) == size_of_operand((a.rows, a.columns), transpose))?;
        Ok(SparseVectorProduct { transpose, a, x, y })
    }

    /// `y = alpha · op(A) · x + beta · y`
    ///
    /// # Safety
    /// The operands and the scalars are there.
    unsafe fn submit<T: Number>(
        self,
        context: &SparseContext,
        alpha: SparseAddress,
        beta: SparseAddress,
    ) -> SparseResult<()> {
        let (a, x, y) = (self.a.elements::<T>(0)?, self.x.values.cast::<T>(), self.y.values.cast::<T>());
        let (transpose, size) = (self.transpose, self.y.size as usize);
        // SAFETY: the caller's promise; rows and columns of elements are in the matrix.
        unsafe {
            let (alpha, beta) = (context.scalar(alpha.cast::<T>()), context.scalar(beta.cast::<T>()));
            context.submit(move || {
                let mut sums = vec![T::ZERO; size];
                let conj = transpose == Transpose::Conjugate;
                if transpose == Transpose::No {
                    a.for_each(|i, j, _, value| sums[i] += value * *x.add(j));
                } else {
                    a.for_each(|i, j, _, value| sums[j] += value.conj_if(conj) * *x.add(i));
                }
                let (alpha, beta) = (alpha.get(), beta.get());
                for (i, sum) in sums.into_iter().enumerate() {
                    update(y.add(i), alpha, sum, beta);
                }
            })
        }
    }
}

/// Operands of a product with a dense matrix.
struct SparseMatrixProduct {
    ops: (Transpose, Transpose),
    a: SparseMatrix,
    b: DenseArray,
    c: DenseArray,
}

impl SparseMatrixProduct {
    /// Checks the arguments.
    ///
    /// # Safety
    /// The descriptors are there, or null.
    unsafe fn of(
        ops: (i32, i32),
        a: SparseMatrixHandle,
        b: DenseArrayHandle,
        c: DenseArrayHandle,
        kind: i32,
    ) -> SparseResult<SparseMatrixProduct> {
        // SAFETY: the caller's promise.
        let (a, b, c) = unsafe { (*Descriptor::of(a)?, *Descriptor::of(b)?, *Descriptor::of(c)?) };
        let ops = (transpose(ops.0)?, transpose(ops.1)?);
        one_kind(kind, &[a.kind, b.kind, c.kind])?;
        let (rows, inner) = size_of_operand((a.rows, a.columns), ops.0);
        let (also_inner, columns) = size_of_operand((b.rows, b.columns), ops.1);
        valid(inner == also_inner && (c.rows, c.columns) == (rows, columns))?;
        valid([a.batch, b.batch].iter().all(|batch| *batch == 1 || *batch == c.batch))?;
        Ok(SparseMatrixProduct { ops, a, b, c })
    }

    /// `C = alpha · op(A) · op(B) + beta · C`
    ///
    /// # Safety
    /// The operands and the scalars are there.
    unsafe fn submit<T: Number>(
        self,
        context: &SparseContext,
        alpha: SparseAddress,
        beta: SparseAddress,
    ) -> SparseResult<()> {
        let SparseMatrixProduct { ops, a, b, c } = self;
        a.elements::<T>(0)?;
        // SAFETY: the caller's promise; rows and columns of elements are in the matrices.
        unsafe {
            let (alpha, beta) = (context.scalar(alpha.cast::<T>()), context.scalar(beta.cast::<T>()));
            context.submit(move || {
                let (alpha, beta) = (alpha.get(), beta.get());
                let conj = ops.0 == Transpose::Conjugate;
                let mut sums = vec![T::ZERO; c.rows as usize];
                for item in 0..c.batch {
                    let Ok(a) = a.elements::<T>(if a.batch == 1 { 0 } else { item }) else { return };
                    let b = b.view::<T>(if b.batch == 1 { 0 } else { item }).operand(ops.1);
                    let to = c.view_mut::<T>(item);
                    for column in 0..c.columns as usize {
                        sums.fill(T::ZERO);
                        if ops.0 == Transpose::No {
                            a.for_each(|i, j, _, value| sums[i] += value * b.get(j, column));
                        } else {
                            a.for_each(|i, j, _, value| sums[j] += value.conj_if(conj) * b.get(i, column));
                        }
                        for (i, sum) in sums.iter().enumerate() {
                            update(to.at(i, column), alpha, *sum, beta);
                        }
                    }
                }
            })
        }
    }
}

/// Operands of a product of dense matrices at the places of a sparse one.
struct SampledProduct {
    ops: (Transpose, Transpose),
    a: DenseArray,
    b: DenseArray,
    c: SparseMatrix,
}

impl SampledProduct {
    /// Checks the arguments.
    ///
    /// # Safety
    /// The descriptors are there, or null.
    unsafe fn of(
        ops: (i32, i32),
        a: DenseArrayHandle,
        b: DenseArrayHandle,
        c: SparseMatrixHandle,
        kind: i32,
    ) -> SparseResult<SampledProduct> {
        // SAFETY: the caller's promise.
        let (a, b, c) = unsafe { (*Descriptor::of(a)?, *Descriptor::of(b)?, *Descriptor::of(c)?) };
        let ops = (transpose(ops.0)?, transpose(ops.1)?);
        one_kind(kind, &[a.kind, b.kind, c.kind])?;
        let (rows, inner) = size_of_operand((a.rows, a.columns), ops.0);
        let (also_inner, columns) = size_of_operand((b.rows, b.columns), ops.1);
        valid(inner == also_inner && (c.rows, c.columns) == (rows, columns))?;
        ensure(a.batch == 1 && b.batch == 1 && c.batch == 1, NOT_SUPPORTED)?;
        Ok(SampledProduct { ops, a, b, c })
    }

    /// `C = alpha · (op(A) · op(B)) + beta · C`, at the elements that `C` has.
    ///
    /// # Safety
    /// The operands and the scalars are there.
    unsafe fn submit<T: Number>(
        self,
        context: &SparseContext,
        alpha: SparseAddress,
        beta: SparseAddress,
    ) -> SparseResult<()> {
        let SampledProduct { ops, a, b, c } = self;
        let (elements, inner) = (c.elements::<T>(0)?, size_of_operand((a.rows, a.columns), ops.0).1);
        // SAFETY: the caller's promise; rows and columns of elements are in the matrices.
        unsafe {
            let (alpha, beta) = (context.scalar(alpha.cast::<T>()), context.scalar(beta.cast::<T>()));
            context.submit(move || {
                let (alpha, beta) = (alpha.get(), beta.get());
                let (a, b) = (a.view::<T>(0).operand(ops.0), b.view::<T>(0).operand(ops.1));
                elements.for_each(|i, j, p, _| {
                    let mut sum = T::ZERO;
                    for k in 0..inner as usize {
                        sum += a.get(i, k) * b.get(k, j);
                    }
                    update(elements.values.add(p), alpha, sum, beta);
                });
            })
        }
    }
}

/// Checks the operands of a product of sparse matrices, in compressed rows.
///
/// # Safety
/// The descriptors are there, or null.
unsafe fn sparse_operands(
    ops: (i32, i32),
    (a, b, c): (SparseMatrixHandle, SparseMatrixHandle, SparseMatrixHandle),
    kind: i32,
) -> SparseResult<(SparseMatrix, SparseMatrix, SparseMatrix)> {
    // SAFETY: the caller's promise.
    let (a, b, c) = unsafe { (*Descriptor::of(a)?, *Descriptor::of(b)?, *Descriptor::of(c)?) };
    one_kind(kind, &[a.kind, b.kind, c.kind])?;
    ensure((transpose(ops.0)?, transpose(ops.1)?) == (Transpose::No, Transpose::No), NOT_SUPPORTED)?;
    ensure([a, b, c].iter().all(|it| it.layout == SparseLayout::Rows && it.batch == 1), NOT_SUPPORTED)?;
    valid(a.columns == b.rows && (c.rows, c.columns) == (a.rows, b.columns))?;
    Ok((a, b, c))
}

/// Returns the rows of a product of sparse matrices.
///
/// # Safety
/// The matrices are there.
unsafe fn product_rows<T: Number>(a: &SparseMatrix, b: &SparseMatrix) -> SparseResult<Vec<SparseRow<T>>> {
    let (left, right) = (a.elements::<T>(0)?, b.elements::<T>(0)?);
    // SAFETY: the caller's promise.
    let (left, right) = unsafe { (left.load(Transpose::No), right.load(Transpose::No)) };
    Ok(multiply_rows(&left, &right, b.columns as usize))
}

/// Returns the number of multiplications of a product of sparse matrices.
///
/// # Safety
/// The matrices are there.
unsafe fn count_products<T: Number>(a: &SparseMatrix, b: &SparseMatrix) -> SparseResult<i64> {
    let (left, right) = (a.elements::<T>(0)?, b.elements::<T>(0)?);
    let (mut lengths, mut sum) = (vec![0_i64; b.rows as usize], 0);
    // SAFETY: the caller's promise.
    unsafe {
        right.for_each(|i, _, _, _| lengths[i] += 1);
        left.for_each(|_, j, _, _| sum += lengths[j]);
    }
    Ok(sum)
}

/// Writes a product of sparse matrices.
///
/// # Safety
/// The matrices and the scalars are there.
unsafe fn copy_product<T: Number>(
    context: &SparseContext,
    (a, b, c): (SparseMatrix, SparseMatrix, SparseMatrix),
    alpha: SparseAddress,
    beta: SparseAddress,
) -> SparseResult<()> {
    let to = c.elements::<T>(0)?;
    // SAFETY: the caller's promise.
    unsafe {
        // The earlier result has no place among the new elements.
        ensure(context.is_device_mode.get() || beta.cast::<T>().read_unaligned() == T::ZERO, NOT_SUPPORTED)?;
        let alpha = context.scalar(alpha.cast::<T>());
        context.submit(move || {
            let (alpha, Ok(mut rows)) = (alpha.get(), product_rows::<T>(&a, &b)) else { return };
            for element in rows.iter_mut().flatten() {
                element.1 = alpha * element.1;
            }
            to.store(&rows);
        })
    }
}

entries! {
    fn cusparseSpMV_bufferSize(
        handle: SparseHandle, op: i32, _alpha: SparseAddress, a: SparseMatrixHandle, x: DenseVectorHandle,
        _beta: SparseAddress, y: DenseVectorHandle, kind: i32, _algorithm: i32,
        size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        SparseVectorProduct::of(op, a, x, y, kind)?;
        put(size, 1)
    }
    fn cusparseSpMV_preprocess(
        handle: SparseHandle, op: i32, _alpha: SparseAddress, a: SparseMatrixHandle, x: DenseVectorHandle,
        _beta: SparseAddress, y: DenseVectorHandle, kind: i32, _algorithm: i32,
        _buffer: SparseAddress,
    ) {
        SparseContext::of(handle)?;
        SparseVectorProduct::of(op, a, x, y, kind).map(|_| ())
    }
    fn cusparseSpMV(
        handle: SparseHandle, op: i32, alpha: SparseAddress, a: SparseMatrixHandle, x: DenseVectorHandle,
        beta: SparseAddress, y: DenseVectorHandle, kind: i32, _algorithm: i32,
        _buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let product = SparseVectorProduct::of(op, a, x, y, kind)?;
        valid(!alpha.is_null() && !beta.is_null())?;
        with_kind!(kind, T => product.submit::<T>(context, alpha, beta))
    }

    fn cusparseSpMM_bufferSize(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: SparseMatrixHandle,
        b: DenseArrayHandle, _beta: SparseAddress, c: DenseArrayHandle, kind: i32,
        _algorithm: i32, size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        SparseMatrixProduct::of((op_a, op_b), a, b, c, kind)?;
        put(size, 1)
    }
    fn cusparseSpMM_preprocess(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: SparseMatrixHandle,
        b: DenseArrayHandle, _beta: SparseAddress, c: DenseArrayHandle, kind: i32,
        _algorithm: i32, _buffer: SparseAddress,
    ) {
        SparseContext::of(handle)?;
        SparseMatrixProduct::of((op_a, op_b), a, b, c, kind).map(|_| ())
    }
    fn cusparseSpMM(
        handle: SparseHandle, op_a: i32, op_b: i32, alpha: SparseAddress, a: SparseMatrixHandle,
        b: DenseArrayHandle, beta: SparseAddress, c: DenseArrayHandle, kind: i32,
        _algorithm: i32, _buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let product = SparseMatrixProduct::of((op_a, op_b), a, b, c, kind)?;
        valid(!alpha.is_null() && !beta.is_null())?;
        with_kind!(kind, T => product.submit::<T>(context, alpha, beta))
    }

    fn cusparseSDDMM_bufferSize(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: DenseArrayHandle,
        b: DenseArrayHandle, _beta: SparseAddress, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        SampledProduct::of((op_a, op_b), a, b, c, kind)?;
        put(size, 1)
    }
    fn cusparseSDDMM_preprocess(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: DenseArrayHandle,
        b: DenseArrayHandle, _beta: SparseAddress, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, _buffer: SparseAddress,
    ) {
        SparseContext::of(handle)?;
        SampledProduct::of((op_a, op_b), a, b, c, kind).map(|_| ())
    }
    fn cusparseSDDMM(
        handle: SparseHandle, op_a: i32, op_b: i32, alpha: SparseAddress, a: DenseArrayHandle,
        b: DenseArrayHandle, beta: SparseAddress, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, _buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let product = SampledProduct::of((op_a, op_b), a, b, c, kind)?;
        valid(!alpha.is_null() && !beta.is_null())?;
        with_kind!(kind, T => product.submit::<T>(context, alpha, beta))
    }

    fn cusparseSpGEMM_workEstimation(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: SparseMatrixHandle,
        b: SparseMatrixHandle, _beta: SparseAddress, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, state: RoutineStateHandle, size: *mut usize, buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let (a, b, _) = sparse_operands((op_a, op_b), (a, b, c), kind)?;
        let state = Descriptor::of(state)?;
        if buffer.is_null() { return put(size, 1); }
        state.products = context.compute(|| with_kind!(kind, T => count_products::<T>(&a, &b)))??;
        Ok(())
    }
    fn cusparseSpGEMM_getNumProducts(state: RoutineStateHandle, products: *mut i64) {
        put(products, Descriptor::of(state)?.products)
    }
    fn cusparseSpGEMM_estimateMemory(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: SparseMatrixHandle,
        b: SparseMatrixHandle, _beta: SparseAddress, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, state: RoutineStateHandle, _chunk: f32, size: *mut usize, buffer: SparseAddress,
        next_size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        sparse_operands((op_a, op_b), (a, b, c), kind)?;
        Descriptor::of(state)?;
        if buffer.is_null() { put(size, 1) } else { put(next_size, 1) }
    }
    fn cusparseSpGEMM_compute(
        handle: SparseHandle, op_a: i32, op_b: i32, _alpha: SparseAddress, a: SparseMatrixHandle,
        b: SparseMatrixHandle, _beta: SparseAddress, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, state: RoutineStateHandle, size: *mut usize, buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let result = c;
        let (a, b, _) = sparse_operands((op_a, op_b), (a, b, c), kind)?;
        Descriptor::of(state)?;
        if buffer.is_null() { return put(size, 1); }
        let count = context.compute(|| {
            with_kind!(kind, T => product_rows::<T>(&a, &b).map(|rows| rows.iter().map(Vec::len).sum::<usize>()))
        })??;
        Descriptor::of(result)?.count = count as i64;
        Ok(())
    }
    fn cusparseSpGEMM_copy(
        handle: SparseHandle, op_a: i32, op_b: i32, alpha: SparseAddress, a: SparseMatrixHandle,
        b: SparseMatrixHandle, beta: SparseAddress, c: SparseMatrixHandle, kind: i32,
        _algorithm: i32, state: RoutineStateHandle,
    ) {
        let context = SparseContext::of(handle)?;
        let operands = sparse_operands((op_a, op_b), (a, b, c), kind)?;
        Descriptor::of(state)?;
        valid(!alpha.is_null() && !beta.is_null())?;
        with_kind!(kind, T => copy_product::<T>(context, operands, alpha, beta))
    }
}
