//! Sums, products, extrema.

use super::affine_lanes::{AffineLanes, ResultShape};
use super::{Congruence, DetachedInst, Fact, Geometry, NoWrap, Shape, compare, convert};
use heddle_ir::Op;
use heddle_ir::words::{Flag, Flags, IntPredicate};

fn promised(flags: Flags) -> NoWrap {
    NoWrap { unsigned: flags.has(Flag::Nuw), signed: flags.has(Flag::Nsw) }
}

/// Lines add up. A sum of straight lines that does not wrap in any lane is straight.
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

/// Lines subtract.
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

/// A line times a constant, which is `unsigned` or `signed` in ℤ as it is read. Read as unsigned with its top bit set,
/// the factor is another number than its signed reading, which the steps follow.
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

/// Two lines: `(a + s·l)(b + t·l) = ab + (at + bs)·l + st·l²`. That is a line if the middle coefficient is known
/// modulo 2^width and the last one is 0.
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

/// A product with 2^amount; the amount may be 0, so that an unknown one shifts by what it is at least.
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
    // Steps that are shifted out altogether leave what lane 0 holds.
    let same =
        x.shape.strides().is_some_and(|strides| strides.is_zero() || strides.zeros() + least as u32 >= width);
    ResultShape::number(same && amount.is_uniform(), width, known)
}

/// An address and a signed offset of any width.
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

/// One of two, all lanes the same one if the comparison is uniform.
pub(crate) fn extremum(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let width = operation.width(0);
    // Of equal numbers either is the result: whichever question has one answer in all lanes decides.
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
        None => x.mixed(y, operation.result()),
    };
    ResultShape { shape: joined.shape, no_wrap: joined.no_wrap }
}

/// Saturating sums and differences: nothing added is nothing changed. Otherwise too little is known of bounds to say
/// that no lane, or every lane, is clamped.
pub(crate) fn saturating(operation: &DetachedInst<'_>, operands: &[Fact]) -> ResultShape {
    let is_zero = |fact: Fact| fact.shape.constant(operation.width(0)) == Some(0);
    let kept = match operation.op {
        _ if is_zero(operands[1]) => operands[0],
        Op::UaddSat | Op::SaddSat if is_zero(operands[0]) => operands[1],
        _ => return ResultShape::VARYING,
    };
    ResultShape { shape: kept.shape, no_wrap: kept.no_wrap }
}

/// The number or its negation, in each lane as its sign says. Which sign all lanes have is known of constants only.
pub(crate) fn abs(operation: &DetachedInst<'_>, operands: &[Fact]) -> ResultShape {
    let width = operation.width(0);
    let x = operands[0].shape;
    let known = |congruence: Congruence| congruence.join(congruence.negated());
    match x.is_uniform() {
        true => ResultShape::number(true, width, known(x.base())),
        false => ResultShape::number(false, width, known(x.each())),
    }
}
