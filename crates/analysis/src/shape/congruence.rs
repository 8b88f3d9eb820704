//! Known low bits of a number: `residue` modulo 2^`bits`.
//!
//! An alignment is a congruence to 0. The modulus is always a power of two, because no other modulus survives wrap-around
//! modulo 2^width. Congruences also represent odd offsets (`8i + 3`), and constants if all bits of the type are known. At
//! most the low 64 bits of wider integers are known.

/// Maximum number of known bits.
pub(crate) const MAX_BITS: u32 = 64;

/// Known low bits of a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Congruence {
    residue: u64,
    bits: u8,
}

fn low(bits: u32) -> u64 {
    match bits {
        0 => 0,
        bits => u64::MAX >> MAX_BITS.saturating_sub(bits),
    }
}

impl Congruence {
    /// No known bits.
    pub const ANY: Congruence = Congruence { residue: 0, bits: 0 };

    /// Numbers that agree with `residue` in their low `bits` bits, at most 64.
    pub fn new(residue: i128, bits: u32) -> Congruence {
        let bits = bits.min(MAX_BITS);
        Congruence { residue: residue as u64 & low(bits), bits: bits as u8 }
    }

    /// Multiples of the maximum power of two that divides `align`, in a type of this width.
    pub fn aligned(align: u64, width: u32) -> Congruence {
        Congruence::new(0, align.trailing_zeros().min(width))
    }

    /// Returns the number of known low bits.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// Returns the known low bits.
    pub const fn residue(self) -> u64 {
        self.residue
    }

    /// Returns the number of low bits known to be zero.
    pub fn zeros(self) -> u32 {
        self.residue.trailing_zeros().min(self.bits())
    }

    /// Returns the maximum power of two known to divide the numbers, at most 2^63.
    pub fn align(self) -> u64 {
        1 << self.zeros().min(63)
    }

    /// Returns the number if all bits of its type are known.
    pub fn constant(self, width: u32) -> Option<u64> {
        (width > 0 && self.bits() == width).then_some(self.residue)
    }

    /// True if `other` contains all numbers of this class.
    pub fn implies(self, other: Congruence) -> bool {
        self.bits >= other.bits && (self.residue ^ other.residue) & low(other.bits()) == 0
    }

    /// Congruence that contains the numbers of both.
    #[must_use]
    pub fn join(self, other: Congruence) -> Congruence {
        let agreeing = (self.residue ^ other.residue).trailing_zeros();
        self.known(agreeing.min(other.bits()))
    }

    /// Intersection; none if it is empty.
    pub fn meet(self, other: Congruence) -> Option<Congruence> {
        let (more, less) = if self.bits >= other.bits { (self, other) } else { (other, self) };
        more.implies(less).then_some(more)
    }

    /// Keeps at most this many known bits.
    #[must_use]
    pub fn known(self, bits: u32) -> Congruence {
        Congruence::new(self.residue.into(), bits.min(self.bits()))
    }

    /// Congruence of the sums.
    #[must_use]
    pub fn plus(self, other: Congruence) -> Congruence {
        let bits = self.bits().min(other.bits());
        Congruence::new(i128::from(self.residue) + i128::from(other.residue), bits)
    }

    /// Congruence of the negated numbers.
    #[must_use]
    pub fn negated(self) -> Congruence {
        Congruence::new(-i128::from(self.residue), self.bits())
    }

    /// Congruence of the products, in a type of this width: `(r + 2^k i)(s + 2^l j) = rs + 2^k is + 2^l jr + 2^(k+l) ij`.
    #[must_use]
    pub fn times(self, other: Congruence, width: u32) -> Congruence {
        let bits = (self.bits() + other.zeros()).min(other.bits() + self.zeros());
        let product = self.residue.wrapping_mul(other.residue);
        // The product of residues is known modulo 2^64, the limit of a congruence.
        Congruence::new(product.into(), bits.min(width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(width: u32) -> impl Iterator<Item = Congruence> {
        (0..=width).flat_map(|bits| (0..1i128 << bits).map(move |residue| Congruence::new(residue, bits)))
    }

    fn members(congruence: Congruence, width: u32) -> Vec<i128> {
        (0..1i128 << width)
            .filter(|&number| Congruence::new(number, congruence.bits()) == congruence)
            .collect()
    }

    fn best(numbers: impl IntoIterator<Item = i128>, width: u32) -> Congruence {
        let each = numbers.into_iter().map(|number| Congruence::new(number, width));
        each.reduce(Congruence::join).expect("there are numbers")
    }

    #[test]
    fn join_and_order_are_those_of_the_sets() {
        for a in all(4) {
            assert_eq!(best(members(a, 4), 4), a);
            for b in all(4) {
                let (left, right) = (members(a, 4), members(b, 4));
                assert_eq!(a.implies(b), left.iter().all(|number| right.contains(number)), "{a:?} {b:?}");
                assert_eq!(a.join(b), best(left.iter().chain(&right).copied(), 4), "{a:?} {b:?}");
                let both: Vec<i128> = left.iter().copied().filter(|number| right.contains(number)).collect();
                assert_eq!(a.meet(b), (!both.is_empty()).then(|| best(both, 4)), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn sums_and_products_are_the_best() {
        for a in all(4) {
            assert_eq!(a.negated(), best(members(a, 4).iter().map(|x| -x), 4));
            for b in all(4) {
                let pairs = || {
                    members(a, 4)
                        .into_iter()
                        .flat_map(move |x| members(b, 4).into_iter().map(move |y| (x, y)))
                };
                assert_eq!(a.plus(b), best(pairs().map(|(x, y)| x + y), 4), "{a:?} {b:?}");
                assert_eq!(a.times(b, 4), best(pairs().map(|(x, y)| x * y), 4), "{a:?} {b:?}");
            }
        }
    }
}
