//! Factors of generated matrices: their products are the matrices, and their columns are orthonormal.

use heddle_blas::view::ViewMut;
use heddle_blas::{Complex, Number, Real, Transpose, Triangle, factor};
use heddle_solver::cholesky::{factor_cholesky, invert_cholesky, solve_cholesky};
use heddle_solver::dense::DenseMatrix;
use heddle_solver::orthogonal::{factor_qr, least_squares};
use heddle_solver::singular::{SingularVectors, bidiagonalize, singular_factors};
use heddle_solver::sparse_rows::{
    add_rows, factor_incomplete, factor_incomplete_positive, multiply_rows, solve_triangle, sort_rows,
};
use heddle_solver::sparse_system::{SparseRow, solve_by_rotations, solve_sparse_cholesky};
use heddle_solver::spectrum::{GeneralizedProblem, generalized_spectrum, hermitian_spectrum};
use heddle_solver::unit;

/// Random numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    }

    fn one<T: Number>(&mut self) -> T {
        let re = self.part();
        T::from_parts(T::Real::from_f64(re), T::Real::from_f64(self.part()))
    }

    fn matrix<T: Number>(&mut self, rows: usize, columns: usize) -> DenseMatrix<T> {
        DenseMatrix::from_fn(rows, columns, |_, _| self.one())
    }

    /// A matrix of some rank, if that is smaller than its sides.
    fn of_rank<T: Number>(&mut self, rows: usize, columns: usize, rank: usize) -> DenseMatrix<T> {
        product(&self.matrix(rows, rank), &self.matrix(rank, columns))
    }

    fn positive<T: Number>(&mut self, n: usize) -> DenseMatrix<T> {
        let root = self.matrix::<T>(n, n);
        let mut found = product(&root, &root.adjoint());
        for i in 0..n {
            found.set(i, i, T::from_real(found.get(i, i).re() + T::Real::ONE));
        }
        found
    }
}

fn product<T: Number>(a: &DenseMatrix<T>, b: &DenseMatrix<T>) -> DenseMatrix<T> {
    DenseMatrix::product(&a.whole(), &b.whole())
}

fn size<T: Number>(a: &DenseMatrix<T>) -> f64 {
    heddle_solver::reflector::norm(a.elements())
}

/// Panics where matrices differ by more than some roundings for each row and column, of numbers as large as those of the second one.
#[track_caller]
fn near<T: Number>(what: &str, found: &DenseMatrix<T>, wanted: &DenseMatrix<T>) {
    assert_eq!((found.rows(), found.columns()), (wanted.rows(), wanted.columns()), "{what}");
    let difference =
        DenseMatrix::from_fn(found.rows(), found.columns(), |i, j| found.get(i, j) - wanted.get(i, j));
    let tolerance =
        unit::<T::Real>() * (found.rows() + found.columns() + 10) as f64 * (size(wanted) + 1e-300);
    let error = size(&difference);
    assert!(
        error <= tolerance,
        "{what}: error {error:e}, {tolerance:e} allowed, {}x{}",
        found.rows(),
        found.columns()
    );
}

#[track_caller]
fn orthonormal<T: Number>(what: &str, q: &DenseMatrix<T>) {
    near(what, &product(&q.adjoint(), q), &DenseMatrix::identity(q.columns(), q.columns()));
}

/// Sizes: all small ones on a diagonal of shapes, and a few large ones.
fn shapes() -> Vec<(usize, usize)> {
    let mut shapes = Vec::new();
    for n in 0..=40 {
        shapes.extend([(n, n), (n, 40 - n), (n + 3, n), (n, n * 2)]);
    }
    shapes.extend([(100, 100), (130, 70), (65, 129), (300, 40), (201, 201)]);
    shapes
}

fn squares() -> impl Iterator<Item = usize> {
    (0..=40).chain([64, 97, 150])
}

