//! MRG32k3a: L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators", OR 1999.

use crate::sequences::Recurrence;

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
const A12: u64 = 1_403_580;
const A13: u64 = 810_728;
const A21: u64 = 527_612;
const A23: u64 = 1_370_589;
/// Steps between sequences, as a power of two.
const SEQUENCE_BITS: usize = 76;

/// Factor that makes a state a number between 0 and 1.
pub const NORM: f64 = 2.328_306_549_837_829e-10;
/// Factor that makes a state 32 bits.
pub const BITS_NORM: f64 = 1.000_000_048_662;

type Matrix = [[u64; 3]; 3];

fn apply(matrix: &Matrix, state: [u64; 3], modulus: u64) -> [u64; 3] {
    // Each product is below 2⁶⁴, three of them are not.
    matrix.map(|row| row.iter().zip(state).fold(0, |sum, (a, b)| (sum + a * b % modulus) % modulus))
}

fn product(a: &Matrix, b: &Matrix, modulus: u64) -> Matrix {
    let column = |j: usize| apply(a, [b[0][j], b[1][j], b[2][j]], modulus);
    let columns = [column(0), column(1), column(2)];
    [0, 1, 2].map(|i| [columns[0][i], columns[1][i], columns[2][i]])
}

/// Returns the matrices of some steps.
fn power(steps: u64, squarings: usize) -> (Matrix, Matrix) {
    let one = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    let raise = |matrix: Matrix, modulus: u64| {
        let (mut matrix, mut result, mut steps) = (matrix, one, steps);
        for _ in 0..squarings {
            matrix = product(&matrix, &matrix, modulus);
        }
        while steps != 0 {
            if steps & 1 == 1 {
                result = product(&result, &matrix, modulus);
            }
            matrix = product(&matrix, &matrix, modulus);
            steps >>= 1;
        }
        result
    };
    (
        raise([[0, 1, 0], [0, 0, 1], [M1 - A13, A12, 0]], M1),
        raise([[0, 1, 0], [0, 0, 1], [M2 - A23, 0, A21]], M2),
    )
}

/// All sequences of a seed. Rows are states, from which outputs are made by [`NORM`] and [`BITS_NORM`].
#[allow(missing_debug_implementations)]
pub struct Mrg32k3a {
    states: Vec<([u64; 3], [u64; 3])>,
    sequences: usize,
    seed: u64,
}

impl Mrg32k3a {
    /// Returns a number of sequences of a seed.
    pub fn new(seed: u64, sequences: usize) -> Mrg32k3a {
        let mut all = Mrg32k3a { states: Vec::new(), sequences, seed };
        all.seek(0);
        all
    }
}

impl Recurrence for Mrg32k3a {
    fn sequences(&self) -> usize {
        self.sequences
    }

    fn seek(&mut self, row: u64) {
        let (mut first, mut second) = ([12_345; 3], [12_345; 3]);
        if self.seed != 0 {
            let (x1, x2) = (u64::from(self.seed as u32 ^ 0x5555_5555), (self.seed >> 32) ^ 0xaaaa_aaaa);
            first = [x1, x2, x1].map(|x| x * 12_345 % M1);
            second = [x2, x1, x2].map(|x| x * 12_345 % M2);
        }
        let (rows1, rows2) = power(row, 0);
        (first, second) = (apply(&rows1, first, M1), apply(&rows2, second, M2));
        let (next1, next2) = power(1, SEQUENCE_BITS);
        self.states.clear();
        for _ in 0..self.sequences {
            self.states.push((first, second));
            (first, second) = (apply(&next1, first, M1), apply(&next2, second, M2));
        }
    }

    fn next_row(&mut self, row: &mut Vec<u32>) {
        row.clear();
        row.extend(self.states.iter_mut().map(|(first, second)| {
            let p1 = (A12 * first[1] + A13 * (M1 - first[0])) % M1;
            *first = [first[1], first[2], p1];
            let p2 = (A21 * second[2] + A23 * (M2 - second[0])) % M2;
            *second = [second[1], second[2], p2];
            (if p1 <= p2 { p1 + M1 - p2 } else { p1 - p2 }) as u32
        }));
    }
}
