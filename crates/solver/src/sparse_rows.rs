//! Sparse matrices as lists of rows with ascending columns: products, sums, triangular systems, incomplete factors.

use crate::sparse_system::SparseRow;
use heddle_blas::{Number, Real};

/// Sorts rows by columns, and adds elements that are there twice.
pub fn sort_rows<T: Number>(rows: &mut [SparseRow<T>]) {
    for row in rows {
        if row.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            continue;
        }
        row.sort_by_key(|it| it.0);
        row.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
    }
}

/// Returns the product of two matrices, the second one with this many columns. Elements stay where sums become zero.
pub fn multiply_rows<T: Number>(a: &[SparseRow<T>], b: &[SparseRow<T>], columns: usize) -> Vec<SparseRow<T>> {
    let (mut sums, mut is_there) = (vec![T::ZERO; columns], vec![false; columns]);
    let product = |row: &SparseRow<T>| {
        let mut found = Vec::new();
        for (inner, factor) in row {
            for (column, value) in b.get(*inner).into_iter().flatten() {
                if !is_there[*column] {
                    is_there[*column] = true;
                    sums[*column] = T::ZERO;
                    found.push(*column);
                }
                sums[*column] += *factor * *value;
            }
        }
        found.sort_unstable();
        let elements = found.into_iter().map(|column| {
            is_there[column] = false;
            (column, sums[column])
        });
        elements.collect()
    };
    a.iter().map(product).collect()
}

/// Returns `alpha · A + beta · B`, with an element wherever one of them has one.
pub fn add_rows<T: Number>(alpha: T, a: &[SparseRow<T>], beta: T, b: &[SparseRow<T>]) -> Vec<SparseRow<T>> {
    let sum = |(a, b): (&SparseRow<T>, &SparseRow<T>)| {
        let (mut i, mut j, mut found) = (0, 0, Vec::with_capacity(a.len() + b.len()));
        loop {
            let column = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) => x.0.min(y.0),
                (Some(x), None) => x.0,
                (None, Some(y)) => y.0,
                (None, None) => return found,
            };
            let mut value = T::ZERO;
            if let Some(x) = a.get(i).filter(|it| it.0 == column) {
                value += alpha * x.1;
                i += 1;
            }
            if let Some(y) = b.get(j).filter(|it| it.0 == column) {
                value += beta * y.1;
                j += 1;
            }
            found.push((column, value));
        }
    };
    a.iter().zip(b).map(sum).collect()
}

/// Solves the system of a triangle of a matrix; `x` replaces the right side. Elements outside the triangle are ignored; a diagonal of
/// ones is not read.
pub fn solve_triangle<T: Number>(rows: &[SparseRow<T>], is_lower: bool, is_unit: bool, b: &mut [T]) {
    let n = rows.len().min(b.len());
    for step in 0..n {
        let i = if is_lower { step } else { n - 1 - step };
        let (mut sum, mut diagonal) = (b[i], T::ZERO);
        for (column, value) in &rows[i] {
            if *column == i {
                diagonal += *value;
            } else if (*column < i) == is_lower && *column < n {
                sum -= *value * b[*column];
            }
        }
        b[i] = if is_unit { sum } else { sum / diagonal };
    }
}

/// Returns the place of a column in a row.
fn place_of<T>(row: &SparseRow<T>, column: usize) -> Option<usize> {
    row.binary_search_by_key(&column, |it| it.0).ok()
}

/// Factors `A ≈ L · U` in place, with elements only where the matrix has them, and ones on the diagonal of `L`. Returns the first row
/// whose pivot is zero, or missing.
pub fn factor_incomplete<T: Number>(rows: &mut [SparseRow<T>]) -> Option<usize> {
    let mut singular = None;
    for i in 0..rows.len() {
        let (known, rest) = rows.split_at_mut(i);
        let row = &mut rest[0];
        for place in 0..row.len() {
            let k = row[place].0;
            if k >= i {
                break;
            }
            let above = &known[k];
            let Some(diagonal) = place_of(above, k).filter(|at| above[*at].1 != T::ZERO) else { continue };
            let factor = row[place].1 / above[diagonal].1;
            row[place].1 = factor;
            for (column, value) in &above[diagonal + 1..] {
                if let Some(at) = place_of(row, *column) {
                    row[at].1 -= factor * *value;
                }
            }
        }
        let pivot = place_of(row, i).map_or(T::ZERO, |at| row[at].1);
        if pivot == T::ZERO && singular.is_none() {
            singular = Some(i);
        }
    }
    singular
}

/// Factors `A ≈ L · Lᴴ` in the lower triangle, with elements only where the matrix has them. Returns the first row whose pivot is not
/// positive.
pub fn factor_incomplete_positive<T: Number>(rows: &mut [SparseRow<T>]) -> Option<usize> {
    let mut singular = None;
    for i in 0..rows.len() {
        let (known, rest) = rows.split_at_mut(i);
        let row = &mut rest[0];
        for place in 0..row.len() {
            let k = row[place].0;
            if k > i {
                break;
            }
            let above: &[(usize, T)] = if k < i { &known[k] } else { &[] };
            let mut sum = row[place].1;
            for at in 0..place {
                let (column, value) = row[at];
                if k == i {
                    sum -= value * value.conj();
                } else if let Ok(found) = above.binary_search_by_key(&column, |it| it.0) {
                    sum -= value * above[found].1.conj();
                }
            }
            if k < i {
                let diagonal = above.binary_search_by_key(&k, |it| it.0).map_or(T::ZERO, |at| above[at].1);
                row[place].1 = if diagonal == T::ZERO { sum } else { sum / diagonal };
            } else {
                let is_positive = sum.re() > T::Real::ZERO;
                if !is_positive && singular.is_none() {
                    singular = Some(i);
                }
                row[place].1 = if is_positive { T::from_real(sum.re().sqrt()) } else { T::ZERO };
            }
        }
        if place_of(row, i).is_none() && singular.is_none() {
            singular = Some(i);
        }
    }
    singular
}
