//! Factors of sizes, and roots of unity.

use crate::simd::FftReal;

/// Largest prime factor that a pass computes by its definition.
pub const LARGEST_RADIX: usize = 31;

/// Returns the radices of the passes for a size, or nothing if a prime factor is too large.
pub fn radices(size: usize) -> Option<Vec<usize>> {
    let (mut rest, mut odd) = (size, Vec::new());
    for radix in (3..=LARGEST_RADIX).step_by(2) {
        while rest.is_multiple_of(radix) {
            odd.push(radix);
            rest /= radix;
        }
    }
    if !rest.is_power_of_two() {
        return None;
    }
    let mut radices = match rest.trailing_zeros() as usize {
        0 => Vec::new(),
        1 => vec![2],
        // Two passes of 4 are cheaper than one of 8 and one of 2.
        twos if twos % 3 == 1 => [vec![8; (twos - 4) / 3], vec![4, 4]].concat(),
        twos => [vec![8; twos / 3], vec![4; usize::from(twos % 3 == 2)]].concat(),
    };
    radices.append(&mut odd);
    Some(radices)
}

/// Returns the largest factor up to the square root, if it is at least this number.
pub fn balanced_factor(size: usize, least: usize) -> Option<usize> {
    let factor = (1..=size.isqrt()).rev().find(|factor| size.is_multiple_of(*factor))?;
    (factor >= least).then_some(factor)
}

/// Returns a size of at least this one, whose transform is fast.
pub fn fast_size(least: usize) -> usize {
    let scaled = |odd: usize| odd * least.div_ceil(odd).next_power_of_two();
    [1, 3, 5, 9, 15].map(scaled).into_iter().min().unwrap_or(least)
}

/// Returns the real and imaginary part of `exp(-2πi · index / size)`. The angle is reduced to an octant by integers, so that both have
/// the precision of the sine's.
pub fn root(index: u64, size: u64) -> (f64, f64) {
    let eighths = 8 * u128::from(index % size);
    let (octant, size) = (eighths / u128::from(size), u128::from(size));
    // The angle from the nearest axis, in eighths of a turn divided by the size.
    let rest = if octant.is_multiple_of(2) { eighths - octant * size } else { (octant + 1) * size - eighths };
    let (sin, cos) = (rest as f64 * std::f64::consts::FRAC_PI_4 / size as f64).sin_cos();
    let (re, im) = match octant {
        0 => (cos, sin),
        1 => (sin, cos),
        2 => (-sin, cos),
        3 => (-cos, sin),
        4 => (-cos, -sin),
        5 => (-sin, -cos),
        6 => (sin, -cos),
        _ => (cos, -sin),
    };
    (re, -im)
}

/// Returns [`root`] in the precision of a transform.
pub(crate) fn rounded_root<R: FftReal>(index: u64, size: u64) -> [R; 2] {
    let (re, im) = root(index, size);
    [R::from_f64(re), R::from_f64(im)]
}
