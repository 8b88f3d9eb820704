//! Level 2: a matrix and vectors. The matrix is a list of columns, whatever its storage.

use crate::columns::{ColumnLayout, Columns};
use crate::level1::{Strided, dot_slices};
use crate::vectors::vectorized;
use crate::{Number, Transpose, Triangle};

/// Sums of a column that are kept apart.
const SUMS: usize = 16;

vectorized! {
    /// `y += A · x`, for vectors whose elements follow each other.
    ///
    /// # Safety
    /// The matrix is there.
    unsafe fn multiply<T: Number>(a: &Columns<T>, x: &[T], y: &mut [T]) {
        let mut j = 0;
        if let ColumnLayout::General { .. } = a.layout {
            // Four columns at a time read and write the result once.
            while j + 4 <= a.count {
                // SAFETY: the caller's promise.
                let columns = unsafe { [0, 1, 2, 3].map(|next| a.column(j + next).elements()) };
                let [x0, x1, x2, x3] = [x[j], x[j + 1], x[j + 2], x[j + 3]];
                let [c0, c1, c2, c3] = columns.map(|column| &column[..y.len()]);
                for i in 0..y.len() {
                    y[i] += c0[i] * x0 + c1[i] * x1 + (c2[i] * x2 + c3[i] * x3);
                }
                j += 4;
            }
        }
        for j in j..a.count {
            let column = a.column(j);
            // SAFETY: the caller's promise.
            let elements = unsafe { column.elements() };
            for (y, a) in y[column.first.min(a.rows)..].iter_mut().zip(elements) {
                *y += *a * x[j];
            }
        }
    }

    /// `y += Aᵀ · x`, with conjugates of the matrix if that is wanted, for vectors whose elements follow each other.
    ///
    /// # Safety
    /// The matrix is there.
    unsafe fn multiply_transposed<T: Number>(a: &Columns<T>, conj: bool, x: &[T], y: &mut [T]) {
        let mut begin = 0;
        if let ColumnLayout::General { .. } = a.layout {
            // Four columns at a time read the vector once.
            while begin + 4 <= a.count && !conj {
                // SAFETY: the caller's promise.
                let columns = unsafe { [0, 1, 2, 3].map(|next| &a.column(begin + next).elements()[..x.len()]) };
                let [c0, c1, c2, c3] = columns;
                let [mut s0, mut s1, mut s2, mut s3] = [[T::ZERO; SUMS]; 4];
                let chunks = x.chunks_exact(SUMS);
                let whole = x.len() - chunks.remainder().len();
                let first = c0.chunks_exact(SUMS).zip(c1.chunks_exact(SUMS));
                let second = c2.chunks_exact(SUMS).zip(c3.chunks_exact(SUMS));
                for ((x, (c0, c1)), (c2, c3)) in chunks.zip(first).zip(second) {
                    for lane in 0..SUMS {
                        s0[lane] += c0[lane] * x[lane];
                        s1[lane] += c1[lane] * x[lane];
                        s2[lane] += c2[lane] * x[lane];
                        s3[lane] += c3[lane] * x[lane];
                    }
                }
                for ((sums, column), y) in [s0, s1, s2, s3].into_iter().zip(columns).zip(&mut y[begin..]) {
                    let rest = column[whole..].iter().zip(&x[whole..]).fold(T::ZERO, |sum, (a, x)| sum + *a * *x);
                    *y += sums.into_iter().fold(rest, |sum, part| sum + part);
                }
                begin += 4;
            }
        }
        for (j, y) in y.iter_mut().enumerate().skip(begin) {
            let column = a.column(j);
            // SAFETY: the caller's promise.
            let elements = unsafe { column.elements() };
            let x = &x[column.first.min(x.len())..];
            let x = &x[..elements.len().min(x.len())];
            *y += if conj { dot_slices::<T, true>(elements, x) } else { dot_slices::<T, false>(elements, x) };
        }
    }

    /// `y += A · x` for a symmetric or Hermitian matrix, for vectors whose elements follow each other.
    ///
    /// # Safety
    /// The matrix is there.
    unsafe fn multiply_symmetric<T: Number>(a: &Columns<T>, hermitian: bool, x: &[T], y: &mut [T]) {
        let is_lower = a.layout.triangle() == Some(Triangle::Lower);
        for j in 0..a.count {
            let column = a.column(j);
            // SAFETY: the caller's promise.
            let elements = unsafe { column.elements() };
            let diagonal = elements[if is_lower { 0 } else { column.length - 1 }];
            let diagonal = if hermitian { T::from_real(diagonal.re()) } else { diagonal };
            let (first, others) = match is_lower {
                true => (column.first + 1, &elements[1..]),
                false => (column.first, &elements[..column.length - 1]),
            };
            let x_part = &x[first..first + others.len()];
            for (y, a) in y[first..first + others.len()].iter_mut().zip(others) {
                *y += *a * x[j];
            }
            let mirrored = if hermitian { dot_slices::<T, true>(others, x_part) } else { dot_slices::<T, false>(others, x_part) };
            y[j] += diagonal * x[j] + mirrored;
        }
    }

    /// Adds `factors[j] · x` to each column.
    ///
    /// # Safety
    /// The matrix is there.
    unsafe fn add_products<T: Number>(a: &Columns<T>, x: &[T], factors: &[T]) {
        for (j, factor) in factors.iter().enumerate() {
            let column = a.column(j);
            // SAFETY: the caller's promise.
            for (a, x) in unsafe { column.elements_mut() }.iter_mut().zip(&x[column.first..]) {
                *a += *x * *factor;
            }
        }
    }
}

