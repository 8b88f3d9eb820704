//! Transfer functions of quotients, remainders and right shifts.
//!
//! Division needs numbers in ℤ, so lanes must not wrap. With `b = r + 2^k q` and a divisor `c = 2^j`, `j <= k`, the quotient
//! rounded down is `2^(k-j) q + floor((r + s·l) / c)`: the known bits determine the steps. For any `c` that divides all
//! steps it is `floor(b / c) + (s / c)·l`.

use super::affine_lanes::{AffineLanes, ResultShape};
use super::strides::{Steps, signed};
use super::{Congruence, DetachedInst, Fact, Geometry, NoWrap, Shape, arithmetic, bits, compare};
use heddle_ir::Op;
use heddle_ir::words::{Flag, IntPredicate};

/// Divides lanes that do not wrap by a positive divisor, and rounds all quotients down, or all up.
fn divided(
    line: AffineLanes,
    divisor: i128,
    round_up: bool,
    geometry: &Geometry,
) -> Option<(Steps<i128>, Congruence)> {
    let quotient = |number: i128| match round_up {
        true => -(-number).div_euclid(divisor),
        false => number.div_euclid(divisor),
    };
    let residue = i128::from(line.base.residue());
    let known = line.base.bits();
    let is_power = divisor & (divisor - 1) == 0;
    let shift = divisor.trailing_zeros();
    let base = match is_power && shift <= known {
        true => Congruence::new(quotient(residue), known - shift),
        false => Congruence::ANY,
    };
    if line.steps.iter().all(|step| step % divisor == 0) {
        return Some((line.steps.map(|step| step / divisor), base));
    }
    if !is_power {
        return None;
    }
    let parts = line.known_parts(geometry)?;
    let parts: Vec<i128> = match shift <= known {
        true => parts.into_iter().map(quotient).collect(),
        // The quotient drops all known bits.
        false => parts.into_iter().map(|part| part.div_euclid(1 << known)).collect(),
    };
    if shift > known {
        // All lanes share their upper bits; when rounding up, the lower ones distinguish zero from the rest.
        let same = parts.iter().all(|&part| part == parts[0]);
        return (same && !round_up).then_some((Steps::default(), Congruence::ANY));
    }
    Some((geometry.fit(&parts)?, base))
}

/// Returns the known bits of each lane's quotient by a power of two, rounded down.
fn each_shifted(each: Congruence, shift: u32) -> Congruence {
    match shift <= each.bits() {
        true => Congruence::new(i128::from(each.residue() >> shift.min(63)), each.bits() - shift),
        false => Congruence::ANY,
    }
}

fn shifted(operand: Fact, width: u32, shift: u32, is_signed: bool, geometry: &Geometry) -> ResultShape {
    let each = match shift < 64 {
        true => each_shifted(operand.shape.each(), shift),
        false => Congruence::ANY,
    };
    if shift == 0 {
        return ResultShape { shape: operand.shape, no_wrap: operand.no_wrap };
    }
    let Some(line) = AffineLanes::of(operand, width, geometry) else {
        return Shape::varying(width, each).into();
    };
    let cannot_wrap = if is_signed { line.no_wrap.signed } else { line.no_wrap.unsigned };
    let fit = cannot_wrap.then(|| divided(line, 1 << shift.min(126), false, geometry)).flatten();
    match fit {
        Some((steps, base)) => {
            let no_wrap = NoWrap { unsigned: !is_signed, signed: true };
            AffineLanes::new(width, steps, base, no_wrap).lanes()
        }
        None => ResultShape::number(line.is_uniform(), width, each),
    }
}

/// `lshr`, `ashr`: by a constant, a quotient rounded down.
pub(crate) fn shift_right(
    operation: &DetachedInst<'_>,
    operands: &[Fact],
    geometry: &Geometry,
) -> ResultShape {
    let width = operation.width(0);
    match operands[1].shape.constant(width) {
        Some(amount) if amount >= width.into() => ResultShape::POISON,
        Some(amount) => shifted(operands[0], width, amount as u32, operation.op == Op::Ashr, geometry),
        None if operands[1].shape.each().residue() >= width.into() => ResultShape::POISON,
        None => ResultShape::VARYING,
    }
}

