//! Dispatch of transfer functions: facts of results from facts of operands.
//!
//! One match over the opcodes selects a rule. The rules only see reached operands that hold a value in some lane. This
//! file handles the common part: propagation of poison, bottom and levels.

use super::affine_lanes::ResultShape;
use super::{
    Congruence, DetachedInst, Domain, Fact, MemoryUniformity, NoWrap, Poison, Shape, Steps, TransferContext,
    UniformityLevel, arithmetic, bits, compare, concrete, convert, division, horizontal, query,
};
use heddle_ir::module::{DeclaredShape, Effects};
use heddle_ir::ops::{Effect, InstFormat};
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Detail, Function, Inst, Op, Type};
use smallvec::SmallVec;

/// One fact per result.
pub type ResultFacts = SmallVec<[Fact; 2]>;

/// Computes the facts of an instruction's results from those of its operands (in the order of `args`).
///
/// φs are joined as if all lanes took one edge, and paths of lanes are ignored: both are up to the divergence analysis.
/// For a `total` instruction, the operands' facts must hold in all lanes.
pub fn transfer(
    func: &Function,
    inst: Inst,
    operands: &[Fact],
    context: &TransferContext<'_>,
) -> ResultFacts {
    let operation = DetachedInst::of(func, inst);
    match operation.op {
        Op::Call | Op::Launch => {
            let callee = func.callee_of(func.inst(inst));
            let declared = callee.map_or(&[][..], |callee| &callee.signature.results);
            let is_same = operation.op == Op::Call
                && are_uniform_arguments(operands)
                && callee.is_some_and(|callee| is_function_of_arguments(callee.signature.effects));
            let summary = context.results.filter(|facts| facts.len() == declared.len());
            let results = declared.iter().enumerate().map(|(index, result)| {
                let summary = summary.map(|facts| facts[index]).filter(|it| !is_same || it.is_uniform());
                match (&result.shape, summary) {
                    (None | Some(DeclaredShape::Varying), Some(fact)) => normalize_in(fact, context),
                    (None | Some(DeclaredShape::Varying), None) if is_same => {
                        normalize_in(Fact::of_shape(Shape::UNIFORM).with_poison(Poison::Uniform), context)
                    }
                    (shape, _) => declared_fact(result.ty, shape.as_ref(), 1, context),
                }
            });
            let unknown = std::iter::repeat_with(|| normalize_in(Fact::TOP, context));
            results.chain(unknown).take(func.results(inst).len()).collect()
        }
        _ => apply(&operation, operands, context),
    }
}

/// True if all calling lanes pass the same arguments.
pub(crate) fn are_uniform_arguments(arguments: &[Fact]) -> bool {
    arguments.iter().all(|argument| argument.is_uniform() && argument.poison != Poison::Any)
}

/// True if the function's results depend on its arguments alone.
fn is_function_of_arguments(effects: Effects) -> bool {
    !effects.reads && !effects.writes && !effects.convergent
}

/// Returns the fact that a declaration states of a parameter or a result; varying without a declared shape.
pub fn declared_fact(
    ty: Type,
    shape: Option<&DeclaredShape>,
    align: u32,
    context: &TransferContext<'_>,
) -> Fact {
    let width = Domain::of(ty).width();
    let base = match width {
        0 => Congruence::ANY,
        width => Congruence::aligned(align.into(), width),
    };
    let fact = match shape {
        None | Some(DeclaredShape::Varying) => Fact::TOP,
        Some(DeclaredShape::Uniform) => {
            Fact { poison: Poison::Uniform, ..Fact::of_shape(Shape::uniform(base)) }
        }
        Some(DeclaredShape::Linear(strides)) => {
            let mut steps = Steps::default();
            for (step, &stride) in steps.iter_mut().zip(strides) {
                *step = stride.into();
            }
            Fact { poison: Poison::Any, ..Fact::of_shape(Shape::strided(width, steps, base)) }
        }
    };
    normalize_in(fact, context)
}

