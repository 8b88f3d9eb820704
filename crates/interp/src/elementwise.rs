//! The operations that work on each lane by itself: from the ops table to the scalar meaning.

use crate::scalar::{
    self, FastMath, FloatFormat, Trap, bitwise, convert, float, integer, integral, minmax, shift,
};
use heddle_ir::words::{Flag, Flags, Reduction, Rmw};
use heddle_ir::{Detail, InstData, Op, Scalar};

/// The float format of a scalar type.
pub(crate) fn format(scalar: Scalar) -> FloatFormat {
    match scalar {
        Scalar::F16 => FloatFormat::F16,
        Scalar::BF16 => FloatFormat::BF16,
        Scalar::F32 => FloatFormat::F32,
        _ => FloatFormat::F64,
    }
}

fn fast_math(flags: Flags) -> FastMath {
    FastMath { nnan: flags.has(Flag::Nnan), ninf: flags.has(Flag::Ninf) }
}

/// Whether [`evaluate`] knows the operation.
pub(crate) fn is_elementwise(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Add | Sub
            | Mul
            | Udiv
            | Sdiv
            | Urem
            | Srem
            | Shl
            | Lshr
            | Ashr
            | And
            | Or
            | Xor
            | Umin
            | Umax
            | Smin
            | Smax
            | Abs
            | UaddSat
            | SaddSat
            | UsubSat
            | SsubSat
            | Ctpop
            | Ctlz
            | Cttz
            | Bswap
            | Bitreverse
            | Fshl
            | Fshr
            | Icmp
            | Fadd
            | Fsub
            | Fmul
            | Fdiv
            | Frem
            | Fneg
            | Fabs
            | Copysign
            | Sqrt
            | Fma
            | Fmuladd
            | Fmin
            | Fmax
            | Fminimum
            | Fmaximum
            | Floor
            | Ceil
            | Truncate
            | Round
            | RoundEven
            | Ldexp
            | FloatClass
            | Fcmp
            | Trunc
            | Zext
            | Sext
            | Fptrunc
            | Fpext
            | Fptoui
            | Fptosi
            | FptouiSat
            | FptosiSat
            | Uitofp
            | Sitofp
            | Ptrtoint
            | Inttoptr
            | SpaceCast
    )
}

