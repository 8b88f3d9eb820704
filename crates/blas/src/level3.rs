//! Level 3: products of structured matrices, and triangular systems.

use crate::gemm::{Product, scale};
use crate::vectors::vectorized;
use crate::view::{Structure, View, ViewMut, Written};
use crate::{Number, Transpose, Triangle};

/// Rows of a triangular system that are solved at once.
const BLOCK: usize = 64;
/// Right sides that are solved at once.
const SIDES: usize = 16;

/// Product with a square matrix of some structure on one side: `C = alpha · A · B + beta · C`, or `alpha · B · A + beta · C`.
#[derive(Clone, Copy, Debug)]
pub struct SidedProduct<T> {
    /// True if the square matrix is the right operand.
    pub is_right: bool,
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Factor of the product.
    pub alpha: T,
    /// The square matrix.
    pub a: View<T>,
    /// The other operand.
    pub b: View<T>,
    /// Factor of the earlier result.
    pub beta: T,
    /// The result.
    pub c: ViewMut<T>,
}

impl<T: Number> SidedProduct<T> {
    /// Computes the product.
    ///
    /// # Safety
    /// As for [`Product::run`].
    pub unsafe fn run(self) {
        let SidedProduct { m, n, alpha, beta, c, .. } = self;
        let (a, b, k) = if self.is_right { (self.b, self.a, n) } else { (self.a, self.b, m) };
        // SAFETY: the caller's promise.
        unsafe { Product { m, n, k, alpha, a, b, beta, c, written: Written::All }.run() }
    }
}

/// Update of a symmetric or Hermitian matrix: `C = alpha · A · Bᵀ + beta · C`, with both orders of the operands in `run_twice`.
#[derive(Clone, Copy, Debug)]
pub struct SymmetricUpdate<T> {
    /// Rows and columns of the result.
    pub n: usize,
    /// Summands of each element.
    pub k: usize,
    /// Factor of the product.
    pub alpha: T,
    /// The left operand, of `n` rows.
    pub a: View<T>,
    /// The other operand, of `n` rows.
    pub b: View<T>,
    /// Factor of the earlier result.
    pub beta: T,
    /// The result.
    pub c: ViewMut<T>,
    /// The triangle that is written.
    pub triangle: Triangle,
    /// True for a Hermitian matrix.
    pub hermitian: bool,
}

impl<T: Number> SymmetricUpdate<T> {
    /// Adds one product.
    ///
    /// # Safety
    /// As for [`Product::run`].
    pub unsafe fn run(self) {
        let SymmetricUpdate { n, k, alpha, a, beta, c, triangle, hermitian, .. } = self;
        let written = if hermitian { Written::Hermitian(triangle) } else { Written::Triangle(triangle) };
        let b = self.b.operand(if hermitian { Transpose::Conjugate } else { Transpose::Yes });
        // SAFETY: the caller's promise.
        unsafe { Product { m: n, n, k, alpha, a, b, beta, c, written }.run() }
    }

    /// Adds the product and the one with exchanged operands.
    ///
    /// # Safety
    /// As for [`Product::run`].
    pub unsafe fn run_twice(self) {
        let alpha = self.alpha.conj_if(self.hermitian);
        // SAFETY: the caller's promise.
        unsafe {
            self.run();
            SymmetricUpdate { alpha, a: self.b, b: self.a, beta: T::ONE, ..self }.run();
        }
    }
}

/// `C = alpha · op(A) · B` or `alpha · B · op(A)` for a triangular matrix; the result may replace `B`.
///
/// # Safety
/// The matrices are there, and the result overlaps no other operand than all of `B`.
pub unsafe fn trmm<T: Number>(product: SidedProduct<T>) {
    let SidedProduct { m, n, b, c, .. } = product;
    let is_in_place = std::ptr::eq(b.at(0, 0), c.at(0, 0));
    let mut copy = Vec::new();
    let b = if is_in_place {
        copy.reserve(m * n);
        for j in 0..n {
            for i in 0..m {
                // SAFETY: the caller's promise.
                copy.push(unsafe { b.get(i, j) });
            }
        }
        View::new(copy.as_ptr(), m as isize)
    } else {
        b
    };
    // SAFETY: the caller's promise.
    unsafe { SidedProduct { b, beta: T::ZERO, ..product }.run() }
}

/// Triangular system with several right sides: `op(A) · X = alpha · B`, or `X · op(A) = alpha · B`. `X` replaces `B`.
#[derive(Clone, Copy, Debug)]
pub struct TriangularSystem<T> {
    /// True if the triangular matrix is the right operand.
    pub is_right: bool,
    /// Rows of `B`.
    pub m: usize,
    /// Columns of `B`.
    pub n: usize,
    /// Factor of the right sides.
    pub alpha: T,
    /// The triangular matrix, as it is applied.
    pub a: View<T>,
    /// The right sides.
    pub b: ViewMut<T>,
}

