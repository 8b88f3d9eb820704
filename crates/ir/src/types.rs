//! Types: scalars, and vectors and masks of them at stage Wide.

use std::fmt;

/// Maximum number of lanes of a brush or a vector.
pub const MAX_LANES: u32 = 512;

/// Maximum number of lanes that the compiler chooses by default.
pub const MAX_DEFAULT_LANES: u32 = 128;

/// Maximum number of dimensions of a brush.
pub const MAX_DIMENSIONS: usize = 4;

/// An address space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space {
    /// Any other space; the address decides which.
    Generic,
    /// Shared by all lanes of a launch.
    Global,
    /// Shared by the lanes of a work-group.
    Local,
    /// Separate for each lane.
    Private,
    /// Shared by all, read-only.
    Constant,
}

impl Space {
    /// All address spaces, in order.
    pub const ALL: [Space; 5] =
        [Space::Generic, Space::Global, Space::Local, Space::Private, Space::Constant];

    /// Returns the word of the text format.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Local => "local",
            Space::Private => "private",
            Space::Constant => "constant",
        }
    }
}

/// The type of a value in one lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scalar {
    /// A Boolean.
    I1,
    /// An 8-bit integer.
    I8,
    /// A 16-bit integer.
    I16,
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
    /// A 128-bit integer.
    I128,
    /// IEEE binary16.
    F16,
    /// The upper half of a binary32.
    BF16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// A 64-bit address.
    Ptr(Space),
}

impl Scalar {
    /// Every scalar type, in order.
    pub const ALL: [Scalar; 15] = [
        Scalar::I1,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::I128,
        Scalar::F16,
        Scalar::BF16,
        Scalar::F32,
        Scalar::F64,
        Scalar::Ptr(Space::Generic),
        Scalar::Ptr(Space::Global),
        Scalar::Ptr(Space::Local),
        Scalar::Ptr(Space::Private),
        Scalar::Ptr(Space::Constant),
    ];

    /// Number of bits of a value.
    pub const fn bits(self) -> u32 {
        match self {
            Scalar::I1 => 1,
            Scalar::I8 => 8,
            Scalar::I16 | Scalar::F16 | Scalar::BF16 => 16,
            Scalar::I32 | Scalar::F32 => 32,
            Scalar::I64 | Scalar::F64 | Scalar::Ptr(_) => 64,
            Scalar::I128 => 128,
        }
    }

    /// Number of bytes of a value in memory.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Mask of all bits of a value.
    pub const fn bit_mask(self) -> u128 {
        u128::MAX >> (128 - self.bits())
    }

    /// True for integers, `i1` included.
    pub const fn is_int(self) -> bool {
        matches!(self, Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::I128)
    }

    /// True for floats.
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64)
    }

    /// True for pointers.
    pub const fn is_ptr(self) -> bool {
        matches!(self, Scalar::Ptr(_))
    }

    /// The integer type of this many bits, if there is one.
    pub const fn int(bits: u32) -> Option<Scalar> {
        Some(match bits {
            1 => Scalar::I1,
            8 => Scalar::I8,
            16 => Scalar::I16,
            32 => Scalar::I32,
            64 => Scalar::I64,
            128 => Scalar::I128,
            _ => return None,
        })
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::F16 => f.write_str("f16"),
            Scalar::BF16 => f.write_str("bf16"),
            Scalar::F32 => f.write_str("f32"),
            Scalar::F64 => f.write_str("f64"),
            Scalar::Ptr(Space::Generic) => f.write_str("ptr"),
            Scalar::Ptr(space) => write!(f, "ptr({})", space.name()),
            int => write!(f, "i{}", int.bits()),
        }
    }
}

/// Type of a value: one scalar per lane or, at stage Wide, a vector with the scalars of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Type {
    /// A scalar.
    Scalar(Scalar),
    /// A vector of this many scalars; of `i1`, a mask.
    Vector(Scalar, u16),
}

impl Type {
    /// `i1`.
    pub const I1: Type = Type::Scalar(Scalar::I1);
    /// `i8`.
    pub const I8: Type = Type::Scalar(Scalar::I8);
    /// `i16`.
    pub const I16: Type = Type::Scalar(Scalar::I16);
    /// `i32`.
    pub const I32: Type = Type::Scalar(Scalar::I32);
    /// `i64`.
    pub const I64: Type = Type::Scalar(Scalar::I64);
    /// `i128`.
    pub const I128: Type = Type::Scalar(Scalar::I128);
    /// `f16`.
    pub const F16: Type = Type::Scalar(Scalar::F16);
    /// `bf16`.
    pub const BF16: Type = Type::Scalar(Scalar::BF16);
    /// `f32`.
    pub const F32: Type = Type::Scalar(Scalar::F32);
    /// `f64`.
    pub const F64: Type = Type::Scalar(Scalar::F64);

    /// A pointer into a space.
    pub const fn ptr(space: Space) -> Type {
        Type::Scalar(Scalar::Ptr(space))
    }

    /// The mask of `lanes` lanes.
    pub const fn mask(lanes: u16) -> Type {
        Type::Vector(Scalar::I1, lanes)
    }

    /// Type of one lane.
    pub const fn scalar(self) -> Scalar {
        match self {
            Type::Scalar(scalar) | Type::Vector(scalar, _) => scalar,
        }
    }

    /// Number of lanes of a vector; none for a scalar.
    pub const fn lanes(self) -> Option<u16> {
        match self {
            Type::Scalar(_) => None,
            Type::Vector(_, lanes) => Some(lanes),
        }
    }

    /// The type with equally many lanes of another scalar.
    pub const fn with_scalar(self, scalar: Scalar) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(scalar),
            Type::Vector(_, lanes) => Type::Vector(scalar, lanes),
        }
    }

    /// True for vectors and masks.
    pub const fn is_vector(self) -> bool {
        matches!(self, Type::Vector(..))
    }

    /// Number of bytes of a value in memory: vectors are packed, a mask takes one byte per lane.
    pub const fn bytes(self) -> u32 {
        match self {
            Type::Scalar(scalar) => scalar.bytes(),
            Type::Vector(scalar, lanes) => scalar.bytes() * lanes as u32,
        }
    }
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Type {
        Type::Scalar(scalar)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(scalar) => scalar.fmt(f),
            Type::Vector(Scalar::I1, lanes) => write!(f, "mask<{lanes}>"),
            Type::Vector(scalar, lanes) => write!(f, "<{lanes} x {scalar}>"),
        }
    }
}