/// The result for one lane whose operands are `a`, none of them ⊤. `from` holds the operands' types.
///
/// `fused` chooses the rounding of `fmuladd`.
pub(crate) fn evaluate(
    inst: &InstData,
    from: &[Scalar],
    to: Scalar,
    a: &[u128],
    fused: bool,
) -> Result<Option<u128>, Trap> {
    let flags = inst.flags;
    let has = |flag| flags.has(flag);
    let bits = from[0].bits();
    let x = a[0];
    let y = a.get(1).copied().unwrap_or(0);
    let z = a.get(2).copied().unwrap_or(0);
    if from[0].is_float() || to.is_float() {
        return Ok(evaluate_float(inst, from, to, [x, y, z], fused));
    }
    Ok(match inst.op {
        Op::Add => integer::add(bits, x, y, has(Flag::Nuw), has(Flag::Nsw)),
        Op::Sub => integer::sub(bits, x, y, has(Flag::Nuw), has(Flag::Nsw)),
        Op::Mul => integer::mul(bits, x, y, has(Flag::Nuw), has(Flag::Nsw)),
        Op::Udiv => integer::udiv(bits, x, y, has(Flag::Exact))?,
        Op::Sdiv => integer::sdiv(bits, x, y, has(Flag::Exact))?,
        Op::Urem => Some(integer::urem(bits, x, y)?),
        Op::Srem => Some(integer::srem(bits, x, y)?),
        Op::Shl => shift::shl(bits, x, y, has(Flag::Nuw), has(Flag::Nsw)),
        Op::Lshr => shift::lshr(bits, x, y, has(Flag::Exact)),
        Op::Ashr => shift::ashr(bits, x, y, has(Flag::Exact)),
        Op::And => Some(bitwise::and(bits, x, y)),
        Op::Or => bitwise::or(bits, x, y, has(Flag::Disjoint)),
        Op::Xor => Some(bitwise::xor(bits, x, y)),
        Op::Umin => Some(integer::umin(bits, x, y)),
        Op::Umax => Some(integer::umax(bits, x, y)),
        Op::Smin => Some(integer::smin(bits, x, y)),
        Op::Smax => Some(integer::smax(bits, x, y)),
        Op::Abs => integer::abs(bits, x, has(Flag::Strict)),
        Op::UaddSat => Some(integer::uadd_sat(bits, x, y)),
        Op::SaddSat => Some(integer::sadd_sat(bits, x, y)),
        Op::UsubSat => Some(integer::usub_sat(bits, x, y)),
        Op::SsubSat => Some(integer::ssub_sat(bits, x, y)),
        Op::Ctpop => Some(bitwise::ctpop(bits, x)),
        Op::Ctlz => bitwise::ctlz(bits, x, has(Flag::Strict)),
        Op::Cttz => bitwise::cttz(bits, x, has(Flag::Strict)),
        Op::Bswap => Some(bitwise::bswap(bits, x)),
        Op::Bitreverse => Some(bitwise::bitreverse(bits, x)),
        Op::Fshl => Some(shift::fshl(bits, x, y, z)),
        Op::Fshr => Some(shift::fshr(bits, x, y, z)),
        Op::Icmp => match inst.detail {
            Detail::IntCompare(predicate) => Some(scalar::compare::icmp(predicate, bits, x, y).into()),
            _ => None,
        },
        Op::Trunc => convert::trunc(bits, to.bits(), x, has(Flag::Nuw), has(Flag::Nsw)),
        Op::Zext => convert::zext(bits, to.bits(), x, has(Flag::Nneg)),
        Op::Sext => Some(convert::sext(bits, to.bits(), x)),
        Op::Ptrtoint | Op::Inttoptr | Op::SpaceCast => Some(x & to.bit_mask()),
        _ => None,
    })
}

fn evaluate_float(
    inst: &InstData,
    from: &[Scalar],
    to: Scalar,
    [x, y, z]: [u128; 3],
    fused: bool,
) -> Option<u128> {
    let flags = inst.flags;
    let promises = fast_math(flags);
    let of = format(from[0]);
    let bits = to.bits();
    // Conversions and comparisons, whose arguments or results are not all floats of one format.
    match inst.op {
        Op::Fptoui => return convert::fptoui(of, bits, x),
        Op::Fptosi => return convert::fptosi(of, bits, x),
        Op::FptouiSat => return Some(convert::fptoui_sat(of, bits, x)),
        Op::FptosiSat => return Some(convert::fptosi_sat(of, bits, x)),
        Op::Uitofp => return convert::uitofp(from[0].bits(), format(to), x, flags.has(Flag::Nneg)),
        Op::Sitofp => return Some(convert::sitofp(from[0].bits(), format(to), x)),
        Op::Fptrunc | Op::Fpext => {
            let result = match inst.op {
                Op::Fptrunc => convert::fptrunc(of, format(to), x),
                _ => convert::fpext(of, format(to), x),
            };
            return (promises.admits(of, x) && promises.admits(format(to), result)).then_some(result);
        }
        Op::FloatClass => {
            let Detail::FloatClass(mask) = inst.detail else { return None };
            return Some(scalar::format::is_fpclass(of, x, mask.into()).into());
        }
        Op::Fcmp => {
            let Detail::FloatCompare(predicate) = inst.detail else { return None };
            let kept = promises.admits(of, x) && promises.admits(of, y);
            return kept.then(|| scalar::compare::fcmp(predicate, of, x, y).into());
        }
        Op::Ldexp => {
            let result = float::ldexp(of, x, from[1].bits(), y);
            return promises.guard(of, &[x], result);
        }
        _ => {}
    }
    let result = match inst.op {
        Op::Fadd => float::add(of, x, y),
        Op::Fsub => float::sub(of, x, y),
        Op::Fmul => float::mul(of, x, y),
        Op::Fdiv => float::div(of, x, y),
        Op::Frem => float::rem(of, x, y),
        Op::Fneg => float::neg(of, x),
        Op::Fabs => float::abs(of, x),
        Op::Copysign => float::copysign(of, x, y),
        Op::Sqrt => float::sqrt(of, x),
        Op::Fma => float::fma(of, x, y, z),
        Op::Fmuladd => float::fmuladd_allowed(of, x, y, z)[usize::from(!fused)],
        Op::Fmin => minmax::minnum(of, x, y),
        Op::Fmax => minmax::maxnum(of, x, y),
        Op::Fminimum => minmax::minimum(of, x, y),
        Op::Fmaximum => minmax::maximum(of, x, y),
        Op::Floor => integral::floor(of, x),
        Op::Ceil => integral::ceil(of, x),
        Op::Truncate => integral::truncate(of, x),
        Op::Round => integral::round(of, x),
        Op::RoundEven => integral::round_even(of, x),
        _ => return None,
    };
    let operands = [x, y, z];
    promises.guard(of, &operands[..from.len().min(3)], result)
}

