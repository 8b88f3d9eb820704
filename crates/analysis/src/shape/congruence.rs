//! What is known of a number's low bits: `residue` modulo 2^`bits`.
//!
//! An alignment is a congruence to 0. Only powers of two are kept: numbers live modulo 2^width, and no other modulus
//! survives the wrap-around. Beside alignments, congruences hold odd offsets (`8i + 3`) and, where as many bits are
//! known as the type has, constants. Of an integer wider than 64 bits the low 64 bits at most are known.

/// The most bits that a congruence speaks of.
pub(crate) const MOST_BITS: u32 = 64;

/// The low bits of a number; of the higher ones nothing is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Congruence {
    residue: u64,
    bits: u8,
}

fn low(bits: u32) -> u64 {
    match bits {
        0 => 0,
        bits => u64::MAX >> MOST_BITS.saturating_sub(bits),
    }
}

impl Congruence {
    /// Nothing is known.
    pub const ANY: Congruence = Congruence { residue: 0, bits: 0 };

    /// The numbers that agree with `residue` in their low `bits` bits (no more than 64 count).
    pub fn new(residue: i128, bits: u32) -> Congruence {
        let bits = bits.min(MOST_BITS);
        Congruence { residue: residue as u64 & low(bits), bits: bits as u8 }
    }

    /// The multiples of the largest power of two that divides `align`, in a type of this width.
    pub fn aligned(align: u64, width: u32) -> Congruence {
        Congruence::new(0, align.trailing_zeros().min(width))
    }

    /// How many low bits are known.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// The known low bits.
    pub const fn residue(self) -> u64 {
        self.residue
    }

    /// How many low bits are known to be zero.
    pub fn zeros(self) -> u32 {
        self.residue.trailing_zeros().min(self.bits())
    }

    /// The largest power of two known to divide the numbers, at most 2^63.
    pub fn align(self) -> u64 {
        1 << self.zeros().min(63)
    }

    /// The number, if all bits of its type are known.
    pub fn constant(self, width: u32) -> Option<u64> {
        (width > 0 && self.bits() == width).then_some(self.residue)
    }

    /// Whether every number here is in `other` as well.
    pub fn implies(self, other: Congruence) -> bool {
        self.bits >= other.bits && (self.residue ^ other.residue) & low(other.bits()) == 0
    }

    /// What holds of the numbers of both.
    #[must_use]
    pub fn join(self, other: Congruence) -> Congruence {
        let agreeing = (self.residue ^ other.residue).trailing_zeros();
        self.known(agreeing.min(other.bits()))
    }

    /// What holds of the numbers in both; none if there is none.
    pub fn meet(self, other: Congruence) -> Option<Congruence> {
        let (more, less) = if self.bits >= other.bits { (self, other) } else { (other, self) };
        more.implies(less).then_some(more)
    }

    /// The same, with no more than this many bits known.
    #[must_use]
    pub fn known(self, bits: u32) -> Congruence {
        Congruence::new(self.residue.into(), bits.min(self.bits()))
    }

    /// Of the sums, in a type of this width.
    #[must_use]
    pub fn plus(self, other: Congruence) -> Congruence {
        let bits = self.bits().min(other.bits());
        Congruence::new(i128::from(self.residue) + i128::from(other.residue), bits)
    }

    /// Of the negated numbers.
    #[must_use]
    pub fn negated(self) -> Congruence {
        Congruence::new(-i128::from(self.residue), self.bits())
    }

    /// Of the products, in a type of this width: `(r + 2^k i)(s + 2^l j) = rs + 2^k is + 2^l jr + 2^(k+l) ij`.
    #[must_use]
    pub fn times(self, other: Congruence, width: u32) -> Congruence {
        let bits = (self.bits() + other.zeros()).min(other.bits() + self.zeros());
        let product = self.residue.wrapping_mul(other.residue);
        // The product of residues is known modulo 2^64 only, which is as far as congruences go.
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