/// Rotates rows of a product of triangles back.
fn lu<T: Number>() {
    let mut numbers = Numbers(1);
    for (m, n) in shapes() {
        let a = numbers.matrix::<T>(m, n);
        let (mut elements, mut pivots) = (a.elements().to_vec(), vec![0; m.min(n)]);
        let view = ViewMut::new(elements.as_mut_ptr(), m as isize);
        // SAFETY: the elements are those of the matrix.
        let info = unsafe { factor::getrf(m, n, view, pivots.as_mut_ptr()) };
        assert_eq!(info, 0);
        let at = |i: usize, j: usize| elements[i + j * m];
        let k = m.min(n);
        let l = DenseMatrix::from_fn(m, k, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => T::ZERO,
            std::cmp::Ordering::Equal => T::ONE,
            std::cmp::Ordering::Greater => at(i, j),
        });
        assert!(l.elements().iter().all(|it| it.modulus().to_f64() < 1.42));
        let u = DenseMatrix::from_fn(k, n, |i, j| if i <= j { at(i, j) } else { T::ZERO });
        let mut exchanged = a.clone();
        for (i, other) in pivots.iter().enumerate() {
            for j in 0..n {
                let (x, y) = (exchanged.get(i, j), exchanged.get(*other as usize - 1, j));
                exchanged.set(i, j, y);
                exchanged.set(*other as usize - 1, j, x);
            }
        }
        near("LU", &product(&l, &u), &exchanged);
    }
}

fn cholesky<T: Number>() {
    let mut numbers = Numbers(2);
    for n in squares() {
        let a = numbers.positive::<T>(n);
        let mut l = DenseMatrix::from_fn(n, n, |i, j| {
            if i >= j { a.get(i, j) } else { T::from_real(T::Real::from_f64(f64::NAN)) }
        });
        assert_eq!(factor_cholesky(&mut l), 0);
        let b = numbers.matrix::<T>(n, 3);
        let mut x = b.clone();
        solve_cholesky(&l, &mut x);
        let bound = DenseMatrix::from_fn(n, 3, |i, j| {
            b.get(i, j) + T::from_real(T::Real::from_f64(2.0 * size(&a) * size(&x)))
        });
        let sum = product(&a, &x);
        near(
            "Cholesky's solution",
            &DenseMatrix::from_fn(n, 3, |i, j| bound.get(i, j) + sum.get(i, j) - b.get(i, j)),
            &bound,
        );
        assert!(invert_cholesky(&l).is_ok_and(|inverse| inverse.rows() == n));
        let lower = DenseMatrix::from_fn(n, n, |i, j| if i >= j { l.get(i, j) } else { T::ZERO });
        near("Cholesky", &product(&lower, &lower.adjoint()), &a);
    }
    let mut indefinite = DenseMatrix::<T>::identity(60, 60);
    indefinite.set(52, 52, -T::ONE);
    assert_eq!(factor_cholesky(&mut indefinite), 53);
    indefinite.set(3, 3, T::from_real(T::Real::from_f64(f64::NAN)));
    assert_eq!(factor_cholesky(&mut indefinite), 4);
}

fn qr<T: Number>() {
    let mut numbers = Numbers(3);
    for (m, n) in shapes() {
        let a = if m % 4 == 3 { numbers.of_rank::<T>(m, n, n / 2) } else { numbers.matrix::<T>(m, n) };
        let set = factor_qr(a.clone());
        let (k, q) = (m.min(n), set.form(m));
        orthonormal("Q", &q);
        near("first columns of Q", &set.form(k), &q.copied(0..m, 0..k));
        near("QR", &product(&set.form(k), &set.upper()), &a);
        let mut rotated = a.clone();
        set.apply(true, &mut rotated);
        near("Q R from Qᴴ A", &product(&q, &rotated), &a);
        let mut right = a.adjoint();
        set.apply_right(false, &mut right);
        near("Aᴴ Q", &right, &rotated.adjoint());
        if m >= n && m % 4 != 3 {
            let x = numbers.matrix::<T>(n, 2);
            let mut b = product(&a, &x);
            let sides = b.clone();
            assert_eq!(least_squares(a.clone(), &mut b), 0);
            near("least squares", &product(&a, &b.copied(0..n, 0..2)), &sides);
        }
    }
}

fn diagonal<T: Number>(values: &[T::Real]) -> DenseMatrix<T> {
    DenseMatrix::from_fn(
        values.len(),
        values.len(),
        |i, j| if i == j { T::from_real(values[i]) } else { T::ZERO },
    )
}

