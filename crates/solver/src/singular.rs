//! Singular values and vectors: reflectors to a bidiagonal matrix, then implicit QR steps.
//!
//! After: Golub & Van Loan, "Matrix Computations", section 8.6. Matrices with more rows than columns are factored to a square one first,
//! and those with more columns are transposed: there is one iteration, for square matrices.

use crate::dense::{DenseMatrix, add_multiple};
use crate::orthogonal::factor_qr;
use crate::plane_rotation::{PlaneRotation, nearer_eigenvalue};
use crate::reflector::{ReflectorSet, reflect, reflect_column};
use crate::spectrum::STEPS;
use crate::{scale_of, unit};
use heddle_blas::{Number, Real};

/// Singular vectors that are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SingularVectors {
    /// None.
    Absent,
    /// One for each singular value.
    Economic,
    /// A basis of the whole space.
    Full,
}

/// Singular values in descending order: `A = U · S · Vᴴ`.
#[derive(Clone, Debug)]
pub struct SingularFactors<T: Number> {
    /// The singular values.
    pub values: Vec<T::Real>,
    /// Columns of `U`, if they are wanted.
    pub left: Option<DenseMatrix<T>>,
    /// Columns of `V`, if they are wanted.
    pub right: Option<DenseMatrix<T>>,
    /// 0, or the number of off-diagonal elements that did not become zero.
    pub info: i32,
}

/// Bidiagonal form of a matrix with as many rows as columns, or more: `A = Q · B · Pᴴ`.
#[derive(Clone, Debug)]
pub struct BidiagonalForm<T> {
    /// Diagonal of `B`.
    pub diagonal: Vec<f64>,
    /// The diagonal above it.
    pub next: Vec<f64>,
    /// Reflectors of `Q`, below the diagonal.
    pub left: ReflectorSet<T>,
    /// Reflectors of `P`.
    pub right: ReflectorSet<T>,
}

/// Reduces a matrix with as many rows as columns, or more.
pub fn bidiagonalize<T: Number>(a: DenseMatrix<T>) -> BidiagonalForm<T> {
    let n = a.columns();
    let (mut diagonal, mut next) = (vec![0.0; n], vec![0.0; n.saturating_sub(1)]);
    let mut left = ReflectorSet { vectors: a, factors: vec![T::ZERO; n], offset: 0 };
    let mut right = ReflectorSet {
        vectors: DenseMatrix::zeros(n, n.saturating_sub(1)),
        factors: vec![T::ZERO; n.saturating_sub(1)],
        offset: 1,
    };
    for k in 0..n {
        let a = &mut left.vectors;
        let (head, tail) = a.column_mut(k)[k..].split_at_mut(1);
        let (factor, beta) = reflect(head[0], tail);
        head[0] = T::from_real(beta);
        diagonal[k] = beta.to_f64();
        left.factors[k] = factor;
        if factor != T::ZERO {
            for j in k + 1..n {
                let (vector, column) = a.two_columns(k, j);
                reflect_column(factor, &vector[k + 1..], &mut column[k..]);
            }
        }
        if k + 1 == n {
            break;
        }
        // The adjoint of the row becomes a multiple of the first unit vector.
        let mut row: Vec<T> = (k + 1..n).map(|j| a.get(k, j).conj()).collect();
        let (head, tail) = row.split_at_mut(1);
        let (factor, beta) = reflect(head[0], tail);
        head[0] = T::ONE;
        next[k] = beta.to_f64();
        right.factors[k] = factor;
        right.vectors.column_mut(k)[k + 2..].copy_from_slice(&row[1..]);
        a.set(k, k + 1, T::from_real(beta));
        for j in k + 2..n {
            a.set(k, j, row[j - k - 1].conj());
        }
        if factor != T::ZERO {
            // A · H = A - (τ A v) vᴴ, in the rows below.
            let mut product = vec![T::ZERO; a.rows() - k - 1];
            for (j, element) in row.iter().enumerate() {
                add_multiple(factor * *element, &a.column(k + 1 + j)[k + 1..], &mut product);
            }
            for (j, element) in row.iter().enumerate() {
                add_multiple(-element.conj(), &product, &mut a.column_mut(k + 1 + j)[k + 1..]);
            }
        }
    }
    BidiagonalForm { diagonal, next, left, right }
}

/// Bidiagonal matrix during an iteration, with the vectors that are rotated along.
struct BidiagonalIteration<'a, R> {
    d: &'a mut [f64],
    e: &'a mut [f64],
    left: Option<DenseMatrix<R>>,
    right: Option<DenseMatrix<R>>,
}