/// [`transfer`] for a detached instruction, without declarations of callees.
pub fn apply(operation: &DetachedInst<'_>, operands: &[Fact], context: &TransferContext<'_>) -> ResultFacts {
    let results = operation.results.len();
    if results == 0 {
        return ResultFacts::new();
    }
    let expected = match operation.op.info().operands.len() {
        0 => operation.operands.len(),
        count => count,
    };
    if operands.len() < expected || operation.operands.len() < expected {
        return SmallVec::from_elem(normalize_in(Fact::TOP, context), results);
    }
    let fact = match operation.op {
        Op::Phi => operands.iter().copied().fold(Fact::BOTTOM, Fact::join),
        Op::Select => select(operation, operands),
        Op::Freeze => freeze(operands[0]),
        Op::Alloca => query::alloca(operation),
        Op::Load => load(operation, operands[0], context),
        op if op == Op::Mask || op.info().format == InstFormat::Dimension => query::query(operation, context),
        op if op.info().effect == Effect::Horizontal => {
            match operands.iter().find_map(|&operand| undefined_operand(operand)) {
                Some(fact) => fact,
                None => horizontal::horizontal(operation, operands, context),
            }
        }
        Op::AtomicRmw | Op::CompareExchange | Op::Call | Op::Launch | Op::MaskedLoad | Op::Gather => {
            Fact::TOP
        }
        _ => elementwise(operation, operands, context),
    };
    SmallVec::from_elem(normalize_in(fact, context), results)
}

/// Applies the rule of one-lane brushes: every value is uniform.
fn normalize_in(fact: Fact, context: &TransferContext<'_>) -> Fact {
    match (fact.shape, context.geometry.width()) {
        (Shape::Varying { each }, Some(1)) => {
            let poison = fact.poison.min(Poison::Uniform);
            Fact { shape: Shape::uniform(each), poison, ..fact }.normalized()
        }
        _ => fact.normalized(),
    }
}

/// Returns the result of an operation whose required operand holds no value in any lane.
fn undefined_operand(operand: Fact) -> Option<Fact> {
    operand.shape.is_undefined().then(|| if operand.is_bottom() { Fact::BOTTOM } else { Fact::POISON })
}

/// Lane-wise operation; poison if an operand is.
fn elementwise(operation: &DetachedInst<'_>, operands: &[Fact], context: &TransferContext<'_>) -> Fact {
    if operands.iter().any(|operand| operand.is_bottom()) {
        return Fact::BOTTOM;
    }
    if operands.iter().any(|operand| operand.shape.is_undefined()) {
        return Fact::POISON;
    }
    let mut lanes = match concrete::fold(operation, operands, &context.geometry) {
        Some(lanes) => lanes,
        None => rule(operation, operands, context),
    };
    let are_uniform = operands.iter().all(|operand| operand.is_uniform());
    if are_uniform && lanes.shape.is_varying() {
        // Uniform operands give a uniform result, for any opcode.
        lanes.shape = Shape::uniform(lanes.shape.each());
    }
    let poison = operands.iter().fold(created_poison(operation, operands, are_uniform), |poison, operand| {
        poison.join(operand.poison)
    });
    let known = lanes.shape.constant(operation.result().width()).is_some();
    let level = operands.iter().fold(UniformityLevel::Launch, |level, operand| level.join(operand.level));
    let level = if known { UniformityLevel::Launch } else { level };
    Fact { shape: lanes.shape, no_wrap: lanes.no_wrap, level, poison }.normalized()
}

/// Returns the lanes in which an operation may create poison from operands without poison.
fn created_poison(operation: &DetachedInst<'_>, operands: &[Fact], are_uniform: bool) -> Poison {
    let promises = !operation.flags.intersection(Flags::POISON).is_empty();
    let may = promises
        || match operation.op {
            Op::Shl | Op::Lshr | Op::Ashr => {
                let width = operation.width(0);
                operands[1].shape.constant(width).is_none_or(|amount| amount >= width.into())
            }
            Op::Fptoui | Op::Fptosi | Op::Extract | Op::Insert | Op::Compress | Op::Expand => true,
            _ => false,
        };
    match (may, are_uniform) {
        (false, _) => Poison::Never,
        (true, true) => Poison::Uniform,
        (true, false) => Poison::Any,
    }
}