impl<T: Number> TriangularSystem<T> {
    /// Solves the system.
    ///
    /// # Safety
    /// The matrices are there and do not overlap.
    pub unsafe fn solve(self) {
        if self.is_right {
            let TriangularSystem { m, n, a, b, .. } = self;
            let transposed = TriangularSystem {
                is_right: false,
                m: n,
                n: m,
                a: a.transposed(),
                b: b.transposed(),
                ..self
            };
            // SAFETY: the caller's promise.
            return unsafe { transposed.solve() };
        }
        let TriangularSystem { m, n, alpha, a, b, .. } = self;
        let Structure::Triangular { triangle, unit } = a.structure else { return };
        // SAFETY: the caller's promise.
        unsafe {
            scale(m, n, alpha, b, Written::All);
            if alpha == T::ZERO {
                return;
            }
            let update = |rows: std::ops::Range<usize>, first: usize, size: usize| {
                Product {
                    m: rows.len(),
                    n,
                    k: size,
                    alpha: -T::ONE,
                    a: a.from(rows.start, first),
                    b: b.from(first, 0).read(),
                    beta: T::ONE,
                    c: b.from(rows.start, 0),
                    written: Written::All,
                }
                .run();
            };
            match triangle {
                Triangle::Lower => {
                    for first in (0..m).step_by(BLOCK) {
                        let size = BLOCK.min(m - first);
                        solve_block(a.from(first, first), true, unit, size, n, b.from(first, 0));
                        update(first + size..m, first, size);
                    }
                }
                Triangle::Upper => {
                    for end in (1..=m).rev().step_by(BLOCK) {
                        let first = end.saturating_sub(BLOCK);
                        solve_block(a.from(first, first), false, unit, end - first, n, b.from(first, 0));
                        update(0..first, first, end - first);
                    }
                }
            }
        }
    }
}

vectorized! {
    /// Solves a system of a few rows, a few right sides at a time.
    ///
    /// # Safety
    /// The matrices are there and do not overlap.
    unsafe fn solve_block<T: Number>(a: View<T>, is_lower: bool, unit: bool, size: usize, n: usize, b: ViewMut<T>) {
        let mut x = [[T::ZERO; SIDES]; BLOCK];
        for side in (0..n).step_by(SIDES) {
            let sides = SIDES.min(n - side);
            // SAFETY: the caller's promise.
            unsafe {
                for j in 0..sides {
                    for i in 0..size {
                        x[i][j] = *b.at(i, side + j);
                    }
                }
                for step in 0..size {
                    let i = if is_lower { step } else { size - 1 - step };
                    let mut row = x[i];
                    let known = if is_lower { 0..i } else { i + 1..size };
                    for p in known {
                        let factor = a.get(i, p);
                        for j in 0..SIDES {
                            row[j] -= factor * x[p][j];
                        }
                    }
                    if !unit {
                        let diagonal = a.get(i, i);
                        for value in &mut row {
                            *value = *value / diagonal;
                        }
                    }
                    x[i] = row;
                }
                for j in 0..sides {
                    for i in 0..size {
                        *b.at(i, side + j) = x[i][j];
                    }
                }
            }
        }
    }
}

/// `C = alpha · A + beta · B`; an operand whose factor is zero is not read, and the result may replace an operand of its layout.
///
/// # Safety
/// The matrices are there.
pub unsafe fn geam<T: Number>(m: usize, n: usize, alpha: T, a: View<T>, beta: T, b: View<T>, c: ViewMut<T>) {
    const TILE: usize = 16;
    for j in (0..n).step_by(TILE) {
        for i in (0..m).step_by(TILE) {
            for j in j..n.min(j + TILE) {
                for i in i..m.min(i + TILE) {
                    // SAFETY: the caller's promise.
                    unsafe {
                        let left = if alpha == T::ZERO { T::ZERO } else { alpha * a.get(i, j) };
                        let right = if beta == T::ZERO { T::ZERO } else { beta * b.get(i, j) };
                        *c.at(i, j) = left + right;
                    }
                }
            }
        }
    }
}

/// `C = A · diag(x)`, or `diag(x) · A`; the result may replace `A`.
///
/// # Safety
/// The matrices and the vector are there.
pub unsafe fn dgmm<T: Number>(
    is_right: bool,
    m: usize,
    n: usize,
    a: View<T>,
    (x, incx): (*const T, isize),
    c: ViewMut<T>,
) {
    let length = if is_right { n } else { m };
    // A negative increment begins at the end, as in other routines.
    let x = crate::level1::Strided::new(x, length, incx);
    for j in 0..n {
        for i in 0..m {
            // SAFETY: the caller's promise.
            unsafe { *c.at(i, j) = a.get(i, j) * *x.at(if is_right { j } else { i }) };
        }
    }
}
