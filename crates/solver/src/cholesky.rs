//! Cholesky factors `A = L · Lᴴ` of Hermitian positive definite matrices.

use crate::dense::DenseMatrix;
use heddle_blas::view::Written;
use heddle_blas::{Number, Real, Transpose, Triangle};

/// Columns that are factored before the rest is updated.
const PANEL: usize = 48;

/// Factors a matrix of which the lower triangle is read; `L` replaces it. Returns 0, or the order of the first leading minor that is
/// not positive, where it stops.
pub fn factor_cholesky<T: Number>(a: &mut DenseMatrix<T>) -> i32 {
    let n = a.rows();
    for first in (0..n).step_by(PANEL) {
        let end = n.min(first + PANEL);
        for j in first..end {
            for p in first..j {
                let (known, column) = a.two_columns(p, j);
                let factor = known[j].conj();
                crate::dense::add_multiple(-factor, &known[j..], &mut column[j..]);
            }
            let pivot = a.get(j, j).re();
            // A pivot that is no number is not positive.
            let is_positive = pivot > T::Real::ZERO && pivot.to_f64().is_finite();
            if !is_positive {
                return j as i32 + 1;
            }
            let root = pivot.sqrt();
            let column = a.column_mut(j);
            column[j] = T::from_real(root);
            for element in &mut column[j + 1..] {
                *element = *element / T::from_real(root);
            }
        }
        if end < n {
            let panel = a.copied(end..n, first..end);
            let written = Written::Hermitian(Triangle::Lower);
            a.add_written_product((end, end), -T::ONE, &panel.whole(), &panel.whole().adjoint(), written);
        }
    }
    0
}

/// Solves `A · X = B` for a factored matrix; `X` replaces `B`.
pub fn solve_cholesky<T: Number>(l: &DenseMatrix<T>, b: &mut DenseMatrix<T>) {
    b.solve_triangular(0, &l.whole(), Triangle::Lower, Transpose::No);
    b.solve_triangular(0, &l.whole(), Triangle::Lower, Transpose::Conjugate);
}

/// Returns the inverse of a factored matrix, or the number of the first zero on the diagonal, counted from one.
pub fn invert_cholesky<T: Number>(l: &DenseMatrix<T>) -> Result<DenseMatrix<T>, i32> {
    let n = l.rows();
    if let Some(zero) = (0..n).position(|i| l.get(i, i) == T::ZERO) {
        return Err(zero as i32 + 1);
    }
    let mut inverse = DenseMatrix::identity(n, n);
    solve_cholesky(l, &mut inverse);
    Ok(inverse)
}
