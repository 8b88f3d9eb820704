//! Elementwise operations: maps the ops table to scalar semantics.

use crate::brush::LaneFault;
use crate::program::ElementwiseInst;
use crate::scalar::{
    self, FastMath, FloatFormat, Trap, bitwise, convert, float, integer, integral, minmax, shift,
};
use heddle_ir::words::{Flag, Flags, Reduction, Rmw};
use heddle_ir::{Detail, InstData, Op, Scalar};

/// Returns the float format of a scalar type.
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

/// True if [`evaluate`] implements the operation.
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
            | Rsqrt
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

/// Loop over lanes for one operation. The operation is looked up once; its scalar function then runs for each lane.
pub(crate) trait LaneExecutor {
    /// Executes the operation. `meaning` computes the result of a lane from operands without poison; it ignores
    /// operands that the operation does not have.
    fn execute(
        self,
        meaning: impl Fn(u128, u128, u128) -> Result<Option<u128>, Trap>,
    ) -> Result<(), LaneFault>;
}

/// Executes an operation. `fused` selects the rounding of `fmuladd`.
pub(crate) fn evaluate(
    inst: &InstData,
    operation: &ElementwiseInst,
    fused: bool,
    lanes: impl LaneExecutor,
) -> Result<(), LaneFault> {
    let (from, to) = (&operation.from_scalars[..operation.operands], operation.to_scalar);
    // Widths and formats are const parameters, so each case compiles to specialized code.
    match (from[0], to) {
        (Scalar::F16, _) => evaluate_float::<0>(inst, from, to, fused, lanes),
        (Scalar::BF16, _) => evaluate_float::<1>(inst, from, to, fused, lanes),
        (Scalar::F32, _) => evaluate_float::<2>(inst, from, to, fused, lanes),
        (Scalar::F64, _) => evaluate_float::<3>(inst, from, to, fused, lanes),
        (_, to) if to.is_float() => evaluate_to_float(inst, from[0], to, lanes),
        (Scalar::I1, _) => evaluate_integer::<1>(inst, to, operation.overflow_wraps, lanes),
        (Scalar::I8, _) => evaluate_integer::<8>(inst, to, operation.overflow_wraps, lanes),
        (Scalar::I16, _) => evaluate_integer::<16>(inst, to, operation.overflow_wraps, lanes),
        (Scalar::I32, _) => evaluate_integer::<32>(inst, to, operation.overflow_wraps, lanes),
        (Scalar::I64 | Scalar::Ptr(_), _) => {
            evaluate_integer::<64>(inst, to, operation.overflow_wraps, lanes)
        }
        (Scalar::I128, _) => evaluate_integer::<128>(inst, to, operation.overflow_wraps, lanes),
    }
}

