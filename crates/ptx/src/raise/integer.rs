//! Emission of integers: arithmetic, comparisons, width changes.
//! Invariant: an `i8` is zero-extended in a 16-bit register.

use super::{FunctionRaising, RaiseResult, register_class};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Op, Scalar, Value};
use std::fmt::Write as _;

impl FunctionRaising<'_> {
    /// Sign-extends an `i8` for signed operations.
    pub(super) fn signed(&mut self, scalar: Scalar, register: &str) -> RaiseResult<String> {
        if scalar != Scalar::I8 {
            return Ok(register.into());
        }
        let wide = self.fresh(Scalar::I16)?;
        put!(self, "cvt.s16.s8 {wide}, {register}");
        Ok(wide)
    }

    pub(super) fn compare(
        &mut self,
        data: &InstData,
        from: Scalar,
        to: &str,
        args: &[String],
    ) -> RaiseResult<()> {
        use IntPredicate as P;
        let Detail::IntCompare(predicate) = data.detail else { return Ok(()) };
        if from == Scalar::I1 {
            let apart = self.fresh(Scalar::I1)?;
            return match predicate {
                P::Ne => {
                    put!(self, "xor.pred {to}, {}, {}", args[0], args[1]);
                    Ok(())
                }
                P::Eq => {
                    put!(self, "xor.pred {apart}, {}, {}", args[0], args[1]);
                    put!(self, "not.pred {to}, {apart}");
                    Ok(())
                }
                _ => Err("truth values are compared for equality only; run `simplify`".into()),
            };
        }
        let (word, signed) = match predicate {
            P::Eq => ("eq", false),
            P::Ne => ("ne", false),
            P::Ult => ("lt", false),
            P::Ule => ("le", false),
            P::Ugt => ("gt", false),
            P::Uge => ("ge", false),
            P::Slt => ("lt", true),
            P::Sle => ("le", true),
            P::Sgt => ("gt", true),
            P::Sge => ("ge", true),
        };
        let bits = from.bits().max(16);
        let (mut a, mut b) = (args[0].clone(), args[1].clone());
        if signed {
            (a, b) = (self.signed(from, &a)?, self.signed(from, &b)?);
        }
        put!(self, "setp.{word}.{}{bits} {to}, {a}, {b}", if signed { "s" } else { "u" });
        Ok(())
    }

    /// Sign-extends an integer to 64 bits.
    pub(super) fn long(&mut self, value: Value, register: &str) -> RaiseResult<String> {
        let scalar = self.scalar(value);
        if scalar == Scalar::I64 {
            return Ok(register.into());
        }
        let wide = self.fresh(Scalar::I64)?;
        self.resize(Op::Sext, scalar, Scalar::I64, &wide, register)?;
        Ok(wide)
    }

    pub(super) fn resize(
        &mut self,
        op: Op,
        from: Scalar,
        scalar: Scalar,
        to: &str,
        arg: &str,
    ) -> RaiseResult<()> {
        let bits = scalar.bits();
        if register_class(from).is_none() || register_class(scalar).is_none() {
            return Err("no registers for integers of 128 bits".into());
        }
        if from == Scalar::I1 {
            let one = if op == Op::Sext && bits > 8 {
                "-1"
            } else if op == Op::Sext {
                "255"
            } else {
                "1"
            };
            put!(self, "selp.b{} {to}, {one}, 0, {arg}", bits.max(16));
            return Ok(());
        }
        if scalar == Scalar::I1 {
            let low = self.fresh(from)?;
            put!(self, "and.b{} {low}, {arg}, 1", from.bits().max(16));
            put!(self, "setp.ne.b{} {to}, {low}, 0", from.bits().max(16));
            return Ok(());
        }
        let sign = if op == Op::Sext { "s" } else { "u" };
        match (from.bits(), bits) {
            (8, 16) if op == Op::Sext => put!(self, "cvt.s16.s8 {to}, {arg}"),
            (8, 16) => put!(self, "mov.b16 {to}, {arg}"),
            (16, 8) => put!(self, "and.b16 {to}, {arg}, 255"),
            (from, 8) => {
                put!(self, "cvt.u16.u{from} {to}, {arg}");
                put!(self, "and.b16 {to}, {to}, 255");
            }
            (from, bits) => put!(self, "cvt.{sign}{bits}.{sign}{from} {to}, {arg}"),
        }
        Ok(())
    }

    pub(super) fn integer(&mut self, op: Op, scalar: Scalar, to: &str, args: &[String]) -> RaiseResult<()> {
        if register_class(scalar).is_none() {
            return Err("no registers for integers of 128 bits".into());
        }
        let bits = scalar.bits().max(16);
        if scalar == Scalar::I1 {
            let word = match op {
                Op::And | Op::Mul | Op::Umin | Op::Smax => "and",
                Op::Or | Op::Umax | Op::Smin => "or",
                Op::Xor | Op::Add | Op::Sub => "xor",
                _ => return Err(format!("PTX has no instruction for `{op}` of truth values")),
            };
            put!(self, "{word}.pred {to}, {}, {}", args[0], args[1]);
            return Ok(());
        }
        let is_byte = scalar == Scalar::I8;
        let own = scalar.bits();
        let mut args = args.to_vec();
        let is_signed = matches!(op, Op::Sdiv | Op::Srem | Op::Ashr | Op::Smin | Op::Smax | Op::Abs);
        if is_signed && is_byte {
            let count = if op == Op::Ashr { 1 } else { args.len() };
            for arg in &mut args[..count] {
                *arg = self.signed(scalar, arg)?;
            }
        }
        let sign = if is_signed { "s" } else { "u" };
        match op {
            Op::Add
            | Op::Sub
            | Op::Udiv
            | Op::Sdiv
            | Op::Urem
            | Op::Srem
            | Op::Umin
            | Op::Umax
            | Op::Smin
            | Op::Smax => {
                let word = match op {
                    Op::Add => "add",
                    Op::Sub => "sub",
                    Op::Udiv | Op::Sdiv => "div",
                    Op::Urem | Op::Srem => "rem",
                    Op::Umin | Op::Smin => "min",
                    _ => "max",
                };
                put!(self, "{word}.{sign}{bits} {to}, {}, {}", args[0], args[1]);
            }
            Op::Mul => put!(self, "mul.lo.u{bits} {to}, {}, {}", args[0], args[1]),
            Op::And | Op::Or | Op::Xor => put!(self, "{}.b{bits} {to}, {}, {}", op.name(), args[0], args[1]),
            Op::Shl | Op::Lshr | Op::Ashr => {
                let amount = self.fresh(Scalar::I32)?;
                match bits {
                    32 => put!(self, "mov.b32 {amount}, {}", args[1]),
                    _ => put!(self, "cvt.u32.u{bits} {amount}, {}", args[1]),
                }
                match op {
                    Op::Shl => put!(self, "shl.b{bits} {to}, {}, {amount}", args[0]),
                    _ => put!(self, "shr.{sign}{bits} {to}, {}, {amount}", args[0]),
                }
            }
            Op::Abs => put!(self, "abs.s{bits} {to}, {}", args[0]),
            Op::SaddSat | Op::SsubSat if scalar == Scalar::I32 => {
                let word = if op == Op::SaddSat { "add" } else { "sub" };
                put!(self, "{word}.sat.s32 {to}, {}, {}", args[0], args[1]);
            }
            Op::UsubSat => {
                let min = self.fresh(scalar)?;
                put!(self, "min.u{bits} {min}, {}, {}", args[0], args[1]);
                put!(self, "sub.u{bits} {to}, {}, {min}", args[0]);
            }
            Op::UaddSat => {
                let (room, min, ones) = (self.fresh(scalar)?, self.fresh(scalar)?, scalar.bit_mask());
                put!(self, "mov.b{bits} {room}, {ones:#x}");
                put!(self, "sub.u{bits} {room}, {room}, {}", args[0]);
                put!(self, "min.u{bits} {min}, {room}, {}", args[1]);
                put!(self, "add.u{bits} {to}, {}, {min}", args[0]);
            }
            Op::Ctpop | Op::Ctlz | Op::Cttz | Op::Bitreverse => {
                let width = bits.max(32);
                let wide = self.fresh(if width == 64 { Scalar::I64 } else { Scalar::I32 })?;
                match bits {
                    16 => put!(self, "cvt.u32.u16 {wide}, {}", args[0]),
                    _ => put!(self, "mov.b{bits} {wide}, {}", args[0]),
                }
                let count = self.fresh(Scalar::I32)?;
                match op {
                    Op::Ctpop => put!(self, "popc.b{width} {count}, {wide}"),
                    Op::Ctlz => {
                        put!(self, "clz.b{width} {count}, {wide}");
                        put!(self, "sub.u32 {count}, {count}, {}", width - own);
                    }
                    Op::Cttz => {
                        put!(self, "brev.b{width} {wide}, {wide}");
                        put!(self, "clz.b{width} {count}, {wide}");
                        put!(self, "min.u32 {count}, {count}, {own}");
                    }
                    _ => {
                        put!(self, "brev.b{width} {wide}, {wide}");
                        if width > own {
                            put!(self, "shr.u{width} {wide}, {wide}, {}", width - own);
                        }
                        match bits {
                            16 => put!(self, "cvt.u16.u32 {to}, {wide}"),
                            _ => put!(self, "mov.b{bits} {to}, {wide}"),
                        }
                        return Ok(());
                    }
                }
                match bits {
                    32 => put!(self, "mov.b32 {to}, {count}"),
                    _ => put!(self, "cvt.u{bits}.u32 {to}, {count}"),
                }
            }
            Op::Bswap if scalar == Scalar::I32 => put!(self, "prmt.b32 {to}, {}, 0, 0x0123", args[0]),
            Op::Fshl | Op::Fshr if scalar == Scalar::I32 => {
                let side = if op == Op::Fshl { "l" } else { "r" };
                put!(self, "shf.{side}.wrap.b32 {to}, {}, {}, {}", args[1], args[0], args[2]);
            }
            _ => return Err(format!("PTX has no instruction for `{op}` of {scalar}")),
        }
        if is_byte {
            put!(self, "and.b16 {to}, {to}, 255");
        }
        Ok(())
    }
}