impl<R: Real> BidiagonalIteration<'_, R> {
    fn rotate_left(&mut self, rotation: PlaneRotation, i: usize, j: usize) {
        if let Some(left) = &mut self.left {
            rotation.rotate_columns(left, i, j);
        }
    }

    fn rotate_right(&mut self, rotation: PlaneRotation, i: usize, j: usize) {
        if let Some(right) = &mut self.right {
            rotation.rotate_columns(right, i, j);
        }
    }

    /// Makes the upper diagonal zero. Returns the number of its elements that are not.
    fn run(&mut self) -> i32 {
        let mut steps = STEPS * self.d.len();
        let mut hi = self.d.len().saturating_sub(1);
        let sizes = self.d.iter().chain(self.e.iter()).map(|it| it.abs());
        let tiny = unit::<R>() / 8.0 * sizes.fold(0.0, f64::max);
        while hi > 0 {
            let small = |k: usize| {
                self.e[k].abs() <= unit::<R>() / 2.0 * (self.d[k].abs() + self.d[k + 1].abs()) + tiny / 8.0
            };
            if small(hi - 1) {
                self.e[hi - 1] = 0.0;
                hi -= 1;
                continue;
            }
            let lo = (0..hi - 1).rev().find(|k| small(*k)).map_or(0, |k| k + 1);
            if steps == 0 {
                return self.e.iter().filter(|it| **it != 0.0).count() as i32;
            }
            steps -= 1;
            if self.d[hi].abs() <= tiny {
                self.clear_column(lo, hi);
            } else if let Some(zero) = (lo..hi).find(|k| self.d[*k].abs() <= tiny) {
                self.clear_row(zero, hi);
            } else {
                self.step(lo, hi);
            }
        }
        0
    }

    /// Makes the element above a zero at the end of the diagonal zero, by rotations of columns.
    fn clear_column(&mut self, lo: usize, hi: usize) {
        self.d[hi] = 0.0;
        let mut moved = std::mem::take(&mut self.e[hi - 1]);
        for i in (lo..hi).rev() {
            let (rotation, r) = PlaneRotation::annihilate(self.d[i], moved);
            self.d[i] = r;
            if i > lo {
                (self.e[i - 1], moved) = rotation.of(self.e[i - 1], 0.0);
            }
            self.rotate_right(rotation, i, hi);
        }
    }

    /// Makes the element next to a zero of the diagonal zero, by rotations of rows.
    fn clear_row(&mut self, zero: usize, hi: usize) {
        self.d[zero] = 0.0;
        let mut moved = std::mem::take(&mut self.e[zero]);
        for i in zero + 1..=hi {
            let (rotation, r) = PlaneRotation::annihilate(self.d[i], moved);
            self.d[i] = r;
            if i < hi {
                (self.e[i], moved) = rotation.of(self.e[i], 0.0);
            }
            self.rotate_left(rotation, i, zero);
        }
    }

    /// Does an implicit QR step of the product of the matrix' transpose with it.
    fn step(&mut self, lo: usize, hi: usize) {
        let before = if hi - 1 > lo { self.e[hi - 2] } else { 0.0 };
        let (last, end, side) = (self.d[hi - 1], self.d[hi], self.e[hi - 1]);
        let shift = nearer_eigenvalue(last * last + before * before, last * side, end * end + side * side);
        let mut y = self.d[lo] * self.d[lo] - shift;
        let mut z = self.d[lo] * self.e[lo];
        for k in lo..hi {
            let (rotation, r) = PlaneRotation::annihilate(y, z);
            if k > lo {
                self.e[k - 1] = r;
            }
            let (first, mut second) = rotation.of(self.d[k], self.e[k]);
            let (bulge, below) = rotation.of(0.0, self.d[k + 1]);
            self.rotate_right(rotation, k, k + 1);
            let (rotation, r) = PlaneRotation::annihilate(first, bulge);
            self.d[k] = r;
            (second, self.d[k + 1]) = rotation.of(second, below);
            self.e[k] = second;
            if k + 1 < hi {
                y = self.e[k];
                (z, self.e[k + 1]) = (rotation.s * self.e[k + 1], rotation.c * self.e[k + 1]);
            }
            self.rotate_left(rotation, k, k + 1);
        }
    }
}

/// Returns the singular factors of a matrix.
pub fn singular_factors<T: Number>(
    mut a: DenseMatrix<T>,
    left: SingularVectors,
    right: SingularVectors,
) -> SingularFactors<T> {
    if a.rows() < a.columns() {
        let found = singular_factors(a.adjoint(), right, left);
        return SingularFactors { left: found.right, right: found.left, ..found };
    }
    let (rows, n) = (a.rows(), a.columns());
    let (wants_left, wants_right) = (left != SingularVectors::Absent, right != SingularVectors::Absent);
    let left_columns = if left == SingularVectors::Full { rows } else { n };
    if !a.is_finite() {
        let nan = crate::real::<T>(f64::NAN);
        let vectors = |rows, columns| DenseMatrix::from_fn(rows, columns, |_, _| T::from_real(nan));
        return SingularFactors {
            values: vec![nan; n],
            left: wants_left.then(|| vectors(rows, left_columns)),
            right: wants_right.then(|| vectors(n, n)),
            info: n.max(1) as i32,
        };
    }
    let scale = scale_of(&a);
    a.scale(scale);
    let tall = (rows > n).then(|| factor_qr(std::mem::replace(&mut a, DenseMatrix::zeros(0, 0))));
    if let Some(set) = &tall {
        a = set.upper();
    }
    let mut form = bidiagonalize(a);
    let identity = |wanted: bool| wanted.then(|| DenseMatrix::<T::Real>::identity(n, n));
    let mut iteration = BidiagonalIteration {
        d: &mut form.diagonal,
        e: &mut form.next,
        left: identity(wants_left),
        right: identity(wants_right),
    };
    let info = iteration.run();
    let (rotated_left, rotated_right) = (iteration.left, iteration.right);
    let d = &form.diagonal;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| d[*j].abs().total_cmp(&d[*i].abs()));
    let values = order.iter().map(|i| crate::real::<T>(d[*i].abs() / scale)).collect();
    let right = rotated_right.map(|rotated| {
        let mut v = DenseMatrix::from_fn(n, n, |i, j| {
            let element = T::from_real(rotated.get(i, order[j]));
            if d[order[j]] < 0.0 { -element } else { element }
        });
        form.right.apply(false, &mut v);
        v
    });
    let left = rotated_left.map(|rotated| {
        let mut u = DenseMatrix::from_fn(n, n, |i, j| T::from_real(rotated.get(i, order[j])));
        form.left.apply(false, &mut u);
        let Some(set) = &tall else { return u };
        let mut wide = DenseMatrix::identity(rows, left_columns);
        wide.place((0, 0), &u);
        set.apply(false, &mut wide);
        wide
    });
    SingularFactors { values, left, right, info }
}