/// Adds a multiple of a product to a vector, which is not read if its factor is zero.
///
/// # Safety
/// The vector is there.
unsafe fn finish<T: Number>(product: &[T], alpha: T, beta: T, y: Strided<T>) {
    for (i, sum) in product.iter().enumerate() {
        let place = y.at(i);
        // SAFETY: the caller's promise.
        unsafe { *place = if beta == T::ZERO { alpha * *sum } else { alpha * *sum + beta * *place } };
    }
}

/// Factors of a product and of the vector that it is added to.
#[derive(Clone, Copy, Debug)]
pub struct Factors<T> {
    /// Factor of the product.
    pub alpha: T,
    /// Factor of the earlier vector, which is not read if this is zero.
    pub beta: T,
}

/// `y = alpha · op(A) · x + beta · y`
///
/// # Safety
/// The matrix and the vectors are there.
pub unsafe fn gemv<T: Number>(
    transpose: Transpose,
    factors: Factors<T>,
    a: Columns<T>,
    (x, incx): (*const T, isize),
    (y, incy): (*mut T, isize),
) {
    let (inputs, outputs) = if transpose == Transpose::No { (a.count, a.rows) } else { (a.rows, a.count) };
    let mut product = vec![T::ZERO; outputs];
    // SAFETY: the caller's promise.
    unsafe {
        if factors.alpha != T::ZERO {
            let x = Strided::new(x, inputs, incx).read();
            match transpose {
                Transpose::No => multiply(&a, &x, &mut product),
                _ => multiply_transposed(&a, transpose == Transpose::Conjugate, &x, &mut product),
            }
        }
        finish(&product, factors.alpha, factors.beta, Strided::new(y, outputs, incy));
    }
}

/// `y = alpha · A · x + beta · y` for a symmetric or Hermitian matrix.
///
/// # Safety
/// The matrix and the vectors are there.
pub unsafe fn symv<T: Number>(
    hermitian: bool,
    factors: Factors<T>,
    a: Columns<T>,
    (x, incx): (*const T, isize),
    (y, incy): (*mut T, isize),
) {
    let mut product = vec![T::ZERO; a.count];
    // SAFETY: the caller's promise.
    unsafe {
        if factors.alpha != T::ZERO {
            let x = Strided::new(x, a.count, incx).read();
            multiply_symmetric(&a, hermitian, &x, &mut product);
        }
        finish(&product, factors.alpha, factors.beta, Strided::new(y, a.count, incy));
    }
}

/// `A += alpha · x · yᵀ`, with conjugates of `y` if that is wanted.
///
/// # Safety
/// The matrix and the vectors are there.
pub unsafe fn ger<T: Number>(
    alpha: T,
    conj: bool,
    a: Columns<T>,
    (x, incx): (*const T, isize),
    (y, incy): (*const T, isize),
) {
    // SAFETY: the caller's promise.
    unsafe {
        let x = Strided::new(x, a.rows, incx).read();
        let y = Strided::new(y, a.count, incy).read();
        let factors: Vec<T> = y.iter().map(|y| alpha * y.conj_if(conj)).collect();
        add_products(&a, &x, &factors);
    }
}

/// Makes the diagonal of a Hermitian matrix real.
///
/// # Safety
/// The matrix is there.
unsafe fn make_diagonal_real<T: Number>(a: &Columns<T>) {
    for j in 0..a.count {
        let column = a.column(j);
        let place = column.pointer.wrapping_add(j - column.first);
        // SAFETY: the caller's promise.
        unsafe { *place = T::from_real((*place).re()) };
    }
}

