//! Every routine against plain loops in double precision, for odd sizes, increments, storages and transpositions.
#![allow(clippy::needless_range_loop)]

use heddle_blas::columns::{ColumnLayout, Columns};
use heddle_blas::gemm::Product;
use heddle_blas::level2::{self, Factors};
use heddle_blas::level3::{self, SidedProduct, SymmetricUpdate, TriangularSystem};
use heddle_blas::view::{Structure, View, ViewMut, Written};
use heddle_blas::{Complex, Number, Real, Transpose, Triangle, convert, factor, level1};

type C64 = Complex<f64>;

const TRANSPOSES: [Transpose; 3] = [Transpose::No, Transpose::Yes, Transpose::Conjugate];
const TRIANGLES: [Triangle; 2] = [Triangle::Lower, Triangle::Upper];
const INCREMENTS: [isize; 4] = [1, 2, -1, -3];

/// Random numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 40) % 2001) as f64 / 1000.0 - 1.0
    }

    fn one<T: Number>(&mut self) -> T {
        let re = self.part();
        T::from_parts(T::Real::from_f64(re), T::Real::from_f64(self.part()))
    }

    fn list<T: Number>(&mut self, count: usize) -> Vec<T> {
        (0..count).map(|_| self.one()).collect()
    }
}

fn exact<T: Number>(value: T) -> C64 {
    C64::from_parts(value.re().to_f64(), value.im().to_f64())
}

/// Panics where numbers differ by more than the roundings of some sums.
#[track_caller]
fn same<T: Number>(found: &[T], wanted: &[C64], summands: usize) {
    let unit = if size_of::<T::Real>() == 4 { 1e-6 } else { 2e-15 };
    assert_eq!(found.len(), wanted.len());
    for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let difference = (exact(*found) - *wanted).modulus();
        let tolerance = unit * (summands as f64 + 4.0) * (1.0 + wanted.modulus());
        assert!(difference <= tolerance, "element {i}: {found:?} instead of {wanted:?}");
    }
}

/// Matrix of the reference.
struct Dense {
    rows: usize,
    columns: usize,
    at: Vec<C64>,
}

impl Dense {
    fn new(rows: usize, columns: usize, of: impl Fn(usize, usize) -> C64) -> Dense {
        let at = (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| of(i, j)).collect();
        Dense { rows, columns, at }
    }

    fn get(&self, i: usize, j: usize) -> C64 {
        self.at[i + j * self.rows]
    }

    fn operand(&self, transpose: Transpose) -> Dense {
        match transpose {
            Transpose::No => Dense::new(self.rows, self.columns, |i, j| self.get(i, j)),
            Transpose::Yes => Dense::new(self.columns, self.rows, |i, j| self.get(j, i)),
            Transpose::Conjugate => Dense::new(self.columns, self.rows, |i, j| self.get(j, i).conj()),
        }
    }

    fn times(&self, other: &Dense) -> Dense {
        assert_eq!(self.columns, other.rows);
        Dense::new(self.rows, other.columns, |i, j| {
            (0..self.columns).fold(C64::ZERO, |sum, p| sum + self.get(i, p) * other.get(p, j))
        })
    }
}

/// Returns the stored positions of a vector's elements.
fn positions(n: usize, increment: isize) -> Vec<usize> {
    let begin = if increment < 0 { (n as isize - 1) * -increment } else { 0 };
    (0..n as isize).map(|i| (begin + i * increment) as usize).collect()
}

fn vector<T: Number>(x: &[T], n: usize, increment: isize) -> Dense {
    let positions = positions(n, increment);
    Dense::new(n, 1, |i, _| exact(x[positions[i]]))
}

/// Calls a generic function for each kind of numbers.
macro_rules! for_all_kinds {
    ($($test:ident)*) => {$(
        #[test]
        fn $test() {
            kinds::$test::<f32>();
            kinds::$test::<f64>();
            kinds::$test::<Complex<f32>>();
            kinds::$test::<Complex<f64>>();
        }
    )*};
}

for_all_kinds! {
    vectors extremes rotations general_matrices_and_vectors symmetric_matrices_and_vectors triangular_matrices_and_vectors
    updates_by_vectors products symmetric_products symmetric_updates triangular_products_and_systems sums_and_scaled_matrices
    factored_matrices
}

mod kinds {
    use super::*;