/// `fshl`, `fshr` by a constant: the shifted upper number or'ed with the shifted lower one. A multiple of the width gives
/// one of the operands unchanged.
pub(crate) fn funnel(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let width = operation.width(0);
    let Some(amount) = operands[2].shape.constant(width) else { return ResultShape::VARYING };
    let amount = (amount % u64::from(width)) as u32;
    let [upper, lower] = [operands[0], operands[1]];
    let left = match (operation.op, amount) {
        (Op::Fshl, 0) => return ResultShape { shape: upper.shape, no_wrap: upper.no_wrap },
        (_, 0) => return ResultShape { shape: lower.shape, no_wrap: lower.no_wrap },
        (Op::Fshl, amount) => amount,
        (_, amount) => width - amount,
    };
    let factor = Fact::of_shape(Shape::uniform(Congruence::new(1 << left, width)));
    let as_fact = |lanes: ResultShape, of: Fact| Fact { shape: lanes.shape, no_wrap: lanes.no_wrap, ..of };
    let upper = as_fact(arithmetic::product(width, upper, factor, NoWrap::NEITHER, geometry), upper);
    let lower = as_fact(shifted(lower, width, width - left, false, geometry), lower);
    arithmetic::sum(width, &[upper, lower], NoWrap::NEITHER, geometry)
}

/// Returns the inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the number of correct bits.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// Divides exactly by an odd number: a product with its inverse modulo 2^width, even if lanes wrap.
fn exactly_divided(operand: Fact, width: u32, divisor: u64, geometry: &Geometry) -> ResultShape {
    let inverse = Congruence::new(inverse(divisor).into(), width);
    let each = operand.shape.each().times(inverse, width);
    match AffineLanes::of(operand, width, geometry) {
        Some(line) if width <= 64 => {
            let steps = line.steps.map(|step| step.wrapping_mul(inverse.residue().into()));
            Shape::strided(width, steps, line.base.times(inverse, width)).into()
        }
        _ => Shape::varying(width, each).into(),
    }
}

/// `udiv`, `sdiv`: by a constant; otherwise uniform if both operands are.
pub(crate) fn quotient(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let width = operation.width(0);
    let x = operands[0];
    let Some(divisor) = operands[1].shape.constant(width) else { return ResultShape::VARYING };
    let is_signed = operation.op == Op::Sdiv;
    let divisor = if is_signed { signed(width, divisor.into()) } else { divisor.into() };
    let is_exact = operation.flags.has(Flag::Exact);
    let by_magnitude = || quotient_by(x, width, divisor.abs(), is_signed, is_exact, geometry);
    match divisor.signum() {
        1 => by_magnitude(),
        // Undefined behaviour in every lane, so there is no value.
        0 => ResultShape::POISON,
        // x / -c = -(x / c). The minimum divided by -1 is undefined, so no negation wraps.
        _ => {
            let ResultShape { shape, no_wrap } = by_magnitude();
            let zero = Fact::of_shape(Shape::uniform(Congruence::new(0, width)));
            let promised = NoWrap { unsigned: false, signed: true };
            arithmetic::difference(width, zero, Fact { shape, no_wrap, ..x }, promised, geometry)
        }
    }
}

