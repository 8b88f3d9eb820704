//! Matrices as lists of columns: general, banded, triangular, packed. Each column is a run of rows that follow each other in memory.

use crate::Triangle;

/// Storage of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnLayout {
    /// All rows; columns are `ld` elements apart.
    General {
        /// Elements from one column to the next.
        ld: isize,
    },
    /// Diagonals from `lower` below the main one to `upper` above it, each in a row of the storage.
    Band {
        /// Elements from one column to the next.
        ld: isize,
        /// Diagonals below the main one.
        lower: usize,
        /// Diagonals above it.
        upper: usize,
    },
    /// A triangle of a square matrix.
    Triangle {
        /// Elements from one column to the next.
        ld: isize,
        /// The triangle.
        triangle: Triangle,
    },
    /// Diagonals on one side of the main one.
    TriangleBand {
        /// Elements from one column to the next.
        ld: isize,
        /// The side.
        triangle: Triangle,
        /// Diagonals next to the main one.
        width: usize,
    },
    /// A triangle whose columns follow each other.
    Packed {
        /// The triangle.
        triangle: Triangle,
    },
}

impl ColumnLayout {
    /// Returns the triangle that is stored, if it is one.
    pub fn triangle(self) -> Option<Triangle> {
        match self {
            ColumnLayout::General { .. } | ColumnLayout::Band { .. } => None,
            ColumnLayout::Triangle { triangle, .. }
            | ColumnLayout::TriangleBand { triangle, .. }
            | ColumnLayout::Packed { triangle } => Some(triangle),
        }
    }
}

/// Matrix in columns.
#[derive(Clone, Copy, Debug)]
pub struct Columns<T> {
    /// Address of the storage.
    pub pointer: *mut T,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub count: usize,
    /// Storage of the columns.
    pub layout: ColumnLayout,
}

/// Rows of a column that are stored.
#[derive(Clone, Copy, Debug)]
pub struct Column<T> {
    /// The first row.
    pub first: usize,
    /// Number of rows.
    pub length: usize,
    /// Address of the first row's element.
    pub pointer: *mut T,
}

impl<T> Column<T> {
    /// Returns the elements.
    ///
    /// # Safety
    /// The matrix is there, and nobody writes it meanwhile.
    #[inline(always)]
    pub unsafe fn elements<'a>(self) -> &'a [T] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.pointer, self.length) }
    }

    /// Returns the elements to be written.
    ///
    /// # Safety
    /// The matrix is there, and nobody else uses the column meanwhile.
    #[inline(always)]
    pub unsafe fn elements_mut<'a>(self) -> &'a mut [T] {
        if self.length == 0 {
            return &mut [];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.length) }
    }
}

impl<T> Columns<T> {
    /// Returns a square matrix of which a triangle is stored.
    pub fn square(pointer: *const T, n: usize, layout: ColumnLayout) -> Columns<T> {
        Columns { pointer: pointer.cast_mut(), rows: n, count: n, layout }
    }

    /// Returns a column.
    #[inline(always)]
    pub fn column(&self, j: usize) -> Column<T> {
        let start = |ld: isize| self.pointer.wrapping_offset(j as isize * ld);
        let n = self.rows;
        let (first, end, pointer) = match self.layout {
            ColumnLayout::General { ld } => (0, n, start(ld)),
            ColumnLayout::Band { ld, lower, upper } => {
                let first = j.saturating_sub(upper).min(n);
                (first, (j + lower + 1).min(n), start(ld).wrapping_add(upper + first).wrapping_sub(j))
            }
            ColumnLayout::Triangle { ld, triangle: Triangle::Lower } => (j, n, start(ld).wrapping_add(j)),
            ColumnLayout::Triangle { ld, triangle: Triangle::Upper } => (0, j + 1, start(ld)),
            ColumnLayout::TriangleBand { ld, triangle: Triangle::Lower, width } => {
                (j, (j + width + 1).min(n), start(ld))
            }
            ColumnLayout::TriangleBand { ld, triangle: Triangle::Upper, width } => {
                let first = j.saturating_sub(width);
                (first, j + 1, start(ld).wrapping_add(width + first).wrapping_sub(j))
            }
            ColumnLayout::Packed { triangle: Triangle::Lower } => {
                (j, n, self.pointer.wrapping_add(j * (2 * n - j + 1) / 2))
            }
            ColumnLayout::Packed { triangle: Triangle::Upper } => {
                (0, j + 1, self.pointer.wrapping_add(j * (j + 1) / 2))
            }
        };
        Column { first, length: end.saturating_sub(first), pointer }
    }
}
