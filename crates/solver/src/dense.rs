//! Matrices in columns that follow each other.

use heddle_blas::gemm::Product;
use heddle_blas::level3::TriangularSystem;
use heddle_blas::view::{Structure, View, ViewMut, Written};
use heddle_blas::{Number, Transpose, Triangle};
use std::ops::Range;

/// Matrix with elements of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseMatrix<T> {
    rows: usize,
    columns: usize,
    elements: Vec<T>,
}

/// Block of a matrix as an operand.
#[derive(Clone, Debug)]
pub struct DenseBlock<'a, T> {
    matrix: &'a DenseMatrix<T>,
    rows: Range<usize>,
    columns: Range<usize>,
    transpose: Transpose,
}

impl<'a, T: Number> DenseBlock<'a, T> {
    /// Returns the block, or its transpose.
    pub fn operand(self, transpose: Transpose) -> DenseBlock<'a, T> {
        DenseBlock { transpose, ..self }
    }

    /// Returns the conjugate transpose of the block.
    pub fn adjoint(self) -> DenseBlock<'a, T> {
        self.operand(Transpose::Conjugate)
    }

    /// Returns rows and columns of the operand.
    fn size(&self) -> (usize, usize) {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        if self.transpose == Transpose::No { (rows, columns) } else { (columns, rows) }
    }

    fn view(&self) -> View<T> {
        let matrix = self.matrix;
        assert!(
            self.rows.end <= matrix.rows && self.columns.end <= matrix.columns,
            "a block is in its matrix"
        );
        let whole = View::new(matrix.elements.as_ptr(), matrix.rows as isize);
        whole.from(self.rows.start, self.columns.start).operand(self.transpose)
    }
}