    pub(super) fn vectors<T: Number>() {
        let mut numbers = Numbers(1);
        for n in [0, 1, 5, 31, 32, 33, 200] {
            for incx in INCREMENTS {
                for incy in INCREMENTS {
                    let room = 3 * n + 1;
                    let (x, y): (Vec<T>, Vec<T>) = (numbers.list(room), numbers.list(room));
                    let (px, py) = (positions(n, incx), positions(n, incy));
                    let (alpha, s): (T, T) = (numbers.one(), numbers.one());
                    let c = T::from_real(T::Real::from_f64(0.6));
                    let exact_all =
                        |values: &[T]| -> Vec<C64> { values.iter().map(|value| exact(*value)).collect() };

                    // SAFETY: the vectors have room.
                    unsafe {
                        let mut found = y.clone();
                        level1::axpy(n, alpha, x.as_ptr(), incx, found.as_mut_ptr(), incy);
                        let mut wanted = exact_all(&y);
                        for i in 0..n {
                            wanted[py[i]] += exact(alpha) * exact(x[px[i]]);
                        }
                        same(&found, &wanted, 1);

                        let mut found = y.clone();
                        level1::copy(n, x.as_ptr(), incx, found.as_mut_ptr(), incy);
                        let mut wanted = exact_all(&y);
                        for i in 0..n {
                            wanted[py[i]] = exact(x[px[i]]);
                        }
                        same(&found, &wanted, 0);

                        let (mut found_x, mut found_y) = (x.clone(), y.clone());
                        level1::swap(n, found_x.as_mut_ptr(), incx, found_y.as_mut_ptr(), incy);
                        let mut wanted_x = exact_all(&x);
                        for i in 0..n {
                            (wanted[py[i]], wanted_x[px[i]]) = (exact(x[px[i]]), exact(y[py[i]]));
                        }
                        same(&found_y, &wanted, 0);
                        same(&found_x, &wanted_x, 0);

                        for conj in [false, true] {
                            let found = level1::dot(n, x.as_ptr(), incx, y.as_ptr(), incy, conj);
                            let wanted = (0..n).fold(C64::ZERO, |sum, i| {
                                sum + exact(x[px[i]]).conj_if(conj) * exact(y[py[i]])
                            });
                            same(&[found], &[wanted], n);
                        }

                        let (mut found_x, mut found_y) = (x.clone(), y.clone());
                        level1::rot(n, found_x.as_mut_ptr(), incx, found_y.as_mut_ptr(), incy, c, s);
                        let (mut wanted_x, mut wanted_y) = (exact_all(&x), exact_all(&y));
                        for i in 0..n {
                            let (old_x, old_y) = (exact(x[px[i]]), exact(y[py[i]]));
                            wanted_x[px[i]] = exact(c) * old_x + exact(s) * old_y;
                            wanted_y[py[i]] = exact(c) * old_y - exact(s).conj() * old_x;
                        }
                        same(&found_x, &wanted_x, 2);
                        same(&found_y, &wanted_y, 2);

                        let mut found = x.clone();
                        level1::scal(n, alpha, found.as_mut_ptr(), incx);
                        let mut wanted = exact_all(&x);
                        for i in 0..n {
                            wanted[px[i]] = exact(alpha) * exact(x[px[i]]);
                        }
                        same(&found, &wanted, 1);

                        let parts = |i: usize| (exact(x[px[i]]).re.abs(), exact(x[px[i]]).im.abs());
                        let sum: f64 = (0..n).map(|i| parts(i).0 + parts(i).1).sum();
                        let found = T::from_real(level1::asum(n, x.as_ptr(), incx));
                        same(&[found], &[C64::from_real(sum)], n);
                        let squares: f64 =
                            (0..n).map(|i| parts(i).0 * parts(i).0 + parts(i).1 * parts(i).1).sum();
                        let found = T::from_real(level1::nrm2(n, x.as_ptr(), incx));
                        same(&[found], &[C64::from_real(squares.sqrt())], n);
                    }
                }
            }
        }
        // Squares leave the range, the norm does not.
        for factor in [1e-300_f64, 1e300] {
            let scale = if size_of::<T::Real>() == 4 { factor.powf(0.12) } else { factor };
            let x =
                [T::from_real(T::Real::from_f64(3.0 * scale)), T::from_real(T::Real::from_f64(4.0 * scale))];
            // SAFETY: the vector is there.
            let norm = unsafe { level1::nrm2(2, x.as_ptr(), 1) }.to_f64();
            assert!((norm / (5.0 * scale) - 1.0).abs() < 1e-6, "{norm}");
        }
    }

    pub(super) fn extremes<T: Number>() {
        let mut numbers = Numbers(2);
        for n in [0, 1, 7, 31, 32, 33, 64, 100] {
            for increment in [1, 3] {
                let x: Vec<T> = numbers.list(3 * n + 1);
                let magnitude = |i: usize| x[i * increment as usize].magnitude();
                let mut wanted = [0, 0];
                for i in 0..n {
                    if wanted[0] == 0 || magnitude(i) > magnitude(wanted[0] - 1) {
                        wanted[0] = i + 1;
                    }
                    if wanted[1] == 0 || magnitude(i) < magnitude(wanted[1] - 1) {
                        wanted[1] = i + 1;
                    }
                }
                // SAFETY: the vector is there.
                let found = [false, true]
                    .map(|least| unsafe { level1::find_extreme(n, x.as_ptr(), increment, least) });
                assert_eq!(found, wanted);
            }
        }
    }

    pub(super) fn rotations<T: Number>() {
        let mut numbers = Numbers(3);
        for round in 0..100 {
            let (a, b): (T, T) = match round {
                0 => (T::ZERO, numbers.one()),
                1 => (numbers.one(), T::ZERO),
                2 => (T::ZERO, T::ZERO),
                _ => (numbers.one(), numbers.one()),
            };
            let rotation = level1::rotg(a, b);
            let (c, s) = (C64::from_real(rotation.c.to_f64()), exact(rotation.s));
            same(&[rotation.r], &[c * exact(a) + s * exact(b)], 4);
            let zero = c * exact(b) - s.conj() * exact(a);
            assert!(zero.modulus() < 1e-5, "{zero:?}");
            assert!((c.re * c.re + s.modulus() * s.modulus() - 1.0).abs() < 1e-5);
        }
        // A modified rotation keeps d1 · x² + d2 · y² and makes y zero.
        for round in 0..200 {
            let scale = [1.0, 1e-9, 1e9, 1.0][round % 4];
            let mut part = || T::Real::from_f64(numbers.part());
            let (d1, d2) = (
                T::Real::from_f64(part().to_f64().abs() * scale + 1e-12),
                T::Real::from_f64(part().to_f64().abs()),
            );
            let (x, y) = (part(), part());
            let (mut new1, mut new2, mut new_x) = (d1, d2, x);
            let parameters = level1::rotmg(&mut new1, &mut new2, &mut new_x, y);
            let Some(h) = level1::modified_matrix(parameters) else { continue };
            let zero = h[1] * x + h[3] * y;
            let rotated = h[0] * x + h[2] * y;
            let before = (d1 * x * x + d2 * y * y).to_f64();
            let after = (new1 * rotated * rotated).to_f64();
            if parameters.iter().skip(1).any(|h| *h != T::Real::ZERO) {
                assert!(
                    zero.to_f64().abs()
                        <= 1e-5 * (1.0 + y.to_f64().abs() + x.to_f64().abs()) * (1.0 + h[3].abs().to_f64()),
                    "{zero:?}"
                );
                assert!((before - after).abs() <= 1e-4 * before.abs(), "{before} {after}");
                assert!((rotated - new_x).to_f64().abs() <= 1e-5 * (1.0 + new_x.to_f64().abs()));
            }
        }
    }

