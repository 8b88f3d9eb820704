//! Transfer functions of integer comparisons: uniform if no lane crosses.
//!
//! Let `x` and `y` be affine in ℤ: `x = a + s·l`, `y = b + t·l`. With `d = a - b` and `o(l) = (s - t)·l`, lane `l` compares
//! `d + o(l)` with 0. Only `d mod 2^k` is known, where `k` bits of both bases are known. `x < y` differs between lanes if
//! and only if some lanes are below 0 and others are not: `d + min o < 0 <= d + max o`. That holds for the `max o - min o`
//! numbers from `-max o` on. If none of them is in the congruence class of `d`, all lanes agree. Without the no-wrap facts
//! this is unsound, since a lane may wrap between the two.
//!
//! After: Moll, thesis, Fig. 10.12. Its `sge` is unsound where the strides rise from x to y, and under wrap-around.

use super::affine_lanes::{AffineLanes, ResultShape};
use super::strides::unsigned;
use super::{DetachedInst, Fact, Geometry, Shape};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Detail, Op};

/// `icmp`.
pub(crate) fn icmp(operation: &DetachedInst<'_>, operands: &[Fact], geometry: &Geometry) -> ResultShape {
    debug_assert_eq!(operation.op, Op::Icmp);
    match operation.detail {
        Detail::IntCompare(predicate) if operation.width(0) > 0 => {
            compare(*predicate, operation.width(0), operands[0], operands[1], geometry)
        }
        _ => ResultShape::VARYING,
    }
}

/// Compares two numbers of this width.
pub(crate) fn compare(
    predicate: IntPredicate,
    width: u32,
    x: Fact,
    y: Fact,
    geometry: &Geometry,
) -> ResultShape {
    use IntPredicate::*;
    if x.shape.is_undefined() || y.shape.is_undefined() {
        return ResultShape::POISON;
    }
    if let Some(truth) = by_extremes(predicate, width, x, y) {
        return ResultShape::truth(truth);
    }
    let lanes = match predicate {
        Eq => equal(width, x, y, geometry),
        Ne => match equal(width, x, y, geometry) {
            ComparisonResult::Always(truth) => ComparisonResult::Always(!truth),
            answer => answer,
        },
        Ult | Slt => less(predicate == Slt, false, width, x, y, geometry),
        Ule | Sle => less(predicate == Sle, true, width, x, y, geometry),
        Ugt | Sgt => less(predicate == Sgt, false, width, y, x, geometry),
        Uge | Sge => less(predicate == Sge, true, width, y, x, geometry),
    };
    match lanes {
        ComparisonResult::Always(truth) => ResultShape::truth(truth),
        ComparisonResult::Uniform => ResultShape::UNIFORM,
        ComparisonResult::Varying if x.is_uniform() && y.is_uniform() => ResultShape::UNIFORM,
        ComparisonResult::Varying => ResultShape::VARYING,
    }
}

enum ComparisonResult {
    Always(bool),
    Uniform,
    Varying,
}

/// Decides comparisons with the minimum and the maximum number.
fn by_extremes(predicate: IntPredicate, width: u32, x: Fact, y: Fact) -> Option<bool> {
    use IntPredicate::*;
    let half = 1i128 << (width.min(64) - 1);
    let is = |fact: Fact, number: i128| {
        fact.shape.constant(width).is_some_and(|constant| i128::from(constant) == unsigned(width, number))
    };
    let (least, greatest) = match predicate {
        Eq | Ne => return None,
        Ult | Ule | Ugt | Uge => (0, -1),
        Slt | Sle | Sgt | Sge => (half, half - 1),
    };
    match predicate {
        Ult | Slt if is(y, least) || is(x, greatest) => Some(false),
        Ugt | Sgt if is(x, least) || is(y, greatest) => Some(false),
        Ule | Sle if is(x, least) || is(y, greatest) => Some(true),
        Uge | Sge if is(y, least) || is(x, greatest) => Some(true),
        _ => None,
    }
}

/// `x == y`: uniform if the difference is uniform; false if the known bits of the difference are not 0.
fn equal(width: u32, x: Fact, y: Fact, geometry: &Geometry) -> ComparisonResult {
    let each = x.shape.each().plus(y.shape.each().negated());
    if each.residue() != 0 {
        return ComparisonResult::Always(false);
    }
    let lines = (AffineLanes::of(x, width, geometry), AffineLanes::of(y, width, geometry));
    let (Some(x), Some(y)) = lines else { return ComparisonResult::Varying };
    let steps = std::array::from_fn(|d| x.steps[d] - y.steps[d]);
    if Shape::strided(width, steps, x.base).is_uniform() {
        return ComparisonResult::Uniform;
    }
    let base = x.base.plus(y.base.negated());
    let Some(differences) = (AffineLanes { steps, base, ..x }).known_parts(geometry) else {
        return ComparisonResult::Varying;
    };
    match differences.into_iter().all(|difference| unsigned(base.bits(), difference) != 0) {
        true => ComparisonResult::Always(false),
        false => ComparisonResult::Varying,
    }
}

/// `x < y`, or `x <= y`, which is `x - 1 < y` in ℤ.
fn less(
    is_signed: bool,
    or_equal: bool,
    width: u32,
    x: Fact,
    y: Fact,
    geometry: &Geometry,
) -> ComparisonResult {
    let lines = (AffineLanes::of(x, width, geometry), AffineLanes::of(y, width, geometry));
    let (Some(x), Some(y)) = lines else { return ComparisonResult::Varying };
    let no_wrap = x.no_wrap.and(y.no_wrap);
    if !(if is_signed { no_wrap.signed } else { no_wrap.unsigned }) {
        return ComparisonResult::Varying;
    }
    // Both are in ℤ here: steps are exact and never wrap.
    let steps = std::array::from_fn(|d| x.steps[d] - y.steps[d]);
    let (least, greatest) = geometry.span(steps);
    let difference = x.base.plus(y.base.negated());
    let class = i128::from(difference.residue()) - i128::from(or_equal);
    let period = 1i128 << difference.bits();
    // Offset from `-greatest` of the first number of the class at or after it.
    match (class + greatest).rem_euclid(period) >= greatest - least {
        true => ComparisonResult::Uniform,
        false => ComparisonResult::Varying,
    }
}
