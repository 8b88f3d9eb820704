//! Rotations of a plane: `(c · x + s · y, c · y - s · x)`.

use crate::dense::DenseMatrix;
use heddle_blas::Real;

/// Cosine and sine of a rotation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaneRotation {
    pub(crate) c: f64,
    pub(crate) s: f64,
}

impl PlaneRotation {
    /// Returns the rotation that takes `(x, y)` to `(r, 0)`, and `r`.
    pub(crate) fn annihilate(x: f64, y: f64) -> (PlaneRotation, f64) {
        if y == 0.0 {
            return (PlaneRotation { c: 1.0, s: 0.0 }, x);
        }
        let r = x.hypot(y);
        (PlaneRotation { c: x / r, s: y / r }, r)
    }

    /// Returns the rotated pair.
    pub(crate) fn of(self, x: f64, y: f64) -> (f64, f64) {
        (self.c * x + self.s * y, self.c * y - self.s * x)
    }

    /// Rotates two columns of a matrix.
    pub(crate) fn rotate_columns<R: Real>(self, matrix: &mut DenseMatrix<R>, i: usize, j: usize) {
        let (c, s) = (R::from_f64(self.c), R::from_f64(self.s));
        let (first, second) = matrix.two_columns(i, j);
        for (x, y) in first.iter_mut().zip(second) {
            (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
        }
    }
}

/// Returns the eigenvalue of `[a b; b d]` that is nearer to `d`.
pub(crate) fn nearer_eigenvalue(a: f64, b: f64, d: f64) -> f64 {
    if b == 0.0 {
        return d;
    }
    let half = (a - d) / 2.0;
    d - b * (b / (half + half.hypot(b).copysign(half)))
}