    /// Calls with each storage of a matrix of `m` rows and `n` columns, and its reference.
    fn with_general<T: Number>(
        numbers: &mut Numbers,
        m: usize,
        n: usize,
        mut call: impl FnMut(&mut Numbers, Columns<T>, &Dense),
    ) {
        let ld = m + 2;
        let a: Vec<T> = numbers.list(ld * n.max(1));
        let dense = Dense::new(m, n, |i, j| exact(a[i + j * ld]));
        call(
            numbers,
            Columns {
                pointer: a.as_ptr().cast_mut(),
                rows: m,
                count: n,
                layout: ColumnLayout::General { ld: ld as isize },
            },
            &dense,
        );
        for (lower, upper) in [(0, 0), (2, 1), (1, 4), (m, n)] {
            let ld = lower + upper + 2;
            let a: Vec<T> = numbers.list(ld * n.max(1));
            let dense = Dense::new(m, n, |i, j| {
                let is_stored = i <= j + lower && j <= i + upper;
                if is_stored { exact(a[upper + i - j + j * ld]) } else { C64::ZERO }
            });
            let layout = ColumnLayout::Band { ld: ld as isize, lower, upper };
            call(numbers, Columns { pointer: a.as_ptr().cast_mut(), rows: m, count: n, layout }, &dense);
        }
    }

    /// Calls with each storage of a triangle, the reference with zeros in the other one, and the storage to change.
    fn with_triangles<T: Number>(
        numbers: &mut Numbers,
        n: usize,
        mut call: impl FnMut(&mut Numbers, Columns<T>, &Dense, Triangle),
    ) {
        for triangle in TRIANGLES {
            let is_lower = triangle == Triangle::Lower;
            let stored = |i: usize, j: usize| if is_lower { i >= j } else { i <= j };
            let ld = n + 3;
            // Diagonals that systems can be solved with.
            let mut list = |count: usize| -> Vec<T> { numbers.list(count) };
            let mut full = list(ld * n.max(1));
            let mut packed = list(n * (n + 1) / 2 + 1);
            let width = 3;
            let mut band = list((width + 2) * n.max(1));
            let at_packed =
                |i: usize, j: usize| if is_lower { i + (2 * n - j - 1) * j / 2 } else { i + j * (j + 1) / 2 };
            let at_band = |i: usize, j: usize| {
                if is_lower { i - j + j * (width + 2) } else { width + i - j + j * (width + 2) }
            };
            for i in 0..n {
                let large = T::from_parts(T::Real::from_f64(3.0 + i as f64 / 8.0), T::Real::from_f64(0.5));
                full[i + i * ld] = large;
                packed[at_packed(i, i)] = large;
                band[at_band(i, i)] = large;
            }
            // Small elements elsewhere keep solutions small.
            for a in [&mut full, &mut packed, &mut band] {
                for value in a.iter_mut().filter(|value| value.magnitude().to_f64() < 2.5) {
                    *value = *value * T::from_real(T::Real::from_f64(0.25));
                }
            }
            let dense =
                Dense::new(n, n, |i, j| if stored(i, j) { exact(full[i + j * ld]) } else { C64::ZERO });
            call(
                numbers,
                Columns::square(full.as_mut_ptr(), n, ColumnLayout::Triangle { ld: ld as isize, triangle }),
                &dense,
                triangle,
            );
            let dense =
                Dense::new(
                    n,
                    n,
                    |i, j| if stored(i, j) { exact(packed[at_packed(i, j)]) } else { C64::ZERO },
                );
            call(
                numbers,
                Columns::square(packed.as_mut_ptr(), n, ColumnLayout::Packed { triangle }),
                &dense,
                triangle,
            );
            let dense = Dense::new(n, n, |i, j| {
                if stored(i, j) && i.abs_diff(j) <= width { exact(band[at_band(i, j)]) } else { C64::ZERO }
            });
            let layout = ColumnLayout::TriangleBand { ld: width as isize + 2, triangle, width };
            call(numbers, Columns::square(band.as_mut_ptr(), n, layout), &dense, triangle);
        }
    }

    /// Returns `alpha · product + beta · y` in the places of a vector.
    fn combined<T: Number>(product: &Dense, factors: Factors<T>, y: &[T], increment: isize) -> Vec<C64> {
        let mut wanted: Vec<C64> = y.iter().map(|y| exact(*y)).collect();
        for (i, place) in positions(product.rows, increment).into_iter().enumerate() {
            let old = if factors.beta == T::ZERO { C64::ZERO } else { exact(factors.beta) * wanted[place] };
            wanted[place] = exact(factors.alpha) * product.get(i, 0) + old;
        }
        wanted
    }