fn evaluate_integer<const BITS: u32>(
    inst: &InstData,
    to: Scalar,
    overflow_wraps: bool,
    lanes: impl LaneExecutor,
) -> Result<(), LaneFault> {
    let has = |flag| inst.flags.has(flag);
    let (nuw, nsw, exact) = (has(Flag::Nuw), has(Flag::Nsw), has(Flag::Exact));
    let (disjoint, nneg, strict) = (has(Flag::Disjoint), has(Flag::Nneg), has(Flag::Strict));
    let bits = BITS;
    let to_bits = to.bits();
    match inst.op {
        Op::Add => lanes.execute(|x, y, _| Ok(integer::add(bits, x, y, nuw, nsw))),
        Op::Sub => lanes.execute(|x, y, _| Ok(integer::sub(bits, x, y, nuw, nsw))),
        Op::Mul => lanes.execute(|x, y, _| Ok(integer::mul(bits, x, y, nuw, nsw))),
        Op::Udiv => lanes.execute(|x, y, _| integer::udiv(bits, x, y, exact)),
        Op::Sdiv => lanes.execute(|x, y, _| match integer::sdiv(bits, x, y, exact) {
            Err(Trap::DivisionOverflow) if overflow_wraps => Ok(Some(x)),
            quotient => quotient,
        }),
        Op::Urem => lanes.execute(|x, y, _| integer::urem(bits, x, y).map(Some)),
        Op::Srem => lanes.execute(|x, y, _| match integer::srem(bits, x, y) {
            Err(Trap::DivisionOverflow) if overflow_wraps => Ok(Some(0)),
            remainder => remainder.map(Some),
        }),
        Op::Shl => lanes.execute(|x, y, _| Ok(shift::shl(bits, x, y, nuw, nsw))),
        Op::Lshr => lanes.execute(|x, y, _| Ok(shift::lshr(bits, x, y, exact))),
        Op::Ashr => lanes.execute(|x, y, _| Ok(shift::ashr(bits, x, y, exact))),
        Op::And => lanes.execute(|x, y, _| Ok(Some(bitwise::and(bits, x, y)))),
        Op::Or => lanes.execute(|x, y, _| Ok(bitwise::or(bits, x, y, disjoint))),
        Op::Xor => lanes.execute(|x, y, _| Ok(Some(bitwise::xor(bits, x, y)))),
        Op::Umin => lanes.execute(|x, y, _| Ok(Some(integer::umin(bits, x, y)))),
        Op::Umax => lanes.execute(|x, y, _| Ok(Some(integer::umax(bits, x, y)))),
        Op::Smin => lanes.execute(|x, y, _| Ok(Some(integer::smin(bits, x, y)))),
        Op::Smax => lanes.execute(|x, y, _| Ok(Some(integer::smax(bits, x, y)))),
        Op::Abs => lanes.execute(|x, _, _| Ok(integer::abs(bits, x, strict))),
        Op::UaddSat => lanes.execute(|x, y, _| Ok(Some(integer::uadd_sat(bits, x, y)))),
        Op::SaddSat => lanes.execute(|x, y, _| Ok(Some(integer::sadd_sat(bits, x, y)))),
        Op::UsubSat => lanes.execute(|x, y, _| Ok(Some(integer::usub_sat(bits, x, y)))),
        Op::SsubSat => lanes.execute(|x, y, _| Ok(Some(integer::ssub_sat(bits, x, y)))),
        Op::Ctpop => lanes.execute(|x, _, _| Ok(Some(bitwise::ctpop(bits, x)))),
        Op::Ctlz => lanes.execute(|x, _, _| Ok(bitwise::ctlz(bits, x, strict))),
        Op::Cttz => lanes.execute(|x, _, _| Ok(bitwise::cttz(bits, x, strict))),
        Op::Bswap => lanes.execute(|x, _, _| Ok(Some(bitwise::bswap(bits, x)))),
        Op::Bitreverse => lanes.execute(|x, _, _| Ok(Some(bitwise::bitreverse(bits, x)))),
        Op::Fshl => lanes.execute(|x, y, z| Ok(Some(shift::fshl(bits, x, y, z)))),
        Op::Fshr => lanes.execute(|x, y, z| Ok(Some(shift::fshr(bits, x, y, z)))),
        Op::Icmp => {
            let Detail::IntCompare(predicate) = inst.detail else { return lanes.execute(|_, _, _| Ok(None)) };
            lanes.execute(|x, y, _| Ok(Some(scalar::compare::icmp(predicate, bits, x, y).into())))
        }
        Op::Trunc => lanes.execute(|x, _, _| Ok(convert::trunc(bits, to_bits, x, nuw, nsw))),
        Op::Zext => lanes.execute(|x, _, _| Ok(convert::zext(bits, to_bits, x, nneg))),
        Op::Sext => lanes.execute(|x, _, _| Ok(Some(convert::sext(bits, to_bits, x)))),
        Op::Ptrtoint | Op::Inttoptr | Op::SpaceCast => lanes.execute(|x, _, _| Ok(Some(x & to.bit_mask()))),
        _ => lanes.execute(|_, _, _| Ok(None)),
    }
}

fn evaluate_to_float(
    inst: &InstData,
    from: Scalar,
    to: Scalar,
    lanes: impl LaneExecutor,
) -> Result<(), LaneFault> {
    let nneg = inst.flags.has(Flag::Nneg);
    let (bits, to) = (from.bits(), format(to));
    match inst.op {
        Op::Uitofp => lanes.execute(|x, _, _| Ok(convert::uitofp(bits, to, x, nneg))),
        Op::Sitofp => lanes.execute(|x, _, _| Ok(Some(convert::sitofp(bits, to, x)))),
        _ => lanes.execute(|_, _, _| Ok(None)),
    }
}

