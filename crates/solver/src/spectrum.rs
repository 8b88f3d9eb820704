//! Eigenvalues and eigenvectors of Hermitian matrices: reflectors to a tridiagonal matrix, then implicit QR steps with Wilkinson's
//! shifts.
//!
//! After: Golub & Van Loan, "Matrix Computations", sections 8.3 and 8.7.

use crate::cholesky::factor_cholesky;
use crate::dense::{DenseMatrix, add_multiple, inner_product};
use crate::plane_rotation::{PlaneRotation, nearer_eigenvalue};
use crate::reflector::{ReflectorSet, reflect};
use crate::{scale_of, unit};
use heddle_blas::{Number, Real, Transpose, Triangle};

/// QR steps for each eigenvalue, or singular value, before an iteration gives up.
pub(crate) const STEPS: usize = 40;

/// Eigenvalues in ascending order.
#[derive(Clone, Debug)]
pub struct Spectrum<T: Number> {
    /// The eigenvalues.
    pub values: Vec<T::Real>,
    /// Eigenvectors in columns, if they are wanted.
    pub vectors: Option<DenseMatrix<T>>,
    /// 0, or the number of off-diagonal elements that did not become zero.
    pub info: i32,
}

/// Tridiagonal form of a Hermitian matrix: `A = Q · T · Qᴴ`.
#[derive(Clone, Debug)]
pub struct TridiagonalForm<T> {
    /// Diagonal of `T`.
    pub diagonal: Vec<f64>,
    /// The diagonal next to it.
    pub next: Vec<f64>,
    /// Reflectors of `Q`.
    pub reflectors: ReflectorSet<T>,
}

/// Reduces a Hermitian matrix, all of which is stored.
pub fn tridiagonalize<T: Number>(a: DenseMatrix<T>) -> TridiagonalForm<T> {
    let n = a.rows();
    let half = T::from_real(crate::real::<T>(0.5));
    let (mut diagonal, mut next) = (vec![0.0; n], vec![0.0; n.saturating_sub(1)]);
    let mut set = ReflectorSet { vectors: a, factors: vec![T::ZERO; n.saturating_sub(1)], offset: 1 };
    for k in 0..n.saturating_sub(1) {
        let (head, tail) = set.vectors.column_mut(k)[k + 1..].split_at_mut(1);
        let (factor, beta) = reflect(head[0], tail);
        next[k] = beta.to_f64();
        set.factors[k] = factor;
        if factor == T::ZERO {
            continue;
        }
        head[0] = T::ONE;
        let v = set.vectors.column(k)[k + 1..].to_vec();
        // A' = A - w vᴴ - v wᴴ, w = p - ½ τ̄ (vᴴ p) v, p = τ A v.
        let mut p = vec![T::ZERO; v.len()];
        for (j, element) in v.iter().enumerate() {
            add_multiple(factor * *element, &set.vectors.column(k + 1 + j)[k + 1..], &mut p);
        }
        let along = half * factor.conj() * inner_product(&v, &p);
        add_multiple(-along, &v, &mut p);
        for j in 0..v.len() {
            let column = &mut set.vectors.column_mut(k + 1 + j)[k + 1..];
            let (of_v, of_w) = (p[j].conj(), v[j].conj());
            for (i, element) in column.iter_mut().enumerate() {
                *element -= v[i] * of_v + p[i] * of_w;
            }
        }
    }
    for (k, value) in diagonal.iter_mut().enumerate() {
        *value = set.vectors.get(k, k).re().to_f64();
    }
    TridiagonalForm { diagonal, next, reflectors: set }
}