    fn some_factors<T: Number>(numbers: &mut Numbers, round: usize) -> Factors<T> {
        let alpha = numbers.one();
        match round % 4 {
            0 => Factors { alpha, beta: T::ZERO },
            1 => Factors { alpha, beta: T::ONE },
            2 => Factors { alpha: T::ZERO, beta: numbers.one() },
            _ => Factors { alpha, beta: numbers.one() },
        }
    }

    pub(super) fn general_matrices_and_vectors<T: Number>() {
        let mut numbers = Numbers(4);
        let mut round = 0;
        for (m, n) in [(1, 1), (5, 3), (3, 7), (33, 18), (70, 40)] {
            with_general::<T>(&mut numbers, m, n, |numbers, a, dense| {
                for transpose in TRANSPOSES {
                    for (incx, incy) in INCREMENTS.into_iter().zip([-2, 1, 3, -1]) {
                        round += 1;
                        let factors = some_factors(numbers, round);
                        let (inputs, outputs) = if transpose == Transpose::No { (n, m) } else { (m, n) };
                        let x: Vec<T> = numbers.list(3 * inputs);
                        let y: Vec<T> = numbers.list(3 * outputs);
                        let mut found = y.clone();
                        // SAFETY: the matrix and the vectors are there.
                        unsafe {
                            level2::gemv(
                                transpose,
                                factors,
                                a,
                                (x.as_ptr(), incx),
                                (found.as_mut_ptr(), incy),
                            )
                        };
                        let product = dense.operand(transpose).times(&vector(&x, inputs, incx));
                        same(&found, &combined(&product, factors, &y, incy), inputs);
                    }
                }
            });
        }
    }

    /// Returns the whole of a matrix of which a triangle is given.
    fn mirrored(dense: &Dense, triangle: Triangle, hermitian: bool) -> Dense {
        Dense::new(dense.rows, dense.rows, |i, j| {
            let is_stored = if triangle == Triangle::Lower { i >= j } else { i <= j };
            let value = if is_stored { dense.get(i, j) } else { dense.get(j, i).conj_if(hermitian) };
            if hermitian && i == j { C64::from_real(value.re) } else { value }
        })
    }

    pub(super) fn symmetric_matrices_and_vectors<T: Number>() {
        let mut numbers = Numbers(5);
        let mut round = 0;
        for n in [1, 2, 9, 40] {
            with_triangles::<T>(&mut numbers, n, |numbers, a, dense, triangle| {
                for hermitian in [false, true] {
                    for (incx, incy) in INCREMENTS.into_iter().zip([-2, 1, 3, -1]) {
                        round += 1;
                        let factors = some_factors(numbers, round);
                        let x: Vec<T> = numbers.list(3 * n);
                        let y: Vec<T> = numbers.list(3 * n);
                        let mut found = y.clone();
                        // SAFETY: the matrix and the vectors are there.
                        unsafe {
                            level2::symv(
                                hermitian,
                                factors,
                                a,
                                (x.as_ptr(), incx),
                                (found.as_mut_ptr(), incy),
                            )
                        };
                        let product = mirrored(dense, triangle, hermitian).times(&vector(&x, n, incx));
                        same(&found, &combined(&product, factors, &y, incy), n + 4);
                    }
                }
            });
        }
    }

    /// Returns a triangular matrix with a diagonal of ones, if that is wanted.
    fn with_diagonal(dense: &Dense, unit: bool) -> Dense {
        Dense::new(dense.rows, dense.rows, |i, j| if unit && i == j { C64::ONE } else { dense.get(i, j) })
    }

    pub(super) fn triangular_matrices_and_vectors<T: Number>() {
        let mut numbers = Numbers(6);
        for n in [1, 2, 9, 40] {
            with_triangles::<T>(&mut numbers, n, |numbers, a, dense, _| {
                for transpose in TRANSPOSES {
                    for unit in [false, true] {
                        for increment in INCREMENTS {
                            let x: Vec<T> = numbers.list(3 * n);
                            let matrix = with_diagonal(dense, unit).operand(transpose);
                            let mut found = x.clone();
                            // SAFETY: the matrix and the vector are there.
                            unsafe { level2::trmv(transpose, unit, a, (found.as_mut_ptr(), increment)) };
                            let product = matrix.times(&vector(&x, n, increment));
                            let factors = Factors { alpha: T::ONE, beta: T::ZERO };
                            same(&found, &combined(&product, factors, &x, increment), n + 4);
                            // The solution of what the product gives is the vector.
                            // SAFETY: as above.
                            unsafe { level2::trsv(transpose, unit, a, (found.as_mut_ptr(), increment)) };
                            let wanted: Vec<C64> = x.iter().map(|x| exact(*x)).collect();
                            same(&found, &wanted, 200 * n);
                        }
                    }
                }
            });
        }
    }