/// Executes an operation on floats. `FORMAT` is the index of the operands' format in [`FloatFormat::ALL`].
fn evaluate_float<const FORMAT: usize>(
    inst: &InstData,
    from: &[Scalar],
    to: Scalar,
    fused: bool,
    lanes: impl LaneExecutor,
) -> Result<(), LaneFault> {
    let promises = fast_math(inst.flags);
    let of = FloatFormat::ALL[FORMAT];
    let (to_format, bits) = (format(to), to.bits());
    let exponent_bits = from.get(1).map_or(0, |scalar| scalar.bits());
    let kept = |x, y| promises.admits(of, x) && promises.admits(of, y);
    let converted =
        |x, result| (promises.admits(of, x) && promises.admits(to_format, result)).then_some(result);
    let unary = |x, result| promises.guard(of, &[x], result);
    let binary = |x, y, result| promises.guard(of, &[x, y], result);
    let ternary = |x, y, z, result| promises.guard(of, &[x, y, z], result);
    match inst.op {
        // Conversions and comparisons: arguments and results are not all floats of one format.
        Op::Fptoui => lanes.execute(|x, _, _| Ok(convert::fptoui(of, bits, x))),
        Op::Fptosi => lanes.execute(|x, _, _| Ok(convert::fptosi(of, bits, x))),
        Op::FptouiSat => lanes.execute(|x, _, _| Ok(Some(convert::fptoui_sat(of, bits, x)))),
        Op::FptosiSat => lanes.execute(|x, _, _| Ok(Some(convert::fptosi_sat(of, bits, x)))),
        Op::Fptrunc => lanes.execute(|x, _, _| Ok(converted(x, convert::fptrunc(of, to_format, x)))),
        Op::Fpext => lanes.execute(|x, _, _| Ok(converted(x, convert::fpext(of, to_format, x)))),
        Op::FloatClass => {
            let Detail::FloatClass(mask) = inst.detail else { return lanes.execute(|_, _, _| Ok(None)) };
            lanes.execute(|x, _, _| Ok(Some(scalar::format::is_fpclass(of, x, mask.into()).into())))
        }
        Op::Fcmp => {
            let Detail::FloatCompare(predicate) = inst.detail else {
                return lanes.execute(|_, _, _| Ok(None));
            };
            lanes.execute(|x, y, _| Ok(kept(x, y).then(|| scalar::compare::fcmp(predicate, of, x, y).into())))
        }
        Op::Ldexp => lanes.execute(|x, y, _| Ok(unary(x, float::ldexp(of, x, exponent_bits, y)))),
        Op::Fadd => lanes.execute(|x, y, _| Ok(binary(x, y, float::add(of, x, y)))),
        Op::Fsub => lanes.execute(|x, y, _| Ok(binary(x, y, float::sub(of, x, y)))),
        Op::Fmul => lanes.execute(|x, y, _| Ok(binary(x, y, float::mul(of, x, y)))),
        Op::Fdiv => lanes.execute(|x, y, _| Ok(binary(x, y, float::div(of, x, y)))),
        Op::Frem => lanes.execute(|x, y, _| Ok(binary(x, y, float::rem(of, x, y)))),
        Op::Fneg => lanes.execute(|x, _, _| Ok(unary(x, float::neg(of, x)))),
        Op::Fabs => lanes.execute(|x, _, _| Ok(unary(x, float::abs(of, x)))),
        Op::Copysign => lanes.execute(|x, y, _| Ok(binary(x, y, float::copysign(of, x, y)))),
        Op::Sqrt => lanes.execute(|x, _, _| Ok(unary(x, float::sqrt(of, x)))),
        Op::Rsqrt => lanes.execute(|x, _, _| Ok(unary(x, float::rsqrt(of, x)))),
        Op::Fma => lanes.execute(|x, y, z| Ok(ternary(x, y, z, float::fma(of, x, y, z)))),
        Op::Fmuladd => lanes.execute(|x, y, z| {
            Ok(ternary(x, y, z, float::fmuladd_allowed(of, x, y, z)[usize::from(!fused)]))
        }),
        Op::Fmin => lanes.execute(|x, y, _| Ok(binary(x, y, minmax::minnum(of, x, y)))),
        Op::Fmax => lanes.execute(|x, y, _| Ok(binary(x, y, minmax::maxnum(of, x, y)))),
        Op::Fminimum => lanes.execute(|x, y, _| Ok(binary(x, y, minmax::minimum(of, x, y)))),
        Op::Fmaximum => lanes.execute(|x, y, _| Ok(binary(x, y, minmax::maximum(of, x, y)))),
        Op::Floor => lanes.execute(|x, _, _| Ok(unary(x, integral::floor(of, x)))),
        Op::Ceil => lanes.execute(|x, _, _| Ok(unary(x, integral::ceil(of, x)))),
        Op::Truncate => lanes.execute(|x, _, _| Ok(unary(x, integral::truncate(of, x)))),
        Op::Round => lanes.execute(|x, _, _| Ok(unary(x, integral::round(of, x)))),
        Op::RoundEven => lanes.execute(|x, _, _| Ok(unary(x, integral::round_even(of, x)))),
        _ => lanes.execute(|_, _, _| Ok(None)),
    }
}

/// Combines two values by a reduction.
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

/// Returns the identity of a reduction.
pub(crate) fn identity(by: Reduction, scalar: Scalar) -> u128 {
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

/// Computes the new value of an atomic update.
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
