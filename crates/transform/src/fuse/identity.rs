//! Merges two instructions into one that computes both, with the operands for each side.
//!
//! After: Coutinho et al., PACT'11, IV-A, "identity". Beyond equal instructions it merges swapped comparisons, commuted
//! operands, sums with differences, products with shifts by constants, and sums, differences and products as `fma`.

use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::module::Effects;
use heddle_ir::ops::Effect;
use heddle_ir::words::{Flag, Flags, FloatPredicate};
use heddle_ir::{Constant, Function, Inst, Op, Scalar, Type, Value};
use smallvec::SmallVec;

/// Operand of a merged instruction for one side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum MergeOperand {
    /// Value of the side.
    Value(Value),
    /// Constant, such as a neutral element.
    Constant(Constant),
}

impl MergeOperand {
    /// Returns the constant, if the operand is one.
    pub(super) fn constant<'a>(&'a self, func: &'a Function) -> Option<&'a Constant> {
        match self {
            MergeOperand::Value(value) => func.constant(*value),
            MergeOperand::Constant(constant) => Some(constant),
        }
    }
}

/// Operands for one side.
pub(super) type MergeOperands = SmallVec<[MergeOperand; 3]>;

/// Instruction that replaces one of each side.
#[derive(Clone, Debug)]
pub(super) struct MergedInst {
    pub(super) op: Op,
    pub(super) detail: Detail,
    pub(super) flags: Flags,
    pub(super) left: MergeOperands,
    pub(super) right: MergeOperands,
    /// True if the first two operands commute.
    pub(super) commutes: bool,
}

/// Returns the instruction that replaces both, if there is one.
pub(super) fn merge(func: &Function, left: Inst, right: Inst) -> Option<MergedInst> {
    let (a, b) = (func.inst(left), func.inst(right));
    let types = |inst| func.results(inst).iter().map(|&value| func.value_type(value));
    if !types(left).eq(types(right)) || !is_mergeable(func, a) || !is_mergeable(func, b) {
        return None;
    }
    if a.op == b.op { same(func, a, b) } else { related(func, a, b, types(left).next()?) }
}

/// True if an instruction may be merged at all.
pub(super) fn is_mergeable(func: &Function, data: &InstData) -> bool {
    if data.is_total() || data.flags.has(Flag::Volatile) {
        return false;
    }
    match data.op.info().effect {
        Effect::Pure | Effect::Traps => true,
        Effect::Reads | Effect::Writes => {
            matches!(data.op, Op::Load | Op::Store)
                && data.access().is_some_and(|access| access.atomic.is_none())
        }
        Effect::Callee => {
            data.op == Op::Call
                && func.callee_of(data).is_some_and(|callee| {
                    let signature = &callee.signature;
                    signature.effects == Effects::PURE
                        && signature.params.iter().all(|param| param.shape.is_none())
                })
        }
        _ => false,
    }
}

fn values(args: &[Value]) -> MergeOperands {
    args.iter().map(|&arg| MergeOperand::Value(arg)).collect()
}

/// Merges two instructions with the same op.
fn same(func: &Function, a: &InstData, b: &InstData) -> Option<MergedInst> {
    let ty = |&value: &Value| func.value_type(value);
    if !a.args.iter().map(ty).eq(b.args.iter().map(ty)) {
        return None;
    }
    let (left, mut right) = (values(&a.args), values(&b.args));
    let mut commutes = commutes(a.op);
    let detail = match (&a.detail, &b.detail) {
        (Detail::Access(x), Detail::Access(y)) => Detail::Access(common_access(x, y)),
        (Detail::IntCompare(x), Detail::IntCompare(y)) if x != y => {
            (*x == y.swapped()).then_some(())?;
            right.swap(0, 1);
            a.detail.clone()
        }
        (Detail::IntCompare(x), Detail::IntCompare(_)) => {
            commutes = *x == x.swapped();
            a.detail.clone()
        }
        (Detail::FloatCompare(x), Detail::FloatCompare(y)) if x != y => {
            (*x == with_swapped_operands(*y)).then_some(())?;
            right.swap(0, 1);
            a.detail.clone()
        }
        (Detail::FloatCompare(x), Detail::FloatCompare(_)) => {
            commutes = *x == with_swapped_operands(*x);
            a.detail.clone()
        }
        (x, y) if x == y => x.clone(),
        _ => return None,
    };
    Some(MergedInst { op: a.op, detail, flags: a.flags.intersection(b.flags), left, right, commutes })
}

