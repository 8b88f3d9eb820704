//! Exact arithmetic, and the definition of the nearest float: the exact number lies between the midpoints to its two
//! neighbours. No rounding happens here, only comparisons.

use std::cmp::Ordering;

use heddle_interp::scalar::FloatFormat;

/// Natural number of any size: digits in base 2^32, least significant first, without leading zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Natural(Vec<u32>);

impl Natural {
    pub(crate) fn new(value: u128) -> Self {
        Self((0..4).map(|digit| (value >> (32 * digit)) as u32).collect()).trimmed()
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn bits(&self) -> i64 {
        self.0.last().map_or(0, |top| 32 * self.0.len() as i64 - i64::from(top.leading_zeros()))
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        let mut carry = 0;
        let digits = (0..self.0.len().max(other.0.len()) + 1).map(|at| {
            carry += self.digit(at) + other.digit(at);
            let digit = carry as u32;
            carry >>= 32;
            digit
        });
        Self(digits.collect()).trimmed()
    }

    /// Difference; `other` must not be greater.
    pub(crate) fn sub(&self, other: &Self) -> Self {
        let mut borrow = 0;
        let digits = (0..self.0.len()).map(|at| {
            let digit = self.digit(at) as i64 - other.digit(at) as i64 - borrow;
            borrow = i64::from(digit < 0);
            digit as u32
        });
        Self(digits.collect()).trimmed()
    }

    pub(crate) fn mul(&self, other: &Self) -> Self {
        let mut digits = vec![0u32; self.0.len() + other.0.len()];
        for left in 0..self.0.len() {
            let mut carry = 0;
            for right in 0..=other.0.len().min(digits.len() - left - 1) {
                carry += u64::from(digits[left + right]) + self.digit(left) * other.digit(right);
                digits[left + right] = carry as u32;
                carry >>= 32;
            }
        }
        Self(digits).trimmed()
    }

    pub(crate) fn shl(&self, amount: i64) -> Self {
        let mut digits = vec![0; (amount / 32) as usize];
        let mut carry = 0;
        for &digit in &self.0 {
            carry |= u64::from(digit) << (amount % 32);
            digits.push(carry as u32);
            carry >>= 32;
        }
        digits.push(carry as u32);
        Self(digits).trimmed()
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    /// Value modulo 2^bits.
    pub(crate) fn low(&self, bits: u32) -> u128 {
        let low = (0..4).map(|at| u128::from(self.digit(at)) << (32 * at)).sum::<u128>();
        low & (u128::MAX >> (128 - bits))
    }

    fn digit(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0).into()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }
}

/// Exact number `± count · 2^exponent`.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    pub(crate) negative: bool,
    pub(crate) count: Natural,
    pub(crate) exponent: i64,
}

impl Exact {
    pub(crate) fn new(negative: bool, count: u128, exponent: i64) -> Self {
        Self { negative, count: Natural::new(count), exponent }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.count.is_zero()
    }

    /// Sum; the sign of a zero has no meaning.
    pub(crate) fn add(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let left = self.count.shl(self.exponent - exponent);
        let right = other.count.shl(other.exponent - exponent);
        let (negative, count) = if self.negative == other.negative {
            (self.negative, left.add(&right))
        } else if left.compare(&right).is_ge() {
            (self.negative, left.sub(&right))
        } else {
            (other.negative, right.sub(&left))
        };
        Self { negative, count, exponent }
    }

    pub(crate) fn mul(&self, other: &Self) -> Self {
        let count = self.count.mul(&other.count);
        Self { negative: self.negative != other.negative, count, exponent: self.exponent + other.exponent }
    }

    /// Compares absolute values.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        if self.is_zero() || other.is_zero() {
            return other.is_zero().cmp(&self.is_zero());
        }
        let tops = (self.count.bits() + self.exponent).cmp(&(other.count.bits() + other.exponent));
        tops.then_with(|| {
            let exponent = self.exponent.min(other.exponent);
            let left = self.count.shl(self.exponent - exponent);
            left.compare(&other.count.shl(other.exponent - exponent))
        })
    }
}

