//! What a transfer function needs of an instruction: op, detail, flags and the domains of its values.

use heddle_ir::words::Flags;
use heddle_ir::{Detail, Function, Inst, Op, Type};
use smallvec::SmallVec;

/// What kind of numbers the lanes of a value hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Domain {
    /// Integers or addresses of this many bits.
    Number(u32),
    /// No numbers to us: floats, vectors, masks.
    Opaque,
}

impl Domain {
    /// The domain of a type.
    pub const fn of(ty: Type) -> Domain {
        match ty {
            Type::Scalar(scalar) if !scalar.is_float() => Domain::Number(scalar.bits()),
            _ => Domain::Opaque,
        }
    }

    /// The number of bits of a number; 0 for what is none.
    pub const fn width(self) -> u32 {
        match self {
            Domain::Number(width) => width,
            Domain::Opaque => 0,
        }
    }
}

/// An instruction apart from its function: any width is allowed, so that small ones can be tried out in full.
#[derive(Clone, Debug)]
pub struct DetachedInst<'a> {
    /// What it does.
    pub op: Op,
    /// What refines it.
    pub detail: &'a Detail,
    /// What it promises.
    pub flags: Flags,
    /// The domains of its operands.
    pub operands: SmallVec<[Domain; 4]>,
    /// The domains of its results.
    pub results: SmallVec<[Domain; 1]>,
    /// Whether its first operand is a vector, whose elements a horizontal ranges over instead of lanes.
    pub reads_vector: bool,
}

impl<'a> DetachedInst<'a> {
    /// The operation of an instruction.
    pub fn of(func: &'a Function, inst: Inst) -> DetachedInst<'a> {
        let data = func.inst(inst);
        let domain = |&value| Domain::of(func.value_type(value));
        DetachedInst {
            op: data.op,
            detail: &data.detail,
            flags: data.flags,
            operands: data.args.iter().map(domain).collect(),
            results: func.results(inst).iter().map(domain).collect(),
            reads_vector: data.args.first().is_some_and(|&value| func.value_type(value).is_vector()),
        }
    }

    /// The width of an operand; 0 if it is no number.
    pub(crate) fn width(&self, operand: usize) -> u32 {
        self.operands.get(operand).map_or(0, |domain| domain.width())
    }

    /// The domain of the result.
    pub(crate) fn result(&self) -> Domain {
        self.results.first().copied().unwrap_or(Domain::Opaque)
    }
}
