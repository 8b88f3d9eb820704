//! Householder reflectors `H = I - τ · v · vᴴ`, whose vectors begin with a one that is not stored.
//!
//! After: Schreiber & Van Loan, "A Storage-Efficient WY Representation for Products of Householder Transformations", 1989: several
//! reflectors are `I - V · F · Vᴴ` with a triangular factor `F`, and are applied by products of matrices.

use crate::dense::{DenseMatrix, add_multiple, inner_product};
use heddle_blas::{Number, Real};

/// Reflectors that are applied at once.
pub(crate) const GROUP: usize = 32;

/// Returns the Euclidean norm of a vector, without overflow of intermediate results.
pub fn norm<T: Number>(x: &[T]) -> f64 {
    let sum_of = |scale: f64| -> f64 {
        let square = |it: &T| (it.re().to_f64() * scale).powi(2) + (it.im().to_f64() * scale).powi(2);
        x.iter().map(square).sum()
    };
    let plain = sum_of(1.0);
    if (1e-290..1e290).contains(&plain) {
        return plain.sqrt();
    }
    let largest = x.iter().map(|it| it.re().to_f64().abs().max(it.im().to_f64().abs())).fold(0.0, f64::max);
    // Numbers of which none is finite and not zero have no scale.
    if largest == 0.0 || !largest.is_finite() {
        return plain.sqrt();
    }
    let scale = 2.0_f64.powi((-largest.log2().floor() as i32).clamp(-1020, 1020));
    sum_of(scale).sqrt() / scale
}

/// Makes the reflector with `Hᴴ · x = (β, 0, …)` and a real `β`. The tail of `x` becomes that of `v`; returns `τ` and `β`.
pub fn reflect<T: Number>(head: T, tail: &mut [T]) -> (T, T::Real) {
    let rest = norm(tail);
    if rest == 0.0 && head.im() == T::Real::ZERO {
        return (T::ZERO, head.re());
    }
    let whole = rest.hypot(head.re().to_f64().hypot(head.im().to_f64()));
    let beta = crate::real::<T>(if head.re() < T::Real::ZERO { whole } else { -whole });
    let divisor = head - T::from_real(beta);
    for element in tail {
        *element = *element / divisor;
    }
    (-divisor / T::from_real(beta), beta)
}

/// Reflectors of a factorization: vectors in the columns of a matrix, below the diagonal or below the next diagonals.
#[derive(Clone, Debug)]
pub struct ReflectorSet<T> {
    /// Matrix whose columns hold the tails of the vectors.
    pub vectors: DenseMatrix<T>,
    /// Factor of each reflector.
    pub factors: Vec<T>,
    /// Rows from the diagonal to the first element of each vector.
    pub offset: usize,
}

impl<T: Number> ReflectorSet<T> {
    /// Returns the vectors of some reflectors, from the first row that they change, and the triangular factor of their product.
    fn group(&self, first: usize, end: usize) -> (DenseMatrix<T>, DenseMatrix<T>) {
        let top = first + self.offset;
        let rows = self.vectors.rows().saturating_sub(top);
        let v = DenseMatrix::from_fn(rows, end - first, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => T::ZERO,
            std::cmp::Ordering::Equal => T::ONE,
            std::cmp::Ordering::Greater => self.vectors.get(top + i, first + j),
        });
        let products = DenseMatrix::product(&v.whole().adjoint(), &v.whole());
        let mut factor = DenseMatrix::zeros(end - first, end - first);
        for j in 0..end - first {
            let scale = self.factors[first + j];
            for i in 0..j {
                let mut sum = T::ZERO;
                for p in i..j {
                    sum += factor.get(i, p) * products.get(p, j);
                }
                factor.set(i, j, -scale * sum);
            }
            factor.set(j, j, scale);
        }
        (v, factor)
    }

    /// Multiplies some columns of a matrix by the product of some reflectors, `H₀ · H₁ · …`, or by its conjugate transpose.
    pub(crate) fn apply_group(
        &self,
        (first, end): (usize, usize),
        is_adjoint: bool,
        c: &mut DenseMatrix<T>,
        first_column: usize,
    ) {
        let (rows, columns, top) = (c.rows(), c.columns(), first + self.offset);
        if first_column >= columns || top >= rows {
            return;
        }
        let (v, factor) = self.group(first, end);
        let inner = DenseMatrix::product(&v.whole().adjoint(), &c.block(top..rows, first_column..columns));
        let factor = if is_adjoint { factor.whole().adjoint() } else { factor.whole() };
        let inner = DenseMatrix::product(&factor, &inner.whole());
        c.add_product((top, first_column), -T::ONE, &v.whole(), &inner.whole());
    }

    /// Multiplies a matrix from the left by the product of all reflectors, `Q = H₀ · H₁ · …`, or by `Qᴴ`.
    pub fn apply(&self, is_adjoint: bool, c: &mut DenseMatrix<T>) {
        let count = self.factors.len();
        let groups = (0..count).step_by(GROUP).map(|first| (first, count.min(first + GROUP)));
        if is_adjoint {
            groups.for_each(|group| self.apply_group(group, true, c, 0));
        } else {
            groups.rev().for_each(|group| self.apply_group(group, false, c, 0));
        }
    }

    /// Multiplies a matrix from the right by `Q`, or by `Qᴴ`.
    pub fn apply_right(&self, is_adjoint: bool, c: &mut DenseMatrix<T>) {
        let mut adjoint = c.adjoint();
        self.apply(!is_adjoint, &mut adjoint);
        *c = adjoint.adjoint();
    }
}

/// Multiplies a column by `Hᴴ`, for a vector whose first element is one.
#[inline]
pub(crate) fn reflect_column<T: Number>(factor: T, tail: &[T], column: &mut [T]) {
    if let Some((head, rest)) = column.split_first_mut() {
        let inner = (*head + inner_product(tail, rest)) * factor.conj();
        *head -= inner;
        add_multiple(-inner, tail, rest);
    }
}
