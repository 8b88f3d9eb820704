//! Descriptors of vectors and matrices: made, queried and changed.

use crate::descriptor::{
    DenseArray, DenseArrayHandle, DenseVector, DenseVectorHandle, Descriptor, PivotReport, RoutineState,
    RoutineStateHandle, SparseAddress, SparseMatrix, SparseMatrixHandle, SparseVector, SparseVectorHandle,
};
use crate::elements::SparseLayout;
use crate::status::{NOT_SUPPORTED, SparseResult, ensure, put, valid};

/// Writes a result that the program may not want.
///
/// # Safety
/// The place is there, or null.
unsafe fn put_if<V>(place: *mut V, value: V) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write_unaligned(value) };
    }
}

/// Sizes, arrays and kinds of a sparse matrix.
struct MatrixArguments {
    sizes: [i64; 3],
    arrays: [SparseAddress; 3],
    index_kinds: [i32; 2],
    base: i32,
    kind: i32,
}

/// Makes a descriptor of a sparse matrix.
///
/// # Safety
/// The place is there, or null.
unsafe fn create_matrix(
    place: *mut SparseMatrixHandle,
    layout: SparseLayout,
    arguments: MatrixArguments,
) -> SparseResult<()> {
    let MatrixArguments { sizes, arrays, index_kinds, base, kind } = arguments;
    valid(sizes.iter().all(|size| *size >= 0) && (0..=1).contains(&base))?;
    valid(index_kinds.iter().all(|kind| (1..=3).contains(kind)))?;
    ensure(index_kinds.iter().all(|kind| *kind != 1), NOT_SUPPORTED)?;
    let [rows, columns, count] = sizes;
    let [offsets, indices, values] = arrays;
    let [offset_kind, index_kind] = index_kinds;
    let (fill, diagonal, batch, offset_stride, stride) = (0, 0, 1, 0, 0);
    let matrix = SparseMatrix {
        layout,
        rows,
        columns,
        count,
        offsets,
        indices,
        values,
        offset_kind,
        index_kind,
        base,
        kind,
        fill,
        diagonal,
        batch,
        offset_stride,
        stride,
    };
    // SAFETY: the caller's promise.
    unsafe { Descriptor::create(place, matrix) }
}

/// Answers what a descriptor of a sparse matrix holds.
///
/// # Safety
/// The descriptor and the places are there, or null.
unsafe fn get_matrix(
    matrix: SparseMatrixHandle,
    layout: SparseLayout,
    sizes: [*mut i64; 3],
    arrays: [*mut SparseAddress; 3],
    index_kinds: [*mut i32; 2],
    (base, kind): (*mut i32, *mut i32),
) -> SparseResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let it = *Descriptor::of(matrix)?;
        valid(it.layout == layout)?;
        for (place, value) in sizes.into_iter().zip([it.rows, it.columns, it.count]) {
            put_if(place, value);
        }
        for (place, value) in arrays.into_iter().zip([it.offsets, it.indices, it.values]) {
            put_if(place, value);
        }
        for (place, value) in index_kinds.into_iter().zip([it.offset_kind, it.index_kind]) {
            put_if(place, value);
        }
        put_if(base, it.base);
        put_if(kind, it.kind);
    }
    Ok(())
}

/// Changes the arrays of a sparse matrix.
///
/// # Safety
/// The descriptor is there, or null.
unsafe fn set_arrays(
    matrix: SparseMatrixHandle,
    layout: SparseLayout,
    [offsets, indices, values]: [SparseAddress; 3],
) -> SparseResult<()> {
    // SAFETY: the caller's promise.
    let it = unsafe { Descriptor::of(matrix)? };
    valid(it.layout == layout)?;
    (it.offsets, it.indices, it.values) = (offsets, indices, values);
    Ok(())
}

