//! Transfer functions of sums, products and extrema.

use super::affine_lanes::{AffineLanes, ResultShape};
use super::{Congruence, DetachedInst, Fact, Geometry, NoWrap, Shape, compare, convert};
use heddle_ir::Op;
use heddle_ir::words::{Flag, Flags, IntPredicate};

fn promised(flags: Flags) -> NoWrap {
    NoWrap { unsigned: flags.has(Flag::Nuw), signed: flags.has(Flag::Nsw) }
}

/// `add`: affine forms add up. The sum keeps no-wrap facts if the addition does not wrap in any lane.
pub(crate) fn add(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    sum(operation.width(0), operands, promised(operation.flags), geometry)
}

pub(crate) fn sum(width: u32, operands: &[Fact], promised: NoWrap, geometry: &Geometry) -> ResultShape {
    let lines =
        (AffineLanes::of(operands[0], width, geometry), AffineLanes::of(operands[1], width, geometry));
    if let (Some(x), Some(y)) = lines {
        let steps = std::array::from_fn(|d| x.steps[d] + y.steps[d]);
        let no_wrap = promised.and(x.no_wrap).and(y.no_wrap);
        return AffineLanes::new(width, steps, x.base.plus(y.base), no_wrap).lanes();
    }
    Shape::varying(width, operands[0].shape.each().plus(operands[1].shape.each())).into()
}

/// `sub`: affine forms subtract.
pub(crate) fn sub(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let width = operation.width(0);
    difference(width, operands[0], operands[1], promised(operation.flags), geometry)
}

pub(crate) fn difference(width: u32, x: Fact, y: Fact, promised: NoWrap, geometry: &Geometry) -> ResultShape {
    if let (Some(x), Some(y)) = (AffineLanes::of(x, width, geometry), AffineLanes::of(y, width, geometry)) {
        let steps = std::array::from_fn(|d| x.steps[d] - y.steps[d]);
        let no_wrap = promised.and(x.no_wrap).and(y.no_wrap);
        return AffineLanes::new(width, steps, x.base.plus(y.base.negated()), no_wrap).lanes();
    }
    Shape::varying(width, x.shape.each().plus(y.shape.each().negated())).into()
}

/// Multiplies by a constant, given as its `unsigned` and its `signed` reading. The two differ if the top bit is set;
/// steps use the signed reading.
fn scaled(line: AffineLanes, unsigned: i128, signed: i128, promised: NoWrap) -> ResultShape {
    let base = line.base.times(Congruence::new(unsigned, line.width), line.width);
    let steps = line.steps.map(|step| step.wrapping_mul(signed));
    let is_exact = line.steps.iter().all(|step| step.checked_mul(signed).is_some());
    let promised = NoWrap {
        unsigned: promised.unsigned && is_exact && unsigned == signed,
        signed: promised.signed && is_exact,
    };
    AffineLanes { steps, base, no_wrap: promised.and(line.no_wrap), ..line }.lanes()
}

/// `mul`: `(a + s·l)(b + t·l) = ab + (at + bs)·l + st·l²` is affine if the middle coefficient is known modulo 2^width and
/// the last one is 0.
pub(crate) fn mul(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    product(operation.width(0), operands[0], operands[1], promised(operation.flags), geometry)
}

pub(crate) fn product(
    width: u32,
    left: Fact,
    right: Fact,
    promised: NoWrap,
    geometry: &Geometry,
) -> ResultShape {
    let each = left.shape.each().times(right.shape.each(), width);
    let lines = (AffineLanes::of(left, width, geometry), AffineLanes::of(right, width, geometry));
    let (Some(x), Some(y)) = lines else { return Shape::varying(width, each).into() };
    for (line, factor) in [(x, right), (y, left)] {
        if let Some(factor) = factor.shape.constant(width) {
            let signed = super::strides::signed(width, factor.into());
            return scaled(line, factor.into(), signed, promised);
        }
    }
    let base = x.base.times(y.base, width);
    let zeros = |step: i128| step.trailing_zeros();
    let is_known = |base: Congruence, step: i128| step == 0 || base.bits() + zeros(step) >= width;
    let mut are_known = true;
    for (&by_x, &by_y) in x.steps.iter().zip(&y.steps) {
        are_known &= is_known(x.base, by_y) && is_known(y.base, by_x);
        let vanishes = |&other: &i128| by_x == 0 || other == 0 || zeros(by_x) + zeros(other) >= width;
        are_known &= y.steps.iter().all(vanishes);
    }
    if !are_known {
        return ResultShape::number(x.is_uniform() && y.is_uniform(), width, each);
    }
    let residue = |line: AffineLanes| i128::from(line.base.residue());
    let steps = std::array::from_fn(|d| {
        residue(x).wrapping_mul(y.steps[d]).wrapping_add(residue(y).wrapping_mul(x.steps[d]))
    });
    Shape::strided(width, steps, base).into()
}

