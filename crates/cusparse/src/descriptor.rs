//! Descriptors of vectors and matrices.

use crate::elements::{IndexArray, SparseElements, SparseLayout};
use crate::status::{NOT_SUPPORTED, SparseError, SparseResult, put, valid};
use heddle_blas::Number;
use heddle_blas::view::{View, ViewMut};
use std::ffi::c_void;

/// SparseAddress of numbers or indices.
pub type SparseAddress = *mut c_void;

/// Handle of a sparse vector.
pub type SparseVectorHandle = *mut Descriptor<SparseVector>;
/// Handle of a dense vector.
pub type DenseVectorHandle = *mut Descriptor<DenseVector>;
/// Handle of a dense matrix.
pub type DenseArrayHandle = *mut Descriptor<DenseArray>;
/// Handle of a sparse matrix.
pub type SparseMatrixHandle = *mut Descriptor<SparseMatrix>;
/// Handle of the object of a routine.
pub type RoutineStateHandle = *mut Descriptor<RoutineState>;
/// Handle of a report.
pub type PivotReportHandle = *mut Descriptor<PivotReport>;

/// Data that a program holds by a pointer.
pub trait Described: Copy {
    /// Distinguishes the data from other memory.
    const MAGIC: u64;
}

/// Data with its mark.
#[derive(Debug)]
#[repr(C)]
pub struct Descriptor<D> {
    magic: u64,
    data: D,
}

impl<D: Described> Descriptor<D> {
    /// Makes a descriptor, and writes its address.
    ///
    /// # Safety
    /// The place is there, or null.
    pub unsafe fn create(place: *mut *mut Descriptor<D>, data: D) -> SparseResult<()> {
        valid(!place.is_null())?;
        // SAFETY: the caller's promise.
        unsafe { put(place, Box::into_raw(Box::new(Descriptor { magic: D::MAGIC, data }))) }
    }

    /// Finds the data of a descriptor.
    ///
    /// # Safety
    /// The pointer is of a descriptor, or null; nobody else uses it.
    pub unsafe fn of<'a>(pointer: *mut Descriptor<D>) -> SparseResult<&'a mut D> {
        valid(!pointer.is_null() && pointer.is_aligned())?;
        // SAFETY: the caller's promise.
        let descriptor = unsafe { &mut *pointer };
        valid(descriptor.magic == D::MAGIC)?;
        Ok(&mut descriptor.data)
    }

    /// Ends a descriptor.
    ///
    /// # Safety
    /// As for [`Descriptor::of`]; nobody uses it afterwards.
    pub unsafe fn destroy(pointer: *mut Descriptor<D>) -> SparseResult<()> {
        // SAFETY: the caller's promise; a descriptor comes from `create`.
        unsafe {
            Descriptor::of(pointer)?;
            (*pointer).magic = 0;
            drop(Box::from_raw(pointer));
        }
        Ok(())
    }
}

/// Sparse vector.
#[derive(Clone, Copy, Debug)]
pub struct SparseVector {
    /// Elements of the whole vector.
    pub size: i64,
    /// Elements that are stored.
    pub count: i64,
    /// Their places.
    pub indices: SparseAddress,
    /// Their values.
    pub values: SparseAddress,
    /// `cusparseIndexType_t`
    pub index_kind: i32,
    /// `cusparseIndexBase_t`
    pub base: i32,
    /// `cudaDataType`
    pub kind: i32,
}

impl Described for SparseVector {
    const MAGIC: u64 = 0x6865_6464_6c65_7376;
}

impl SparseVector {
    /// Returns the elements as those of a matrix of one column, so that they are checked and read as all others.
    pub fn elements<T>(&self) -> SparseResult<SparseElements<T>> {
        Ok(SparseElements {
            layout: SparseLayout::Rows,
            rows: 1,
            columns: self.size as usize,
            count: self.count as usize,
            offsets: IndexArray::Bounds(self.count),
            indices: IndexArray::new(self.indices, self.index_kind)?,
            values: self.values.cast(),
            base: self.base.into(),
        })
    }
}

/// Dense vector.
#[derive(Clone, Copy, Debug)]
pub struct DenseVector {
    /// Number of elements.
    pub size: i64,
    /// Their values.
    pub values: SparseAddress,
    /// `cudaDataType`
    pub kind: i32,
}

impl Described for DenseVector {
    const MAGIC: u64 = 0x6865_6464_6c65_6476;
}

