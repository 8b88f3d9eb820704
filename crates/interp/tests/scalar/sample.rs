//! Test patterns: corner cases and pseudo-random ones.

use heddle_interp::scalar::FloatFormat;

/// Xorshift generator with a fixed seed, for reproducible runs.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Returns an integer of any magnitude: uniform patterns are almost never small.
    pub(crate) fn integer(&mut self, bits: u32) -> u128 {
        let ones = u128::MAX >> (128 - bits);
        let length = self.below(u64::from(bits));
        let low = self.wide() & ones >> length;
        if self.below(2) == 0 { low } else { !low & ones }
    }

    /// Returns a float of any exponent; a third of them have few fraction bits, so that sums and products meet ties.
    pub(crate) fn float(&mut self, format: FloatFormat) -> u128 {
        let pattern = self.wide() & (u128::MAX >> (128 - format.bits()));
        match self.below(3) {
            0 => pattern & !(format.fraction_mask() >> self.below(6)),
            _ => pattern,
        }
    }

    /// Returns a float whose exponent is within a few binades of that of `near`, so that neither absorbs the other.
    pub(crate) fn float_near(&mut self, format: FloatFormat, near: u128) -> u128 {
        let spread = 2 * u64::from(format.fraction_bits()) + 6;
        let steps = i128::from(self.below(spread)) - i128::from(spread / 2);
        let moved = format.magnitude(near) as i128 + (steps << format.fraction_bits());
        let magnitude =
            moved.clamp(0, format.infinity(false) as i128) as u128 ^ (self.wide() & format.fraction_mask());
        magnitude | self.wide() & format.sign_mask()
    }
}

/// Integer corner cases.
pub(crate) fn integer_corners(bits: u32) -> Vec<u128> {
    let ones = u128::MAX >> (128 - bits);
    let sign = 1u128 << (bits - 1);
    let mut corners =
        vec![0, 1, 2, 3, ones, ones - 1, sign, sign.wrapping_add(1), sign - 1, sign >> 1, ones / 3];
    let amount = u128::from(bits);
    corners.extend([amount - 1, amount, amount + 1, 2 * amount, 1 << (bits / 2), (1 << (bits / 2)) - 1]);
    corners.iter_mut().for_each(|corner| *corner &= ones);
    corners.sort();
    corners.dedup();
    corners
}

/// Float corner cases, of both signs.
pub(crate) fn float_corners(format: FloatFormat) -> Vec<u128> {
    let step = 1u128 << format.fraction_bits();
    let infinity = format.infinity(false);
    let one = (format.max_exponent() as u128) << format.fraction_bits();
    let mut corners = vec![0, 1, 2, 3, step / 2, step - 1, step, step + 1, 2 * step];
    corners.extend([infinity - 1, infinity - 2, infinity - step, infinity - step + 1, infinity]);
    corners.extend([infinity + 1, format.canonical_nan(), format.canonical_nan() + 1]);
    corners.extend([one, one - 1, one + 1, one + step / 2, one + step, one + step + step / 2]);
    corners.extend([one - step, one - step - 1, one - step + 1, one / 2, one + one / 2]);
    let integral = one + step * u128::from(format.fraction_bits());
    corners.extend([integral - 1, integral, integral + 1, integral - step + 1, integral - step - 1]);
    let negative: Vec<u128> = corners.iter().map(|&corner| corner | format.sign_mask()).collect();
    corners.extend(negative);
    corners
}