constant_entries! {
    fn cusparseCreateSpVec, cusparseCreateConstSpVec(
        place: *mut SparseVectorHandle, size: i64, count: i64, indices: SparseAddress, values: SparseAddress,
        index_kind: i32, base: i32, kind: i32,
    ) {
        valid(size >= 0 && (0..=size).contains(&count) && (0..=1).contains(&base) && (1..=3).contains(&index_kind))?;
        Descriptor::create(place, SparseVector { size, count, indices, values, index_kind, base, kind })
    }
    fn cusparseSpVecGet, cusparseConstSpVecGet(
        vector: SparseVectorHandle, size: *mut i64, count: *mut i64, indices: *mut SparseAddress,
        values: *mut SparseAddress, index_kind: *mut i32,
        base: *mut i32, kind: *mut i32,
    ) {
        let it = *Descriptor::of(vector)?;
        put_if(size, it.size);
        put_if(count, it.count);
        put_if(indices, it.indices);
        put_if(values, it.values);
        put_if(index_kind, it.index_kind);
        put_if(base, it.base);
        put_if(kind, it.kind);
        Ok(())
    }
    fn cusparseSpVecGetValues, cusparseConstSpVecGetValues(vector: SparseVectorHandle, values: *mut SparseAddress) {
        put(values, Descriptor::of(vector)?.values)
    }

    fn cusparseCreateDnVec, cusparseCreateConstDnVec(
        place: *mut DenseVectorHandle, size: i64, values: SparseAddress, kind: i32,
    ) {
        valid(size >= 0)?;
        Descriptor::create(place, DenseVector { size, values, kind })
    }
    fn cusparseDnVecGet, cusparseConstDnVecGet(
        vector: DenseVectorHandle, size: *mut i64, values: *mut SparseAddress, kind: *mut i32,
    ) {
        let it = *Descriptor::of(vector)?;
        put_if(size, it.size);
        put_if(values, it.values);
        put_if(kind, it.kind);
        Ok(())
    }
    fn cusparseDnVecGetValues, cusparseConstDnVecGetValues(vector: DenseVectorHandle, values: *mut SparseAddress) {
        put(values, Descriptor::of(vector)?.values)
    }

    fn cusparseCreateDnMat, cusparseCreateConstDnMat(
        place: *mut DenseArrayHandle, rows: i64, columns: i64, ld: i64, values: SparseAddress, kind: i32, order: i32,
    ) {
        valid(rows >= 0 && columns >= 0 && (1..=2).contains(&order))?;
        let is_by_rows = order == 2;
        valid(ld >= if is_by_rows { columns } else { rows })?;
        Descriptor::create(place, DenseArray { rows, columns, ld, values, kind, is_by_rows, batch: 1, stride: 0 })
    }
    fn cusparseDnMatGet, cusparseConstDnMatGet(
        array: DenseArrayHandle, rows: *mut i64, columns: *mut i64, ld: *mut i64, values: *mut SparseAddress,
        kind: *mut i32, order: *mut i32,
    ) {
        let it = *Descriptor::of(array)?;
        put_if(rows, it.rows);
        put_if(columns, it.columns);
        put_if(ld, it.ld);
        put_if(values, it.values);
        put_if(kind, it.kind);
        put_if(order, if it.is_by_rows { 2 } else { 1 });
        Ok(())
    }
    fn cusparseDnMatGetValues, cusparseConstDnMatGetValues(array: DenseArrayHandle, values: *mut SparseAddress) {
        put(values, Descriptor::of(array)?.values)
    }

    fn cusparseCreateCsr, cusparseCreateConstCsr(
        place: *mut SparseMatrixHandle, rows: i64, columns: i64, count: i64, offsets: SparseAddress,
        indices: SparseAddress, values: SparseAddress,
        offset_kind: i32, index_kind: i32, base: i32, kind: i32,
    ) {
        let (sizes, arrays) = ([rows, columns, count], [offsets, indices, values]);
        let arguments = MatrixArguments { sizes, arrays, index_kinds: [offset_kind, index_kind], base, kind };
        create_matrix(place, SparseLayout::Rows, arguments)
    }
    fn cusparseCreateCsc, cusparseCreateConstCsc(
        place: *mut SparseMatrixHandle, rows: i64, columns: i64, count: i64, offsets: SparseAddress,
        indices: SparseAddress, values: SparseAddress,
        offset_kind: i32, index_kind: i32, base: i32, kind: i32,
    ) {
        let (sizes, arrays) = ([rows, columns, count], [offsets, indices, values]);
        let arguments = MatrixArguments { sizes, arrays, index_kinds: [offset_kind, index_kind], base, kind };
        create_matrix(place, SparseLayout::Columns, arguments)
    }
    fn cusparseCreateCoo, cusparseCreateConstCoo(
        place: *mut SparseMatrixHandle, rows: i64, columns: i64, count: i64, offsets: SparseAddress,
        indices: SparseAddress, values: SparseAddress,
        index_kind: i32, base: i32, kind: i32,
    ) {
        let (sizes, arrays) = ([rows, columns, count], [offsets, indices, values]);
        let arguments = MatrixArguments { sizes, arrays, index_kinds: [index_kind, index_kind], base, kind };
        create_matrix(place, SparseLayout::Coordinates, arguments)
    }
    fn cusparseCsrGet, cusparseConstCsrGet(
        matrix: SparseMatrixHandle, rows: *mut i64, columns: *mut i64, count: *mut i64,
        offsets: *mut SparseAddress, indices: *mut SparseAddress,
        values: *mut SparseAddress, offset_kind: *mut i32, index_kind: *mut i32, base: *mut i32, kind: *mut i32,
    ) {
        let (sizes, arrays) = ([rows, columns, count], [offsets, indices, values]);
        get_matrix(matrix, SparseLayout::Rows, sizes, arrays, [offset_kind, index_kind], (base, kind))
    }
    fn cusparseCscGet, cusparseConstCscGet(
        matrix: SparseMatrixHandle, rows: *mut i64, columns: *mut i64, count: *mut i64,
        offsets: *mut SparseAddress, indices: *mut SparseAddress,
        values: *mut SparseAddress, offset_kind: *mut i32, index_kind: *mut i32, base: *mut i32, kind: *mut i32,
    ) {
        let (sizes, arrays) = ([rows, columns, count], [offsets, indices, values]);
        get_matrix(matrix, SparseLayout::Columns, sizes, arrays, [offset_kind, index_kind], (base, kind))
    }
    fn cusparseCooGet, cusparseConstCooGet(
        matrix: SparseMatrixHandle, rows: *mut i64, columns: *mut i64, count: *mut i64,
        offsets: *mut SparseAddress, indices: *mut SparseAddress,
        values: *mut SparseAddress, index_kind: *mut i32, base: *mut i32, kind: *mut i32,
    ) {
        let (sizes, arrays) = ([rows, columns, count], [offsets, indices, values]);
        get_matrix(matrix, SparseLayout::Coordinates, sizes, arrays, [std::ptr::null_mut(), index_kind], (base, kind))
    }
    fn cusparseSpMatGetValues, cusparseConstSpMatGetValues(matrix: SparseMatrixHandle, values: *mut SparseAddress) {
        put(values, Descriptor::of(matrix)?.values)
    }
}