/// Dense matrix.
#[derive(Clone, Copy, Debug)]
pub struct DenseArray {
    /// Number of rows.
    pub rows: i64,
    /// Number of columns.
    pub columns: i64,
    /// Elements from one column to the next, or from one row to the next.
    pub ld: i64,
    /// Values.
    pub values: SparseAddress,
    /// `cudaDataType`
    pub kind: i32,
    /// True if rows follow each other.
    pub is_by_rows: bool,
    /// Matrices of a batch.
    pub batch: i32,
    /// Elements from one of them to the next.
    pub stride: i64,
}

impl Described for DenseArray {
    const MAGIC: u64 = 0x6865_6464_6c65_646d;
}

impl DenseArray {
    /// Returns the matrix to be written, of a batch.
    pub fn view_mut<T: Number>(&self, item: i32) -> ViewMut<T> {
        let distance = i64::from(item) * self.stride;
        let whole =
            ViewMut::new(self.values.cast::<T>().wrapping_offset(distance as isize), self.ld as isize);
        if self.is_by_rows { whole.transposed() } else { whole }
    }

    /// Returns the matrix to be read, of a batch.
    pub fn view<T: Number>(&self, item: i32) -> View<T> {
        self.view_mut(item).read()
    }
}

/// Sparse matrix.
#[derive(Clone, Copy, Debug)]
pub struct SparseMatrix {
    /// Storage.
    pub layout: SparseLayout,
    /// Number of rows.
    pub rows: i64,
    /// Number of columns.
    pub columns: i64,
    /// Elements that are stored.
    pub count: i64,
    /// Bounds of rows or columns; rows of elements that are stored by coordinates.
    pub offsets: SparseAddress,
    /// Columns, or rows in compressed columns.
    pub indices: SparseAddress,
    /// Values.
    pub values: SparseAddress,
    /// `cusparseIndexType_t` of the offsets.
    pub offset_kind: i32,
    /// `cusparseIndexType_t` of the indices.
    pub index_kind: i32,
    /// `cusparseIndexBase_t`
    pub base: i32,
    /// `cudaDataType`
    pub kind: i32,
    /// `cusparseFillMode_t`
    pub fill: i32,
    /// `cusparseDiagType_t`
    pub diagonal: i32,
    /// Matrices of a batch.
    pub batch: i32,
    /// Offsets from one of them to the next.
    pub offset_stride: i64,
    /// Elements from one of them to the next.
    pub stride: i64,
}

impl Described for SparseMatrix {
    const MAGIC: u64 = 0x6865_6464_6c65_736d;
}

impl SparseMatrix {
    /// Returns the elements, of a batch.
    pub fn elements<T>(&self, item: i32) -> SparseResult<SparseElements<T>> {
        let (of_offsets, of_elements) = (i64::from(item) * self.offset_stride, i64::from(item) * self.stride);
        let of_first = if self.layout == SparseLayout::Coordinates { of_elements } else { of_offsets };
        Ok(SparseElements {
            layout: self.layout,
            rows: self.rows as usize,
            columns: self.columns as usize,
            count: self.count as usize,
            offsets: IndexArray::new(self.offsets, self.offset_kind)?.moved(of_first),
            indices: IndexArray::new(self.indices, self.index_kind)?.moved(of_elements),
            values: self.values.cast::<T>().wrapping_offset(of_elements as isize),
            base: self.base.into(),
        })
    }
}

/// Object of a routine: `cusparseSpGEMMDescr_t` and others.
#[derive(Clone, Copy, Debug)]
pub struct RoutineState {
    /// Multiplications of a product.
    pub products: i64,
}

impl Described for RoutineState {
    const MAGIC: u64 = 0x6865_6464_6c65_7273;
}

/// Report of an incomplete factorization: the first row without a pivot, or -1.
#[derive(Clone, Copy, Debug)]
pub struct PivotReport {
    /// The row, with the base of the matrix.
    pub row: i32,
}

impl Described for PivotReport {
    const MAGIC: u64 = 0x6865_6464_6c65_7072;
}

/// Checks a kind of numbers, and that others are the same.
pub fn one_kind(kind: i32, others: &[i32]) -> SparseResult<()> {
    let is_known = matches!(kind, 0 | 1 | 4 | 5);
    if is_known && others.iter().all(|other| *other == kind) {
        Ok(())
    } else {
        Err(SparseError(NOT_SUPPORTED))
    }
}
