//! The four float formats: fields, classes of values, equality of results.

/// A binary interchange format: a sign, a biased exponent, and a fraction under a hidden bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatFormat {
    /// IEEE binary16: 5 exponent and 10 fraction bits.
    F16,
    /// The upper half of a binary32: 8 exponent and 7 fraction bits.
    BF16,
    /// IEEE binary32: 8 exponent and 23 fraction bits.
    F32,
    /// IEEE binary64: 11 exponent and 52 fraction bits.
    F64,
}

/// Class of a pattern. The discriminant is its position in the mask of `llvm.is.fpclass`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatClass {
    /// A NaN whose quiet bit is clear.
    SignalingNan = 0,
    /// A NaN whose quiet bit is set.
    QuietNan = 1,
    /// -inf.
    NegativeInfinity = 2,
    /// A negative number with the hidden bit.
    NegativeNormal = 3,
    /// A negative number without the hidden bit.
    NegativeSubnormal = 4,
    /// -0.
    NegativeZero = 5,
    /// +0.
    PositiveZero = 6,
    /// A positive number without the hidden bit.
    PositiveSubnormal = 7,
    /// A positive number with the hidden bit.
    PositiveNormal = 8,
    /// +inf.
    PositiveInfinity = 9,
}

impl FloatClass {
    /// Returns the bit of this class in the mask of `llvm.is.fpclass`.
    pub fn mask(self) -> u32 {
        1 << self as u32
    }
}

impl FloatFormat {
    /// All formats, narrowest first.
    pub const ALL: [Self; 4] = [Self::F16, Self::BF16, Self::F32, Self::F64];

    /// Returns the width of a pattern in bits.
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Self::F16 | Self::BF16 => 16,
            Self::F32 => 32,
            Self::F64 => 64,
        }
    }

    /// Returns the number of stored fraction bits; a significand has one more, the hidden bit.
    #[inline]
    pub fn fraction_bits(self) -> u32 {
        match self {
            Self::F16 => 10,
            Self::BF16 => 7,
            Self::F32 => 23,
            Self::F64 => 52,
        }
    }

    /// Returns the exponent of the largest binade. The smallest normal one is `1 - max_exponent`.
    pub fn max_exponent(self) -> i64 {
        let exponent_bits = self.bits() - 1 - self.fraction_bits();
        (1 << (exponent_bits - 1)) - 1
    }

    /// Returns the exponent of the unit in the last place of subnormal numbers.
    pub fn least_exponent(self) -> i64 {
        1 - self.max_exponent() - i64::from(self.fraction_bits())
    }

    /// Returns the sign bit.
    #[inline]
    pub fn sign_mask(self) -> u128 {
        1 << (self.bits() - 1)
    }

    /// Returns the mask of the fraction field.
    #[inline]
    pub fn fraction_mask(self) -> u128 {
        (1 << self.fraction_bits()) - 1
    }

    /// Returns the pattern of an infinity. Patterns below the positive one are finite.
    #[inline]
    pub fn infinity(self, negative: bool) -> u128 {
        let magnitude = self.sign_mask() - (1 << self.fraction_bits());
        if negative { self.sign_mask() | magnitude } else { magnitude }
    }

    /// Returns the pattern of a zero.
    #[inline]
    pub fn zero(self, negative: bool) -> u128 {
        if negative { self.sign_mask() } else { 0 }
    }

    /// Returns the result of every operation that computes a NaN: positive, quiet, without payload.
    #[inline]
    pub fn canonical_nan(self) -> u128 {
        self.infinity(false) | self.quiet_bit()
    }

    /// Returns the bit that distinguishes a quiet NaN from a signaling one.
    pub fn quiet_bit(self) -> u128 {
        1 << (self.fraction_bits() - 1)
    }

    /// Returns the pattern without its sign. Patterns of non-negative numbers are ordered like the numbers.
    #[inline]
    pub fn magnitude(self, a: u128) -> u128 {
        a & (self.sign_mask() - 1)
    }

    /// True if the sign bit is set, also of zeros and NaNs.
    #[inline]
    pub fn is_negative(self, a: u128) -> bool {
        a & self.sign_mask() != 0
    }

    /// True for NaNs, quiet or signaling.
    #[inline]
    pub fn is_nan(self, a: u128) -> bool {
        self.magnitude(a) > self.infinity(false)
    }

    /// True for signaling NaNs.
    pub fn is_signaling_nan(self, a: u128) -> bool {
        self.is_nan(a) && a & self.quiet_bit() == 0
    }

    /// True for infinities.
    #[inline]
    pub fn is_infinite(self, a: u128) -> bool {
        self.magnitude(a) == self.infinity(false)
    }

    /// True for numbers other than infinities.
    #[inline]
    pub fn is_finite(self, a: u128) -> bool {
        self.magnitude(a) < self.infinity(false)
    }

    /// True for zeros of either sign.
    pub fn is_zero(self, a: u128) -> bool {
        self.magnitude(a) == 0
    }

    /// True for nonzero numbers below the smallest normal one.
    pub fn is_subnormal(self, a: u128) -> bool {
        (1..=self.fraction_mask()).contains(&self.magnitude(a))
    }

    /// Returns the class of a pattern.
    pub fn class(self, a: u128) -> FloatClass {
        let negative = self.is_negative(a);
        let by_sign = |below, above| if negative { below } else { above };
        if self.is_signaling_nan(a) {
            FloatClass::SignalingNan
        } else if self.is_nan(a) {
            FloatClass::QuietNan
        } else if self.is_infinite(a) {
            by_sign(FloatClass::NegativeInfinity, FloatClass::PositiveInfinity)
        } else if self.is_zero(a) {
            by_sign(FloatClass::NegativeZero, FloatClass::PositiveZero)
        } else if self.is_subnormal(a) {
            by_sign(FloatClass::NegativeSubnormal, FloatClass::PositiveSubnormal)
        } else {
            by_sign(FloatClass::NegativeNormal, FloatClass::PositiveNormal)
        }
    }
}

/// True if the class of the pattern is in `mask`, numbered as for `llvm.is.fpclass`.
pub fn is_fpclass(format: FloatFormat, a: u128, mask: u32) -> bool {
    format.class(a).mask() & mask != 0
}

/// True if two results are equal: all NaNs are, and everything else compares by its bits, so -0 and +0 differ.
pub fn same_float(format: FloatFormat, a: u128, b: u128) -> bool {
    let pattern = |v| (format.is_negative(v), format.magnitude(v));
    format.is_nan(a) && format.is_nan(b) || pattern(a) == pattern(b)
}