impl<T: Number> DenseMatrix<T> {
    /// Returns a matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> DenseMatrix<T> {
        DenseMatrix { rows, columns, elements: vec![T::ZERO; rows * columns] }
    }

    /// Returns a matrix with ones on its diagonal.
    pub fn identity(rows: usize, columns: usize) -> DenseMatrix<T> {
        DenseMatrix::from_fn(rows, columns, |i, j| if i == j { T::ONE } else { T::ZERO })
    }

    /// Returns a matrix from its elements.
    pub fn from_fn(rows: usize, columns: usize, mut of: impl FnMut(usize, usize) -> T) -> DenseMatrix<T> {
        let mut elements = Vec::with_capacity(rows * columns);
        for j in 0..columns {
            elements.extend((0..rows).map(|i| of(i, j)));
        }
        DenseMatrix { rows, columns, elements }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns all elements, column by column.
    pub fn elements(&self) -> &[T] {
        &self.elements
    }

    /// Returns an element.
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> T {
        self.elements[j * self.rows + i]
    }

    /// Writes an element.
    #[inline]
    pub fn set(&mut self, i: usize, j: usize, value: T) {
        self.elements[j * self.rows + i] = value;
    }

    /// Returns a column.
    #[inline]
    pub fn column(&self, j: usize) -> &[T] {
        &self.elements[j * self.rows..(j + 1) * self.rows]
    }

    /// Returns a column to be written.
    #[inline]
    pub fn column_mut(&mut self, j: usize) -> &mut [T] {
        &mut self.elements[j * self.rows..(j + 1) * self.rows]
    }

    /// Returns two different columns to be written, in the order of the arguments.
    #[inline]
    pub fn two_columns(&mut self, i: usize, j: usize) -> (&mut [T], &mut [T]) {
        let rows = self.rows;
        let (low, high) = (i.min(j), i.max(j));
        let (before, after) = self.elements.split_at_mut(high * rows);
        let (first, second) = (&mut before[low * rows..(low + 1) * rows], &mut after[..rows]);
        if i < j { (first, second) } else { (second, first) }
    }

    /// True if all numbers are finite.
    pub fn is_finite(&self) -> bool {
        use heddle_blas::Real as _;
        self.elements.iter().all(|it| it.re().to_f64().is_finite() && it.im().to_f64().is_finite())
    }

    /// Multiplies all elements by a real number.
    pub fn scale(&mut self, by: f64) {
        if by != 1.0 {
            let by = T::from_real(crate::real::<T>(by));
            for element in &mut self.elements {
                *element = *element * by;
            }
        }
    }

    /// Returns the conjugate transpose.
    pub fn adjoint(&self) -> DenseMatrix<T> {
        DenseMatrix::from_fn(self.columns, self.rows, |i, j| self.get(j, i).conj())
    }

    /// Returns the matrix whose stored triangle this is, with the other one mirrored and a real diagonal.
    pub fn hermitian(&self, triangle: Triangle) -> DenseMatrix<T> {
        DenseMatrix::from_fn(self.rows, self.columns, |i, j| {
            let is_stored = if triangle == Triangle::Lower { i > j } else { i < j };
            if i == j {
                T::from_real(self.get(i, i).re())
            } else if is_stored {
                self.get(i, j)
            } else {
                self.get(j, i).conj()
            }
        })
    }

    /// Returns the whole matrix as an operand.
    pub fn whole(&self) -> DenseBlock<'_, T> {
        self.block(0..self.rows, 0..self.columns)
    }

    /// Returns a block as an operand.
    pub fn block(&self, rows: Range<usize>, columns: Range<usize>) -> DenseBlock<'_, T> {
        DenseBlock { matrix: self, rows, columns, transpose: Transpose::No }
    }

    /// Returns a copy of a block.
    pub fn copied(&self, rows: Range<usize>, columns: Range<usize>) -> DenseMatrix<T> {
        DenseMatrix::from_fn(rows.len(), columns.len(), |i, j| self.get(rows.start + i, columns.start + j))
    }

    /// Writes a block at a place.
    pub fn place(&mut self, (row, column): (usize, usize), block: &DenseMatrix<T>) {
        for j in 0..block.columns {
            self.column_mut(column + j)[row..row + block.rows].copy_from_slice(block.column(j));
        }
    }

    /// Returns the product of two operands.
    pub fn product(a: &DenseBlock<'_, T>, b: &DenseBlock<'_, T>) -> DenseMatrix<T> {
        let mut product = DenseMatrix::zeros(a.size().0, b.size().1);
        product.add_product((0, 0), T::ONE, a, b);
        product
    }

    /// Adds a multiple of a product to the block that begins at a place.
    pub fn add_product(
        &mut self,
        place: (usize, usize),
        alpha: T,
        a: &DenseBlock<'_, T>,
        b: &DenseBlock<'_, T>,
    ) {
        self.add_written_product(place, alpha, a, b, Written::All);
    }

    /// Adds a multiple of a product to a part of the block that begins at a place.
    pub fn add_written_product(
        &mut self,
        (row, column): (usize, usize),
        alpha: T,
        a: &DenseBlock<'_, T>,
        b: &DenseBlock<'_, T>,
        written: Written,
    ) {
        let ((m, k), (inner, n)) = (a.size(), b.size());
        assert!(
            k == inner && row + m <= self.rows && column + n <= self.columns,
            "operands fit each other and the result"
        );
        let c = ViewMut::new(self.elements.as_mut_ptr(), self.rows as isize).from(row, column);
        let product = Product { m, n, k, alpha, a: a.view(), b: b.view(), beta: T::ONE, c, written };
        // SAFETY: blocks are in their matrices; the result is borrowed alone, and overlaps no operand.
        unsafe { product.run() };
    }

    /// Solves `op(A) · X = B` for a triangular operand; `X` replaces these rows of `B`, this matrix.
    pub fn solve_triangular(
        &mut self,
        row: usize,
        a: &DenseBlock<'_, T>,
        triangle: Triangle,
        transpose: Transpose,
    ) {
        let size = a.rows.len();
        assert!(size == a.columns.len() && row + size <= self.rows, "a triangle fits its right sides");
        let structure = Structure::Triangular { triangle, unit: false };
        let a = a.view().with(structure).operand(transpose);
        let b = ViewMut::new(self.elements.as_mut_ptr(), self.rows as isize).from(row, 0);
        // SAFETY: the triangle is in its matrix; the right sides are borrowed alone.
        unsafe {
            TriangularSystem { is_right: false, m: size, n: self.columns, alpha: T::ONE, a, b }.solve();
        }
    }
}

/// `y += alpha · x`
#[inline]
pub fn add_multiple<T: Number>(alpha: T, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += alpha * *x;
    }
}

/// Returns the sum of the products of the conjugates of `x` with `y`.
#[inline]
pub fn inner_product<T: Number>(x: &[T], y: &[T]) -> T {
    const SUMS: usize = 8;
    let mut sums = [T::ZERO; SUMS];
    let (xs, ys) = (x.chunks_exact(SUMS), y.chunks_exact(SUMS));
    let mut rest = T::ZERO;
    for (x, y) in xs.remainder().iter().zip(y.get(x.len() / SUMS * SUMS..).unwrap_or(&[])) {
        rest += x.conj() * *y;
    }
    for (x, y) in xs.zip(ys) {
        for step in 0..SUMS {
            sums[step] += x[step].conj() * y[step];
        }
    }
    sums.into_iter().fold(rest, |all, sum| all + sum)
}
