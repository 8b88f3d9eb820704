//! Level 1: vectors.
//!
//! With a negative increment, a vector begins at its end.

use crate::vectors::vectorized;
use crate::{Number, Real};

/// Sums that reductions keep apart, so that vectors of them are added.
const SUMS: usize = 32;

/// Returns the address of a vector's first element.
#[inline(always)]
fn first<T>(x: *const T, n: usize, increment: isize) -> *const T {
    if increment < 0 { x.wrapping_offset((1 - n as isize) * increment) } else { x }
}

/// Vector in memory.
#[derive(Clone, Copy, Debug)]
pub struct Strided<T> {
    first: *mut T,
    increment: isize,
    length: usize,
}

impl<T: Copy> Strided<T> {
    /// Returns a vector of some length.
    #[inline(always)]
    pub fn new(x: *const T, length: usize, increment: isize) -> Strided<T> {
        Strided { first: first(x, length, increment).cast_mut(), increment, length }
    }

    /// Returns the address of an element.
    #[inline(always)]
    pub fn at(self, i: usize) -> *mut T {
        self.first.wrapping_offset(i as isize * self.increment)
    }

    /// Returns the elements.
    ///
    /// # Safety
    /// The vector is there.
    pub unsafe fn read(self) -> Vec<T> {
        // SAFETY: the caller's promise.
        (0..self.length).map(|i| unsafe { self.at(i).read() }).collect()
    }

    /// Writes the elements.
    ///
    /// # Safety
    /// The vector is there.
    pub unsafe fn write(self, values: &[T]) {
        for (i, value) in values.iter().enumerate().take(self.length) {
            // SAFETY: the caller's promise.
            unsafe { self.at(i).write(*value) };
        }
    }

    /// Returns the elements as a slice, if they follow each other.
    ///
    /// # Safety
    /// The vector is there, and nobody writes it meanwhile.
    #[inline(always)]
    pub unsafe fn slice<'a>(self) -> Option<&'a [T]> {
        // SAFETY: the caller's promise.
        (self.increment == 1 && self.length > 0)
            .then(|| unsafe { std::slice::from_raw_parts(self.first, self.length) })
    }

    /// Returns the elements as a slice to be written, if they follow each other.
    ///
    /// # Safety
    /// The vector is there, and nobody else uses it meanwhile.
    #[inline(always)]
    pub unsafe fn slice_mut<'a>(self) -> Option<&'a mut [T]> {
        // SAFETY: the caller's promise.
        (self.increment == 1 && self.length > 0)
            .then(|| unsafe { std::slice::from_raw_parts_mut(self.first, self.length) })
    }
}

