//! The four float formats: their fields, their classes of values, and when two patterns count as one float.

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

/// What a pattern stands for. The number is the position of the class in the mask of `llvm.is.fpclass`.
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
    /// The bit of this class in the mask of `llvm.is.fpclass`.
    pub fn mask(self) -> u32 {
        1 << self as u32
    }
}

impl FloatFormat {
    /// All formats, narrowest first.
    pub const ALL: [Self; 4] = [Self::F16, Self::BF16, Self::F32, Self::F64];

    /// The width of a pattern.
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Self::F16 | Self::BF16 => 16,
            Self::F32 => 32,
            Self::F64 => 64,
        }
    }

    /// The number of stored fraction bits; a significand has one more, the hidden bit.
    #[inline]
    pub fn fraction_bits(self) -> u32 {
        match self {
            Self::F16 => 10,
            Self::BF16 => 7,
            Self::F32 => 23,
            Self::F64 => 52,
        }
    }

    /// The exponent of the largest binade. The least normal one is `1 - max_exponent`.
    pub fn max_exponent(self) -> i64 {
        let exponent_bits = self.bits() - 1 - self.fraction_bits();
        (1 << (exponent_bits - 1)) - 1
    }

    /// The exponent of the unit in which subnormal numbers, and so all numbers, are counted.
    pub fn least_exponent(self) -> i64 {
        1 - self.max_exponent() - i64::from(self.fraction_bits())
    }

    /// The sign bit.
    #[inline]
    pub fn sign_mask(self) -> u128 {
        1 << (self.bits() - 1)
    }

    /// The fraction field.
    #[inline]
    pub fn fraction_mask(self) -> u128 {
        (1 << self.fraction_bits()) - 1
    }

    /// The pattern of an infinity of either sign. Patterns below the positive one are finite.
    #[inline]
    pub fn infinity(self, negative: bool) -> u128 {
        let magnitude = self.sign_mask() - (1 << self.fraction_bits());
        if negative { self.sign_mask() | magnitude } else { magnitude }
    }

    /// The pattern of a zero of either sign.
    #[inline]
    pub fn zero(self, negative: bool) -> u128 {
        if negative { self.sign_mask() } else { 0 }
    }

    /// The NaN that every computed NaN is: positive, quiet, without payload.
    #[inline]
    pub fn canonical_nan(self) -> u128 {
        self.infinity(false) | self.quiet_bit()
    }

    /// The bit that tells a quiet NaN from a signaling one.
    pub fn quiet_bit(self) -> u128 {
        1 << (self.fraction_bits() - 1)
    }

    /// The pattern without its sign; patterns of non-negative numbers are ordered as the numbers are.
    #[inline]
    pub fn magnitude(self, a: u128) -> u128 {
        a & (self.sign_mask() - 1)
    }

    /// Is the sign bit set? It may be on zeros and NaNs too.
    #[inline]
    pub fn is_negative(self, a: u128) -> bool {
        a & self.sign_mask() != 0
    }

    /// Is it a NaN, quiet or signaling?
    #[inline]
    pub fn is_nan(self, a: u128) -> bool {
        self.magnitude(a) > self.infinity(false)
    }

    /// Is it a NaN that would raise an exception, were exceptions observed?
    pub fn is_signaling_nan(self, a: u128) -> bool {
        self.is_nan(a) && a & self.quiet_bit() == 0
    }

    /// Is it an infinity?
    #[inline]
    pub fn is_infinite(self, a: u128) -> bool {
        self.magnitude(a) == self.infinity(false)
    }

    /// Is it a number other than an infinity?
    #[inline]
    pub fn is_finite(self, a: u128) -> bool {
        self.magnitude(a) < self.infinity(false)
    }

    /// Is it a zero of either sign?
    pub fn is_zero(self, a: u128) -> bool {
        self.magnitude(a) == 0
    }

    /// Is it a number below the least normal one, but not zero?
    pub fn is_subnormal(self, a: u128) -> bool {
        (1..=self.fraction_mask()).contains(&self.magnitude(a))
    }

    /// The class of a pattern.
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

/// Is the class of the pattern among those of `mask`, as `llvm.is.fpclass` numbers them?
pub fn is_fpclass(format: FloatFormat, a: u128, mask: u32) -> bool {
    format.class(a).mask() & mask != 0
}

/// Are two results the same as far as anything may depend on it? NaNs are, whatever their sign and payload;
/// everything else is by its bits, so -0 and +0 differ.
pub fn same_float(format: FloatFormat, a: u128, b: u128) -> bool {
    let pattern = |v| (format.is_negative(v), format.magnitude(v));
    format.is_nan(a) && format.is_nan(b) || pattern(a) == pattern(b)
}