/// What a reduction makes of two values.
pub(crate) fn combine(by: Reduction, scalar: Scalar, x: u128, y: u128) -> u128 {
    let bits = scalar.bits();
    let of = format(scalar);
    match by {
        Reduction::Add => x.wrapping_add(y) & scalar.bit_mask(),
        Reduction::Mul => x.wrapping_mul(y) & scalar.bit_mask(),
        Reduction::And => x & y,
        Reduction::Or => x | y,
        Reduction::Xor => x ^ y,
        Reduction::Umin => integer::umin(bits, x, y),
        Reduction::Umax => integer::umax(bits, x, y),
        Reduction::Smin => integer::smin(bits, x, y),
        Reduction::Smax => integer::smax(bits, x, y),
        Reduction::Fadd => float::add(of, x, y),
        Reduction::Fmul => float::mul(of, x, y),
        Reduction::Fmin => minmax::minnum(of, x, y),
        Reduction::Fmax => minmax::maxnum(of, x, y),
    }
}

/// The value that a reduction leaves others unchanged with.
pub(crate) fn neutral(by: Reduction, scalar: Scalar) -> u128 {
    let of = format(scalar);
    let one = |value: i128| convert::sitofp(128, of, value as u128);
    match by {
        Reduction::Add | Reduction::Or | Reduction::Xor | Reduction::Umax => 0,
        Reduction::Mul => 1,
        Reduction::And | Reduction::Umin => scalar.bit_mask(),
        Reduction::Smin => scalar.bit_mask() >> 1,
        Reduction::Smax => integer::pattern(scalar.bits(), integer::signed_min(scalar.bits())),
        Reduction::Fadd => of.zero(true),
        Reduction::Fmul => one(1),
        Reduction::Fmin => of.infinity(false),
        Reduction::Fmax => of.infinity(true),
    }
}

/// What an atomic update makes of the old value and its operand.
pub(crate) fn update(rmw: Rmw, scalar: Scalar, old: u128, operand: u128) -> u128 {
    let reduction = |by| combine(by, scalar, old, operand);
    match rmw {
        Rmw::Exchange => operand,
        Rmw::Add => reduction(Reduction::Add),
        Rmw::Sub => old.wrapping_sub(operand) & scalar.bit_mask(),
        Rmw::And => old & operand,
        Rmw::Nand => !(old & operand) & scalar.bit_mask(),
        Rmw::Or => old | operand,
        Rmw::Xor => old ^ operand,
        Rmw::Umin => reduction(Reduction::Umin),
        Rmw::Umax => reduction(Reduction::Umax),
        Rmw::Smin => reduction(Reduction::Smin),
        Rmw::Smax => reduction(Reduction::Smax),
        Rmw::Fadd => reduction(Reduction::Fadd),
        Rmw::Fsub => float::sub(format(scalar), old, operand),
        Rmw::Fmin => reduction(Reduction::Fmin),
        Rmw::Fmax => reduction(Reduction::Fmax),
        Rmw::IncWrap => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        Rmw::DecWrap => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
    }
}