    pub(super) fn updates_by_vectors<T: Number>() {
        let mut numbers = Numbers(7);
        for (m, n) in [(1, 1), (6, 4), (35, 20)] {
            for conj in [false, true] {
                with_general::<T>(&mut numbers, m, n, |numbers, a, dense| {
                    if !matches!(a.layout, ColumnLayout::General { .. }) {
                        return;
                    }
                    let (x, y): (Vec<T>, Vec<T>) = (numbers.list(3 * m), numbers.list(3 * n));
                    let alpha: T = numbers.one();
                    // SAFETY: the matrix and the vectors are there.
                    unsafe { level2::ger(alpha, conj, a, (x.as_ptr(), 2), (y.as_ptr(), -3)) };
                    let (x, y) = (vector(&x, m, 2), vector(&y, n, -3));
                    for j in 0..n {
                        let wanted: Vec<C64> = (0..m)
                            .map(|i| dense.get(i, j) + exact(alpha) * x.get(i, 0) * y.get(j, 0).conj_if(conj))
                            .collect();
                        // SAFETY: the matrix is there.
                        same(unsafe { a.column(j).elements() }, &wanted, 2);
                    }
                });
            }
        }
        for n in [1, 5, 30] {
            for (hermitian, two) in [(false, false), (true, false), (false, true), (true, true)] {
                with_triangles::<T>(&mut numbers, n, |numbers, a, dense, _| {
                    if matches!(a.layout, ColumnLayout::TriangleBand { .. }) {
                        return;
                    }
                    let (x, y): (Vec<T>, Vec<T>) = (numbers.list(3 * n), numbers.list(3 * n));
                    let alpha: T = numbers.one();
                    let alpha = if hermitian && !two { T::from_real(alpha.re()) } else { alpha };
                    // SAFETY: the matrix and the vectors are there.
                    unsafe {
                        if two {
                            level2::syr2(hermitian, alpha, a, (x.as_ptr(), -1), (y.as_ptr(), 2));
                        } else {
                            level2::syr(hermitian, alpha, a, (x.as_ptr(), -1));
                        }
                    }
                    let (x, y) = (vector(&x, n, -1), vector(&y, n, 2));
                    let alpha = exact(alpha);
                    for j in 0..n {
                        let column = a.column(j);
                        let wanted: Vec<C64> = (column.first..column.first + column.length)
                            .map(|i| {
                                let product =
                                    |x: &Dense, y: &Dense| x.get(i, 0) * y.get(j, 0).conj_if(hermitian);
                                let sum = match two {
                                    true => {
                                        alpha * product(&x, &y) + alpha.conj_if(hermitian) * product(&y, &x)
                                    }
                                    false => alpha * product(&x, &x),
                                };
                                let value = dense.get(i, j) + sum;
                                if hermitian && i == j { C64::from_real(value.re) } else { value }
                            })
                            .collect();
                        // SAFETY: the matrix is there.
                        same(unsafe { column.elements() }, &wanted, 6);
                    }
                });
            }
        }
    }

    /// Returns numbers of a matrix with some distance of columns, and its reference.
    fn matrix<T: Number>(numbers: &mut Numbers, rows: usize, columns: usize, ld: usize) -> (Vec<T>, Dense) {
        let a: Vec<T> = numbers.list(ld * columns.max(1));
        let dense = Dense::new(rows, columns, |i, j| exact(a[i + j * ld]));
        (a, dense)
    }

    /// Returns what a product leaves in a matrix' memory.
    fn result<T: Number>(
        product: &Dense,
        alpha: T,
        beta: T,
        c: &[T],
        ld: usize,
        written: Written,
    ) -> Vec<C64> {
        let mut wanted: Vec<C64> = c.iter().map(|c| exact(*c)).collect();
        for j in 0..product.columns {
            for i in 0..product.rows {
                let is_written = match written.triangle() {
                    None => true,
                    Some(Triangle::Lower) => i >= j,
                    Some(Triangle::Upper) => i <= j,
                };
                if is_written {
                    let place = &mut wanted[i + j * ld];
                    let old = if beta == T::ZERO { C64::ZERO } else { exact(beta) * *place };
                    *place = exact(alpha) * product.get(i, j) + old;
                    if matches!(written, Written::Hermitian(_)) && i == j {
                        *place = C64::from_real(place.re);
                    }
                }
            }
        }
        wanted
    }

    pub(super) fn products<T: Number>() {
        let mut numbers = Numbers(8);
        let sizes = [
            (1, 1, 1),
            (2, 9, 4),
            (8, 8, 8),
            (9, 7, 10),
            (49, 25, 13),
            (50, 3, 330),
            (120, 90, 70),
            (450, 30, 20),
            (5, 600, 5),
            (210, 220, 230),
        ];
        for (round, (m, n, k)) in sizes.into_iter().enumerate() {
            for (transa, transb) in TRANSPOSES.into_iter().flat_map(|a| TRANSPOSES.map(|b| (a, b))) {
                if m * n * k > 1 << 20
                    && (transa, transb) != (Transpose::Yes, Transpose::No)
                    && size_of::<T>() > 4
                {
                    continue;
                }
                let size = |transpose, rows, columns| {
                    if transpose == Transpose::No { (rows, columns) } else { (columns, rows) }
                };
                let ((rows_a, columns_a), (rows_b, columns_b)) = (size(transa, m, k), size(transb, k, n));
                let (lda, ldb, ldc) = (rows_a + 1, rows_b + 3, m + 2);
                let (a, dense_a) = matrix::<T>(&mut numbers, rows_a, columns_a, lda);
                let (b, dense_b) = matrix::<T>(&mut numbers, rows_b, columns_b, ldb);
                let c: Vec<T> = numbers.list(ldc * n);
                let Factors { alpha, beta } = some_factors(&mut numbers, round + 3);
                let reference = dense_a.operand(transa).times(&dense_b.operand(transb));
                let mut found = c.clone();
                let product = Product {
                    m,
                    n,
                    k,
                    alpha,
                    a: View::new(a.as_ptr(), lda as isize).operand(transa),
                    b: View::new(b.as_ptr(), ldb as isize).operand(transb),
                    beta,
                    c: ViewMut::new(found.as_mut_ptr(), ldc as isize),
                    written: Written::All,
                };
                // SAFETY: the matrices are there.
                unsafe { product.run() };
                same(&found, &result(&reference, alpha, beta, &c, ldc, Written::All), k);
                // Without factors, sums are stored as they are.
                let mut found = c.clone();
                let (c_found, alpha, beta) =
                    (ViewMut::new(found.as_mut_ptr(), ldc as isize), T::ONE, T::ZERO);
                // SAFETY: the matrices are there.
                unsafe { Product { c: c_found, alpha, beta, ..product }.run() };
                same(&found, &result(&reference, alpha, beta, &c, ldc, Written::All), k);
                let alpha = product.alpha;
                let beta = product.beta;
                if m == n {
                    for triangle in TRIANGLES {
                        for written in [Written::Triangle(triangle), Written::Hermitian(triangle)] {
                            let mut found = c.clone();
                            // SAFETY: as above.
                            unsafe {
                                Product {
                                    c: ViewMut::new(found.as_mut_ptr(), ldc as isize),
                                    written,
                                    ..product
                                }
                                .run()
                            };
                            same(&found, &result(&reference, alpha, beta, &c, ldc, written), k);
                        }
                    }
                }
            }
        }
    }