fn spectra<T: Number>() {
    let mut numbers = Numbers(4);
    for n in squares() {
        for kind in 0..4 {
            let a = match kind {
                0 => numbers.matrix::<T>(n, n).hermitian(Triangle::Lower),
                1 => numbers.matrix::<T>(n, n).hermitian(Triangle::Upper),
                2 => DenseMatrix::identity(n, n),
                _ => {
                    let root = numbers.matrix::<T>(n, n.div_ceil(3));
                    let mut scaled = product(&root, &root.adjoint());
                    scaled.scale(1e-30);
                    scaled.hermitian(Triangle::Lower)
                }
            };
            let found = hermitian_spectrum(a.clone(), true);
            assert_eq!(found.info, 0);
            assert!(found.values.windows(2).all(|pair| pair[0] <= pair[1]));
            let Some(vectors) = found.vectors else { panic!("vectors are wanted") };
            orthonormal("eigenvectors", &vectors);
            near("A V = V D", &product(&a, &vectors), &product(&vectors, &diagonal(&found.values)));
            let plain = hermitian_spectrum(a, false);
            near("eigenvalues alone", &diagonal::<T>(&plain.values), &diagonal(&found.values));
        }
    }
    for problem in
        [GeneralizedProblem::Quotient, GeneralizedProblem::LeftProduct, GeneralizedProblem::RightProduct]
    {
        for n in [1, 2, 5, 30] {
            let (a, b) = (numbers.matrix::<T>(n, n).hermitian(Triangle::Lower), numbers.positive::<T>(n));
            let found = generalized_spectrum(problem, &a, &mut b.clone(), true);
            assert_eq!(found.info, 0);
            let Some(x) = found.vectors else { panic!("vectors are wanted") };
            let (left, right) = match problem {
                GeneralizedProblem::Quotient => {
                    (product(&a, &x), product(&product(&b, &x), &diagonal(&found.values)))
                }
                GeneralizedProblem::LeftProduct => {
                    (product(&a, &product(&b, &x)), product(&x, &diagonal(&found.values)))
                }
                GeneralizedProblem::RightProduct => {
                    (product(&b, &product(&a, &x)), product(&x, &diagonal(&found.values)))
                }
            };
            let scale = T::from_real(T::Real::from_f64(2.0 * size(&a) * size(&b) * size(&x)));
            let moved = |it: &DenseMatrix<T>| DenseMatrix::from_fn(n, n, |i, j| it.get(i, j) + scale);
            near("generalized problem", &moved(&left), &moved(&right));
        }
    }
}

fn singular<T: Number>() {
    let mut numbers = Numbers(5);
    for (at, (m, n)) in shapes().into_iter().enumerate() {
        let mut a = match at % 5 {
            3 => numbers.of_rank::<T>(m, n, m.min(n) / 2),
            4 => DenseMatrix::from_fn(m, n, |i, j| if j == i + 1 { T::ONE } else { T::ZERO }),
            // Zeros on the diagonal of a bidiagonal matrix.
            2 => DenseMatrix::from_fn(m, n, |i, j| match () {
                () if i == j && i % 5 != 2 => T::from_real(T::Real::from_f64(1.0 + i as f64)),
                () if j == i + 1 => T::ONE,
                () => T::ZERO,
            }),
            _ => numbers.matrix::<T>(m, n),
        };
        if at % 7 == 6 {
            a.scale(1e-25);
        }
        let k = m.min(n);
        for wanted in [SingularVectors::Economic, SingularVectors::Full] {
            let found = singular_factors(a.clone(), wanted, wanted);
            assert_eq!(found.info, 0);
            assert!(found.values.windows(2).all(|pair| pair[0] >= pair[1]));
            assert!(found.values.iter().all(|value| *value >= T::Real::ZERO));
            let (Some(u), Some(v)) = (found.left, found.right) else { panic!("vectors are wanted") };
            let is_full = wanted == SingularVectors::Full;
            assert_eq!((u.columns(), v.columns()), if is_full { (m, n) } else { (k, k) });
            orthonormal("U", &u);
            orthonormal("V", &v);
            let scaled = product(&u.copied(0..m, 0..k), &diagonal(&found.values));
            near("U S Vᴴ", &product(&scaled, &v.copied(0..n, 0..k).adjoint()), &a);
            let plain = singular_factors(a.clone(), SingularVectors::Absent, SingularVectors::Absent);
            near("singular values alone", &diagonal::<T>(&plain.values), &diagonal(&found.values));
        }
        if m >= n {
            let form = bidiagonalize(a.clone());
            let real = |value: f64| T::from_real(T::Real::from_f64(value));
            let mut b = DenseMatrix::from_fn(m, n, |i, j| match () {
                () if i == j => real(form.diagonal[i]),
                () if i + 1 == j => real(form.next[i]),
                () => T::ZERO,
            });
            form.left.apply(false, &mut b);
            form.right.apply_right(true, &mut b);
            near("bidiagonal form", &b, &a);
        }
    }
}

