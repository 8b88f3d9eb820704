//! Emission of floats: arithmetic, comparisons, conversions. Formats without PTX support use `f32` where it rounds the same.

use super::{FunctionRaising, RaiseResult, register_class};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::FloatPredicate;
use heddle_ir::{Op, Scalar};
use std::fmt::Write as _;

impl FunctionRaising<'_> {
    /// Extends a float to `f32` if PTX cannot compute in its format.
    pub(super) fn single(&mut self, scalar: Scalar, register: &str) -> RaiseResult<String> {
        let wide = self.fresh(Scalar::F32)?;
        match scalar {
            Scalar::F16 => put!(self, "cvt.f32.f16 {wide}, {register}"),
            Scalar::BF16 => {
                let (bits, zero) = (self.fresh(Scalar::I32)?, self.fresh(Scalar::I16)?);
                put!(self, "mov.b16 {zero}, 0");
                put!(self, "mov.b32 {bits}, {{{zero}, {register}}}");
                put!(self, "mov.b32 {wide}, {bits}");
            }
            _ => return Ok(register.into()),
        }
        Ok(wide)
    }

    pub(super) fn compare_floats(
        &mut self,
        data: &InstData,
        from: Scalar,
        to: &str,
        args: &[String],
    ) -> RaiseResult<()> {
        use FloatPredicate as P;
        let Detail::FloatCompare(predicate) = data.detail else { return Ok(()) };
        let word = match predicate {
            P::False => {
                put!(self, "mov.pred {to}, 0");
                return Ok(());
            }
            P::True => {
                put!(self, "mov.pred {to}, 1");
                return Ok(());
            }
            P::Oeq => "eq",
            P::Ogt => "gt",
            P::Oge => "ge",
            P::Olt => "lt",
            P::Ole => "le",
            P::One => "ne",
            P::Ord => "num",
            P::Uno => "nan",
            P::Ueq => "equ",
            P::Ugt => "gtu",
            P::Uge => "geu",
            P::Ult => "ltu",
            P::Ule => "leu",
            P::Une => "neu",
        };
        let (a, b) = (self.single(from, &args[0])?, self.single(from, &args[1])?);
        put!(self, "setp.{word}.f{} {to}, {a}, {b}", from.bits().max(32));
        Ok(())
    }

    /// Tests the classes of a float by its bits, so nothing is flushed.
    pub(super) fn class(&mut self, data: &InstData, from: Scalar, to: &str, arg: &str) -> RaiseResult<()> {
        let Detail::FloatClass(classes) = data.detail else { return Ok(()) };
        let (bits, fraction, int) = match from {
            Scalar::F32 => (32, 23, Scalar::I32),
            Scalar::F64 => (64, 52, Scalar::I64),
            Scalar::BF16 => (16, 7, Scalar::I16),
            _ => (16, 10, Scalar::I16),
        };
        let infinite: u128 = ((1 << (bits - 1 - fraction)) - 1) << fraction;
        let normal: u128 = 1 << fraction;
        let (whole, size) = (self.fresh(int)?, self.fresh(int)?);
        put!(self, "mov.b{bits} {whole}, {arg}");
        put!(self, "and.b{bits} {size}, {whole}, {:#x}", (1u128 << (bits - 1)) - 1);
        let (negative, positive) = (self.fresh(Scalar::I1)?, self.fresh(Scalar::I1)?);
        put!(self, "setp.lt.s{bits} {negative}, {whole}, 0");
        put!(self, "not.pred {positive}, {negative}");
        put!(self, "mov.pred {to}, 0");
        // Start, end (exclusive), and LLVM's bits of the negative and of the positive class.
        let ranges = [
            (0, 1, 0x20, 0x40),
            (1, normal, 0x10, 0x80),
            (normal, infinite, 0x08, 0x100),
            (infinite, infinite + 1, 0x04, 0x200),
            (infinite + 1, 1 << (bits - 1), 0x03, 0x03),
        ];
        for (first, end, minus, plus) in ranges {
            let (wants_minus, wants_plus) = (classes & minus != 0, classes & plus != 0);
            if !wants_minus && !wants_plus {
                continue;
            }
            if first > infinite && classes & 3 != 3 {
                return Err("PTX does not distinguish signalling and quiet NaNs".into());
            }
            let (offset, within) = (self.fresh(int)?, self.fresh(Scalar::I1)?);
            put!(self, "sub.u{bits} {offset}, {size}, {first:#x}");
            put!(self, "setp.lt.u{bits} {within}, {offset}, {:#x}", end - first);
            match (wants_minus, wants_plus) {
                (true, false) => put!(self, "and.pred {within}, {within}, {negative}"),
                (false, true) => put!(self, "and.pred {within}, {within}, {positive}"),
                _ => {}
            }
            put!(self, "or.pred {to}, {to}, {within}");
        }
        Ok(())
    }

    pub(super) fn bitcast(&mut self, from: Scalar, scalar: Scalar, to: &str, arg: &str) -> RaiseResult<()> {
        if from.bits() != scalar.bits() || from == Scalar::I1 {
            return Err("the number of bits changes".into());
        }
        put!(self, "mov.b{} {to}, {arg}", from.bits().max(16));
        Ok(())
    }

    pub(super) fn float(
        &mut self,
        op: Op,
        from: Scalar,
        scalar: Scalar,
        to: &str,
        args: &[String],
    ) -> RaiseResult<()> {
        match op {
            Op::Fptrunc
            | Op::Fpext
            | Op::Fptoui
            | Op::Fptosi
            | Op::FptouiSat
            | Op::FptosiSat
            | Op::Uitofp
            | Op::Sitofp => return self.convert(op, from, scalar, to, &args[0]),
            _ => {}
        }
        if scalar.bits() == 16 {
            // Double rounding through `f32` is exact for these operations: `f32` has more than twice the digits.
            if matches!(op, Op::Fma | Op::Fmuladd) && scalar == Scalar::F16 {
                put!(self, "fma.rn.f16 {to}, {}, {}, {}", args[0], args[1], args[2]);
                return Ok(());
            }
            if matches!(op, Op::Fma | Op::Fmuladd) {
                self.require_target(80, "the sum of a product of `bf16`")?;
                put!(self, "fma.rn.bf16 {to}, {}, {}, {}", args[0], args[1], args[2]);
                return Ok(());
            }
            // Sign operations keep all other bits, of NaNs too.
            match op {
                Op::Fneg => {
                    put!(self, "xor.b16 {to}, {}, 0x8000", args[0]);
                    return Ok(());
                }
                Op::Fabs => {
                    put!(self, "and.b16 {to}, {}, 0x7fff", args[0]);
                    return Ok(());
                }
                Op::Copysign => {
                    let (sign, rest) = (self.fresh(scalar)?, self.fresh(scalar)?);
                    put!(self, "and.b16 {sign}, {}, 0x8000", args[1]);
                    put!(self, "and.b16 {rest}, {}, 0x7fff", args[0]);
                    put!(self, "or.b16 {to}, {sign}, {rest}");
                    return Ok(());
                }
                _ => {}
            }
            if matches!(op, Op::Ldexp | Op::Frem) {
                return Err(format!("PTX has no instruction for `{op}` of {scalar}"));
            }
            let args: Vec<String> =
                args.iter().map(|arg| self.single(scalar, arg)).collect::<RaiseResult<_>>()?;
            let wide = self.fresh(Scalar::F32)?;
            self.float(op, Scalar::F32, Scalar::F32, &wide, &args)?;
            return self.convert(Op::Fptrunc, Scalar::F32, scalar, to, &wide);
        }
        let ty = format!("f{}", scalar.bits());
        match op {
            Op::Fadd | Op::Fsub | Op::Fmul | Op::Fdiv => {
                let word = &op.name()[1..];
                put!(self, "{word}.rn.{ty} {to}, {}, {}", args[0], args[1]);
            }
            Op::Sqrt => put!(self, "sqrt.rn.{ty} {to}, {}", args[0]),
            Op::Rsqrt if scalar == Scalar::F32 => put!(self, "rsqrt.approx.f32 {to}, {}", args[0]),
            Op::Rsqrt => {
                let root = self.fresh(scalar)?;
                put!(self, "sqrt.rn.{ty} {root}, {}", args[0]);
                put!(self, "rcp.rn.{ty} {to}, {root}");
            }
            Op::Fma | Op::Fmuladd => put!(self, "fma.rn.{ty} {to}, {}, {}, {}", args[0], args[1], args[2]),
            Op::Fneg => put!(self, "neg.{ty} {to}, {}", args[0]),
            Op::Fabs => put!(self, "abs.{ty} {to}, {}", args[0]),
            Op::Copysign => put!(self, "copysign.{ty} {to}, {}, {}", args[1], args[0]),
            Op::Fmin => put!(self, "min.{ty} {to}, {}, {}", args[0], args[1]),
            Op::Fmax => put!(self, "max.{ty} {to}, {}, {}", args[0], args[1]),
            Op::Fminimum | Op::Fmaximum => {
                let word = if op == Op::Fminimum { "min" } else { "max" };
                let (number, unordered, sum) =
                    (self.fresh(scalar)?, self.fresh(Scalar::I1)?, self.fresh(scalar)?);
                put!(self, "{word}.{ty} {number}, {}, {}", args[0], args[1]);
                put!(self, "setp.nan.{ty} {unordered}, {}, {}", args[0], args[1]);
                put!(self, "add.rn.{ty} {sum}, {}, {}", args[0], args[1]);
                put!(self, "selp.{ty} {to}, {sum}, {number}, {unordered}");
            }
            Op::Floor => put!(self, "cvt.rmi.{ty}.{ty} {to}, {}", args[0]),
            Op::Ceil => put!(self, "cvt.rpi.{ty}.{ty} {to}, {}", args[0]),
            Op::Truncate => put!(self, "cvt.rzi.{ty}.{ty} {to}, {}", args[0]),
            Op::RoundEven => put!(self, "cvt.rni.{ty}.{ty} {to}, {}", args[0]),
            Op::Round => {
                let (whole, rest, one) = (self.fresh(scalar)?, self.fresh(scalar)?, self.fresh(scalar)?);
                let (up, half) = (self.fresh(Scalar::I1)?, self.fresh(scalar)?);
                put!(self, "cvt.rzi.{ty}.{ty} {whole}, {}", args[0]);
                put!(self, "sub.rn.{ty} {rest}, {}, {whole}", args[0]);
                put!(self, "abs.{ty} {rest}, {rest}");
                let bits = if scalar == Scalar::F64 {
                    [0.5f64, 1.0].map(|x| x.to_bits().into())
                } else {
                    [0.5f32, 1.0].map(|x| u128::from(x.to_bits()))
                };
                self.constant(&half, scalar, bits[0]);
                self.constant(&one, scalar, bits[1]);
                put!(self, "setp.ge.{ty} {up}, {rest}, {half}");
                put!(self, "copysign.{ty} {one}, {}, {one}", args[0]);
                put!(self, "add.rn.{ty} {rest}, {whole}, {one}");
                put!(self, "selp.{ty} {rest}, {rest}, {whole}, {up}");
                put!(self, "copysign.{ty} {to}, {}, {rest}", args[0]);
            }
            _ => return Err(format!("PTX has no instruction for `{op}` of {scalar}")),
        }
        Ok(())
    }

    /// Rounds a double to `f32` to odd: truncates, and sets the last bit if inexact. A further rounding to far fewer digits then
    /// equals direct rounding.
    fn odd_single(&mut self, arg: &str) -> RaiseResult<String> {
        let (cut, back) = (self.fresh(Scalar::F32)?, self.fresh(Scalar::F64)?);
        let (lost, bits, odd) = (self.fresh(Scalar::I1)?, self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?);
        put!(self, "cvt.rz.f32.f64 {cut}, {arg}");
        put!(self, "cvt.f64.f32 {back}, {cut}");
        put!(self, "setp.neu.f64 {lost}, {back}, {arg}");
        put!(self, "mov.b32 {bits}, {cut}");
        put!(self, "or.b32 {odd}, {bits}, 1");
        put!(self, "selp.b32 {bits}, {odd}, {bits}, {lost}");
        put!(self, "mov.b32 {cut}, {bits}");
        Ok(cut)
    }

    /// Converts an integer to a double, rounded to odd. Only 64-bit integers can be inexact.
    fn odd_double(&mut self, op: Op, from: Scalar, arg: &str) -> RaiseResult<String> {
        let cut = self.fresh(Scalar::F64)?;
        let sign = if op == Op::Sitofp { "s" } else { "u" };
        if from.bits() < 64 {
            put!(self, "cvt.rn.f64.{sign}{} {cut}, {arg}", from.bits());
            return Ok(cut);
        }
        let (back, lost) = (self.fresh(Scalar::I64)?, self.fresh(Scalar::I1)?);
        let (bits, odd) = (self.fresh(Scalar::I64)?, self.fresh(Scalar::I64)?);
        put!(self, "cvt.rz.f64.{sign}64 {cut}, {arg}");
        put!(self, "cvt.rzi.{sign}64.f64 {back}, {cut}");
        put!(self, "setp.ne.b64 {lost}, {back}, {arg}");
        put!(self, "mov.b64 {bits}, {cut}");
        put!(self, "or.b64 {odd}, {bits}, 1");
        put!(self, "selp.b64 {bits}, {odd}, {bits}, {lost}");
        put!(self, "mov.b64 {cut}, {bits}");
        Ok(cut)
    }

    pub(super) fn convert(
        &mut self,
        op: Op,
        from: Scalar,
        scalar: Scalar,
        to: &str,
        arg: &str,
    ) -> RaiseResult<()> {
        if register_class(from).is_none()
            || register_class(scalar).is_none()
            || from == Scalar::I1
            || scalar == Scalar::I1
        {
            return Err(format!("PTX has no instruction for `{op}` from {from} to {scalar}"));
        }
        let name = |scalar: Scalar| match scalar {
            Scalar::BF16 => "bf16".into(),
            _ => format!("f{}", scalar.bits()),
        };
        match op {
            Op::Fpext if from == Scalar::BF16 => {
                let single = self.single(from, arg)?;
                match scalar {
                    Scalar::F32 => put!(self, "mov.f32 {to}, {single}"),
                    _ => put!(self, "cvt.f64.f32 {to}, {single}"),
                }
            }
            Op::Fpext => put!(self, "cvt.{}.{} {to}, {arg}", name(scalar), name(from)),
            Op::Fptrunc if scalar == Scalar::BF16 && from == Scalar::F64 => {
                let odd = self.odd_single(arg)?;
                self.convert(op, Scalar::F32, scalar, to, &odd)?;
            }
            Op::Fptrunc if scalar == Scalar::BF16 && from != Scalar::F32 => {
                let single = self.single(from, arg)?;
                self.convert(op, Scalar::F32, scalar, to, &single)?;
            }
            Op::Fptrunc if scalar == Scalar::BF16 => {
                // Rounds to nearest even by bit operations: the instruction requires sm_80.
                let (bits, low, nan) =
                    (self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?, self.fresh(Scalar::I1)?);
                put!(self, "mov.b32 {bits}, {arg}");
                put!(self, "bfe.u32 {low}, {bits}, 16, 1");
                put!(self, "add.u32 {low}, {low}, 0x7fff");
                put!(self, "add.u32 {low}, {low}, {bits}");
                put!(self, "setp.nan.f32 {nan}, {arg}, {arg}");
                put!(self, "selp.b32 {bits}, 0x7fc00000, {low}, {nan}");
                put!(self, "shr.u32 {bits}, {bits}, 16");
                put!(self, "cvt.u16.u32 {to}, {bits}");
            }
            Op::Fptrunc => put!(self, "cvt.rn.{}.{} {to}, {arg}", name(scalar), name(from)),
            Op::Uitofp | Op::Sitofp if scalar == Scalar::BF16 => {
                let double = self.odd_double(op, from, arg)?;
                self.convert(Op::Fptrunc, Scalar::F64, scalar, to, &double)?;
            }
            Op::Uitofp | Op::Sitofp => {
                let sign = if op == Op::Sitofp { "s" } else { "u" };
                let ty = name(scalar);
                put!(self, "cvt.rn.{ty}.{sign}{} {to}, {arg}", from.bits());
            }
            _ => {
                let sign = if matches!(op, Op::Fptosi | Op::FptosiSat) { "s" } else { "u" };
                let number = self.single(from, arg)?;
                let ty = format!("f{}", from.bits().max(32));
                put!(self, "cvt.rzi.{sign}{}.{ty} {to}, {number}", scalar.bits());
                if scalar == Scalar::I8 {
                    put!(self, "and.b16 {to}, {to}, 255");
                }
                if matches!(op, Op::FptosiSat | Op::FptouiSat)
                    && (from == Scalar::F64 || scalar == Scalar::I64)
                {
                    let nan = self.fresh(Scalar::I1)?;
                    put!(self, "setp.nan.{ty} {nan}, {number}, {number}");
                    put!(self, "selp.b{} {to}, 0, {to}, {nan}", scalar.bits().max(16));
                }
            }
        }
        Ok(())
    }
}
