//! Systems of sparse equations, by factors whose rows are kept sparse.
//!
//! After: George & Heath, "Solution of Sparse Linear Least Squares Problems Using Givens Rotations", 1980: rows enter the triangle one
//! after the other, and each is rotated with the rows of the triangle until one has room for it.

use heddle_blas::{Number, Real};

/// Elements of a row, with ascending columns.
pub type SparseRow<T> = Vec<(usize, T)>;

/// Solution of a system, and the first row whose pivot is too small, if there is one.
#[derive(Clone, Debug)]
pub struct SparseSolution<T> {
    /// The solution.
    pub x: Vec<T>,
    /// First row without a pivot.
    pub singular: Option<usize>,
}

/// Returns `a · x + b · y` of two rows, whose first elements are in one column, and `c · x + d · y`, without that column.
fn combine<T: Number>(
    (a, b): (T, T),
    (c, d): (T, T),
    x: &SparseRow<T>,
    y: &SparseRow<T>,
) -> (SparseRow<T>, SparseRow<T>) {
    let (mut first, mut second) = (Vec::with_capacity(x.len() + y.len()), Vec::new());
    let (mut i, mut j) = (0, 0);
    loop {
        let (of_x, of_y) = (x.get(i), y.get(j));
        let column = match (of_x, of_y) {
            (Some(x), Some(y)) => x.0.min(y.0),
            (Some(x), None) => x.0,
            (None, Some(y)) => y.0,
            (None, None) => break,
        };
        let value = |it: Option<&(usize, T)>, step: &mut usize| match it {
            Some((found, value)) if *found == column => {
                *step += 1;
                *value
            }
            _ => T::ZERO,
        };
        let (x, y) = (value(of_x, &mut i), value(of_y, &mut j));
        first.push((column, a * x + b * y));
        if first.len() > 1 {
            second.push((column, c * x + d * y));
        }
    }
    (first, second)
}

/// Solves the upper triangular system of rows that begin with their diagonal elements.
fn substitute<T: Number>(rows: &[SparseRow<T>], mut b: Vec<T>) -> Vec<T> {
    for i in (0..rows.len()).rev() {
        let mut sum = b[i];
        for (column, value) in rows[i].iter().skip(1) {
            sum -= *value * b[*column];
        }
        b[i] = match rows[i].first() {
            Some((_, diagonal)) => sum / *diagonal,
            None => sum / T::ZERO,
        };
    }
    b
}

/// Returns the first row whose diagonal element is missing or not larger than a tolerance.
fn first_small<T: Number>(rows: &[SparseRow<T>], tolerance: f64) -> Option<usize> {
    rows.iter().position(|row| {
        let size = row.first().map_or(0.0, |it| it.1.modulus().to_f64());
        // A pivot that is no number is none.
        let is_large = size > tolerance.max(0.0);
        !is_large
    })
}

/// Solves a square system by QR factors.
pub fn solve_by_rotations<T: Number>(
    rows: impl IntoIterator<Item = SparseRow<T>>,
    b: &[T],
    tolerance: f64,
) -> SparseSolution<T> {
    let n = b.len();
    let (mut triangle, mut sides) = (vec![SparseRow::new(); n], vec![T::ZERO; n]);
    for (mut row, side) in rows.into_iter().zip(b) {
        let mut side = *side;
        while let Some(position) = row.iter().position(|it| it.1 != T::ZERO) {
            row.drain(..position);
            let (column, y) = row[0];
            if column >= n {
                break;
            }
            if triangle[column].is_empty() {
                (triangle[column], sides[column]) = (row, side);
                break;
            }
            let x = triangle[column][0].1;
            let (re, im) = (x.modulus().to_f64(), y.modulus().to_f64());
            let r = re.hypot(im);
            let part = |it: T, conj: bool| {
                let it = it.conj_if(conj);
                let scaled = |part: T::Real| T::Real::from_f64(part.to_f64() / r);
                T::from_parts(scaled(it.re()), scaled(it.im()))
            };
            let ((a, b), (c, d)) = ((part(x, true), part(y, true)), (-part(y, false), part(x, false)));
            let (above, below) = combine((a, b), (c, d), &triangle[column], &row);
            (triangle[column], row) = (above, below);
            (sides[column], side) = (a * sides[column] + b * side, c * sides[column] + d * side);
        }
    }
    let singular = first_small(&triangle, tolerance);
    SparseSolution { x: substitute(&triangle, sides), singular }
}

/// Solves a Hermitian positive definite system by Cholesky factors. Rows hold the elements from the diagonal on.
pub fn solve_sparse_cholesky<T: Number>(
    mut rows: Vec<SparseRow<T>>,
    b: &[T],
    tolerance: f64,
) -> SparseSolution<T> {
    let n = b.len().min(rows.len());
    let mut y = b.to_vec();
    for k in 0..n {
        let pivot = match rows[k].first() {
            Some((column, value)) if *column == k => value.re().to_f64(),
            _ => 0.0,
        };
        // A pivot that is no number is not positive.
        let is_positive = pivot > 0.0 && pivot.sqrt() > tolerance && pivot.is_finite();
        if !is_positive {
            return SparseSolution { x: b.to_vec(), singular: Some(k) };
        }
        let root = T::from_real(T::Real::from_f64(pivot.sqrt()));
        for element in &mut rows[k] {
            element.1 = element.1 / root;
        }
        y[k] = y[k] / root;
        let row = std::mem::take(&mut rows[k]);
        for (place, (i, value)) in row.iter().enumerate().skip(1) {
            if *i >= n {
                break;
            }
            let factor = -value.conj();
            let (first, rest) = (rows[*i].clone(), row[place..].to_vec());
            rows[*i] = combine((T::ONE, factor), (T::ZERO, T::ZERO), &first, &rest).0;
            let known = y[k];
            y[*i] += factor * known;
        }
        rows[k] = row;
    }
    SparseSolution { x: substitute(&rows[..n], y), singular: None }
}

/// Description of a sparse matrix, by which cuSPARSE and cuSOLVER mean one object: `cusparseMatDescr_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SparseDescription {
    /// Distinguishes descriptions from other memory.
    pub magic: u64,
    /// `cusparseMatrixType_t`
    pub kind: i32,
    /// `cusparseFillMode_t`
    pub fill: i32,
    /// `cusparseDiagType_t`
    pub diagonal: i32,
    /// `cusparseIndexBase_t`
    pub base: i32,
}

impl SparseDescription {
    /// Magic number of all descriptions.
    pub const MAGIC: u64 = 0x6865_6464_6c65_7364;
}