/// Makes the next diagonal zero. Returns the number of its elements that are not.
fn iterate<R: Real>(d: &mut [f64], e: &mut [f64], mut vectors: Option<&mut DenseMatrix<R>>) -> i32 {
    let mut steps = STEPS * d.len();
    let mut hi = d.len().saturating_sub(1);
    while hi > 0 {
        let is_small = |k: usize| e[k].abs() <= unit::<R>() / 2.0 * (d[k].abs() + d[k + 1].abs());
        if is_small(hi - 1) {
            e[hi - 1] = 0.0;
            hi -= 1;
            continue;
        }
        let lo = (0..hi - 1).rev().find(|k| is_small(*k)).map_or(0, |k| k + 1);
        if steps == 0 {
            return e.iter().filter(|it| **it != 0.0).count() as i32;
        }
        steps -= 1;
        let shift = nearer_eigenvalue(d[hi - 1], e[hi - 1], d[hi]);
        let (mut x, mut z) = (d[lo] - shift, e[lo]);
        for k in lo..hi {
            let (rotation, r) = PlaneRotation::annihilate(x, z);
            if k > lo {
                e[k - 1] = r;
            }
            // Both sides of [a b; b d] are rotated.
            let (a, b, end) = (d[k], e[k], d[k + 1]);
            let ((aa, ab), (ba, bb)) = (rotation.of(a, b), rotation.of(b, end));
            let (top, side) = rotation.of(aa, ba);
            let (_, bottom) = rotation.of(ab, bb);
            (d[k], e[k], d[k + 1]) = (top, side, bottom);
            if k + 1 < hi {
                x = e[k];
                (z, e[k + 1]) = (rotation.s * e[k + 1], rotation.c * e[k + 1]);
            }
            if let Some(vectors) = &mut vectors {
                rotation.rotate_columns(vectors, k, k + 1);
            }
        }
    }
    0
}

/// Returns the spectrum of a Hermitian matrix, all of which is stored.
pub fn hermitian_spectrum<T: Number>(mut a: DenseMatrix<T>, wants_vectors: bool) -> Spectrum<T> {
    let n = a.rows();
    if !a.is_finite() {
        let nan = crate::real::<T>(f64::NAN);
        let vectors = wants_vectors.then(|| DenseMatrix::from_fn(n, n, |_, _| T::from_real(nan)));
        return Spectrum { values: vec![nan; n], vectors, info: n.max(1) as i32 };
    }
    let scale = scale_of(&a);
    a.scale(scale);
    let TridiagonalForm { mut diagonal, mut next, reflectors } = tridiagonalize(a);
    let mut rotated = wants_vectors.then(|| DenseMatrix::<T::Real>::identity(n, n));
    let info = iterate(&mut diagonal, &mut next, rotated.as_mut());
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| diagonal[*i].total_cmp(&diagonal[*j]));
    let values = order.iter().map(|i| crate::real::<T>(diagonal[*i] / scale)).collect();
    let vectors = rotated.map(|rotated| {
        let mut vectors = DenseMatrix::from_fn(n, n, |i, j| T::from_real(rotated.get(i, order[j])));
        reflectors.apply(false, &mut vectors);
        vectors
    });
    Spectrum { values, vectors, info }
}

/// Problem of two Hermitian matrices, the second of them positive definite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GeneralizedProblem {
    /// `A · x = λ · B · x`
    Quotient,
    /// `A · B · x = λ · x`
    LeftProduct,
    /// `B · A · x = λ · x`
    RightProduct,
}

/// Returns the spectrum of a generalized problem. Both matrices are stored whole; the Cholesky factor replaces `B`. The report is
/// beyond the number of rows if `B` is not positive definite.
pub fn generalized_spectrum<T: Number>(
    problem: GeneralizedProblem,
    a: &DenseMatrix<T>,
    b: &mut DenseMatrix<T>,
    wants_vectors: bool,
) -> Spectrum<T> {
    let n = a.rows();
    let info = factor_cholesky(b);
    if info != 0 {
        return Spectrum { values: vec![T::Real::ZERO; n], vectors: None, info: n as i32 + info };
    }
    let l = DenseMatrix::from_fn(n, n, |i, j| if i >= j { b.get(i, j) } else { T::ZERO });
    let lower = |right: &mut DenseMatrix<T>, transpose| {
        right.solve_triangular(0, &l.whole(), Triangle::Lower, transpose);
    };
    let reduced = if problem == GeneralizedProblem::Quotient {
        let mut half = a.clone();
        lower(&mut half, Transpose::No);
        let mut adjoint = half.adjoint();
        lower(&mut adjoint, Transpose::No);
        adjoint
    } else {
        let half = DenseMatrix::product(&a.whole(), &l.whole());
        DenseMatrix::product(&l.whole().adjoint(), &half.whole())
    };
    let mut spectrum = hermitian_spectrum(reduced.hermitian(Triangle::Lower), wants_vectors);
    if let Some(vectors) = &mut spectrum.vectors {
        if problem == GeneralizedProblem::RightProduct {
            *vectors = DenseMatrix::product(&l.whole(), &vectors.whole());
        } else {
            lower(vectors, Transpose::Conjugate);
        }
    }
    spectrum
}
