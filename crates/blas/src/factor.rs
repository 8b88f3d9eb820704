//! Triangular factors of matrices, by elimination with row exchanges.

use crate::gemm::Product;
use crate::level1::axpy;
use crate::level3::TriangularSystem;
use crate::view::{Structure, View, ViewMut, Written};
use crate::{Number, Transpose, Triangle};
use std::ops::Range;

/// Columns that are factored before the rest is updated.
const PANEL: usize = 48;

/// Factors `P · A = L · U` of `m` rows and `n` columns in place. Returns 0, or the number of the first pivot that is zero, counted
/// from one. Without a place for pivots, rows are not exchanged.
///
/// # Safety
/// The matrix is there, and room for as many pivots as rows or columns, whichever are fewer, or none.
pub unsafe fn getrf<T: Number>(m: usize, n: usize, a: ViewMut<T>, pivots: *mut i32) -> i32 {
    let mut info = 0;
    let steps = m.min(n);
    for first in (0..steps).step_by(PANEL) {
        let end = steps.min(first + PANEL);
        // SAFETY: the caller's promise; the parts that a step reads are not those that it writes.
        unsafe {
            let part = factor_panel(m, first..end, a, pivots);
            if info == 0 {
                info = part;
            }
            if !pivots.is_null() {
                for column in (0..first).chain(end..n) {
                    for i in first..end {
                        let other = *pivots.add(i) as usize - 1;
                        if other != i {
                            a.at(i, column).swap(a.at(other, column));
                        }
                    }
                }
            }
            let (size, rest) = (end - first, n - end);
            let (lower, _) = triangles(a.from(first, first).read());
            let right = a.from(first, end);
            TriangularSystem { is_right: false, m: size, n: rest, alpha: T::ONE, a: lower, b: right }.solve();
            Product {
                m: m - end,
                n: rest,
                k: size,
                alpha: -T::ONE,
                a: a.from(end, first).read(),
                b: right.read(),
                beta: T::ONE,
                c: a.from(end, end),
                written: Written::All,
            }
            .run();
        }
    }
    info
}

/// Factors some columns below the diagonal, and exchanges their rows. Returns as [`getrf`] does.
///
/// # Safety
/// As for [`getrf`].
unsafe fn factor_panel<T: Number>(m: usize, columns: Range<usize>, a: ViewMut<T>, pivots: *mut i32) -> i32 {
    let mut info = 0;
    for j in columns.clone() {
        // SAFETY: the caller's promise.
        unsafe {
            if !pivots.is_null() {
                let mut best = j;
                for i in j + 1..m {
                    if (*a.at(i, j)).magnitude() > (*a.at(best, j)).magnitude() {
                        best = i;
                    }
                }
                *pivots.add(j) = best as i32 + 1;
                if best != j {
                    for column in columns.clone() {
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
            for i in j + 1..m {
                *a.at(i, j) = *a.at(i, j) / pivot;
            }
            for column in j + 1..columns.end {
                let factor = *a.at(j, column);
                if a.row == 1 {
                    axpy(m - j - 1, -factor, a.at(j + 1, j), 1, a.at(j + 1, column), 1);
                    continue;
                }
                for i in j + 1..m {
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
        let info = getrf(n, n, ViewMut::new(factors.as_mut_ptr(), n as isize), pivots.as_mut_ptr());
        if info != 0 {
            return info;
        }
        getri(n, View::new(factors.as_ptr(), n as isize), pivots.as_ptr(), c)
    }
}
