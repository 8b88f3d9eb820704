//! Matrices that packing reads: element strides, conjugation, and structure beyond what is stored.

use crate::{Number, Transpose, Triangle};

/// Structure of a matrix of which only a part is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// All elements are stored.
    General,
    /// The other triangle mirrors the stored one.
    Symmetric(Triangle),
    /// The other triangle mirrors the conjugates; the diagonal is real.
    Hermitian(Triangle),
    /// The other triangle is zero; with `unit`, the diagonal is one and not read.
    Triangular {
        /// The stored triangle.
        triangle: Triangle,
        /// True for a diagonal of ones.
        unit: bool,
    },
}

/// Matrix that is read.
#[derive(Clone, Copy, Debug)]
pub struct View<T> {
    pointer: *const T,
    /// Elements from one row to the next.
    pub row: isize,
    /// Elements from one column to the next.
    pub column: isize,
    /// True if elements are read as their conjugates.
    pub conj: bool,
    /// Structure of the matrix.
    pub structure: Structure,
}

// SAFETY: a view only reads, and its maker promises that nobody writes meanwhile.
unsafe impl<T: Sync> Send for View<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for View<T> {}

impl<T: Number> View<T> {
    /// Returns a matrix in columns that are `ld` elements apart.
    pub fn new(pointer: *const T, ld: isize) -> View<T> {
        View { pointer, row: 1, column: ld, conj: false, structure: Structure::General }
    }

    /// Returns the same elements with a structure.
    pub fn with(self, structure: Structure) -> View<T> {
        View { structure, ..self }
    }

    /// Returns the operand that a transposition asks for.
    pub fn operand(self, transpose: Transpose) -> View<T> {
        match transpose {
            Transpose::No => self,
            Transpose::Yes => self.transposed(),
            Transpose::Conjugate => View { conj: !self.conj, ..self.transposed() },
        }
    }

    /// Returns the transpose.
    pub fn transposed(self) -> View<T> {
        let structure = match self.structure {
            Structure::General => Structure::General,
            Structure::Symmetric(triangle) => Structure::Symmetric(triangle.transposed()),
            Structure::Hermitian(triangle) => Structure::Hermitian(triangle.transposed()),
            Structure::Triangular { triangle, unit } => {
                Structure::Triangular { triangle: triangle.transposed(), unit }
            }
        };
        View { row: self.column, column: self.row, structure, ..self }
    }

    /// Returns the address of an element as it is stored.
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> *const T {
        self.pointer.wrapping_offset(i as isize * self.row + j as isize * self.column)
    }

    /// Returns the part from an element on; a structure stays with the whole.
    pub fn from(self, i: usize, j: usize) -> View<T> {
        View { pointer: self.at(i, j), structure: Structure::General, ..self }
    }

    /// Reads an element.
    ///
    /// # Safety
    /// It is in the matrix.
    #[inline(always)]
    pub unsafe fn get(&self, i: usize, j: usize) -> T {
        // SAFETY: the caller's promise, for this element and its mirror.
        let read = |i, j| unsafe { self.at(i, j).read() }.conj_if(self.conj);
        let is_stored = |triangle| if triangle == Triangle::Lower { i >= j } else { i <= j };
        match self.structure {
            Structure::General => read(i, j),
            Structure::Symmetric(triangle) => {
                if is_stored(triangle) {
                    read(i, j)
                } else {
                    read(j, i)
                }
            }
            Structure::Hermitian(_) if i == j => T::from_real(read(i, j).re()),
            Structure::Hermitian(triangle) => {
                if is_stored(triangle) {
                    read(i, j)
                } else {
                    read(j, i).conj()
                }
            }
            Structure::Triangular { unit: true, .. } if i == j => T::ONE,
            Structure::Triangular { triangle, .. } => {
                if is_stored(triangle) {
                    read(i, j)
                } else {
                    T::ZERO
                }
            }
        }
    }
}

/// Part of the result that a product writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// All of it.
    All,
    /// A triangle with the diagonal.
    Triangle(Triangle),
    /// A triangle, whose diagonal is kept real.
    Hermitian(Triangle),
}

impl Written {
    /// Returns the part of the transposed result.
    pub fn transposed(self) -> Written {
        match self {
            Written::All => Written::All,
            Written::Triangle(triangle) => Written::Triangle(triangle.transposed()),
            Written::Hermitian(triangle) => Written::Hermitian(triangle.transposed()),
        }
    }

    /// Returns the triangle, if it is one.
    pub fn triangle(self) -> Option<Triangle> {
        match self {
            Written::All => None,
            Written::Triangle(triangle) | Written::Hermitian(triangle) => Some(triangle),
        }
    }
}

/// Matrix that is written.
#[derive(Clone, Copy, Debug)]
pub struct ViewMut<T> {
    pointer: *mut T,
    /// Elements from one row to the next.
    pub row: isize,
    /// Elements from one column to the next.
    pub column: isize,
}

// SAFETY: threads write different elements, as those that share a view promise.
unsafe impl<T: Send> Send for ViewMut<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for ViewMut<T> {}

impl<T: Number> ViewMut<T> {
    /// Returns a matrix in columns that are `ld` elements apart.
    pub fn new(pointer: *mut T, ld: isize) -> ViewMut<T> {
        ViewMut { pointer, row: 1, column: ld }
    }

    /// Returns the transpose.
    pub fn transposed(self) -> ViewMut<T> {
        ViewMut { row: self.column, column: self.row, ..self }
    }

    /// Returns the address of an element.
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> *mut T {
        self.pointer.wrapping_offset(i as isize * self.row + j as isize * self.column)
    }

    /// Returns the part from an element on.
    pub fn from(self, i: usize, j: usize) -> ViewMut<T> {
        ViewMut { pointer: self.at(i, j), ..self }
    }

    /// Returns the matrix to be read.
    pub fn read(self) -> View<T> {
        View { row: self.row, column: self.column, ..View::new(self.pointer, 0) }
    }
}
