//! Sobol sequences in Gray code order: Joe & Kuo, "Constructing Sobol sequences with better two-dimensional projections", SISC 2008.
//!
//! Dimensions beyond those of the table have random direction numbers: each is evenly spread by itself. Scrambled sequences
//! multiply the direction numbers by random triangular matrices of bits, and add a random constant.

use std::sync::OnceLock;

/// Dimensions that cuRAND has.
pub const DIMENSIONS: usize = 20_000;

/// Primitive polynomials and initial numbers.
const TABLE: &str = include_str!("joe_kuo.txt");

/// Mixes bits: the finalizer of SplitMix64.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Returns direction numbers of all dimensions with 64 bits.
fn plain() -> &'static [[u64; 64]] {
    static PLAIN: OnceLock<Vec<[u64; 64]>> = OnceLock::new();
    PLAIN.get_or_init(|| {
        let mut all = vec![std::array::from_fn(|i| 1 << (63 - i))];
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            let [_, degree, inner, initial @ ..] = numbers.as_slice() else { continue };
            let degree = *degree as usize;
            let mut vectors = [0_u64; 64];
            for i in 0..64 {
                vectors[i] = match initial.get(i) {
                    Some(number) if i < degree => number << (63 - i),
                    _ => {
                        let mut vector = vectors[i - degree] ^ (vectors[i - degree] >> degree);
                        for k in 1..degree {
                            if inner >> (degree - 1 - k) & 1 == 1 {
                                vector ^= vectors[i - k];
                            }
                        }
                        vector
                    }
                };
            }
            all.push(vectors);
        }
        for dimension in all.len()..DIMENSIONS {
            all.push(std::array::from_fn(|i| {
                let one = 1 << (63 - i);
                one | (mixed((dimension * 64 + i) as u64) & !(one | (one - 1)))
            }));
        }
        all
    })
}

/// Returns the direction numbers of all dimensions, multiplied by random triangular matrices.
fn scrambled() -> &'static [[u64; 64]] {
    static SCRAMBLED: OnceLock<Vec<[u64; 64]>> = OnceLock::new();
    SCRAMBLED.get_or_init(|| {
        let scramble = |(dimension, vectors): (usize, &[u64; 64])| {
            // Each bit goes to its own place and to random lower ones.
            let images: [u64; 64] = std::array::from_fn(|bit| {
                let one = 1 << bit;
                one | (mixed(!((dimension * 64 + bit) as u64)) & (one - 1))
            });
            vectors.map(|vector| {
                (0..64).filter(|bit| vector >> bit & 1 == 1).fold(0, |image, bit| image ^ images[bit])
            })
        };
        plain().iter().enumerate().map(scramble).collect()
    })
}

/// Returns direction numbers of all dimensions.
pub fn vectors64(is_scrambled: bool) -> &'static [[u64; 64]] {
    if is_scrambled { scrambled() } else { plain() }
}

/// Returns direction numbers of all dimensions with 32 bits.
pub fn vectors32(is_scrambled: bool) -> &'static [[u32; 32]] {
    static VECTORS: [OnceLock<Vec<[u32; 32]>>; 2] = [OnceLock::new(), OnceLock::new()];
    VECTORS[usize::from(is_scrambled)].get_or_init(|| {
        let wide = vectors64(is_scrambled);
        wide.iter().map(|vectors| std::array::from_fn(|i| (vectors[i] >> 32) as u32)).collect()
    })
}

/// Returns the constants that scrambled sequences add, with 64 bits.
pub fn constants64() -> &'static [u64] {
    static CONSTANTS: OnceLock<Vec<u64>> = OnceLock::new();
    CONSTANTS.get_or_init(|| {
        (0..DIMENSIONS as u64).map(|dimension| mixed(dimension ^ 0x5b1c_e000_0000_0000)).collect()
    })
}

/// Returns the constants with 32 bits.
pub fn constants32() -> &'static [u32] {
    static CONSTANTS: OnceLock<Vec<u32>> = OnceLock::new();
    CONSTANTS.get_or_init(|| constants64().iter().map(|constant| (constant >> 32) as u32).collect())
}

/// Calls with the points of a dimension, as fractions of 64 bits.
pub fn points(dimension: usize, is_scrambled: bool, first: u64, count: u64, mut call: impl FnMut(u64)) {
    let vectors = &vectors64(is_scrambled)[dimension];
    let gray = first ^ (first >> 1);
    let mut point = if is_scrambled { constants64()[dimension] } else { 0 };
    for (bit, vector) in vectors.iter().enumerate() {
        if gray >> bit & 1 == 1 {
            point ^= vector;
        }
    }
    for index in first..first + count {
        call(point);
        point ^= vectors[(!index).trailing_zeros().min(63) as usize];
    }
}