/// `shl`: a product with 2^amount. An unknown amount is at least its known residue.
pub(crate) fn shl(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let width = operation.width(0);
    let [x, amount] = [operands[0], operands[1]];
    if let Some(amount) = amount.shape.constant(width) {
        if amount >= width.into() {
            return ResultShape::POISON;
        }
        let factor = 1i128 << amount.min(126);
        return match AffineLanes::of(x, width, geometry) {
            Some(line) => scaled(line, factor, factor, promised(operation.flags)),
            None => Shape::varying(width, x.shape.each().times(Congruence::new(factor, width), width)).into(),
        };
    }
    let least = amount.shape.each().residue();
    if least >= width.into() {
        return ResultShape::POISON;
    }
    let zeros = |congruence: Congruence| congruence.zeros() + least as u32;
    let known = Congruence::new(0, zeros(x.shape.each()).min(width));
    // If all steps are shifted out, every lane equals lane 0.
    let same =
        x.shape.strides().is_some_and(|strides| strides.is_zero() || strides.zeros() + least as u32 >= width);
    ResultShape::number(same && amount.is_uniform(), width, known)
}

/// `ptradd`: an address plus a signed offset of any width.
pub(crate) fn ptradd(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let (width, from) = (operation.width(0), operation.width(1));
    if width == 0 || from == 0 {
        return ResultShape::VARYING;
    }
    let offset = match from.cmp(&width) {
        std::cmp::Ordering::Less => convert::extend(operands[1], from, width, true, geometry),
        std::cmp::Ordering::Equal => ResultShape { shape: operands[1].shape, no_wrap: operands[1].no_wrap },
        std::cmp::Ordering::Greater => convert::cut(operands[1], from, width, NoWrap::NEITHER, geometry),
    };
    let offset = Fact { shape: offset.shape, no_wrap: offset.no_wrap, ..operands[1] };
    sum(width, &[operands[0], offset], NoWrap::NEITHER, geometry)
}

/// Minimum or maximum: all lanes choose the same operand if the comparison is uniform.
pub(crate) fn extremum(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let width = operation.width(0);
    // Of equal numbers either is the result, so either comparison may prove that all lanes choose alike.
    let (strict, or_equal) = match operation.op {
        Op::Umin => (IntPredicate::Ult, IntPredicate::Ule),
        Op::Umax => (IntPredicate::Ugt, IntPredicate::Uge),
        Op::Smin => (IntPredicate::Slt, IntPredicate::Sle),
        _ => (IntPredicate::Sgt, IntPredicate::Sge),
    };
    let [x, y] = [operands[0], operands[1]];
    let answers =
        [strict, or_equal].map(|predicate| compare::compare(predicate, width, x, y, geometry).shape);
    let constant = answers.iter().find_map(|answer| answer.constant(1));
    let joined = match constant {
        Some(1) => x,
        Some(_) => y,
        None if answers.iter().any(|answer| answer.is_uniform()) => x.join(y),
        None => x.blend(y, operation.result()),
    };
    ResultShape { shape: joined.shape, no_wrap: joined.no_wrap }
}

/// Saturating sums and differences: adding or subtracting 0 is the identity. Ranges are too imprecise to prove anything
/// else about clamping.
pub(crate) fn saturating(operation: &DetachedInst<'_>, operands: &[Fact]) -> ResultShape {
    let is_zero = |fact: Fact| fact.shape.constant(operation.width(0)) == Some(0);
    let kept = match operation.op {
        _ if is_zero(operands[1]) => operands[0],
        Op::UaddSat | Op::SaddSat if is_zero(operands[0]) => operands[1],
        _ => return ResultShape::VARYING,
    };
    ResultShape { shape: kept.shape, no_wrap: kept.no_wrap }
}

/// `abs`: the number or its negation, per lane. The common sign of all lanes is known for constants only.
pub(crate) fn abs(operation: &DetachedInst<'_>, operands: &[Fact]) -> ResultShape {
    let width = operation.width(0);
    let x = operands[0].shape;
    let known = |congruence: Congruence| congruence.join(congruence.negated());
    match x.is_uniform() {
        true => ResultShape::number(true, width, known(x.base())),
        false => ResultShape::number(false, width, known(x.each())),
    }
}