entries! {
    fn cusparseDestroySpVec(vector: SparseVectorHandle) { Descriptor::destroy(vector) }
    fn cusparseDestroyDnVec(vector: DenseVectorHandle) { Descriptor::destroy(vector) }
    fn cusparseDestroyDnMat(array: DenseArrayHandle) { Descriptor::destroy(array) }
    fn cusparseDestroySpMat(matrix: SparseMatrixHandle) { Descriptor::destroy(matrix) }
    fn cusparseSpVecSetValues(vector: SparseVectorHandle, values: SparseAddress) {
        Descriptor::of(vector)?.values = values;
        Ok(())
    }
    fn cusparseSpVecGetIndexBase(vector: SparseVectorHandle, base: *mut i32) {
        put(base, Descriptor::of(vector)?.base)
    }
    fn cusparseDnVecSetValues(vector: DenseVectorHandle, values: SparseAddress) {
        Descriptor::of(vector)?.values = values;
        Ok(())
    }
    fn cusparseDnMatSetValues(array: DenseArrayHandle, values: SparseAddress) {
        Descriptor::of(array)?.values = values;
        Ok(())
    }
    fn cusparseDnMatSetStridedBatch(array: DenseArrayHandle, batch: i32, stride: i64) {
        let it = Descriptor::of(array)?;
        valid(batch >= 1 && stride >= 0)?;
        (it.batch, it.stride) = (batch, stride);
        Ok(())
    }
    fn cusparseDnMatGetStridedBatch(array: DenseArrayHandle, batch: *mut i32, stride: *mut i64) {
        let it = *Descriptor::of(array)?;
        put(batch, it.batch)?;
        put(stride, it.stride)
    }
    fn cusparseCsrSetPointers(
        matrix: SparseMatrixHandle, offsets: SparseAddress, indices: SparseAddress, values: SparseAddress,
    ) {
        set_arrays(matrix, SparseLayout::Rows, [offsets, indices, values])
    }
    fn cusparseCscSetPointers(
        matrix: SparseMatrixHandle, offsets: SparseAddress, indices: SparseAddress, values: SparseAddress,
    ) {
        set_arrays(matrix, SparseLayout::Columns, [offsets, indices, values])
    }
    fn cusparseCooSetPointers(
        matrix: SparseMatrixHandle, rows: SparseAddress, columns: SparseAddress, values: SparseAddress,
    ) {
        set_arrays(matrix, SparseLayout::Coordinates, [rows, columns, values])
    }
    fn cusparseCsrSetStridedBatch(matrix: SparseMatrixHandle, batch: i32, offset_stride: i64, stride: i64) {
        let it = Descriptor::of(matrix)?;
        valid(it.layout == SparseLayout::Rows && batch >= 1 && offset_stride >= 0 && stride >= 0)?;
        (it.batch, it.offset_stride, it.stride) = (batch, offset_stride, stride);
        Ok(())
    }
    fn cusparseCooSetStridedBatch(matrix: SparseMatrixHandle, batch: i32, stride: i64) {
        let it = Descriptor::of(matrix)?;
        valid(it.layout == SparseLayout::Coordinates && batch >= 1 && stride >= 0)?;
        (it.batch, it.stride) = (batch, stride);
        Ok(())
    }
    fn cusparseSpMatGetStridedBatch(matrix: SparseMatrixHandle, batch: *mut i32) {
        put(batch, Descriptor::of(matrix)?.batch)
    }
    fn cusparseSpMatGetSize(matrix: SparseMatrixHandle, rows: *mut i64, columns: *mut i64, count: *mut i64) {
        let it = *Descriptor::of(matrix)?;
        put(rows, it.rows)?;
        put(columns, it.columns)?;
        put(count, it.count)
    }
    fn cusparseSpMatGetFormat(matrix: SparseMatrixHandle, format: *mut i32) {
        put(format, match Descriptor::of(matrix)?.layout {
            SparseLayout::Rows => 1,
            SparseLayout::Columns => 2,
            SparseLayout::Coordinates => 3,
        })
    }
    fn cusparseSpMatGetIndexBase(matrix: SparseMatrixHandle, base: *mut i32) {
        put(base, Descriptor::of(matrix)?.base)
    }
    fn cusparseSpMatSetValues(matrix: SparseMatrixHandle, values: SparseAddress) {
        Descriptor::of(matrix)?.values = values;
        Ok(())
    }
    fn cusparseSpMatSetAttribute(matrix: SparseMatrixHandle, attribute: i32, data: *const i32, size: usize) {
        let it = Descriptor::of(matrix)?;
        valid(!data.is_null() && size == 4)?;
        let value = data.read_unaligned();
        match attribute {
            0 => {
                valid((0..=1).contains(&value))?;
                it.fill = value;
            }
            1 => {
                valid((0..=1).contains(&value))?;
                it.diagonal = value;
            }
            // All elements are stored, and mean themselves.
            2 | 3 => ensure(value == 0, NOT_SUPPORTED)?,
            _ => valid(false)?,
        }
        Ok(())
    }
    fn cusparseSpMatGetAttribute(matrix: SparseMatrixHandle, attribute: i32, data: *mut i32, size: usize) {
        let it = *Descriptor::of(matrix)?;
        valid((0..=3).contains(&attribute) && size == 4)?;
        put(data, [it.fill, it.diagonal, 0, 0][attribute as usize])
    }
}