    /// Returns the reference of a structured square matrix.
    fn structured(dense: &Dense, structure: Structure) -> Dense {
        match structure {
            Structure::General => Dense::new(dense.rows, dense.rows, |i, j| dense.get(i, j)),
            Structure::Symmetric(triangle) => mirrored(dense, triangle, false),
            Structure::Hermitian(triangle) => mirrored(dense, triangle, true),
            Structure::Triangular { triangle, unit } => Dense::new(dense.rows, dense.rows, |i, j| {
                let is_stored = if triangle == Triangle::Lower { i >= j } else { i <= j };
                match (i == j && unit, is_stored) {
                    (true, _) => C64::ONE,
                    (false, true) => dense.get(i, j),
                    (false, false) => C64::ZERO,
                }
            }),
        }
    }

    pub(super) fn symmetric_products<T: Number>() {
        let mut numbers = Numbers(9);
        for (round, (m, n)) in [(1, 1), (7, 5), (60, 33), (20, 110)].into_iter().enumerate() {
            for is_right in [false, true] {
                for triangle in TRIANGLES {
                    for structure in [Structure::Symmetric(triangle), Structure::Hermitian(triangle)] {
                        let size = if is_right { n } else { m };
                        let (a, dense_a) = matrix::<T>(&mut numbers, size, size, size + 1);
                        let (b, dense_b) = matrix::<T>(&mut numbers, m, n, m + 2);
                        let c: Vec<T> = numbers.list((m + 3) * n);
                        let Factors { alpha, beta } = some_factors(&mut numbers, round);
                        let dense_a = structured(&dense_a, structure);
                        let reference =
                            if is_right { dense_b.times(&dense_a) } else { dense_a.times(&dense_b) };
                        let mut found = c.clone();
                        let a = View::new(a.as_ptr(), size as isize + 1).with(structure);
                        let b = View::new(b.as_ptr(), m as isize + 2);
                        let result_view = ViewMut::new(found.as_mut_ptr(), m as isize + 3);
                        // SAFETY: the matrices are there.
                        unsafe { SidedProduct { is_right, m, n, alpha, a, b, beta, c: result_view }.run() };
                        same(&found, &result(&reference, alpha, beta, &c, m + 3, Written::All), size);
                    }
                }
            }
        }
    }

    pub(super) fn symmetric_updates<T: Number>() {
        let mut numbers = Numbers(10);
        for (round, (n, k)) in
            [(1, 3), (9, 4), (60, 50), (110, 7), (30, 0), (300, 130)].into_iter().enumerate()
        {
            for transpose in TRANSPOSES {
                for triangle in TRIANGLES {
                    for (hermitian, twice) in [(false, false), (false, true), (true, false), (true, true)] {
                        if n == 300 && (transpose != Transpose::No || twice) {
                            continue;
                        }
                        let (rows, columns) = if transpose == Transpose::No { (n, k) } else { (k, n) };
                        let ld = rows + 1;
                        let (a, dense_a) = matrix::<T>(&mut numbers, rows, columns, ld);
                        let (b, dense_b) = matrix::<T>(&mut numbers, rows, columns, ld);
                        let c: Vec<T> = numbers.list((n + 2) * n);
                        let Factors { alpha, beta } = some_factors::<T>(&mut numbers, round);
                        let beta = if hermitian { T::from_real(beta.re()) } else { beta };
                        let (dense_a, dense_b) = (dense_a.operand(transpose), dense_b.operand(transpose));
                        let other = if hermitian { Transpose::Conjugate } else { Transpose::Yes };
                        let (one, two) =
                            (dense_a.times(&dense_b.operand(other)), dense_b.times(&dense_a.operand(other)));
                        let reference = Dense::new(n, n, |i, j| {
                            let second = exact(alpha).conj_if(hermitian) * two.get(i, j);
                            exact(alpha) * one.get(i, j) + if twice { second } else { C64::ZERO }
                        });
                        let mut found = c.clone();
                        let update = SymmetricUpdate {
                            n,
                            k,
                            alpha,
                            a: View::new(a.as_ptr(), ld as isize).operand(transpose),
                            b: View::new(b.as_ptr(), ld as isize).operand(transpose),
                            beta,
                            c: ViewMut::new(found.as_mut_ptr(), n as isize + 2),
                            triangle,
                            hermitian,
                        };
                        // SAFETY: the matrices are there.
                        unsafe { if twice { update.run_twice() } else { update.run() } };
                        let written = if hermitian {
                            Written::Hermitian(triangle)
                        } else {
                            Written::Triangle(triangle)
                        };
                        same(&found, &result(&reference, T::ONE, beta, &c, n + 2, written), 2 * k + 2);
                    }
                }
            }
        }
    }

