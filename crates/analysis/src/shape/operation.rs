//! Instruction without its function, as input of a transfer function.

use heddle_ir::words::Flags;
use heddle_ir::{Detail, Function, Inst, Op, Type};
use smallvec::SmallVec;

/// Domain of the lanes of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Domain {
    /// Integers or addresses with this many bits.
    Number(u32),
    /// Not modelled as numbers: floats, vectors, masks.
    Opaque,
}

impl Domain {
    /// Returns the domain of a type.
    pub const fn of(ty: Type) -> Domain {
        match ty {
            Type::Scalar(scalar) if !scalar.is_float() => Domain::Number(scalar.bits()),
            _ => Domain::Opaque,
        }
    }

    /// Returns the width of a number in bits; 0 for opaque values.
    pub const fn width(self) -> u32 {
        match self {
            Domain::Number(width) => width,
            Domain::Opaque => 0,
        }
    }
}

/// Instruction detached from its function. Any width is allowed, so that tests can enumerate small ones.
#[derive(Clone, Debug)]
pub struct DetachedInst<'a> {
    /// Opcode.
    pub op: Op,
    /// Immediate operands of the opcode.
    pub detail: &'a Detail,
    /// Flags of the instruction.
    pub flags: Flags,
    /// Domains of the operands.
    pub operands: SmallVec<[Domain; 4]>,
    /// Domains of the results.
    pub results: SmallVec<[Domain; 1]>,
    /// True if the first operand is a vector: a horizontal then combines its elements instead of lanes.
    pub reads_vector: bool,
}

impl<'a> DetachedInst<'a> {
    /// Detaches an instruction.
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

    /// Returns the width of an operand; 0 if it is opaque.
    pub(crate) fn width(&self, operand: usize) -> u32 {
        self.operands.get(operand).map_or(0, |domain| domain.width())
    }

    /// Returns the domain of the result.
    pub(crate) fn result(&self) -> Domain {
        self.results.first().copied().unwrap_or(Domain::Opaque)
    }
}