vectorized! {
    /// `y += alpha · x`
    ///
    /// # Safety
    /// The vectors are there.
    pub unsafe fn axpy<T: Number>(n: usize, alpha: T, x: *const T, incx: isize, y: *mut T, incy: isize) {
        let (x, y) = (Strided::new(x, n, incx), Strided::new(y, n, incy));
        // SAFETY: the caller's promise.
        unsafe {
            if let (Some(x), Some(y)) = (x.slice(), y.slice_mut()) {
                for (y, x) in y.iter_mut().zip(x) {
                    *y += alpha * *x;
                }
            } else {
                for i in 0..n {
                    *y.at(i) += alpha * *x.at(i);
                }
            }
        }
    }

    /// `y = x`
    ///
    /// # Safety
    /// The vectors are there.
    pub unsafe fn copy<T: Number>(n: usize, x: *const T, incx: isize, y: *mut T, incy: isize) {
        let (x, y) = (Strided::new(x, n, incx), Strided::new(y, n, incy));
        // SAFETY: the caller's promise.
        unsafe {
            if incx == 1 && incy == 1 {
                y.at(0).copy_from(x.at(0), n);
            } else {
                for i in 0..n {
                    *y.at(i) = *x.at(i);
                }
            }
        }
    }

    /// Exchanges `x` and `y`.
    ///
    /// # Safety
    /// The vectors are there.
    pub unsafe fn swap<T: Number>(n: usize, x: *mut T, incx: isize, y: *mut T, incy: isize) {
        let (x, y) = (Strided::new(x, n, incx), Strided::new(y, n, incy));
        // SAFETY: the caller's promise.
        unsafe {
            if let (Some(x), Some(y)) = (x.slice_mut(), y.slice_mut()) {
                x.swap_with_slice(y);
            } else {
                for i in 0..n {
                    x.at(i).swap(y.at(i));
                }
            }
        }
    }

    /// `x *= alpha`
    ///
    /// # Safety
    /// The vector is there.
    pub unsafe fn scal<T: Number>(n: usize, alpha: T, x: *mut T, incx: isize) {
        let x = Strided::new(x, n, incx);
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(x) = x.slice_mut() {
                for x in x {
                    *x = alpha * *x;
                }
            } else {
                for i in 0..n {
                    *x.at(i) = alpha * *x.at(i);
                }
            }
        }
    }

    /// Returns the sum of products, of conjugates of `x` if that is wanted.
    ///
    /// # Safety
    /// The vectors are there.
    pub unsafe fn dot<T: Number>(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, conj: bool) -> T {
        let (x, y) = (Strided::new(x, n, incx), Strided::new(y, n, incy));
        // SAFETY: the caller's promise.
        unsafe {
            if let (Some(x), Some(y)) = (x.slice(), y.slice()) {
                if conj { dot_slices::<T, true>(x, y) } else { dot_slices::<T, false>(x, y) }
            } else {
                let mut sum = T::ZERO;
                for i in 0..n {
                    sum += (*x.at(i)).conj_if(conj) * *y.at(i);
                }
                sum
            }
        }
    }

    /// Returns the sum of magnitudes.
    ///
    /// # Safety
    /// The vector is there.
    pub unsafe fn asum<T: Number>(n: usize, x: *const T, incx: isize) -> T::Real {
        let x = Strided::new(x, n, incx);
        // SAFETY: the caller's promise.
        unsafe {
            match x.slice() {
                Some(x) => reduce(x, T::magnitude),
                None => {
                    let mut sum = T::Real::ZERO;
                    for i in 0..n {
                        sum += (*x.at(i)).magnitude();
                    }
                    sum
                }
            }
        }
    }

    /// Returns the sum of squares in double precision.
    ///
    /// # Safety
    /// The vector is there.
    unsafe fn squares<T: Number>(n: usize, x: *const T, incx: isize) -> f64 {
        let x = Strided::new(x, n, incx);
        let square = |x: T| {
            let (re, im) = (x.re().to_f64(), x.im().to_f64());
            if T::IS_COMPLEX { re * re + im * im } else { re * re }
        };
        // SAFETY: the caller's promise.
        unsafe {
            match x.slice() {
                Some(x) => {
                    let mut sums = [0.0; SUMS];
                    let chunks = x.chunks_exact(SUMS);
                    let rest: f64 = chunks.remainder().iter().map(|x| square(*x)).sum();
                    for chunk in chunks {
                        for (sum, x) in sums.iter_mut().zip(chunk) {
                            *sum += square(*x);
                        }
                    }
                    rest + sums.iter().sum::<f64>()
                }
                None => (0..n).map(|i| square(*x.at(i))).sum(),
            }
        }
    }

    /// Returns the largest magnitude, or with `least` the smallest one.
    ///
    /// # Safety
    /// The vector is there, and not empty.
    unsafe fn extreme<T: Number>(n: usize, x: *const T, incx: isize, least: bool) -> T::Real {
        let x = Strided::new(x, n, incx);
        // SAFETY: the caller's promise.
        unsafe {
            match (x.slice(), least) {
                (Some(x), false) => extreme_of_slice::<T, false>(x),
                (Some(x), true) => extreme_of_slice::<T, true>(x),
                (None, _) => {
                    let mut best = (*x.at(0)).magnitude();
                    for i in 1..n {
                        let magnitude = (*x.at(i)).magnitude();
                        if if least { magnitude < best } else { magnitude > best } {
                            best = magnitude;
                        }
                    }
                    best
                }
            }
        }
    }

    /// Returns the position of the first element of a magnitude.
    ///
    /// # Safety
    /// The vector is there.
    unsafe fn find_magnitude<T: Number>(n: usize, x: *const T, incx: isize, wanted: T::Real) -> usize {
        let x = Strided::new(x, n, incx);
        let mut begin = 0;
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(x) = x.slice() {
                let is_there = |chunk: &[T]| chunk.iter().fold(false, |found, x| found | (x.magnitude() == wanted));
                begin = x.chunks_exact(SUMS).take_while(|chunk| !is_there(chunk)).count() * SUMS;
            }
            (begin..n).find(|i| (*x.at(*i)).magnitude() == wanted).unwrap_or(0)
        }
    }

    /// Rotates pairs: `x' = c · x + s · y`, `y' = c · y - conj(s) · x`.
    ///
    /// # Safety
    /// The vectors are there.
    pub unsafe fn rot<T: Number>(n: usize, x: *mut T, incx: isize, y: *mut T, incy: isize, c: T, s: T) {
        let (x, y) = (Strided::new(x, n, incx), Strided::new(y, n, incy));
        // SAFETY: the caller's promise.
        unsafe {
            if let (Some(x), Some(y)) = (x.slice_mut(), y.slice_mut()) {
                for (x, y) in x.iter_mut().zip(y) {
                    (*x, *y) = (c * *x + s * *y, c * *y - s.conj() * *x);
                }
            } else {
                for i in 0..n {
                    let (x, y) = (x.at(i), y.at(i));
                    (*x, *y) = (c * *x + s * *y, c * *y - s.conj() * *x);
                }
            }
        }
    }

    /// Multiplies pairs by a matrix of two rows, whose columns follow each other.
    ///
    /// # Safety
    /// The vectors are there.
    pub unsafe fn multiply_pairs<T: Number>(n: usize, x: *mut T, incx: isize, y: *mut T, incy: isize, h: [T; 4]) {
        let (x, y) = (Strided::new(x, n, incx), Strided::new(y, n, incy));
        for i in 0..n {
            let (x, y) = (x.at(i), y.at(i));
            // SAFETY: the caller's promise.
            unsafe { (*x, *y) = (h[0] * *x + h[2] * *y, h[1] * *x + h[3] * *y) };
        }
    }
}