    pub(super) fn triangular_products_and_systems<T: Number>() {
        let mut numbers = Numbers(11);
        for (m, n) in [(1, 1), (7, 5), (65, 18), (20, 70), (130, 17)] {
            for is_right in [false, true] {
                for triangle in TRIANGLES {
                    for unit in [false, true] {
                        for transpose in TRANSPOSES {
                            let structure = Structure::Triangular { triangle, unit };
                            let size = if is_right { n } else { m };
                            let (mut a, _) = matrix::<T>(&mut numbers, size, size, size + 1);
                            for (i, value) in a.iter_mut().enumerate() {
                                *value = match i % (size + 2) == 0 {
                                    true => T::from_parts(T::Real::from_f64(3.0), T::Real::from_f64(-0.5)),
                                    false => {
                                        *value * T::from_real(T::Real::from_f64(2.0 / (size as f64 + 2.0)))
                                    }
                                };
                            }
                            let dense_a = Dense::new(size, size, |i, j| exact(a[i + j * (size + 1)]));
                            let dense_a = structured(&dense_a, structure).operand(transpose);
                            let (b, dense_b) = matrix::<T>(&mut numbers, m, n, m + 2);
                            let c: Vec<T> = numbers.list((m + 3) * n);
                            let alpha: T = numbers.one::<T>() + T::ONE + T::ONE;
                            let reference =
                                if is_right { dense_b.times(&dense_a) } else { dense_a.times(&dense_b) };
                            let view =
                                View::new(a.as_ptr(), size as isize + 1).with(structure).operand(transpose);
                            let mut found = c.clone();
                            let product = SidedProduct {
                                is_right,
                                m,
                                n,
                                alpha,
                                a: view,
                                b: View::new(b.as_ptr(), m as isize + 2),
                                beta: T::ZERO,
                                c: ViewMut::new(found.as_mut_ptr(), m as isize + 3),
                            };
                            // SAFETY: the matrices are there.
                            unsafe { level3::trmm(product) };
                            let wanted = result(&reference, alpha, T::ZERO, &c, m + 3, Written::All);
                            same(&found, &wanted, size);
                            // In place.
                            let mut replaced = b.clone();
                            let c = ViewMut::new(replaced.as_mut_ptr(), m as isize + 2);
                            // SAFETY: the matrices are there.
                            unsafe { level3::trmm(SidedProduct { b: c.read(), c, ..product }) };
                            same(
                                &replaced,
                                &result(&reference, alpha, T::ZERO, &b, m + 2, Written::All),
                                size,
                            );
                            // The solution of what the product gives is the matrix.
                            let alpha = T::ONE / alpha;
                            let system = TriangularSystem { is_right, m, n, alpha, a: view, b: c };
                            // SAFETY: as above.
                            unsafe { system.solve() };
                            let wanted: Vec<C64> = b.iter().map(|b| exact(*b)).collect();
                            same(&replaced, &wanted, 50 * size);
                        }
                    }
                }
            }
        }
    }

    pub(super) fn sums_and_scaled_matrices<T: Number>() {
        let mut numbers = Numbers(12);
        for (m, n) in [(1, 1), (17, 5), (30, 41)] {
            for (transa, transb) in TRANSPOSES.into_iter().flat_map(|a| TRANSPOSES.map(|b| (a, b))) {
                let size = |transpose| if transpose == Transpose::No { (m, n) } else { (n, m) };
                let ((rows_a, columns_a), (rows_b, columns_b)) = (size(transa), size(transb));
                let (a, dense_a) = matrix::<T>(&mut numbers, rows_a, columns_a, rows_a + 1);
                let (b, dense_b) = matrix::<T>(&mut numbers, rows_b, columns_b, rows_b + 2);
                let c: Vec<T> = numbers.list((m + 1) * n);
                let (alpha, beta): (T, T) = (numbers.one(), numbers.one());
                let (dense_a, dense_b) = (dense_a.operand(transa), dense_b.operand(transb));
                let reference = Dense::new(m, n, |i, j| {
                    exact(alpha) * dense_a.get(i, j) + exact(beta) * dense_b.get(i, j)
                });
                let mut found = c.clone();
                let (a, b) =
                    (View::new(a.as_ptr(), rows_a as isize + 1), View::new(b.as_ptr(), rows_b as isize + 2));
                // SAFETY: the matrices are there.
                unsafe {
                    let c = ViewMut::new(found.as_mut_ptr(), m as isize + 1);
                    level3::geam(m, n, alpha, a.operand(transa), beta, b.operand(transb), c);
                }
                same(&found, &result(&reference, T::ONE, T::ZERO, &c, m + 1, Written::All), 2);
            }
            for is_right in [false, true] {
                let (a, dense_a) = matrix::<T>(&mut numbers, m, n, m + 1);
                let length = if is_right { n } else { m };
                let x: Vec<T> = numbers.list(2 * length);
                let dense_x = vector(&x, length, -2);
                let reference =
                    Dense::new(m, n, |i, j| dense_a.get(i, j) * dense_x.get(if is_right { j } else { i }, 0));
                let mut found = a.clone();
                let c = ViewMut::new(found.as_mut_ptr(), m as isize + 1);
                // SAFETY: the matrices and the vector are there.
                unsafe { level3::dgmm(is_right, m, n, c.read(), (x.as_ptr(), -2), c) };
                same(&found, &result(&reference, T::ONE, T::ZERO, &a, m + 1, Written::All), 1);
            }
        }
    }