/// `A += alpha · x · xᵀ`, with conjugates for a Hermitian matrix.
///
/// # Safety
/// The matrix and the vector are there.
pub unsafe fn syr<T: Number>(hermitian: bool, alpha: T, a: Columns<T>, x: (*const T, isize)) {
    // SAFETY: the caller's promise.
    unsafe {
        ger(alpha, hermitian, a, x, x);
        if hermitian {
            make_diagonal_real(&a);
        }
    }
}

/// `A += alpha · x · yᵀ + alpha · y · xᵀ`, with conjugates for a Hermitian matrix.
///
/// # Safety
/// The matrix and the vectors are there.
pub unsafe fn syr2<T: Number>(
    hermitian: bool,
    alpha: T,
    a: Columns<T>,
    x: (*const T, isize),
    y: (*const T, isize),
) {
    // SAFETY: the caller's promise.
    unsafe {
        ger(alpha, hermitian, a, x, y);
        ger(alpha.conj_if(hermitian), hermitian, a, y, x);
        if hermitian {
            make_diagonal_real(&a);
        }
    }
}

/// Returns a triangular matrix' column: diagonal element, first row of the others, others.
///
/// # Safety
/// The matrix is there.
#[inline(always)]
unsafe fn split<'a, T: Number>(a: &Columns<T>, j: usize) -> (T, usize, &'a [T]) {
    let column = a.column(j);
    // SAFETY: the caller's promise.
    let elements = unsafe { column.elements() };
    match a.layout.triangle() {
        Some(Triangle::Lower) => (elements[0], j + 1, &elements[1..]),
        _ => (elements[column.length - 1], column.first, &elements[..column.length - 1]),
    }
}

/// `x = op(A) · x` for a triangular matrix.
///
/// # Safety
/// The matrix and the vector are there.
pub unsafe fn trmv<T: Number>(transpose: Transpose, unit: bool, a: Columns<T>, (x, incx): (*mut T, isize)) {
    let n = a.count;
    let place = Strided::new(x, n, incx);
    let conj = transpose == Transpose::Conjugate;
    // SAFETY: the caller's promise.
    unsafe {
        let x = place.read();
        let mut y = vec![T::ZERO; n];
        for j in 0..n {
            let (diagonal, first, others) = split(&a, j);
            let diagonal = if unit { T::ONE } else { diagonal.conj_if(conj) };
            y[j] += diagonal * x[j];
            if transpose == Transpose::No {
                for (y, a) in y[first..].iter_mut().zip(others) {
                    *y += *a * x[j];
                }
            } else {
                let x = &x[first..first + others.len()];
                y[j] +=
                    if conj { dot_slices::<T, true>(others, x) } else { dot_slices::<T, false>(others, x) };
            }
        }
        place.write(&y);
    }
}

/// Solves `op(A) · x = b` for a triangular matrix; `x` replaces `b`.
///
/// # Safety
/// The matrix and the vector are there.
pub unsafe fn trsv<T: Number>(transpose: Transpose, unit: bool, a: Columns<T>, (x, incx): (*mut T, isize)) {
    let n = a.count;
    let place = Strided::new(x, n, incx);
    let conj = transpose == Transpose::Conjugate;
    let is_lower = a.layout.triangle() == Some(Triangle::Lower);
    // Without transposition, a lower matrix is solved from the first row on.
    let is_forward = is_lower == (transpose == Transpose::No);
    // SAFETY: the caller's promise.
    unsafe {
        let mut x = place.read();
        for step in 0..n {
            let j = if is_forward { step } else { n - 1 - step };
            let (diagonal, first, others) = split(&a, j);
            if transpose == Transpose::No {
                if !unit {
                    x[j] = x[j] / diagonal;
                }
                let factor = x[j];
                for (x, a) in x[first..].iter_mut().zip(others) {
                    *x -= *a * factor;
                }
            } else {
                let part = &x[first..first + others.len()];
                let sum = if conj {
                    dot_slices::<T, true>(others, part)
                } else {
                    dot_slices::<T, false>(others, part)
                };
                x[j] -= sum;
                if !unit {
                    x[j] = x[j] / diagonal.conj_if(conj);
                }
            }
        }
        place.write(&x);
    }
}

/// Copies a triangle from one storage into another.
///
/// # Safety
/// The matrices are there, of one size and triangle.
pub unsafe fn copy_triangle<T: Number>(from: Columns<T>, into: Columns<T>) {
    for j in 0..from.count {
        // SAFETY: the caller's promise.
        unsafe { into.column(j).elements_mut().copy_from_slice(from.column(j).elements()) };
    }
}