/// Defines the objects of routines.
macro_rules! states {
    ($($create:ident $destroy:ident)*) => {
        entries! {$(
            fn $create(place: *mut RoutineStateHandle) { Descriptor::create(place, RoutineState { products: 0 }) }
            fn $destroy(state: RoutineStateHandle) { Descriptor::destroy(state) }
        )*}
    };
}

states! {
    cusparseSpGEMM_createDescr cusparseSpGEMM_destroyDescr
    cusparseSpGEAM_createDescr cusparseSpGEAM_destroyDescr
    cusparseSpSV_createDescr cusparseSpSV_destroyDescr
    cusparseSpSM_createDescr cusparseSpSM_destroyDescr
}

/// Defines the reports of incomplete factorizations.
macro_rules! pivot_reports {
    ($($create:ident $destroy:ident)*) => {
        entries! {$(
            fn $create(place: *mut *mut Descriptor<PivotReport>) { Descriptor::create(place, PivotReport { row: -1 }) }
            fn $destroy(report: *mut Descriptor<PivotReport>) { Descriptor::destroy(report) }
        )*}
    };
}

pivot_reports! {
    cusparseCreateCsrilu02Info cusparseDestroyCsrilu02Info
    cusparseCreateCsric02Info cusparseDestroyCsric02Info
}
