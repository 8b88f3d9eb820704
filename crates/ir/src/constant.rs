//! Constants: interned values without a defining instruction.

use crate::types::{Scalar, Space, Type};
use std::sync::Arc;

/// A value that is equal in every lane and known at compile time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Constant {
    /// Poison in every lane.
    Poison(Type),
    /// A scalar as bits, zero above its width.
    Scalar(Scalar, u128),
    /// One scalar per lane, as bits.
    Vector(Scalar, Arc<[u128]>),
    /// The address of a global, by name.
    Address(Space, Arc<str>),
}

impl Constant {
    /// The `i1` constant.
    pub fn bool(value: bool) -> Constant {
        Constant::Scalar(Scalar::I1, value.into())
    }

    /// The integer of this type, truncated to its width.
    pub fn int(scalar: Scalar, value: i128) -> Constant {
        Constant::Scalar(scalar, value as u128 & scalar.bit_mask())
    }

    /// The constant of this type with these bits in every lane, truncated to its width.
    pub fn splat(ty: Type, bits: u128) -> Constant {
        let bits = bits & ty.scalar().bit_mask();
        match ty {
            Type::Scalar(scalar) => Constant::Scalar(scalar, bits),
            Type::Vector(scalar, lanes) => {
                Constant::Vector(scalar, std::iter::repeat_n(bits, lanes.into()).collect())
            }
        }
    }

    /// The constant's type.
    pub fn ty(&self) -> Type {
        match self {
            Constant::Poison(ty) => *ty,
            Constant::Scalar(scalar, _) => Type::Scalar(*scalar),
            Constant::Vector(scalar, lanes) => Type::Vector(*scalar, lanes.len() as u16),
            Constant::Address(space, _) => Type::ptr(*space),
        }
    }

    /// Returns the bits that all lanes share, if they are equal and known.
    pub fn splat_bits(&self) -> Option<u128> {
        match self {
            Constant::Scalar(_, bits) => Some(*bits),
            Constant::Vector(_, lanes) => {
                let first = *lanes.first()?;
                lanes.iter().all(|&bits| bits == first).then_some(first)
            }
            Constant::Poison(_) | Constant::Address(..) => None,
        }
    }
}
