//! Transfer functions of bitwise operations and bit counts.
//!
//! Let `k` bits of both bases be known. Lane `l` of an operand is `2^k (q + c(l)) + p(l)` with `0 <= p(l) < 2^k`: its low
//! part `p` and carry `c` are known, and `q` is the same in all lanes. The low parts determine the low part of the result,
//! lane by lane. Upper parts are uniform if no carry differs between lanes. If the upper part of one operand is all zeros
//! or all ones, the other upper part is kept, cleared or complemented, with its carries (`!h = -1 - h`). If the combined
//! lanes are affine, so is the result.
//!
//! Low bits that no step changes are equal in all lanes, known or not. They are split off first; the rest is affine with
//! fewer bits. The highest bit has no carry: flipping it is an addition.
//!
//! This covers `or` as addition (thesis 10.4.5), `and` as rounding down or remainder, and `xor` with all ones as negation.

use super::affine_lanes::{AffineLanes, ResultShape};
use super::strides::{Steps, signed};
use super::{Congruence, DetachedInst, Fact, Geometry, NoWrap, Shape, arithmetic};
use heddle_ir::Op;
use heddle_ir::words::Flag;

fn combine(op: Op, x: u64, y: u64) -> u64 {
    match op {
        Op::And => x & y,
        Op::Or => x | y,
        _ => x ^ y,
    }
}

/// Returns the known low bits of the result: a bit is known if both are, or if one decides.
fn known_bits(op: Op, x: Congruence, y: Congruence) -> Congruence {
    let decides = |bit: u64| match op {
        Op::And => bit == 0,
        Op::Or => bit == 1,
        _ => false,
    };
    let mut known = 0;
    while known < 64 {
        let bit =
            |congruence: Congruence| (known < congruence.bits()).then(|| congruence.residue() >> known & 1);
        match (bit(x), bit(y)) {
            (Some(_), Some(_)) => {}
            (Some(bit), None) | (None, Some(bit)) if decides(bit) => {}
            _ => break,
        }
        known += 1;
    }
    Congruence::new(combine(op, x.residue(), y.residue()).into(), known)
}

/// Effect of an upper part of all zeros or all ones on the other operand's upper part.
enum UpperBits {
    Passes,
    Constant(i128),
    Complemented,
}

fn lower_bits(op: Op, ones: bool) -> UpperBits {
    match (op, ones) {
        (Op::And, false) => UpperBits::Constant(0),
        (Op::Or, true) => UpperBits::Constant(-1),
        (Op::Xor, true) => UpperBits::Complemented,
        _ => UpperBits::Passes,
    }
}

/// Returns true if a constant operand's upper part is all ones in all lanes, false if all zeros; none otherwise.
fn upper_ones(line: &AffineLanes, parts: &[i128], known: u32) -> Option<bool> {
    line.base.constant(line.width)?;
    if known >= line.width {
        return None;
    }
    let first = signed(line.width, *parts.first()?) >> known;
    let all = parts.iter().all(|&part| signed(line.width, part) >> known == first);
    match first {
        0 if all => Some(false),
        -1 if all => Some(true),
        _ => None,
    }
}

/// `and`, `or`, `xor`.
pub(crate) fn bitwise(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let (op, width) = (operation.op, operation.width(0));
    if operation.flags.has(Flag::Disjoint) {
        // Without carries this is a sum that does not wrap.
        let flags = heddle_ir::words::Flags::WRAP;
        let sum = DetachedInst { op: Op::Add, flags, ..operation.clone() };
        let lanes = arithmetic::add(&sum, operands, geometry);
        if !lanes.shape.is_varying() {
            return lanes;
        }
    }
    combined(op, width, operands, geometry)
}

/// `x & mask`.
pub(crate) fn masked(width: u32, x: Fact, mask: Fact, geometry: &Geometry) -> ResultShape {
    combined(Op::And, width, &[x, mask], geometry)
}

