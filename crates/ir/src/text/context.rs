//! Typing of literals: the rule, shared by printer and parser, for literals that omit their type.
//!
//! The first operand of type `T` that is not a bare literal fixes `T` for the others and for all that depends on `T`.
//! A literal whose type follows from nothing else carries its own.

use crate::constant::Constant;
use crate::entity::EntitySet;
use crate::function::{Function, ValueDef};
use crate::module::{Declaration, ReturnValue};
use crate::ops::{InstFormat, Op, OperandConstraint, ResultConstraint};
use crate::types::{Scalar, Type};
use crate::{Inst, Value, typing};

/// Returns the operand that fixes `T`: the first `T` operand that is not a bare literal.
pub(super) fn anchor(op: Op, mut is_bare: impl FnMut(usize) -> bool) -> Option<usize> {
    operands_of_t(op).find(|&index| !is_bare(index))
}

/// The operands of type `T`.
pub(super) fn operands_of_t(op: Op) -> impl Iterator<Item = usize> {
    let operands = op.info().operands.iter().enumerate();
    operands.filter(|(_, operand)| matches!(operand, OperandConstraint::T(_))).map(|(index, _)| index)
}

/// True if the result types follow from `T`.
pub(super) fn depends_on_t(gives: ResultConstraint) -> bool {
    matches!(
        gives,
        ResultConstraint::T
            | ResultConstraint::BoolOfT
            | ResultConstraint::LaneOfT
            | ResultConstraint::TAndBool
    )
}

/// Computes the instructions that must write the type of their [`anchor`]: one of each cycle of values whose types
/// depend on each other. Only unreachable code has such cycles.
pub(super) fn explicitly_typed(func: &Function) -> EntitySet<Inst> {
    let mut must_say = EntitySet::new();
    let mut is_settled: EntitySet<Inst> = EntitySet::new();
    let mut is_sought: EntitySet<Inst> = EntitySet::new();
    let mut chain = Vec::new();
    for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
        let mut next = Some(inst);
        while let Some(here) = next.filter(|&here| !is_settled.contains(here)) {
            if !is_sought.insert(here) {
                must_say.insert(here);
                break;
            }
            chain.push(here);
            next = anchor_inst(func, here);
        }
        for settled in chain.drain(..) {
            is_settled.insert(settled);
        }
    }
    must_say
}

/// Returns the instruction that defines the anchor of another, if the result type depends on it.
fn anchor_inst(func: &Function, inst: Inst) -> Option<Inst> {
    let data = func.inst(inst);
    if !depends_on_t(data.op.info().gives) {
        return None;
    }
    let index = anchor(data.op, |index| data.args.get(index).is_some_and(|&arg| is_bare(func, arg)))?;
    func.def_inst(*data.args.get(index)?)
}

/// True for a literal that does not imply its type.
pub(super) fn is_bare(func: &Function, value: Value) -> bool {
    func.value_def(value) == ValueDef::Const && !matches!(func.constant(value), Some(Constant::Address(..)))
}

/// Default alignment of an access: the size of the accessed scalar.
pub(super) fn natural_align(op: Op, operands: &[Type], written: Option<Type>) -> u32 {
    let accessed = match op {
        Op::Load | Op::MaskedLoad | Op::Gather => written,
        Op::Store | Op::MaskedStore | Op::Scatter => operands.first().copied(),
        Op::AtomicRmw | Op::CompareExchange => operands.get(1).copied(),
        _ => None,
    };
    accessed.map_or(1, |ty| ty.scalar().bytes())
}

/// Context that determines the types of an instruction's bare literals.
#[derive(Debug)]
pub(super) struct LiteralContext<'a> {
    op: Op,
    controlling: Option<Type>,
    written: Option<Type>,
    callee: Option<&'a Declaration>,
    lanes: Option<u16>,
    results: &'a [ReturnValue],
}

impl<'a> LiteralContext<'a> {
    /// `controlling` is the type of the [`anchor`], `lanes` the number of lanes of a launch, `results` the results of the
    /// enclosing function.
    pub(super) fn new(
        op: Op,
        controlling: Option<Type>,
        written: Option<Type>,
        callee: Option<&'a Declaration>,
        lanes: Option<u16>,
        results: &'a [ReturnValue],
    ) -> LiteralContext<'a> {
        LiteralContext { op, controlling, written, callee, lanes, results }
    }

    /// The type of a bare literal as this operand; none if a literal must carry its own.
    pub(super) fn operand(&self, index: usize) -> Option<Type> {
        let info = self.op.info();
        let mask_of = |ty: Type| ty.with_scalar(Scalar::I1);
        match info.format {
            InstFormat::Phi => self.written,
            InstFormat::Branch => Some(Type::I1),
            InstFormat::Return => self.results.get(index).map(|result| result.ty),
            InstFormat::Call | InstFormat::Launch => match self.callee?.signature.params.get(index) {
                Some(param) => Some(typing::caller_type(param.ty, param.shape.as_ref(), self.lanes)),
                None => self.lanes.map(Type::mask),
            },
            _ => match info.operands.get(index)? {
                OperandConstraint::T(_) => self.controlling,
                OperandConstraint::BoolOfT | OperandConstraint::Choice => self.controlling.map(mask_of),
                OperandConstraint::LaneOfT => self.controlling.map(|ty| ty.scalar().into()),
                OperandConstraint::SameLanes(_) | OperandConstraint::Free(_) => None,
                OperandConstraint::MaskOfResult => self.written.map(mask_of),
                OperandConstraint::SameAsResult => self.written,
            },
        }
    }
}