/// Numbers that are not finite end every routine.
fn ends<T: Number>() {
    let mut numbers = Numbers(6);
    for bad in [f64::NAN, f64::INFINITY] {
        for place in [0, 5, 19] {
            let mut a = numbers.matrix::<T>(20, 20);
            a.set(place, place, T::from_real(T::Real::from_f64(bad)));
            assert!(hermitian_spectrum(a.clone(), true).info > 0);
            assert!(singular_factors(a.clone(), SingularVectors::Full, SingularVectors::Full).info > 0);
            assert_eq!(factor_qr(a.clone()).factors.len(), 20);
            let mut b = numbers.matrix::<T>(20, 1);
            least_squares(a.clone(), &mut b);
            let rows = (0..20).map(|i| (0..20).map(|j| (j, a.get(i, j))).collect::<SparseRow<T>>());
            assert_eq!(solve_by_rotations(rows, b.column(0), 0.0).x.len(), 20);
        }
    }
}

fn sparse<T: Number>() {
    let mut numbers = Numbers(7);
    for n in squares() {
        let a = DenseMatrix::<T>::from_fn(n, n, |i, j| {
            let value = numbers.one();
            match () {
                () if i == j => value + T::from_real(T::Real::from_f64(4.0)),
                () if (i * 7 + j * 5) % 11 == 0 => value,
                () => T::ZERO,
            }
        });
        let row = |a: &DenseMatrix<T>, i: usize, first: usize| -> SparseRow<T> {
            (first..n).map(|j| (j, a.get(i, j))).filter(|it| it.1 != T::ZERO).collect()
        };
        let x = numbers.matrix::<T>(n, 1);
        let check = |what: &str, found: &[T]| {
            let found = DenseMatrix::from_fn(n, 1, |i, _| found[i]);
            near(what, &found, &x);
        };
        let found = solve_by_rotations(
            (0..n).rev().map(|i| row(&a, i, 0)),
            &{
                let mut b = product(&a, &x).elements().to_vec();
                b.reverse();
                b
            },
            0.0,
        );
        assert_eq!(found.singular, None);
        check("sparse QR", &found.x);
        let mut positive = product(&a, &a.adjoint());
        let shift = T::from_real(T::Real::from_f64(size(&positive)));
        for i in 0..n {
            positive.set(i, i, positive.get(i, i) + shift);
        }
        let b = product(&positive, &x);
        let rows = (0..n).map(|i| row(&positive, i, i)).collect();
        let found = solve_sparse_cholesky(rows, b.elements(), 0.0);
        assert_eq!(found.singular, None);
        check("sparse Cholesky", &found.x);
    }
    let rows: Vec<SparseRow<T>> = vec![vec![(0, T::ONE), (1, T::ONE)], vec![(0, T::ONE), (1, T::ONE)]];
    assert_eq!(solve_by_rotations(rows, &[T::ONE, T::ONE], 0.0).singular, Some(1));
    let rows: Vec<SparseRow<T>> = vec![vec![(0, T::ONE)], vec![(1, -T::ONE)]];
    assert_eq!(solve_sparse_cholesky(rows, &[T::ONE, T::ONE], 0.0).singular, Some(1));
}

fn dense_of<T: Number>(rows: &[SparseRow<T>], columns: usize) -> DenseMatrix<T> {
    DenseMatrix::from_fn(rows.len(), columns, |i, j| {
        rows[i].iter().find(|it| it.0 == j).map_or(T::ZERO, |it| it.1)
    })
}