/// Returns the largest or smallest magnitude of a slice.
#[inline(always)]
fn extreme_of_slice<T: Number, const LEAST: bool>(x: &[T]) -> T::Real {
    let better = |a: T::Real, b: T::Real| if if LEAST { a < b } else { a > b } { a } else { b };
    let mut found = [x[0].magnitude(); SUMS];
    let chunks = x.chunks_exact(SUMS);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (found, x) in found.iter_mut().zip(chunk) {
            *found = better(x.magnitude(), *found);
        }
    }
    let rest = rest.iter().map(|x| x.magnitude());
    found.into_iter().chain(rest).fold(found[0], |best, magnitude| better(magnitude, best))
}

/// Returns the sum of products of slices.
#[inline(always)]
pub(crate) fn dot_slices<T: Number, const CONJ: bool>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::ZERO; SUMS];
    let (xs, ys) = (x.chunks_exact(SUMS), y.chunks_exact(SUMS));
    let mut rest = T::ZERO;
    for (x, y) in xs.remainder().iter().zip(ys.remainder()) {
        rest += x.conj_if(CONJ) * *y;
    }
    for (x, y) in xs.zip(ys) {
        for i in 0..SUMS {
            sums[i] += x[i].conj_if(CONJ) * y[i];
        }
    }
    sums.into_iter().fold(rest, |sum, part| sum + part)
}

#[inline(always)]
fn reduce<T: Number>(x: &[T], of: impl Fn(T) -> T::Real) -> T::Real {
    let mut sums = [T::Real::ZERO; SUMS];
    let chunks = x.chunks_exact(SUMS);
    let rest = chunks.remainder().iter().fold(T::Real::ZERO, |sum, x| sum + of(*x));
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += of(*x);
        }
    }
    sums.into_iter().fold(rest, |sum, part| sum + part)
}

/// Returns the Euclidean norm, without overflow of intermediate results.
///
/// # Safety
/// The vector is there.
pub unsafe fn nrm2<T: Number>(n: usize, x: *const T, incx: isize) -> T::Real {
    // SAFETY: the caller's promise.
    unsafe {
        let sum = squares(n, x, incx);
        // Squares of doubles may have left the range; those of floats cannot.
        if (1e-280..f64::MAX).contains(&sum) || n == 0 {
            return T::Real::from_f64(sum.sqrt());
        }
        let parts = |x: T| [x.re().to_f64().abs(), x.im().to_f64().abs()];
        let x = Strided::new(x, n, incx);
        let numbers = || (0..n).flat_map(|i| parts(*x.at(i)));
        let largest = numbers().fold(0.0, f64::max);
        if largest == 0.0 || !largest.is_finite() || sum.is_nan() {
            return T::Real::from_f64(if sum.is_nan() { f64::NAN } else { largest });
        }
        let scaled: f64 = numbers().map(|x| (x / largest) * (x / largest)).sum();
        T::Real::from_f64(largest * scaled.sqrt())
    }
}

/// Returns the position of the first element with the largest magnitude, or with `least` the smallest one, counted from one; 0 if there is
/// none.
///
/// # Safety
/// The vector is there.
pub unsafe fn find_extreme<T: Number>(n: usize, x: *const T, incx: isize, least: bool) -> usize {
    if n == 0 {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let best = extreme(n, x, incx, least);
        find_magnitude(n, x, incx, best) + 1
    }
}

/// Plane rotation that makes the second of two numbers zero.
#[derive(Clone, Copy, Debug)]
pub struct Rotation<T: Number> {
    /// Remainder of the first number.
    pub r: T,
    /// Value that stores the rotation in the second number's place; real numbers only.
    pub z: T,
    /// Cosine.
    pub c: T::Real,
    /// Sine.
    pub s: T,
}

