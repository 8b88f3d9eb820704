//! Narrower, wider, and the same bits under another name.

use super::lines::{Lanes, Line};
use super::strides::signed;
use super::{Congruence, Domain, Fact, Geometry, Operation, Shape, Straight};
use heddle_ir::words::Flag;

/// `trunc`.
pub(crate) fn trunc(operation: &Operation<'_>, operands: &[Fact], geometry: &Geometry) -> Lanes {
    let promised =
        Straight { unsigned: operation.flags.has(Flag::Nuw), signed: operation.flags.has(Flag::Nsw) };
    cut(operands[0], operation.width(0), operation.result().width(), promised, geometry)
}

/// `zext`.
pub(crate) fn zext(operation: &Operation<'_>, operands: &[Fact], geometry: &Geometry) -> Lanes {
    let mut operand = operands[0];
    if operation.flags.has(Flag::Nneg) {
        // Lanes that are not ⊤ afterwards are the same read either way.
        let width = operation.width(0);
        let either = Line::of(operand, width, geometry).is_some_and(|line| {
            line.straight.signed || line.straight.unsigned || spans_less_than_half(&line, geometry)
        });
        operand.straight = operand.straight.or(Straight { unsigned: either, signed: either });
    }
    extend(operand, operation.width(0), operation.result().width(), false, geometry)
}

/// Whether lanes that are all in one half of the range must be straight: of two numbers from 0 to 2^(width-1) - 1 the
/// difference is the least in magnitude of its class, as the step between those lanes is.
fn spans_less_than_half(line: &Line, geometry: &Geometry) -> bool {
    let (least, greatest) = geometry.span(line.steps);
    line.width.checked_sub(1).is_some_and(|bits| greatest - least < 1 << bits)
}

/// `sext`.
pub(crate) fn sext(operation: &Operation<'_>, operands: &[Fact], geometry: &Geometry) -> Lanes {
    extend(operands[0], operation.width(0), operation.result().width(), true, geometry)
}

/// Fewer bits: steps and bases modulo less. What does not lose bits that count stays straight.
pub(crate) fn cut(operand: Fact, from: u32, to: u32, promised: Straight, geometry: &Geometry) -> Lanes {
    match Line::of(operand, from, geometry) {
        Some(line) => {
            let straight = promised.and(line.straight);
            Line::new(to, line.steps, line.base.known(to), straight).lanes()
        }
        None => Shape::varying(to, operand.shape.each()).into(),
    }
}

/// More bits: a straight line keeps its steps.
pub(crate) fn extend(operand: Fact, from: u32, to: u32, is_signed: bool, geometry: &Geometry) -> Lanes {
    let each = operand.shape.each();
    let Some(line) = Line::of(operand, from, geometry) else { return Shape::varying(to, each).into() };
    let is_straight = if is_signed { line.straight.signed } else { line.straight.unsigned };
    match is_straight {
        // The wider base agrees with the narrower one in the narrower one's bits; if the base alone shows that lanes
        // are straight, and is known in full, so is the wider one.
        true => {
            let is_known = if is_signed { line.by_base.signed } else { line.by_base.unsigned };
            let base = match line.base.constant(from) {
                Some(base) if is_known && is_signed => Congruence::new(signed(from, base.into()), to),
                Some(base) if is_known => Congruence::new(base.into(), to),
                _ => line.base,
            };
            let straight = Straight { unsigned: !is_signed || line.is_uniform(), signed: true };
            Line::new(to, line.steps, base, straight).lanes()
        }
        false => Shape::varying(to, each).into(),
    }
}

/// Addresses and integers of another width: zeros above.
pub(crate) fn resize(operation: &Operation<'_>, operands: &[Fact], geometry: &Geometry) -> Lanes {
    let (from, to) = (operation.width(0), operation.result().width());
    match from.cmp(&to) {
        _ if from == 0 || to == 0 => Lanes::VARYING,
        std::cmp::Ordering::Less => extend(operands[0], from, to, false, geometry),
        std::cmp::Ordering::Equal => Lanes { shape: operands[0].shape, straight: operands[0].straight },
        std::cmp::Ordering::Greater => cut(operands[0], from, to, Straight::NEITHER, geometry),
    }
}

/// The same bits: numbers stay what they are, others keep only whether they are uniform.
pub(crate) fn same_bits(operation: &Operation<'_>, operands: &[Fact]) -> Lanes {
    match (operation.operands[0], operation.result()) {
        (Domain::Number(from), Domain::Number(to)) if from == to => {
            Lanes { shape: operands[0].shape, straight: operands[0].straight }
        }
        _ => Lanes::number(operands[0].is_uniform(), 0, Congruence::ANY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_one_aligned_block_survives_extension() {
        let geometry = Geometry::lanes(4);
        let strided = |base| Fact::of_shape(Shape::strided(8, [1, 0, 0, 0], base));
        let shape = |fact| extend(fact, 8, 16, false, &geometry).shape;
        assert_eq!(shape(strided(Congruence::new(0, 2))).stride(), Some(1));
        assert!(shape(strided(Congruence::new(1, 2))).is_varying());
    }
}