/// Decoded pattern.
#[derive(Clone, Debug)]
pub(crate) enum Number {
    Nan,
    Infinite { negative: bool },
    Finite(Exact),
}

/// Returns the widths of the exponent and fraction fields, and the bias, written out.
fn layout(format: FloatFormat) -> (u32, u32, i64) {
    match format {
        FloatFormat::F16 => (5, 10, 15),
        FloatFormat::BF16 => (8, 7, 127),
        FloatFormat::F32 => (8, 23, 127),
        FloatFormat::F64 => (11, 52, 1023),
    }
}

pub(crate) fn number(format: FloatFormat, pattern: u128) -> Number {
    let (exponent_bits, fraction_bits, bias) = layout(format);
    let fraction = pattern & ((1 << fraction_bits) - 1);
    let field = pattern >> fraction_bits & ((1 << exponent_bits) - 1);
    let negative = pattern >> (fraction_bits + exponent_bits) & 1 == 1;
    let exponent = field as i64 - bias - i64::from(fraction_bits);
    match field {
        0 => Number::Finite(Exact::new(negative, fraction, exponent + 1)),
        _ if field + 1 < 1 << exponent_bits => {
            Number::Finite(Exact::new(negative, fraction + (1 << fraction_bits), exponent))
        }
        _ if fraction == 0 => Number::Infinite { negative },
        _ => Number::Nan,
    }
}

/// Absolute value of a pattern. That of the infinity is the start of the next binade, as for overflow.
fn reach(format: FloatFormat, magnitude: u128) -> Exact {
    let (_, _, bias) = layout(format);
    match number(format, magnitude) {
        Number::Finite(exact) => exact,
        _ => Exact::new(false, 1, bias + 1),
    }
}

/// Twice the midpoint of a magnitude and the next one.
fn twice_midpoint(format: FloatFormat, magnitude: u128) -> Exact {
    reach(format, magnitude).add(&reach(format, magnitude + 1))
}

/// True if a finite or infinite `result` is the float nearest to an exact absolute value, ties to even.
/// `compare_to_double` compares a number with twice that value.
pub(crate) fn is_nearest_by(
    format: FloatFormat,
    result: u128,
    compare_to_double: impl Fn(&Exact) -> Ordering,
) -> bool {
    let infinity = format.infinity(false);
    let magnitude = format.magnitude(result);
    let tie_allowed = magnitude & 1 == 0;
    let not_below = magnitude == 0
        || match compare_to_double(&twice_midpoint(format, magnitude - 1)) {
            Ordering::Less => true,
            Ordering::Equal => tie_allowed,
            Ordering::Greater => false,
        };
    let not_above = magnitude == infinity
        || match compare_to_double(&twice_midpoint(format, magnitude)) {
            Ordering::Greater => true,
            Ordering::Equal => tie_allowed,
            Ordering::Less => false,
        };
    magnitude <= infinity && not_below && not_above
}

/// True if `result` is the float nearest to the exact number, with its sign.
pub(crate) fn is_nearest(format: FloatFormat, result: u128, exact: &Exact) -> bool {
    let double = Exact { exponent: exact.exponent + 1, ..exact.clone() };
    format.is_negative(result) == exact.negative && is_nearest_by(format, result, |mid| mid.compare(&double))
}

#[test]
fn natural_numbers_agree_with_native_ones_where_those_reach() {
    let mut random = crate::sample::Random::new(1);
    for _ in 0..20_000 {
        let (a, b) = (random.integer(63), random.integer(63));
        let (left, right) = (Natural::new(a), Natural::new(b));
        assert_eq!(left.add(&right), Natural::new(a + b));
        assert_eq!(left.mul(&right), Natural::new(a * b));
        assert_eq!(left.compare(&right), a.cmp(&b));
        assert_eq!(Natural::new(a.max(b)).sub(&Natural::new(a.min(b))), Natural::new(a.abs_diff(b)));
        let amount = random.below(60) as i64;
        assert_eq!(left.shl(amount), Natural::new(a << amount));
        assert_eq!(
            left.shl(amount).bits(),
            if a == 0 { 0 } else { 128 - i64::from((a << amount).leading_zeros()) }
        );
        assert_eq!(left.low(17), a & 0x1ffff);
    }
}