/// Returns the rotation of two numbers.
pub fn rotg<T: Number>(a: T, b: T) -> Rotation<T> {
    let (zero, one) = (T::Real::ZERO, T::Real::ONE);
    let (size_a, size_b) = (a.modulus(), b.modulus());
    let scale = size_a + size_b;
    let norm = || {
        let (a, b) = (size_a / scale, size_b / scale);
        scale * (a * a + b * b).sqrt()
    };
    if T::IS_COMPLEX {
        if size_a == zero {
            return Rotation { r: b, z: b, c: zero, s: T::ONE };
        }
        let norm = norm();
        let direction = T::from_parts(a.re() / size_a, a.im() / size_a);
        let s = direction * b.conj();
        let s = T::from_parts(s.re() / norm, s.im() / norm);
        return Rotation { r: direction * T::from_real(norm), z: b, c: size_a / norm, s };
    }
    if scale == zero {
        return Rotation { r: T::ZERO, z: T::ZERO, c: one, s: T::ZERO };
    }
    let larger = if size_a > size_b { a } else { b };
    let r = if larger.re() < zero { -norm() } else { norm() };
    let (c, s) = (a.re() / r, b.re() / r);
    let z = match (size_a > size_b, c == zero) {
        (true, _) => s,
        (false, false) => one / c,
        (false, true) => one,
    };
    Rotation { r: T::from_real(r), z: T::from_real(z), c, s: T::from_real(s) }
}

/// Modified rotation of `rotmg`: flag, then the matrix by columns.
pub type ModifiedRotation<R> = [R; 5];

/// Returns the matrix of a modified rotation by columns, or none if it changes nothing.
pub fn modified_matrix<R: Real>(parameters: ModifiedRotation<R>) -> Option<[R; 4]> {
    let [flag, h11, h21, h12, h22] = parameters;
    if flag == -(R::ONE + R::ONE) {
        None
    } else if flag < R::ZERO {
        Some([h11, h21, h12, h22])
    } else if flag == R::ZERO {
        Some([R::ONE, h21, h12, R::ONE])
    } else {
        Some([h11, -R::ONE, R::ONE, h22])
    }
}

/// Computes a modified rotation; changes `d1`, `d2` and `x1` as BLAS says.
pub fn rotmg<R: Real>(d1: &mut R, d2: &mut R, x1: &mut R, y1: R) -> ModifiedRotation<R> {
    let (zero, one) = (R::ZERO, R::ONE);
    let gamma = R::from_f64(4096.0);
    let (large, small) = (gamma * gamma, one / (gamma * gamma));
    let mut flag = -one;
    let (mut h11, mut h21, mut h12, mut h22) = (zero, zero, zero, zero);
    let (p1, p2) = (*d1 * *x1, *d2 * y1);
    if *d1 >= zero && p2 == zero {
        return [-(one + one), zero, zero, zero, zero];
    }
    let (q1, q2) = (p1 * *x1, p2 * y1);
    let is_possible = *d1 >= zero
        && if q1.abs() > q2.abs() {
            (h21, h12) = (-y1 / *x1, p2 / p1);
            let u = one - h12 * h21;
            if u > zero {
                flag = zero;
                (*d1, *d2, *x1) = (*d1 / u, *d2 / u, *x1 * u);
            }
            u > zero
        } else {
            if q2 >= zero {
                flag = one;
                (h11, h22) = (p1 / p2, *x1 / y1);
                let u = one + h11 * h22;
                (*d1, *d2, *x1) = (*d2 / u, *d1 / u, y1 * u);
            }
            q2 >= zero
        };
    if !is_possible {
        (*d1, *d2, *x1) = (zero, zero, zero);
        return [-one, zero, zero, zero, zero];
    }
    let whole = |flag: &mut R, h11: &mut R, h21: &mut R, h12: &mut R, h22: &mut R| {
        if *flag == zero {
            (*h11, *h22) = (one, one);
        } else if *flag > zero {
            (*h21, *h12) = (-one, one);
        }
        *flag = -one;
    };
    while *d1 != zero && (*d1 <= small || *d1 >= large) && d1.to_f64().is_finite() {
        whole(&mut flag, &mut h11, &mut h21, &mut h12, &mut h22);
        if *d1 <= small {
            *d1 = *d1 * large;
            (*x1, h11, h12) = (*x1 / gamma, h11 / gamma, h12 / gamma);
        } else {
            *d1 = *d1 * small;
            (*x1, h11, h12) = (*x1 * gamma, h11 * gamma, h12 * gamma);
        }
    }
    while *d2 != zero && (d2.abs() <= small || d2.abs() >= large) && d2.to_f64().is_finite() {
        whole(&mut flag, &mut h11, &mut h21, &mut h12, &mut h22);
        if d2.abs() <= small {
            *d2 = *d2 * large;
            (h21, h22) = (h21 / gamma, h22 / gamma);
        } else {
            *d2 = *d2 * small;
            (h21, h22) = (h21 * gamma, h22 * gamma);
        }
    }
    [flag, h11, h21, h12, h22]
}