/// Applies the rule of an opcode to operands that hold a value in some lane.
fn rule(operation: &DetachedInst<'_>, operands: &[Fact], context: &TransferContext<'_>) -> ResultShape {
    let geometry = &context.geometry;
    let are_numbers = operation.operands.iter().chain(&operation.results).all(|domain| domain.width() > 0);
    if !are_numbers {
        // Floats and vectors: only uniformity is tracked.
        return ResultShape::VARYING;
    }
    match operation.op {
        Op::Add => arithmetic::add(operation, operands, geometry),
        Op::Sub => arithmetic::sub(operation, operands, geometry),
        Op::Mul => arithmetic::mul(operation, operands, geometry),
        Op::Shl => arithmetic::shl(operation, operands, geometry),
        Op::PtrAdd => arithmetic::ptradd(operation, operands, geometry),
        Op::Umin | Op::Umax | Op::Smin | Op::Smax => arithmetic::extremum(operation, operands, geometry),
        Op::Abs => arithmetic::abs(operation, operands),
        Op::UaddSat | Op::SaddSat | Op::UsubSat | Op::SsubSat => arithmetic::saturating(operation, operands),
        Op::Udiv | Op::Sdiv => division::quotient(operation, operands, geometry),
        Op::Urem | Op::Srem => division::remainder(operation, operands, geometry),
        Op::Lshr | Op::Ashr => division::shift_right(operation, operands, geometry),
        Op::And | Op::Or | Op::Xor => bits::bitwise(operation, operands, geometry),
        Op::Ctpop | Op::Ctlz | Op::Cttz => bits::count(operation, operands),
        Op::Fshl | Op::Fshr => division::funnel(operation, operands, geometry),
        Op::Icmp => compare::icmp(operation, operands, geometry),
        Op::Trunc => convert::trunc(operation, operands, geometry),
        Op::Zext => convert::zext(operation, operands, geometry),
        Op::Sext => convert::sext(operation, operands, geometry),
        Op::Ptrtoint | Op::Inttoptr => convert::resize(operation, operands, geometry),
        Op::SpaceCast | Op::Bitcast => convert::same_bits(operation, operands),
        _ => ResultShape::VARYING,
    }
}

/// `select`: a uniform condition takes all lanes to one arm; a varying one mixes the arms.
fn select(operation: &DetachedInst<'_>, operands: &[Fact]) -> Fact {
    let [condition, then, otherwise] = [operands[0], operands[1], operands[2]];
    if let Some(fact) = undefined_operand(condition) {
        return fact;
    }
    // A vector of conditions selects elements and says nothing about lanes.
    let chosen = match condition.shape.constant(operation.width(0)) {
        Some(1) => then,
        Some(_) => otherwise,
        None if condition.is_uniform() => {
            let joined = then.join(otherwise);
            Fact { level: joined.level.join(condition.level), ..joined }
        }
        None => then.blend(otherwise, operation.result()),
    };
    let made = match operation.flags.intersection(Flags::POISON).is_empty() {
        true => Poison::Never,
        false if chosen.is_uniform() => Poison::Uniform,
        false => Poison::Any,
    };
    Fact { poison: chosen.poison.join(condition.poison).join(made), ..chosen }
}

/// `freeze`: poison becomes one value per execution, the same in all lanes. Lanes keep their shape only if none is poison,
/// or if they are uniform and become poison together.
fn freeze(operand: Fact) -> Fact {
    if operand.is_bottom() {
        return Fact::BOTTOM;
    }
    let shape = match (operand.poison, operand.shape) {
        (Poison::Never, shape) => shape,
        (_, Shape::Undefined) => Shape::UNIFORM,
        (Poison::Uniform, shape) if shape.is_uniform() => Shape::UNIFORM,
        _ => Shape::VARYING,
    };
    let no_wrap = if shape == operand.shape { operand.no_wrap } else { NoWrap::NEITHER };
    Fact { shape, no_wrap, poison: Poison::Never, ..operand }.normalized()
}

/// `load`: uniform for a uniform address in uniform memory without intervening writes.
fn load(operation: &DetachedInst<'_>, address: Fact, context: &TransferContext<'_>) -> Fact {
    if let Some(fact) = undefined_operand(address) {
        return fact;
    }
    let atomic = match operation.detail {
        Detail::Access(access) => access.atomic.is_some(),
        _ => true,
    };
    let may_change = atomic || operation.flags.has(Flag::Volatile);
    if !address.is_uniform() || context.memory != MemoryUniformity::Uniform || may_change {
        return Fact::TOP;
    }
    let level = if operation.flags.has(Flag::Invariant) { address.level } else { UniformityLevel::Brush };
    Fact { shape: Shape::UNIFORM, level, poison: address.poison.join(Poison::Uniform), ..Fact::TOP }
        .normalized()
}