    pub(super) fn factored_matrices<T: Number>() {
        let mut numbers = Numbers(13);
        for n in [1, 2, 5, 17, 40] {
            for is_pivoted in [false, true] {
                let ld = n + 1;
                let (mut a, _) = matrix::<T>(&mut numbers, n, n, ld);
                if !is_pivoted {
                    (0..n).for_each(|i| a[i + i * ld] += T::from_real(T::Real::from_f64(2.0 * n as f64)));
                }
                let dense_a = Dense::new(n, n, |i, j| exact(a[i + j * ld]));
                let mut factors = a.clone();
                let mut pivots = vec![0; n];
                let pivots = if is_pivoted { pivots.as_mut_ptr() } else { std::ptr::null_mut() };
                // SAFETY: the matrix and the pivots are there.
                let info =
                    unsafe { factor::getrf(n, n, ViewMut::new(factors.as_mut_ptr(), ld as isize), pivots) };
                assert_eq!(info, 0);
                let view = View::new(factors.as_ptr(), ld as isize);
                for transpose in TRANSPOSES {
                    let (x, dense_x) = matrix::<T>(&mut numbers, n, 3, ld);
                    let product = dense_a.operand(transpose).times(&dense_x);
                    let mut b = x.clone();
                    for j in 0..3 {
                        for i in 0..n {
                            let value = product.get(i, j);
                            b[i + j * ld] =
                                T::from_parts(T::Real::from_f64(value.re), T::Real::from_f64(value.im));
                        }
                    }
                    // SAFETY: the matrices and the pivots are there.
                    unsafe {
                        factor::getrs(
                            transpose,
                            n,
                            3,
                            view,
                            pivots,
                            ViewMut::new(b.as_mut_ptr(), ld as isize),
                        )
                    };
                    same(&b, &x.iter().map(|x| exact(*x)).collect::<Vec<C64>>(), 5000 * n);
                }
                let identity = Dense::new(n, n, |i, j| if i == j { C64::ONE } else { C64::ZERO });
                let mut inverse = vec![T::ZERO; n * n];
                // SAFETY: as above.
                let info =
                    unsafe { factor::getri(n, view, pivots, ViewMut::new(inverse.as_mut_ptr(), n as isize)) };
                assert_eq!(info, 0);
                let exact_inverse = |inverse: &[T]| Dense::new(n, n, |i, j| exact(inverse[i + j * n]));
                let product = dense_a.times(&exact_inverse(&inverse));
                let as_numbers = |dense: &Dense| -> Vec<T> {
                    dense
                        .at
                        .iter()
                        .map(|value| T::from_parts(T::Real::from_f64(value.re), T::Real::from_f64(value.im)))
                        .collect()
                };
                same(&as_numbers(&product), &identity.at, 5000 * n);
                let plain = View::new(a.as_ptr(), ld as isize);
                // SAFETY: as above.
                let info =
                    unsafe { factor::matinv(n, plain, ViewMut::new(inverse.as_mut_ptr(), n as isize)) };
                assert_eq!(info, 0);
                same(&as_numbers(&dense_a.times(&exact_inverse(&inverse))), &identity.at, 5000 * n);
            }
        }
        // The second pivot is zero.
        let mut singular = [T::ONE, T::ONE, T::ONE, T::ONE];
        let mut pivots = [0; 2];
        // SAFETY: the matrix and the pivots are there.
        unsafe {
            assert_eq!(factor::getrf(2, 2, ViewMut::new(singular.as_mut_ptr(), 2), pivots.as_mut_ptr()), 2);
            let mut inverse = [T::ZERO; 4];
            assert_eq!(
                factor::getri(
                    2,
                    View::new(singular.as_ptr(), 2),
                    pivots.as_ptr(),
                    ViewMut::new(inverse.as_mut_ptr(), 2)
                ),
                2
            );
        }
    }
}

/// Value of a half by the format's definition.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 => f64::INFINITY,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[test]
fn halves_are_converted_exactly_and_back() {
    for bits in 0..=u16::MAX {
        let value = convert::f16_to_f32(bits);
        if bits & 0x7fff > 0x7c00 {
            assert!(value.is_nan() && convert::f16_to_f32(convert::f32_to_f16(value)).is_nan());
            continue;
        }
        assert_eq!(f64::from(value), half(bits), "{bits:x}");
        assert_eq!(convert::f32_to_f16(value), bits);
        assert_eq!(convert::f32_to_bf16(convert::bf16_to_f32(bits)), bits);
        // Between a half and the next one, the nearer one is taken, in the middle the even one.
        if bits & 0x7fff < 0x7bff {
            let next = half(bits + 1);
            let middle = f64::midpoint(half(bits), next) as f32;
            let even = if bits & 1 == 0 { bits } else { bits + 1 };
            assert_eq!(convert::f32_to_f16(middle), even);
            let nearer = |to: f64| (f64::from(middle) * 0.999 + to * 0.001) as f32;
            assert_eq!(convert::f32_to_f16(nearer(half(bits))), bits);
            assert_eq!(convert::f32_to_f16(nearer(next)), bits + 1);
        }
    }
    assert_eq!(convert::f32_to_f16(65519.0), 0x7bff);
    assert_eq!(convert::f32_to_f16(65520.0), 0x7c00);
    assert_eq!(convert::f32_to_bf16(1.0 + 1.0 / 256.0), 0x3f80);
    assert_eq!(convert::f32_to_bf16(1.0 + 3.0 / 256.0), 0x3f82);
}