fn quotient_by(
    x: Fact,
    width: u32,
    divisor: i128,
    is_signed: bool,
    exact: bool,
    geometry: &Geometry,
) -> ResultShape {
    let is_power = divisor & (divisor - 1) == 0;
    let shift = divisor.trailing_zeros();
    let each = x.shape.each();
    // A division without remainder needs no rounding.
    let is_exact = exact || is_power && each.zeros() >= shift;
    if is_power && (!is_signed || is_exact) {
        return shifted(x, width, shift, is_signed, geometry);
    }
    let Some(line) = AffineLanes::of(x, width, geometry) else {
        return match exact {
            true => {
                let shifted = shifted(x, width, shift, is_signed, geometry);
                let x = Fact { shape: shifted.shape, no_wrap: shifted.no_wrap, ..x };
                exactly_divided(x, width, (divisor >> shift) as u64, geometry)
            }
            false => ResultShape::VARYING,
        };
    };
    let cannot_wrap = if is_signed { line.no_wrap.signed } else { line.no_wrap.unsigned };
    let down = cannot_wrap.then(|| divided(line, divisor, false, geometry)).flatten();
    let up = cannot_wrap.then(|| divided(line, divisor, true, geometry)).flatten();
    let zero = Fact::of_shape(Shape::uniform(Congruence::new(0, width)));
    let sign = || compare::compare(IntPredicate::Slt, width, x, zero, geometry).shape;
    let fit = match (down, up) {
        (Some((steps, _)), _) if exact => Some((steps, Congruence::ANY)),
        (down, _) if !is_signed => down,
        // Rounds towards zero: down in positive lanes, up in negative ones.
        (Some((steps, base)), Some((others, other))) if steps == others && sign().is_uniform() => {
            Some((steps, base.join(other)))
        }
        _ => None,
    };
    if exact {
        // The product with the inverse knows more bits of the base than the quotient, and has the same steps.
        let shifted = shifted(x, width, shift, is_signed, geometry);
        let odd = Fact { shape: shifted.shape, no_wrap: shifted.no_wrap, ..x };
        let lanes = exactly_divided(odd, width, (divisor >> shift) as u64, geometry);
        let no_wrap = match fit {
            Some((steps, _)) if lanes.shape.strides().is_some_and(|s| s.wide() == steps) => {
                NoWrap { unsigned: !is_signed, signed: is_signed || divisor > 1 }
            }
            _ => NoWrap::NEITHER,
        };
        return ResultShape { shape: lanes.shape, no_wrap };
    }
    match fit {
        Some((steps, base)) => {
            let no_wrap = NoWrap { unsigned: !is_signed, signed: is_signed || divisor > 1 };
            AffineLanes::new(width, steps, base, no_wrap).lanes()
        }
        None => ResultShape::number(line.is_uniform(), width, Congruence::ANY),
    }
}

/// `urem`, `srem` by a constant: `x - c·(x / c)`.
pub(crate) fn remainder(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let width = operation.width(0);
    let x = operands[0];
    let is_signed = operation.op == Op::Srem;
    // x - c·(x / c): bits of x remain known where c has low zeros.
    let kept = x.shape.each().known(operands[1].shape.each().zeros());
    let Some(divisor) = operands[1].shape.constant(width) else {
        return ResultShape::number(x.is_uniform() && operands[1].is_uniform(), width, kept);
    };
    let divisor = if is_signed { signed(width, divisor.into()).abs() } else { divisor.into() };
    // Undefined behaviour in every lane, so there is no value.
    if divisor == 0 {
        return ResultShape::POISON;
    }
    if divisor & (divisor - 1) == 0 && x.shape.each().zeros() >= divisor.trailing_zeros() {
        return Shape::uniform(Congruence::new(0, width)).into();
    }
    if divisor & (divisor - 1) == 0 && !is_signed {
        let mask = Fact::of_shape(Shape::uniform(Congruence::new(divisor - 1, width)));
        return bits::masked(width, x, mask, geometry);
    }
    let quotient = quotient_by(x, width, divisor, is_signed, false, geometry);
    if quotient.shape.is_varying() {
        return ResultShape::number(x.is_uniform(), width, kept);
    }
    let quotient = Fact { shape: quotient.shape, no_wrap: quotient.no_wrap, ..x };
    let factor = Congruence::new(divisor, width);
    let Some(line) = AffineLanes::of(quotient, width, geometry) else { return ResultShape::VARYING };
    let steps = line.steps.map(|step| step.wrapping_mul(divisor));
    let multiple = Shape::strided(width, steps, line.base.times(factor, width));
    let multiple = Fact { shape: multiple, no_wrap: NoWrap::NEITHER, ..x };
    let rest = arithmetic::difference(width, x, multiple, NoWrap::NEITHER, geometry);
    match rest.shape {
        Shape::Strided { strides, base } => {
            let shape = Shape::Strided { strides, base: base.meet(kept).unwrap_or(base) };
            shape.into()
        }
        shape => shape.into(),
    }
}