fn sparse_rows<T: Number>() {
    let mut numbers = Numbers(9);
    let real = |value: f64| T::from_real(T::Real::from_f64(value));
    for n in [0, 1, 2, 7, 30] {
        let mut rows = |count: usize, columns: usize, step: usize| -> Vec<SparseRow<T>> {
            let is_there = |i: usize, j: usize| (i * 5 + j * 3).is_multiple_of(step) || i == j;
            let mut row =
                |i: usize| (0..columns).filter(|j| is_there(i, *j)).map(|j| (j, numbers.one())).collect();
            (0..count).map(&mut row).collect()
        };
        let (a, b, c) = (rows(n, n + 2, 4), rows(n + 2, 9, 3), rows(n, n + 2, 5));
        let (of_a, of_c) = (dense_of(&a, n + 2), dense_of(&c, n + 2));
        near("sparse product", &dense_of(&multiply_rows(&a, &b, 9), 9), &product(&of_a, &dense_of(&b, 9)));
        let sum = DenseMatrix::from_fn(n, n + 2, |i, j| real(2.0) * of_a.get(i, j) - of_c.get(i, j));
        near("sparse sum", &dense_of(&add_rows(real(2.0), &a, real(-1.0), &c), n + 2), &sum);
        let mut square = rows(n, n, 4);
        for (i, row) in square.iter_mut().enumerate() {
            row.iter_mut().filter(|it| it.0 == i).for_each(|it| it.1 += real(4.0));
        }
        for (is_lower, is_unit) in [(true, false), (true, true), (false, false), (false, true)] {
            let of = dense_of(&square, n);
            let triangle = DenseMatrix::from_fn(n, n, |i, j| match () {
                () if i == j && is_unit => T::ONE,
                () if i == j || (i > j) == is_lower => of.get(i, j),
                () => T::ZERO,
            });
            // Factors near one keep what a triangle with ones amplifies small.
            let x = DenseMatrix::from_fn(n, 1, |_, _| real(0.5));
            let mut found = product(&triangle, &x).elements().to_vec();
            solve_triangle(&square, is_lower, is_unit, &mut found);
            let found = DenseMatrix::from_fn(n, 1, |i, _| found[i]);
            near("sparse triangle", &product(&triangle, &found), &product(&triangle, &x));
        }
        // With all elements there, incomplete factors are complete.
        let whole = numbers.positive::<T>(n);
        let full: Vec<SparseRow<T>> =
            (0..n).map(|i| (0..n).map(|j| (j, whole.get(i, j))).collect()).collect();
        let mut factors = full.clone();
        assert_eq!(factor_incomplete(&mut factors), None);
        let of = dense_of(&factors, n);
        let l = DenseMatrix::from_fn(n, n, |i, j| {
            if i == j {
                T::ONE
            } else if i > j {
                of.get(i, j)
            } else {
                T::ZERO
            }
        });
        let u = DenseMatrix::from_fn(n, n, |i, j| if i <= j { of.get(i, j) } else { T::ZERO });
        near("incomplete LU", &product(&l, &u), &whole);
        let mut factors = full;
        assert_eq!(factor_incomplete_positive(&mut factors), None);
        let of = dense_of(&factors, n);
        let l = DenseMatrix::from_fn(n, n, |i, j| if i >= j { of.get(i, j) } else { T::ZERO });
        near("incomplete Cholesky", &product(&l, &l.adjoint()), &whole);
    }
    let mut rows: Vec<SparseRow<T>> = vec![vec![(0, T::ONE)], vec![(0, T::ONE)]];
    assert_eq!(factor_incomplete(&mut rows), Some(1));
    let mut rows = vec![vec![(2, T::ONE), (0, real(2.0)), (2, real(3.0))]];
    sort_rows(&mut rows);
    assert_eq!(rows[0], [(0, real(2.0)), (2, real(4.0))]);
}

macro_rules! kinds {
    ($($name:ident: $function:ident,)*) => {$(
        #[test]
        fn $name() {
            $function::<f32>();
            $function::<f64>();
            $function::<Complex<f32>>();
            $function::<Complex<f64>>();
        }
    )*};
}

kinds! {
    triangles_of_elimination_multiply_to_the_matrix: lu,
    cholesky_factors_multiply_to_the_matrix: cholesky,
    orthogonal_factors_multiply_to_the_matrix: qr,
    eigenvectors_are_scaled_by_their_matrix: spectra,
    singular_factors_multiply_to_the_matrix: singular,
    numbers_that_are_not_finite_end_every_routine: ends,
    sparse_systems_have_their_solutions: sparse,
    sparse_rows_compute_as_dense_matrices: sparse_rows,
}

#[test]
fn transposed_triangles_are_solved() {
    let mut numbers = Numbers(8);
    for (triangle, transpose) in [(Triangle::Lower, Transpose::Yes), (Triangle::Upper, Transpose::No)] {
        let a = numbers.positive::<f64>(30);
        let x = numbers.matrix::<f64>(30, 2);
        let part = DenseMatrix::from_fn(30, 30, |i, j| {
            let is_stored = if triangle == Triangle::Lower { i >= j } else { i <= j };
            if is_stored { a.get(i, j) } else { 0.0 }
        });
        let mut b = DenseMatrix::product(&part.whole().operand(transpose), &x.whole());
        b.solve_triangular(0, &a.whole(), triangle, transpose);
        let found = DenseMatrix::product(&part.whole().operand(transpose), &b.whole());
        near("triangle", &found, &DenseMatrix::product(&part.whole().operand(transpose), &x.whole()));
    }
}
