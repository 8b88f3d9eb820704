//! Transfer functions of truncations, extensions and casts.

use super::affine_lanes::{AffineLanes, ResultShape};
use super::strides::signed;
use super::{Congruence, DetachedInst, Domain, Fact, Geometry, NoWrap, Shape};
use heddle_ir::words::Flag;

/// `trunc`.
pub(crate) fn trunc(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let promised =
        NoWrap { unsigned: operation.flags.has(Flag::Nuw), signed: operation.flags.has(Flag::Nsw) };
    cut(operands[0], operation.width(0), operation.result().width(), promised, geometry)
}

/// `zext`.
pub(crate) fn zext(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let mut operand = operands[0];
    if operation.flags.has(Flag::Nneg) {
        // Under `nneg` both extensions agree in all lanes that are not poison.
        let width = operation.width(0);
        let either = AffineLanes::of(operand, width, geometry).is_some_and(|line| {
            line.no_wrap.signed || line.no_wrap.unsigned || spans_less_than_half(&line, geometry)
        });
        operand.no_wrap = operand.no_wrap.or(NoWrap { unsigned: either, signed: either });
    }
    extend(operand, operation.width(0), operation.result().width(), false, geometry)
}

/// True if lanes within half of the range cannot wrap: two numbers from 0 to 2^(width-1) - 1 have a difference of minimum
/// magnitude in its class, and so have the steps.
fn spans_less_than_half(line: &AffineLanes, geometry: &Geometry) -> bool {
    let (least, greatest) = geometry.span(line.steps);
    line.width.checked_sub(1).is_some_and(|bits| greatest - least < 1 << bits)
}

/// `sext`.
pub(crate) fn sext(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    extend(operands[0], operation.width(0), operation.result().width(), true, geometry)
}

/// Truncation: steps and bases modulo 2^to. No-wrap facts remain if no significant bits are lost.
pub(crate) fn cut(operand: Fact, from: u32, to: u32, promised: NoWrap, geometry: &Geometry) -> ResultShape {
    match AffineLanes::of(operand, from, geometry) {
        Some(line) => {
            let no_wrap = promised.and(line.no_wrap);
            AffineLanes::new(to, line.steps, line.base.known(to), no_wrap).lanes()
        }
        None => Shape::varying(to, operand.shape.each()).into(),
    }
}

/// Extension: affine lanes that do not wrap keep their steps.
pub(crate) fn extend(operand: Fact, from: u32, to: u32, is_signed: bool, geometry: &Geometry) -> ResultShape {
    let each = operand.shape.each();
    let Some(line) = AffineLanes::of(operand, from, geometry) else { return Shape::varying(to, each).into() };
    let cannot_wrap = if is_signed { line.no_wrap.signed } else { line.no_wrap.unsigned };
    match cannot_wrap {
        // The wider base agrees with the narrower one in the narrower bits. If the base is constant and alone excludes
        // wrapping, the wider base is constant too.
        true => {
            let is_known = if is_signed { line.by_base.signed } else { line.by_base.unsigned };
            let base = match line.base.constant(from) {
                Some(base) if is_known && is_signed => Congruence::new(signed(from, base.into()), to),
                Some(base) if is_known => Congruence::new(base.into(), to),
                _ => line.base,
            };
            let no_wrap = NoWrap { unsigned: !is_signed || line.is_uniform(), signed: true };
            AffineLanes::new(to, line.steps, base, no_wrap).lanes()
        }
        false => Shape::varying(to, each).into(),
    }
}

/// Casts between addresses and integers of other widths: zero extension or truncation.
pub(crate) fn resize(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let (from, to) = (operation.width(0), operation.result().width());
    match from.cmp(&to) {
        _ if from == 0 || to == 0 => ResultShape::VARYING,
        std::cmp::Ordering::Less => extend(operands[0], from, to, false, geometry),
        std::cmp::Ordering::Equal => ResultShape { shape: operands[0].shape, no_wrap: operands[0].no_wrap },
        std::cmp::Ordering::Greater => cut(operands[0], from, to, NoWrap::NEITHER, geometry),
    }
}

/// Bit casts: numbers are unchanged, other values keep only their uniformity.
pub(crate) fn same_bits(operation: &DetachedInst<'_>, operands: &[Fact]) -> ResultShape {
    match (operation.operands[0], operation.result()) {
        (Domain::Number(from), Domain::Number(to)) if from == to => {
            ResultShape { shape: operands[0].shape, no_wrap: operands[0].no_wrap }
        }
        _ => ResultShape::number(operands[0].is_uniform(), 0, Congruence::ANY),
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
