//! Operations on lanes that are known in full: computed, lane by lane.

use super::lines::Lanes;
use super::strides::{signed, unsigned};
use super::{Congruence, Domain, Fact, Geometry, Operation, Shape};
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Detail, Op};

/// The result of an operation whose operands are known in every lane.
pub(crate) fn fold(operation: &Operation<'_>, operands: &[Fact], geometry: &Geometry) -> Option<Lanes> {
    let Domain::Number(to) = operation.result() else { return None };
    if to > 64 || operands.is_empty() || operands.len() > 3 {
        return None;
    }
    let mut lanes: [Vec<i128>; 3] = Default::default();
    let mut widths = [0; 3];
    for (index, operand) in operands.iter().enumerate() {
        let width = operation.width(index);
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

/// The best shape of these lanes; none stands for ⊤.
fn shape_of(values: &[Option<i128>], width: u32, geometry: &Geometry) -> Lanes {
    let known: Vec<i128> = values.iter().flatten().copied().collect();
    let Some(&first) = known.first() else { return Lanes::POISON };
    let each = known
        .iter()
        .map(|&value| Congruence::new(value, width))
        .reduce(Congruence::join)
        .unwrap_or(Congruence::ANY);
    if each.bits() == width {
        return Shape::uniform(Congruence::new(first, width)).into();
    }
    let all_hold = known.len() == values.len() && width > 1;
    if let Some(steps) = all_hold.then(|| geometry.fit_modulo(&known, width)).flatten() {
        return Shape::strided(width, steps, Congruence::new(first, width)).into();
    }
    Shape::varying(width, each).into()
}

/// One lane. The outer none: not an operation for this. The inner: ⊤, or undefined behaviour, which is no lane's value.
fn evaluate(
    operation: &Operation<'_>,
    widths: [u32; 3],
    to: u32,
    operands: [i128; 3],
) -> Option<Option<i128>> {
    let width = widths[0];
    let [x, y, _] = operands;
    let (sx, sy) = (signed(width, x), signed(width, y));
    let (least, greatest) = (-(1i128 << (width.max(1) - 1)), (1i128 << (width.max(1) - 1)) - 1);
    let ones = unsigned(width, -1);
    let has = |flag| operation.flags.has(flag);
    // An exact result in ℤ, unsigned and signed, cut to the width unless a promise forbids.
    let wrapped = |as_unsigned: i128, as_signed: i128| {
        let breaks = has(Flag::Nuw) && !(0..=ones).contains(&as_unsigned)
            || has(Flag::Nsw) && !(least..=greatest).contains(&as_signed);
        (!breaks).then(|| unsigned(width, as_signed))
    };
    let when = |holds: bool, value: i128| holds.then(|| unsigned(width, value));
    let reversed = |value: i128, width: u32| (value as u128).reverse_bits() >> (128 - width.max(1));
    Some(match operation.op {
        Op::Add => wrapped(x + y, sx + sy),
        Op::Sub => wrapped(x - y, sx - sy),
        Op::Mul => {
            let product = x as u128 * y as u128;
            let breaks = has(Flag::Nuw) && product > ones as u128
                || has(Flag::Nsw) && !(least..=greatest).contains(&(sx * sy));
            (!breaks).then(|| unsigned(width, sx * sy))
        }
        Op::Udiv => when(y != 0 && (!has(Flag::Exact) || x % y == 0), x.checked_div(y).unwrap_or(0)),
        Op::Urem => when(y != 0, x.checked_rem(y).unwrap_or(0)),
        Op::Sdiv => {
            let is_defined = sy != 0 && !(sy == -1 && sx == least);
            let quotient = sx.checked_div(sy).unwrap_or(0);
            when(is_defined && (!has(Flag::Exact) || quotient * sy == sx), quotient)
        }
        Op::Srem => when(sy != 0 && !(sy == -1 && sx == least), sx.checked_rem(sy).unwrap_or(0)),
        Op::Shl | Op::Lshr | Op::Ashr if y >= width.into() => None,
        Op::Shl => {
            let shifted = (x << y, sx << y);
            wrapped(shifted.0, shifted.1)
        }
        Op::Lshr => when(!has(Flag::Exact) || (x >> y) << y == x, x >> y),
        Op::Ashr => when(!has(Flag::Exact) || (sx >> y) << y == sx, sx >> y),
        Op::And => when(true, x & y),
        Op::Or => when(!has(Flag::Disjoint) || x & y == 0, x | y),
        Op::Xor => when(true, x ^ y),
        Op::Umin => when(true, x.min(y)),
        Op::Umax => when(true, x.max(y)),
        Op::Smin => when(true, sx.min(sy)),
        Op::Smax => when(true, sx.max(sy)),
        Op::Abs => when(!(has(Flag::Strict) && sx == least), sx.abs()),
        Op::UaddSat => when(true, (x + y).min(ones)),
        Op::UsubSat => when(true, (x - y).max(0)),
        Op::SaddSat => when(true, (sx + sy).clamp(least, greatest)),
        Op::SsubSat => when(true, (sx - sy).clamp(least, greatest)),
        Op::Ctpop => when(true, x.count_ones().into()),
        Op::Ctlz => when(!(has(Flag::Strict) && x == 0), (x.leading_zeros() + width - 128).into()),
        Op::Cttz => when(!(has(Flag::Strict) && x == 0), x.trailing_zeros().min(width).into()),
        Op::Bitreverse => when(true, reversed(x, width) as i128),
        Op::Bswap if width.is_multiple_of(8) => {
            when(true, ((x as u128).swap_bytes() >> (128 - width)) as i128)
        }
        Op::Icmp => {
            let Detail::IntCompare(predicate) = operation.detail else { return None };
            Some(compare(*predicate, x, y, sx, sy).into())
        }
        Op::Trunc => {
            let breaks = has(Flag::Nuw) && unsigned(to, x) != x || has(Flag::Nsw) && signed(to, sx) != sx;
            (!breaks).then(|| unsigned(to, x))
        }
        Op::Zext => (!(has(Flag::Nneg) && sx < 0)).then_some(x),
        Op::Sext => Some(unsigned(to, sx)),
        Op::Ptrtoint | Op::Inttoptr => Some(unsigned(to, x)),
        Op::PtrAdd if operation.flags.is_empty() => when(true, x + signed(widths[1], y)),
        _ => return None,
    })
}

fn compare(predicate: IntPredicate, x: i128, y: i128, sx: i128, sy: i128) -> bool {
    use IntPredicate::*;
    match predicate {
        Eq => x == y,
        Ne => x != y,
        Ult => x < y,
        Ule => x <= y,
        Ugt => x > y,
        Uge => x >= y,
        Slt => sx < sy,
        Sle => sx <= sy,
        Sgt => sx > sy,
        Sge => sx >= sy,
    }
}
