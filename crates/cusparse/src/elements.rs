//! Elements of sparse matrices in the program's memory.

use crate::descriptor::SparseAddress;
use crate::status::{NOT_SUPPORTED, SparseError, SparseResult};
use heddle_blas::{Number, Transpose};
use heddle_solver::sparse_rows::sort_rows;
use heddle_solver::sparse_system::SparseRow;

/// Storage of a sparse matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SparseLayout {
    /// Compressed rows.
    Rows,
    /// Compressed columns.
    Columns,
    /// Row and column of each element.
    Coordinates,
}

/// Array of integers.
#[derive(Clone, Copy, Debug)]
pub enum IndexArray {
    /// Of 32 bits.
    Narrow(*mut i32),
    /// Of 64 bits.
    Wide(*mut i64),
    /// The bounds of the only row, which has this many elements.
    Bounds(i64),
}

impl IndexArray {
    /// Returns an array of a `cusparseIndexType_t`.
    pub fn new(address: SparseAddress, kind: i32) -> SparseResult<IndexArray> {
        match kind {
            2 => Ok(IndexArray::Narrow(address.cast())),
            3 => Ok(IndexArray::Wide(address.cast())),
            _ => Err(SparseError(NOT_SUPPORTED)),
        }
    }

    /// Returns the array from an element on.
    pub fn moved(self, distance: i64) -> IndexArray {
        match self {
            IndexArray::Narrow(first) => IndexArray::Narrow(first.wrapping_offset(distance as isize)),
            IndexArray::Wide(first) => IndexArray::Wide(first.wrapping_offset(distance as isize)),
            IndexArray::Bounds(_) => self,
        }
    }

    /// True if there is no array.
    pub fn is_null(self) -> bool {
        match self {
            IndexArray::Narrow(first) => first.is_null(),
            IndexArray::Wide(first) => first.is_null(),
            IndexArray::Bounds(_) => false,
        }
    }

    /// Reads an integer.
    ///
    /// # Safety
    /// It is there.
    #[inline(always)]
    pub unsafe fn get(self, i: usize) -> i64 {
        match self {
            // SAFETY: the caller's promise.
            IndexArray::Narrow(first) => unsafe { first.add(i).read() }.into(),
            // SAFETY: the caller's promise.
            IndexArray::Wide(first) => unsafe { first.add(i).read() },
            IndexArray::Bounds(count) => {
                if i == 0 {
                    0
                } else {
                    count
                }
            }
        }
    }

    /// Writes an integer.
    ///
    /// # Safety
    /// It is there.
    #[inline(always)]
    pub unsafe fn set(self, i: usize, value: i64) {
        match self {
            // SAFETY: the caller's promise.
            IndexArray::Narrow(first) => unsafe {
                first.add(i).write(i32::try_from(value).unwrap_or(i32::MAX))
            },
            // SAFETY: the caller's promise.
            IndexArray::Wide(first) => unsafe { first.add(i).write(value) },
            IndexArray::Bounds(_) => {}
        }
    }
}

/// Elements of a sparse matrix.
#[derive(Clone, Copy, Debug)]
pub struct SparseElements<T> {
    /// Storage.
    pub layout: SparseLayout,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of elements.
    pub count: usize,
    /// Bounds of rows or columns; rows of elements that are stored by coordinates.
    pub offsets: IndexArray,
    /// Columns, or rows in compressed columns.
    pub indices: IndexArray,
    /// Values.
    pub values: *mut T,
    /// The first index.
    pub base: i64,
}

impl<T: Number> SparseElements<T> {
    /// Calls a function with row, column, position and value of each element. Indices beyond the matrix are left out.
    ///
    /// # Safety
    /// The arrays are there.
    #[inline(always)]
    pub unsafe fn for_each(&self, mut of: impl FnMut(usize, usize, usize, T)) {
        let SparseElements { rows, columns, base, .. } = *self;
        // SAFETY: the caller's promise.
        unsafe {
            if self.layout == SparseLayout::Coordinates {
                for p in 0..self.count {
                    let (i, j) =
                        ((self.offsets.get(p) - base) as usize, (self.indices.get(p) - base) as usize);
                    if i < rows && j < columns {
                        of(i, j, p, self.values.add(p).read());
                    }
                }
                return;
            }
            let is_by_rows = self.layout == SparseLayout::Rows;
            let (major, minor) = if is_by_rows { (rows, columns) } else { (columns, rows) };
            // A vector's bounds begin at zero, whatever its base is.
            let first = if matches!(self.offsets, IndexArray::Bounds(_)) { 0 } else { base };
            for line in 0..major {
                let bounds = (self.offsets.get(line) - first).max(0)..self.offsets.get(line + 1) - first;
                for p in bounds {
                    let (p, other) = (p as usize, (self.indices.get(p as usize) - base) as usize);
                    if other < minor {
                        let value = self.values.add(p).read();
                        if is_by_rows { of(line, other, p, value) } else { of(other, line, p, value) }
                    }
                }
            }
        }
    }

    /// Returns the rows of the matrix, or of its transpose, with ascending columns.
    ///
    /// # Safety
    /// The arrays are there.
    pub unsafe fn load(&self, transpose: Transpose) -> Vec<SparseRow<T>> {
        let is_plain = transpose == Transpose::No;
        let conj = transpose == Transpose::Conjugate;
        let mut rows = vec![SparseRow::new(); if is_plain { self.rows } else { self.columns }];
        // SAFETY: the caller's promise.
        unsafe {
            self.for_each(|i, j, _, value| {
                let (row, column) = if is_plain { (i, j) } else { (j, i) };
                rows[row].push((column, value.conj_if(conj)));
            });
        }
        sort_rows(&mut rows);
        rows
    }

    /// Writes the bounds of rows or columns that have these lengths.
    ///
    /// # Safety
    /// The array is there.
    pub unsafe fn store_bounds(&self, lengths: impl Iterator<Item = usize>) {
        let mut end = self.base;
        // SAFETY: the caller's promise.
        unsafe {
            self.offsets.set(0, end);
            for (line, length) in lengths.enumerate() {
                end += length as i64;
                self.offsets.set(line + 1, end);
            }
        }
    }

    /// Writes lines: rows, or in compressed columns columns, with their bounds, or with the row of each element.
    ///
    /// # Safety
    /// The arrays have room.
    pub unsafe fn store(&self, lines: &[SparseRow<T>]) {
        // SAFETY: the caller's promise.
        unsafe {
            let is_compressed = self.layout != SparseLayout::Coordinates;
            if is_compressed {
                self.store_bounds(lines.iter().map(Vec::len));
            }
            let elements =
                lines.iter().enumerate().flat_map(|(line, row)| row.iter().map(move |it| (line, *it)));
            for (p, (line, (other, value))) in elements.enumerate() {
                if !is_compressed {
                    self.offsets.set(p, line as i64 + self.base);
                }
                self.indices.set(p, other as i64 + self.base);
                self.values.add(p).write(value);
            }
        }
    }
}
