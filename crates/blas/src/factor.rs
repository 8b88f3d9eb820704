//! Factorizations of small matrices, of which batches have many.

use crate::level3::TriangularSystem;
use crate::view::{Structure, View, ViewMut};
use crate::{Number, Transpose, Triangle};

/// Factors `P · A = L · U` in place. Returns 0, or the number of the first pivot that is zero, counted from one. Without a place for
/// pivots, rows are not exchanged.
///
/// # Safety
/// The matrix is there, and room for `n` pivots, or none.
pub unsafe fn getrf<T: Number>(n: usize, a: ViewMut<T>, pivots: *mut i32) -> i32 {
    let mut info = 0;
    for j in 0..n {
        // SAFETY: the caller's promise.
        unsafe {
            if !pivots.is_null() {
                let mut best = j;
                for i in j + 1..n {
                    if (*a.at(i, j)).magnitude() > (*a.at(best, j)).magnitude() {
                        best = i;
                    }
                }
                *pivots.add(j) = best as i32 + 1;
                if best != j {
                    for column in 0..n {
                        a.at(j, column).swap(a.at(best, column));
                    }
                }
            }
            let pivot = *a.at(j, j);
            if pivot == T::ZERO {
                if info == 0 {
                    info = j as i32 + 1;
                }
                continue;
            }
            for i in j + 1..n {
                *a.at(i, j) = *a.at(i, j) / pivot;
            }
            for column in j + 1..n {
                let factor = *a.at(j, column);
                for i in j + 1..n {
                    let product = *a.at(i, j) * factor;
                    *a.at(i, column) -= product;
                }
            }
        }
    }
    info
}

/// Returns the triangles of a factored matrix.
fn triangles<T: Number>(a: View<T>) -> (View<T>, View<T>) {
    let lower = Structure::Triangular { triangle: Triangle::Lower, unit: true };
    let upper = Structure::Triangular { triangle: Triangle::Upper, unit: false };
    (a.with(lower), a.with(upper))
}

/// Solves `op(A) · X = B` for a factored matrix; `X` replaces `B`.
///
/// # Safety
/// The matrices are there, and `n` pivots, or none.
pub unsafe fn getrs<T: Number>(
    transpose: Transpose,
    n: usize,
    sides: usize,
    a: View<T>,
    pivots: *const i32,
    b: ViewMut<T>,
) {
    let (lower, upper) = triangles(a);
    // SAFETY: the caller's promise.
    unsafe {
        let exchange = |i: usize| {
            if pivots.is_null() {
                return;
            }
            let other = (*pivots.add(i)).clamp(1, n as i32) as usize - 1;
            if other != i {
                for side in 0..sides {
                    b.at(i, side).swap(b.at(other, side));
                }
            }
        };
        let solve = |a: View<T>| {
            TriangularSystem { is_right: false, m: n, n: sides, alpha: T::ONE, a: a.operand(transpose), b }
                .solve();
        };
        if transpose == Transpose::No {
            (0..n).for_each(exchange);
            solve(lower);
            solve(upper);
        } else {
            solve(upper);
            solve(lower);
            (0..n).rev().for_each(exchange);
        }
    }
}

/// Writes the inverse of a factored matrix to another place. Returns 0, or the number of the first pivot that is zero, counted from one.
///
/// # Safety
/// The matrices are there and do not overlap, and `n` pivots, or none.
pub unsafe fn getri<T: Number>(n: usize, a: View<T>, pivots: *const i32, c: ViewMut<T>) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(zero) = (0..n).position(|i| *a.at(i, i) == T::ZERO) {
            return zero as i32 + 1;
        }
        for j in 0..n {
            for i in 0..n {
                *c.at(i, j) = if i == j { T::ONE } else { T::ZERO };
            }
        }
        getrs(Transpose::No, n, n, a, pivots, c);
    }
    0
}

/// Writes the inverse of a matrix to another place. Returns 0, or the number of the first pivot that is zero, counted from one.
///
/// # Safety
/// The matrices are there and do not overlap.
pub unsafe fn matinv<T: Number>(n: usize, a: View<T>, c: ViewMut<T>) -> i32 {
    let mut factors = Vec::with_capacity(n * n);
    let mut pivots = vec![0; n];
    // SAFETY: the caller's promise.
    unsafe {
        for j in 0..n {
            for i in 0..n {
                factors.push(*a.at(i, j));
            }
        }
        let info = getrf(n, ViewMut::new(factors.as_mut_ptr(), n as isize), pivots.as_mut_ptr());
        if info != 0 {
            return info;
        }
        getri(n, View::new(factors.as_ptr(), n as isize), pivots.as_ptr(), c)
    }
}