/// Returns the predicate that is equivalent when the operands are swapped.
fn with_swapped_operands(predicate: FloatPredicate) -> FloatPredicate {
    use FloatPredicate::{Oge, Ogt, Ole, Olt, Uge, Ugt, Ule, Ult};
    match predicate {
        Ogt => Olt,
        Oge => Ole,
        Olt => Ogt,
        Ole => Oge,
        Ugt => Ult,
        Uge => Ule,
        Ult => Ugt,
        Ule => Uge,
        symmetric => symmetric,
    }
}

/// Returns the weakest properties of both accesses.
fn common_access(a: &Access, b: &Access) -> Access {
    Access {
        align: a.align.min(b.align),
        dereferenceable: a.dereferenceable.min(b.dereferenceable),
        base: a.base.filter(|_| a.base == b.base),
        atomic: None,
    }
}

fn commutes(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Mul
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Umin
            | Op::Umax
            | Op::Smin
            | Op::Smax
            | Op::UaddSat
            | Op::SaddSat
            | Op::Fadd
            | Op::Fmul
            | Op::Fma
            | Op::Fmuladd
            | Op::Fmin
            | Op::Fmax
            | Op::Fminimum
            | Op::Fmaximum
    )
}

/// Merges two instructions that a common op can express.
fn related(func: &Function, a: &InstData, b: &InstData, ty: Type) -> Option<MergedInst> {
    let Type::Scalar(scalar) = ty else { return None };
    let flags = a.flags.intersection(b.flags);
    let common = [Op::Add, Op::Mul, Op::Fadd, Op::Fma];
    let (op, left, right) = common.into_iter().find_map(|op| {
        let left = as_op(func, a, op, scalar)?;
        Some((op, left, as_op(func, b, op, scalar)?))
    })?;
    // The new operation may wrap where the original did not.
    let flags = if scalar.is_float() { flags } else { flags.without(Flags::WRAP) };
    Some(MergedInst { op, detail: Detail::None, flags, left, right, commutes: true })
}

/// Returns the operands with which `op` computes the instruction.
fn as_op(func: &Function, data: &InstData, op: Op, scalar: Scalar) -> Option<MergeOperands> {
    if data.op == op {
        return Some(values(&data.args));
    }
    let constant = |index: usize| match func.constant(*data.args.get(index)?) {
        Some(Constant::Scalar(_, bits)) => Some(*bits),
        _ => None,
    };
    let arg = |index: usize| MergeOperand::Value(data.args[index]);
    let number = |bits: u128| MergeOperand::Constant(Constant::Scalar(scalar, bits & scalar.bit_mask()));
    let operands: [MergeOperand; 2] = match (data.op, op) {
        (Op::Sub, Op::Add) => [arg(0), number(constant(1)?.wrapping_neg())],
        (Op::Shl, Op::Mul) => {
            let amount = constant(1).filter(|&amount| amount < scalar.bits().into())?;
            [arg(0), number(1 << amount)]
        }
        (Op::Fsub, Op::Fadd) => [arg(0), number(constant(1)? ^ sign(scalar))],
        (Op::Fadd, Op::Fma) => {
            return Some([arg(0), number(one(scalar)?), arg(1)].into_iter().collect());
        }
        (Op::Fsub, Op::Fma) => {
            return Some([arg(1), number(one(scalar)? ^ sign(scalar)), arg(0)].into_iter().collect());
        }
        // A product as a sum with -0, which preserves even the sign of zero.
        (Op::Fmul, Op::Fma) => {
            return Some([arg(0), arg(1), number(sign(scalar))].into_iter().collect());
        }
        _ => return None,
    };
    Some(operands.into_iter().collect())
}

fn sign(scalar: Scalar) -> u128 {
    1 << (scalar.bits() - 1)
}

/// Returns the bit pattern of 1.
fn one(scalar: Scalar) -> Option<u128> {
    match scalar {
        Scalar::F16 => Some(0x3c00),
        Scalar::BF16 => Some(0x3f80),
        Scalar::F32 => Some(0x3f80_0000),
        Scalar::F64 => Some(0x3ff0_0000_0000_0000),
        _ => None,
    }
}
