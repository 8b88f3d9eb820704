//! Sparse matrices from dense ones and back: `SparseToDense`, `DenseToSparse`, `nnz`.

use super::helper::description;
use super::{C32, C64, length};
use crate::context::{SparseContext, SparseHandle};
use crate::descriptor::{
    DenseArray, DenseArrayHandle, Descriptor, SparseAddress, SparseMatrix, SparseMatrixHandle, one_kind,
};
use crate::elements::SparseLayout;
use crate::status::{NOT_SUPPORTED, SparseResult, ensure, put, valid};
use heddle_blas::Number;
use heddle_solver::sparse_system::{SparseDescription, SparseRow};

/// Finds a sparse and a dense matrix, which have one size and kind.
///
/// # Safety
/// The descriptors are there, or null.
unsafe fn pair(
    sparse: SparseMatrixHandle,
    dense: DenseArrayHandle,
) -> SparseResult<(SparseMatrix, DenseArray)> {
    // SAFETY: the caller's promise.
    let (sparse, dense) = unsafe { (*Descriptor::of(sparse)?, *Descriptor::of(dense)?) };
    one_kind(sparse.kind, &[dense.kind])?;
    valid((sparse.rows, sparse.columns) == (dense.rows, dense.columns))?;
    ensure(sparse.batch == 1 && dense.batch == 1, NOT_SUPPORTED)?;
    Ok((sparse, dense))
}

/// Returns what is not zero in the lines of a dense matrix: in its columns, or in its rows.
///
/// # Safety
/// The matrix is there.
unsafe fn lines<T: Number>(dense: &DenseArray, is_by_columns: bool) -> Vec<SparseRow<T>> {
    let view = if is_by_columns { dense.view::<T>(0).transposed() } else { dense.view::<T>(0) };
    let (rows, columns) = (dense.rows as usize, dense.columns as usize);
    let (count, length) = if is_by_columns { (columns, rows) } else { (rows, columns) };
    // SAFETY: the caller's promise.
    let line =
        |i: usize| (0..length).map(|j| (j, unsafe { view.get(i, j) })).filter(|it| it.1 != T::ZERO).collect();
    (0..count).map(line).collect()
}

/// Writes the sparse matrix of a dense one.
///
/// # Safety
/// The matrices are there.
unsafe fn convert<T: Number>(
    context: &SparseContext,
    sparse: SparseMatrix,
    dense: DenseArray,
) -> SparseResult<()> {
    let to = sparse.elements::<T>(0)?;
    // SAFETY: the caller's promise.
    context.submit(move || unsafe { to.store(&lines::<T>(&dense, to.layout == SparseLayout::Columns)) })
}

/// Writes the bounds of lines, if there is a place for them. Returns the number of elements.
///
/// # Safety
/// The matrices are there.
unsafe fn analyze<T: Number>(sparse: &SparseMatrix, dense: &DenseArray) -> SparseResult<i64> {
    let to = sparse.elements::<T>(0)?;
    // SAFETY: the caller's promise.
    unsafe {
        let found = lines::<T>(dense, to.layout == SparseLayout::Columns);
        if to.layout != SparseLayout::Coordinates && !to.offsets.is_null() {
            to.store_bounds(found.iter().map(Vec::len));
        }
        Ok(found.iter().map(Vec::len).sum::<usize>() as i64)
    }
}

entries! {
    fn cusparseSparseToDense_bufferSize(
        handle: SparseHandle, sparse: SparseMatrixHandle, dense: DenseArrayHandle, _algorithm: i32,
        size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        pair(sparse, dense)?;
        put(size, 1)
    }
    fn cusparseSparseToDense(
        handle: SparseHandle, sparse: SparseMatrixHandle, dense: DenseArrayHandle, _algorithm: i32,
        _buffer: SparseAddress,
    ) {
        let (context, (sparse, dense)) = (SparseContext::of(handle)?, pair(sparse, dense)?);
        with_kind!(sparse.kind, T => {
            let (elements, to) = (sparse.elements::<T>(0)?, dense.view_mut::<T>(0));
            context.submit(move || {
                for j in 0..elements.columns {
                    for i in 0..elements.rows {
                        to.at(i, j).write(T::default());
                    }
                }
                elements.for_each(|i, j, _, value| *to.at(i, j) += value);
            })
        })
    }
    fn cusparseDenseToSparse_bufferSize(
        handle: SparseHandle, dense: DenseArrayHandle, sparse: SparseMatrixHandle, _algorithm: i32,
        size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        pair(sparse, dense)?;
        put(size, 1)
    }
    fn cusparseDenseToSparse_analysis(
        handle: SparseHandle, dense: DenseArrayHandle, sparse: SparseMatrixHandle, _algorithm: i32,
        _buffer: SparseAddress,
    ) {
        let (context, result) = (SparseContext::of(handle)?, sparse);
        let (sparse, dense) = pair(sparse, dense)?;
        let count = context.compute(|| with_kind!(sparse.kind, T => analyze::<T>(&sparse, &dense)))??;
        Descriptor::of(result)?.count = count;
        Ok(())
    }
    fn cusparseDenseToSparse_convert(
        handle: SparseHandle, dense: DenseArrayHandle, sparse: SparseMatrixHandle, _algorithm: i32,
        _buffer: SparseAddress,
    ) {
        let (context, (sparse, dense)) = (SparseContext::of(handle)?, pair(sparse, dense)?);
        with_kind!(sparse.kind, T => convert::<T>(context, sparse, dense))
    }
}

