//! Transfer functions of horizontals (cross-lane operations).

use super::affine_lanes::AffineLanes;
use super::{
    Activation, Congruence, DetachedInst, Fact, NoWrap, Poison, Shape, TransferContext, UniformityLevel,
};
use heddle_ir::words::Reduction;
use heddle_ir::{Detail, Op};

/// All horizontals but `mask`. Every operand holds a value in some lane.
pub(crate) fn horizontal(
    operation: &DetachedInst<'_>,
    operands: &[Fact],
    context: &TransferContext<'_>,
) -> Fact {
    let operand = operands[0];
    let width = operation.result().width();
    // Poison in one lane makes the common result poison.
    let message = match operand.poison {
        Poison::Never => Poison::Never,
        _ => Poison::Uniform,
    };
    let uniform = |known: Congruence| {
        let fact = Fact::of_shape(Shape::uniform(known.known(width)));
        fact.with_poison(message)
    };
    match operation.op {
        // The votes of a uniform truth value equal that value.
        Op::Any | Op::All if operation.width(0) == 1 => match operand.is_uniform() {
            true => Fact { poison: message, ..operand },
            false => uniform(Congruence::ANY),
        },
        Op::Ballot | Op::Popcount if operation.width(0) == 1 => uniform(Congruence::ANY),
        Op::First => match operand.is_uniform() {
            true => Fact { poison: message, ..operand },
            false => uniform(operand.shape.each()),
        },
        Op::Broadcast => {
            let known = Fact { poison: Poison::Uniform, ..uniform(operand.shape.each()) };
            let level = operand.level.join(operands[1].level);
            if operand.is_uniform() { Fact { level, ..known } } else { known }
        }
        Op::Shuffle => shuffle(operation, operands, context),
        Op::Reduce if width > 0 && operation.width(0) > 0 => {
            let Detail::Reduce(by) = operation.detail else { return Fact::TOP };
            match operand.is_uniform() && is_idempotent(*by) {
                true => Fact { poison: message, ..operand },
                false => uniform(combined(*by, operand.shape.each())),
            }
        }
        Op::Reduce if !operation.reads_vector => uniform(Congruence::ANY),
        Op::Scan if !operation.reads_vector => scan(operation, operand, context),
        // Operations across the elements of a vector, per lane.
        _ => {
            let level = operand.level;
            let shape = if operand.is_uniform() { Shape::UNIFORM } else { Shape::VARYING };
            let poison = if operand.is_uniform() { message } else { operand.poison };
            Fact { shape, no_wrap: NoWrap::NEITHER, level, poison }.normalized()
        }
    }
}

fn is_idempotent(by: Reduction) -> bool {
    use Reduction::*;
    matches!(by, And | Or | Umin | Umax | Smin | Smax)
}

/// Returns the known bits of a combination of one or more numbers with these known bits.
fn combined(by: Reduction, each: Congruence) -> Congruence {
    use Reduction::*;
    match by {
        And | Or | Umin | Umax | Smin | Smax => each,
        Add | Xor | Mul => Congruence::new(0, each.zeros()),
        Fadd | Fmul | Fmin | Fmax => Congruence::ANY,
    }
}

/// `shuffle`: uniform for a uniform operand or a uniform index; affine for an affine operand and index. A missing source
/// lane gives poison, which fits any shape.
fn shuffle(operation: &DetachedInst<'_>, operands: &[Fact], context: &TransferContext<'_>) -> Fact {
    let [operand, index] = [operands[0], operands[1]];
    let (width, index_width) = (operation.width(0), operation.width(1));
    let varying = Fact { shape: Shape::varying(width, operand.shape.each()), ..Fact::TOP };
    if operand.is_uniform() {
        return Fact { poison: Poison::Any, ..operand };
    }
    if index.is_uniform() {
        let shape = Shape::uniform(operand.shape.each());
        let level = UniformityLevel::Brush;
        return Fact { shape, level, poison: Poison::Uniform, ..operand }.normalized();
    }
    let geometry = &context.geometry;
    let lines = (AffineLanes::of(operand, width, geometry), AffineLanes::of(index, index_width, geometry));
    let (Some(values), Some(at)) = lines else { return varying.normalized() };
    // Lane i of a one-dimensional brush holds b + s·i. For i = c + t·l that is b + s·c + s·t·l, if the index equals that
    // number, at least modulo 2^width.
    let is_linear = geometry.is_linear() && (at.no_wrap.unsigned || index_width >= width);
    if !is_linear || width == 0 {
        return varying.normalized();
    }
    let step = values.steps[0];
    let base = values.base.plus(at.base.known(width).times(Congruence::new(step, width), width));
    let steps = at.steps.map(|stride| stride.wrapping_mul(step));
    Fact { shape: Shape::strided(width, steps, base), ..varying }.normalized()
}

/// `scan`: each lane combines the lanes up to it. An idempotent scan of a uniform value is that value. A sum has the
/// value as its step if all lanes take part and the value is constant.
fn scan(operation: &DetachedInst<'_>, operand: Fact, context: &TransferContext<'_>) -> Fact {
    let Detail::Scan { by, before } = operation.detail else { return Fact::TOP };
    let width = operation.result().width();
    let poison = match operand.poison {
        Poison::Never => Poison::Never,
        _ => Poison::Any,
    };
    let known = match before {
        false => combined(*by, operand.shape.each()),
        // The neutral element comes first.
        true if matches!(by, Reduction::Add | Reduction::Or | Reduction::Xor | Reduction::Umax) => {
            Congruence::new(0, operand.shape.each().zeros())
        }
        true => Congruence::ANY,
    };
    let varying = Fact { shape: Shape::varying(width, known), poison, ..Fact::TOP };
    if operand.is_uniform() && is_idempotent(*by) && !before {
        let poison = operand.poison;
        return Fact { poison, ..operand };
    }
    let constant = operand.shape.constant(width);
    let geometry = &context.geometry;
    match (by, constant) {
        (Reduction::Add, Some(addend)) if context.activation == Activation::Full && geometry.is_linear() => {
            let addend = i128::from(addend);
            let base = Congruence::new(if *before { 0 } else { addend }, width);
            let several = i128::from(geometry.width() != Some(1));
            let shape = Shape::strided(width, [addend * several, 0, 0, 0], base);
            Fact { poison, ..Fact::of_shape(shape) }.normalized()
        }
        _ => varying.normalized(),
    }
}
