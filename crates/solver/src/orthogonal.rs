//! QR factors `A = Q · R` by Householder reflectors, and least squares.

use crate::dense::DenseMatrix;
use crate::reflector::{GROUP, ReflectorSet, reflect, reflect_column};
use heddle_blas::{Number, Transpose, Triangle};

/// Factors a matrix: `R` is at and above the diagonal of the result's matrix, the reflectors of `Q` are below.
pub fn factor_qr<T: Number>(a: DenseMatrix<T>) -> ReflectorSet<T> {
    let (rows, columns) = (a.rows(), a.columns());
    let count = rows.min(columns);
    let mut set = ReflectorSet { vectors: a, factors: vec![T::ZERO; count], offset: 0 };
    for first in (0..count).step_by(GROUP) {
        let end = count.min(first + GROUP);
        for j in first..end {
            let (head, tail) = set.vectors.column_mut(j)[j..].split_at_mut(1);
            let (factor, beta) = reflect(head[0], tail);
            head[0] = T::from_real(beta);
            set.factors[j] = factor;
            if factor != T::ZERO {
                for other in j + 1..end {
                    let (vector, column) = set.vectors.two_columns(j, other);
                    reflect_column(factor, &vector[j + 1..], &mut column[j..]);
                }
            }
        }
        if end < columns {
            // The trailing columns are written while the group's are read: they change owner meanwhile.
            let mut trailing = set.vectors.copied(0..rows, end..columns);
            set.apply_group((first, end), true, &mut trailing, 0);
            set.vectors.place((0, end), &trailing);
        }
    }
    set
}

impl<T: Number> ReflectorSet<T> {
    /// Returns the first columns of `Q`.
    pub fn form(&self, columns: usize) -> DenseMatrix<T> {
        let mut q = DenseMatrix::identity(self.vectors.rows(), columns);
        let count = self.factors.len();
        for first in (0..count).step_by(GROUP).rev() {
            // Earlier columns are still those of the identity, which the group does not change.
            self.apply_group((first, count.min(first + GROUP)), false, &mut q, first.min(columns));
        }
        q
    }

    /// Returns `R`, with as many rows as reflectors.
    pub fn upper(&self) -> DenseMatrix<T> {
        DenseMatrix::from_fn(self.factors.len(), self.vectors.columns(), |i, j| {
            if i <= j { self.vectors.get(i, j) } else { T::ZERO }
        })
    }
}

/// Solves `min |A · X - B|` for a matrix with as many rows as columns, or more; `X` replaces the first rows of `B`. Returns 0, or the
/// number of the first zero on the diagonal of `R`, counted from one.
pub fn least_squares<T: Number>(a: DenseMatrix<T>, b: &mut DenseMatrix<T>) -> i32 {
    let columns = a.columns();
    let set = factor_qr(a);
    set.apply(true, b);
    if let Some(zero) = (0..columns).position(|i| set.vectors.get(i, i) == T::ZERO) {
        return zero as i32 + 1;
    }
    let r = set.vectors.block(0..columns, 0..columns);
    b.solve_triangular(0, &r, Triangle::Upper, Transpose::No);
    0
}
