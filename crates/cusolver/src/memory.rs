//! Matrices and arrays of the program.

use crate::status::{INVALID_VALUE, SolverError, SolverResult, valid};
use heddle_blas::view::{View, ViewMut};
use heddle_blas::{Number, Transpose, Triangle};
use heddle_solver::dense::DenseMatrix;

/// Returns a length; negative ones are errors.
pub fn length(value: i64) -> SolverResult<usize> {
    valid(value >= 0)?;
    Ok(value as usize)
}

/// Reads `cublasFillMode_t`.
pub fn triangle(value: i32) -> SolverResult<Triangle> {
    match value {
        0 => Ok(Triangle::Lower),
        1 => Ok(Triangle::Upper),
        _ => Err(SolverError(INVALID_VALUE)),
    }
}

/// Reads `cublasOperation_t`.
pub fn transpose(value: i32) -> SolverResult<Transpose> {
    valid((0..=2).contains(&value))?;
    Ok([Transpose::No, Transpose::Yes, Transpose::Conjugate][value as usize])
}

/// Matrix of the program, in columns.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMatrix<T> {
    pointer: *mut T,
    ld: usize,
    rows: usize,
    columns: usize,
}

impl<T: Number> DeviceMatrix<T> {
    /// Checks the arguments of a matrix.
    pub fn new(pointer: *const T, ld: i64, rows: usize, columns: usize) -> SolverResult<DeviceMatrix<T>> {
        valid(ld >= 1 && ld as usize >= rows)?;
        valid(rows == 0 || columns == 0 || !pointer.is_null())?;
        Ok(DeviceMatrix { pointer: pointer.cast_mut(), ld: ld as usize, rows, columns })
    }

    /// Returns the matrix of a batch at a place, in elements.
    pub fn moved(self, distance: isize) -> DeviceMatrix<T> {
        DeviceMatrix { pointer: self.pointer.wrapping_offset(distance), ..self }
    }

    /// Returns the matrix of an array of pointers.
    ///
    /// # Safety
    /// The array is there.
    pub unsafe fn of_array(self, array: *const *mut T, item: usize) -> DeviceMatrix<T> {
        // SAFETY: the caller's promise.
        DeviceMatrix { pointer: unsafe { *array.add(item) }, ..self }
    }

    /// Returns the matrix to be read.
    pub fn view(self) -> View<T> {
        View::new(self.pointer, self.ld as isize)
    }

    /// Returns the matrix to be written.
    pub fn view_mut(self) -> ViewMut<T> {
        ViewMut::new(self.pointer, self.ld as isize)
    }

    /// Returns a copy.
    ///
    /// # Safety
    /// The matrix is there.
    pub unsafe fn load(self) -> DenseMatrix<T> {
        let view = self.view();
        // SAFETY: the caller's promise.
        DenseMatrix::from_fn(self.rows, self.columns, |i, j| unsafe { view.at(i, j).read() })
    }

    /// Writes the elements for which a condition on row and column holds.
    ///
    /// # Safety
    /// The matrix is there.
    pub unsafe fn store_if(self, from: &DenseMatrix<T>, is_written: impl Fn(usize, usize) -> bool) {
        for j in 0..self.columns.min(from.columns()) {
            for (i, value) in from.column(j).iter().enumerate().take(self.rows) {
                if is_written(i, j) {
                    // SAFETY: the caller's promise.
                    unsafe { self.view_mut().at(i, j).write(*value) };
                }
            }
        }
    }

    /// Writes all elements that the other matrix has.
    ///
    /// # Safety
    /// The matrix is there.
    pub unsafe fn store(self, from: &DenseMatrix<T>) {
        // SAFETY: the caller's promise.
        unsafe { self.store_if(from, |_, _| true) };
    }

    /// Writes a triangle with the diagonal: of a lower triangular matrix, or of its conjugate transpose.
    ///
    /// # Safety
    /// The matrix is there.
    pub unsafe fn store_triangle(self, lower: &DenseMatrix<T>, triangle: Triangle) {
        // SAFETY: the caller's promise.
        unsafe {
            match triangle {
                Triangle::Lower => self.store_if(lower, |i, j| i >= j),
                Triangle::Upper => self.store_if(&lower.adjoint(), |i, j| i <= j),
            }
        }
    }
}

/// Writes the report of a routine, if the program wants it.
///
/// # Safety
/// The place is there, or null.
pub unsafe fn report(place: *mut i32, value: i32) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}

/// Reads an array.
///
/// # Safety
/// It is there, or empty.
pub unsafe fn read_array<V: Copy>(from: *const V, count: usize) -> Vec<V> {
    // SAFETY: the caller's promise.
    (0..count).map(|i| unsafe { from.add(i).read() }).collect()
}

/// Writes an array.
///
/// # Safety
/// It is there, or empty.
pub unsafe fn write_array<V: Copy>(to: *mut V, values: &[V]) {
    for (i, value) in values.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.add(i).write(*value) };
    }
}
