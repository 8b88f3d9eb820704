//! Emission of warp-wide operations. The members are the active lanes.

use super::{FunctionRaising, RaiseResult};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::Reduction;
use heddle_ir::{Op, Scalar};
use std::fmt::Write as _;

impl FunctionRaising<'_> {
    pub(super) fn horizontal(
        &mut self,
        data: &InstData,
        from: Scalar,
        scalar: Scalar,
        to: &str,
        args: &[String],
    ) -> RaiseResult<()> {
        let active = self.fresh(Scalar::I32)?;
        put!(self, "activemask.b32 {active}");
        match data.op {
            Op::Mask => put!(self, "mov.pred {to}, 1"),
            Op::Any => put!(self, "vote.sync.any.pred {to}, {}, {active}", args[0]),
            Op::All => put!(self, "vote.sync.all.pred {to}, {}, {active}", args[0]),
            Op::Ballot | Op::Popcount => {
                let ballot = self.fresh(Scalar::I32)?;
                put!(self, "vote.sync.ballot.b32 {ballot}, {}, {active}", args[0]);
                if data.op == Op::Popcount {
                    put!(self, "popc.b32 {ballot}, {ballot}");
                }
                match scalar {
                    Scalar::I32 => self.copy(scalar, to, &ballot),
                    Scalar::I64 => self.resize(Op::Zext, Scalar::I32, scalar, to, &ballot)?,
                    _ => return Err("a mask of lanes has 32 bits".into()),
                }
            }
            Op::Shuffle | Op::Broadcast | Op::First => {
                let lane = match data.op {
                    Op::First => {
                        let (reversed, lane) = (self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?);
                        put!(self, "brev.b32 {reversed}, {active}");
                        put!(self, "clz.b32 {lane}, {reversed}");
                        lane
                    }
                    _ => {
                        let index = self.scalar(data.args[1]);
                        match index.bits() {
                            32 => args[1].clone(),
                            _ => {
                                let lane = self.fresh(Scalar::I32)?;
                                let op = if index.bits() > 32 { Op::Trunc } else { Op::Zext };
                                self.resize(op, index, Scalar::I32, &lane, &args[1])?;
                                lane
                            }
                        }
                    }
                };
                match scalar.bits() {
                    32 => {
                        let (bits, moved) = (self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?);
                        put!(self, "mov.b32 {bits}, {}", args[0]);
                        put!(self, "shfl.sync.idx.b32 {moved}, {bits}, {lane}, 31, {active}");
                        put!(self, "mov.b32 {to}, {moved}");
                    }
                    64 => {
                        let parts = [self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?];
                        put!(self, "mov.b64 {{{}, {}}}, {}", parts[0], parts[1], args[0]);
                        for part in &parts {
                            put!(self, "shfl.sync.idx.b32 {part}, {part}, {lane}, 31, {active}");
                        }
                        put!(self, "mov.b64 {to}, {{{}, {}}}", parts[0], parts[1]);
                    }
                    _ => return Err("only values of 32 and 64 bits go from lane to lane".into()),
                }
            }
            _ => {
                let Detail::Reduce(by) = data.detail else { return Ok(()) };
                let word = match by {
                    Reduction::Add => "add.s32",
                    Reduction::And => "and.b32",
                    Reduction::Or => "or.b32",
                    Reduction::Xor => "xor.b32",
                    Reduction::Umin => "min.u32",
                    Reduction::Umax => "max.u32",
                    Reduction::Smin => "min.s32",
                    Reduction::Smax => "max.s32",
                    _ => return self.reduce_one_by_one(by, scalar, to, &args[0], &active),
                };
                if from != Scalar::I32 || self.options.target.as_str() < "sm_80" {
                    return Err("integers of 32 bits are reduced from sm_80 on".into());
                }
                put!(self, "redux.sync.{word} {to}, {}, {active}", args[0]);
            }
        }
        Ok(())
    }

    /// Emits a reduction without a PTX instruction: over the active lanes in ascending order.
    fn reduce_one_by_one(
        &mut self,
        by: Reduction,
        scalar: Scalar,
        to: &str,
        value: &str,
        active: &str,
    ) -> RaiseResult<()> {
        let word = match by {
            Reduction::Mul => format!("mul.lo.u{}", scalar.bits()),
            Reduction::Fadd => format!("add.rn.f{}", scalar.bits()),
            Reduction::Fmul => format!("mul.rn.f{}", scalar.bits()),
            Reduction::Fmin => format!("min.f{}", scalar.bits()),
            Reduction::Fmax => format!("max.f{}", scalar.bits()),
            _ => return Err(format!("`{by}` is no reduction of PTX")),
        };
        if !matches!(scalar.bits(), 32 | 64) {
            return Err("only values of 32 and 64 bits go from lane to lane".into());
        }
        let (rest, reversed, lane) =
            (self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?);
        let (all, one) = (self.fresh(scalar)?, self.fresh(scalar)?);
        let parts: Vec<String> =
            (0..scalar.bits() / 32).map(|_| self.fresh(Scalar::I32)).collect::<RaiseResult<_>>()?;
        let (more, start) = (self.fresh(Scalar::I1)?, self.loop_label());
        let list = if parts.len() == 1 { parts[0].clone() } else { format!("{{{}}}", parts.join(", ")) };
        let bits = scalar.bits();
        put!(self, "mov.b32 {rest}, {active}");
        let next = |raise: &mut Self, into: &str| {
            put!(raise, "brev.b32 {reversed}, {rest}");
            put!(raise, "clz.b32 {lane}, {reversed}");
            put!(raise, "mov.b{bits} {list}, {value}");
            for part in &parts {
                put!(raise, "shfl.sync.idx.b32 {part}, {part}, {lane}, 31, {active}");
            }
            put!(raise, "mov.b{bits} {into}, {list}");
            put!(raise, "sub.u32 {lane}, {rest}, 1");
            put!(raise, "and.b32 {rest}, {rest}, {lane}");
            put!(raise, "setp.ne.u32 {more}, {rest}, 0");
        };
        next(self, &all);
        put!(self, "@!{more} bra.uni {start}_end");
        let _ = writeln!(self.text, "{start}:");
        next(self, &one);
        put!(self, "{word} {all}, {all}, {one}");
        put!(self, "@{more} bra.uni {start}");
        let _ = writeln!(self.text, "{start}_end:");
        self.copy(scalar, to, &all);
        Ok(())
    }
}
