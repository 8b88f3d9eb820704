//! Constant folding of operations whose operands are known in every lane.

use super::affine_lanes::ResultShape;
use super::strides::{signed, unsigned};
use super::{Congruence, DetachedInst, Domain, Fact, Geometry, Shape};
use crate::exact::{ExactResult, evaluate_integer};
use heddle_ir::Op;

/// Folds an operation whose operands are known in every lane.
pub(crate) fn fold(
    operation: &DetachedInst<'_>,
    operands: &[Fact],
    geometry: &Geometry,
) -> Option<ResultShape> {
    let Domain::Number(to) = operation.result() else { return None };
    if to > 64 || operands.is_empty() || operands.len() > 3 {
        return None;
    }
    let mut lanes: [Vec<i128>; 3] = Default::default();
    let mut widths = [0; 3];
    for (index, operand) in operands.iter().enumerate() {
        let width = operation.width(index);
        if width == 0 {
            return None;
        }
        let Shape::Strided { strides, base } = operand.shape else { return None };
        let base = i128::from(base.constant(width)?);
        let offsets = geometry.offsets(strides.wide())?;
        widths[index] = width;
        lanes[index] = offsets.into_iter().map(|offset| unsigned(width, base + offset)).collect();
    }
    let count = lanes.iter().map(Vec::len).max().unwrap_or(0);
    let lane =
        |index: usize, lane: usize| lanes[index].get(lane).or(lanes[index].first()).copied().unwrap_or(0);
    let mut values = Vec::with_capacity(count);
    for at in 0..count {
        let operands = [lane(0, at), lane(1, at), lane(2, at)];
        values.push(evaluate(operation, widths, to, operands)?);
    }
    Some(shape_of(&values, to, geometry))
}

/// Returns the most precise shape of these lanes; `None` is poison.
fn shape_of(values: &[Option<i128>], width: u32, geometry: &Geometry) -> ResultShape {
    let known: Vec<i128> = values.iter().flatten().copied().collect();
    let Some(&first) = known.first() else { return ResultShape::POISON };
    let each = known
        .iter()
        .map(|&value| Congruence::new(value, width))
        .reduce(Congruence::join)
        .unwrap_or(Congruence::ANY);
    if each.bits() == width {
        return Shape::uniform(Congruence::new(first, width)).into();
    }
    let all_hold = known.len() == values.len();
    if let Some(steps) = all_hold.then(|| geometry.fit_modulo(&known, width)).flatten() {
        return Shape::strided(width, steps, Congruence::new(first, width)).into();
    }
    Shape::varying(width, each).into()
}

/// Evaluates one lane. The outer `None`: the op is not supported. The inner: poison or undefined behaviour.
fn evaluate(
    operation: &DetachedInst<'_>,
    widths: [u32; 3],
    to: u32,
    operands: [i128; 3],
) -> Option<Option<i128>> {
    let [x, y, _] = operands;
    match operation.op {
        Op::Ptrtoint | Op::Inttoptr => Some(Some(unsigned(to, x))),
        Op::PtrAdd if operation.flags.is_empty() => Some(Some(unsigned(to, x + signed(widths[1], y)))),
        op => {
            let args = operands.map(|operand| operand as u128);
            let exact = evaluate_integer(op, operation.flags, operation.detail, widths[0], to, &args)?;
            Some(match exact {
                ExactResult::Bits(bits) => Some(bits as i128),
                ExactResult::Poison | ExactResult::Undefined => None,
            })
        }
    }
}