fn combined(op: Op, width: u32, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    let each = known_bits(op, operands[0].shape.each(), operands[1].shape.each());
    let are_uniform = operands.iter().all(|operand| operand.is_uniform());
    let fallback = ResultShape::number(are_uniform, width, each);
    let lines =
        (AffineLanes::of(operands[0], width, geometry), AffineLanes::of(operands[1], width, geometry));
    let (Some(x), Some(y)) = lines else { return fallback };
    if are_uniform {
        return Shape::uniform(known_bits(op, x.base, y.base)).into();
    }
    let top = Congruence::new(1 << (width.min(64) - 1), width);
    let flipped = |line: &AffineLanes| AffineLanes { base: line.base.plus(top), ..*line };
    let steps = upper_steps(op, &x, &y, geometry)
        // Flipping the highest bit equals adding it; try both forms of `y`.
        .or_else(|| if op == Op::Xor { upper_steps(op, &x, &flipped(&y), geometry) } else { None })
        .or_else(|| if op == Op::Xor { upper_steps(op, &flipped(&x), &y, geometry) } else { None });
    match steps {
        Some(steps) => Shape::strided(width, steps, known_bits(op, x.base, y.base)).into(),
        None => fallback,
    }
}

/// Returns the steps of the result if it is affine.
fn upper_steps(op: Op, x: &AffineLanes, y: &AffineLanes, geometry: &Geometry) -> Option<Steps<i128>> {
    let zeros = |line: &AffineLanes| line.steps.iter().map(|step| step.trailing_zeros()).min().unwrap_or(0);
    let split = zeros(x).min(zeros(y)).min(x.width - 1);
    let above = |line: &AffineLanes| {
        let base = Congruence::new(
            (line.base.residue() >> split.min(63)).into(),
            line.base.bits().saturating_sub(split),
        );
        AffineLanes::new(line.width - split, line.steps.map(|step| step >> split), base, NoWrap::NEITHER)
    };
    let steps = line_of_parts(op, &above(x), &above(y), geometry)?;
    Some(steps.map(|step| step << split))
}

fn line_of_parts(op: Op, x: &AffineLanes, y: &AffineLanes, geometry: &Geometry) -> Option<Steps<i128>> {
    let known = x.base.bits().min(y.base.bits());
    let cut = |line: &AffineLanes| AffineLanes { base: line.base.known(known), ..*line };
    let (mut xs, mut ys) = (cut(x).known_parts(geometry)?, cut(y).known_parts(geometry)?);
    let (x_ones, y_ones) =
        (upper_ones(x, &x.known_parts(geometry)?, known), upper_ones(y, &y.known_parts(geometry)?, known));
    let lanes = xs.len().max(ys.len());
    // One offset stands for all lanes of a uniform operand.
    for parts in [&mut xs, &mut ys] {
        if parts.len() == 1 {
            *parts = vec![parts[0]; lanes];
        }
    }
    let carry = |part: i128| part >> known;
    let low = |part: i128| (part & ((1 << known) - 1)) as u64;
    let is_same = |parts: &[i128]| parts.iter().all(|&part| carry(part) == carry(parts[0]));
    let upper: Vec<i128> = match (is_same(&xs) && is_same(&ys), x_ones, y_ones) {
        (true, ..) => vec![0; lanes],
        (_, Some(ones), _) => passed(lower_bits(op, ones), &ys, carry),
        (_, _, Some(ones)) => passed(lower_bits(op, ones), &xs, carry),
        _ => return None,
    };
    let values: Vec<i128> = (0..lanes)
        .map(|lane| (upper[lane] << known) + i128::from(combine(op, low(xs[lane]), low(ys[lane]))))
        .collect();
    geometry.fit_modulo(&values, x.width)
}

fn passed(upper: UpperBits, parts: &[i128], carry: impl Fn(i128) -> i128) -> Vec<i128> {
    let lane = |&part: &i128| match upper {
        UpperBits::Passes => carry(part),
        UpperBits::Complemented => -1 - carry(part),
        UpperBits::Constant(constant) => constant,
    };
    parts.iter().map(lane).collect()
}

/// `ctpop`, `ctlz`, `cttz`: a known set bit ends the trailing zeros.
pub(crate) fn count(operation: &DetachedInst<'_>, operands: &[Fact]) -> ResultShape {
    let each = operands[0].shape.each();
    match operation.op {
        Op::Cttz if each.residue() != 0 => {
            let zeros = i128::from(each.residue().trailing_zeros());
            Shape::uniform(Congruence::new(zeros, operation.result().width())).into()
        }
        _ => ResultShape { shape: Shape::VARYING, no_wrap: NoWrap::NEITHER },
    }
}