/// Returns what a magnitude is compared by.
fn is_kept<T: Number>(value: T, tolerance: T) -> bool {
    value.modulus() > tolerance.re()
}

/// Matrix in compressed rows of the older interface.
#[derive(Clone, Copy)]
struct CompressedRows<T> {
    rows: usize,
    base: i64,
    values: *const T,
    offsets: *const i32,
}

impl<T: Number> CompressedRows<T> {
    /// Returns the positions of the elements of a row.
    ///
    /// # Safety
    /// The bounds are there.
    unsafe fn row(self, i: usize) -> std::ops::Range<usize> {
        // SAFETY: the caller's promise.
        let bound = |i: usize| (i64::from(unsafe { *self.offsets.add(i) }) - self.base).max(0) as usize;
        bound(i)..bound(i + 1)
    }
}

routines! {
    fn nnz["Snnz": f32, "Dnnz": f64, "Cnnz": C32, "Znnz": C64](
        handle: SparseHandle, direction: i32, m: i32, n: i32, of: *mut SparseDescription, a: *const T,
        lda: i32, counts: *mut i32,
        total: *mut i32,
    ) {
        let context = SparseContext::of(handle)?;
        description(of)?;
        let (m, n) = (length(m.into())?, length(n.into())?);
        valid((0..=1).contains(&direction) && lda as usize >= m.max(1) && !counts.is_null() && !total.is_null())?;
        context.submit(move || {
            let is_by_rows = direction == 0;
            let mut found = vec![0; if is_by_rows { m } else { n }];
            for j in 0..n {
                for i in 0..m {
                    if *a.add(j * lda as usize + i) != T::ZERO { found[if is_by_rows { i } else { j }] += 1; }
                }
            }
            for (line, count) in found.iter().enumerate() { counts.add(line).write(*count); }
            total.write_unaligned(found.iter().sum());
        })
    }

    fn nnz_compress["Snnz_compress": f32, "Dnnz_compress": f64, "Cnnz_compress": C32, "Znnz_compress": C64](
        handle: SparseHandle, m: i32, of: *mut SparseDescription, values: *const T, offsets: *const i32,
        counts: *mut i32,
        total: *mut i32, tolerance: T,
    ) {
        let context = SparseContext::of(handle)?;
        let a = CompressedRows { rows: length(m.into())?, base: description(of)?.base.into(), values, offsets };
        valid(!offsets.is_null() && !counts.is_null() && !total.is_null())?;
        context.submit(move || {
            let mut sum = 0;
            for i in 0..a.rows {
                let count = a.row(i).filter(|p| is_kept(*a.values.add(*p), tolerance)).count() as i32;
                counts.add(i).write(count);
                sum += count;
            }
            total.write_unaligned(sum);
        })
    }

    fn csr2csr_compress["Scsr2csr_compress": f32, "Dcsr2csr_compress": f64, "Ccsr2csr_compress": C32, "Zcsr2csr_compress": C64](
        handle: SparseHandle, m: i32, _n: i32, of: *mut SparseDescription, values: *const T,
        indices: *const i32, offsets: *const i32,
        _count: i32, _counts: *const i32, to_values: *mut T, to_indices: *mut i32, to_offsets: *mut i32, tolerance: T,
    ) {
        let context = SparseContext::of(handle)?;
        let a = CompressedRows { rows: length(m.into())?, base: description(of)?.base.into(), values, offsets };
        valid(!offsets.is_null() && !to_offsets.is_null())?;
        context.submit(move || {
            let mut end = 0;
            to_offsets.write(a.base as i32);
            for i in 0..a.rows {
                for p in a.row(i) {
                    if is_kept(*a.values.add(p), tolerance) {
                        to_values.add(end).write(*a.values.add(p));
                        to_indices.add(end).write(*indices.add(p));
                        end += 1;
                    }
                }
                to_offsets.add(i + 1).write(end as i32 + a.base as i32);
            }
        })
    }
}

/// Writes the transpose of a matrix in compressed rows. Without values, only the structure is written.
///
/// # Safety
/// The matrices are there.
pub(crate) unsafe fn transpose_compressed<T: Number>(
    context: &SparseContext,
    from: crate::elements::SparseElements<T>,
    to: crate::elements::SparseElements<T>,
    is_numeric: bool,
) -> SparseResult<()> {
    context.submit(move || {
        // SAFETY: the caller's promise.
        unsafe {
            let mut lines = vec![SparseRow::new(); from.columns];
            from.for_each(|i, j, _, value| lines[j].push((i, value)));
            if is_numeric {
                to.store(&lines);
                return;
            }
            to.store_bounds(lines.iter().map(Vec::len));
            for (p, element) in lines.iter().flatten().enumerate() {
                to.indices.set(p, element.0 as i64 + to.base);
            }
        }
    })
}
