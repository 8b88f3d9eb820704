//! Emission of 128-bit integers, as needed for products of 64-bit integers: two registers each.

use super::{FunctionRaising, RaiseResult};
use heddle_ir::inst::{Access, InstData};
use heddle_ir::{Constant, Inst, Op, Scalar, Value};
use std::fmt::Write as _;

impl FunctionRaising<'_> {
    pub(super) fn is_double(&self, inst: Inst, data: &InstData) -> bool {
        let is = |&value: &Value| self.scalar(value) == Scalar::I128;
        data.op != Op::Phi && (data.args.iter().any(is) || self.func.results(inst).iter().any(is))
    }

    pub(super) fn pair(&mut self, value: Value) -> RaiseResult<[String; 2]> {
        if let Some(pair) = self.pairs.get(&value) {
            return Ok(pair.clone());
        }
        let pair = [self.fresh(Scalar::I64)?, self.fresh(Scalar::I64)?];
        match self.func.constant(value) {
            Some(&Constant::Scalar(_, bits)) => {
                self.constant(&pair[0], Scalar::I64, bits & u128::from(u64::MAX));
                self.constant(&pair[1], Scalar::I64, bits >> 64);
            }
            Some(_) => {
                self.constant(&pair[0], Scalar::I64, 0);
                self.constant(&pair[1], Scalar::I64, 0);
            }
            // A constant is materialized at each use; any other value has one pair.
            None => drop(self.pairs.insert(value, pair.clone())),
        }
        Ok(pair)
    }

    /// Returns the modifiers of an access to one half.
    fn halves_of(&self, data: &InstData, access: &Access, pointer: Scalar) -> RaiseResult<String> {
        if access.atomic.is_some() || access.align < 8 {
            return Err("128 bits are accessed in halves, which are aligned and not atomic".into());
        }
        Ok(format!("{}.b64", self.access(data, access, pointer)?))
    }

    pub(super) fn double(&mut self, inst: Inst, data: &InstData) -> RaiseResult<()> {
        let Some(result) = self.func.result(inst) else {
            if let (Op::Store, Some(access)) = (data.op, data.access().copied()) {
                let ([low, high], address) = (self.pair(data.args[0])?, self.read(data.args[1])?);
                let words = self.halves_of(data, &access, self.scalar(data.args[1]))?;
                put!(self, "st{words} [{address}], {low}");
                put!(self, "st{words} [{address}+8], {high}");
                return Ok(());
            }
            return Err(format!("PTX has no instruction for `{}` of 128 bits", data.op));
        };
        match data.op {
            Op::Load => {
                let Some(access) = data.access().copied() else { return Ok(()) };
                let address = self.read(data.args[0])?;
                let words = self.halves_of(data, &access, self.scalar(data.args[0]))?;
                let [low, high] = self.pair(result)?;
                put!(self, "ld{words} {low}, [{address}]");
                put!(self, "ld{words} {high}, [{address}+8]");
            }
            Op::Freeze => {
                let ([low, high], from) = (self.pair(result)?, self.pair(data.args[0])?);
                put!(self, "mov.b64 {low}, {}", from[0]);
                put!(self, "mov.b64 {high}, {}", from[1]);
            }
            Op::Zext | Op::Sext => {
                let from = self.scalar(data.args[0]);
                let arg = self.read(data.args[0])?;
                let [low, high] = self.pair(result)?;
                match from {
                    Scalar::I64 => put!(self, "mov.b64 {low}, {arg}"),
                    _ => self.resize(data.op, from, Scalar::I64, &low, &arg)?,
                }
                match data.op {
                    Op::Sext => put!(self, "shr.s64 {high}, {low}, 63"),
                    _ => put!(self, "mov.b64 {high}, 0"),
                }
            }
            Op::Trunc => {
                let [low, _] = self.pair(data.args[0])?;
                let to = self.register(result)?;
                match self.scalar(result) {
                    Scalar::I64 => put!(self, "mov.b64 {to}, {low}"),
                    scalar => self.resize(Op::Trunc, Scalar::I64, scalar, &to, &low)?,
                }
            }
            Op::And | Op::Or | Op::Xor => {
                let (a, b, to) = (self.pair(data.args[0])?, self.pair(data.args[1])?, self.pair(result)?);
                for half in 0..2 {
                    put!(self, "{}.b64 {}, {}, {}", data.op.name(), to[half], a[half], b[half]);
                }
            }
            Op::Add | Op::Sub => {
                let (a, b, to) = (self.pair(data.args[0])?, self.pair(data.args[1])?, self.pair(result)?);
                let word = data.op.name();
                put!(self, "{word}.cc.u64 {}, {}, {}", to[0], a[0], b[0]);
                put!(self, "{word}c.u64 {}, {}, {}", to[1], a[1], b[1]);
            }
            Op::Mul => {
                let (a, b, to) = (self.pair(data.args[0])?, self.pair(data.args[1])?, self.pair(result)?);
                let high = self.fresh(Scalar::I64)?;
                put!(self, "mul.hi.u64 {high}, {}, {}", a[0], b[0]);
                put!(self, "mad.lo.u64 {high}, {}, {}, {high}", a[0], b[1]);
                put!(self, "mad.lo.u64 {}, {}, {}, {high}", to[1], a[1], b[0]);
                put!(self, "mul.lo.u64 {}, {}, {}", to[0], a[0], b[0]);
            }
            Op::Lshr | Op::Shl => {
                let Some(&Constant::Scalar(_, by)) = self.func.constant(data.args[1]) else {
                    return Err("shift of 128 bits by an amount that is not constant".into());
                };
                let by = u32::try_from(by).map_or(127, |by| by.min(127));
                let (a, to) = (self.pair(data.args[0])?, self.pair(result)?);
                // Index of the half that supplies bits, and of the half that receives them.
                let (source, sink, word, back) = match data.op {
                    Op::Lshr => (1, 0, "shr.u64", "shl.b64"),
                    _ => (0, 1, "shl.b64", "shr.u64"),
                };
                if by >= 64 {
                    put!(self, "{word} {}, {}, {}", to[sink], a[source], by - 64);
                    put!(self, "mov.b64 {}, 0", to[source]);
                } else {
                    let part = self.fresh(Scalar::I64)?;
                    put!(self, "{back} {part}, {}, {}", a[source], 64 - by);
                    put!(self, "{word} {}, {}, {by}", to[sink], a[sink]);
                    put!(self, "or.b64 {}, {}, {part}", to[sink], to[sink]);
                    put!(self, "{word} {}, {}, {by}", to[source], a[source]);
                }
            }
            Op::Select => {
                let condition = self.read(data.args[0])?;
                let (a, b, to) = (self.pair(data.args[1])?, self.pair(data.args[2])?, self.pair(result)?);
                for half in 0..2 {
                    put!(self, "selp.b64 {}, {}, {}, {condition}", to[half], a[half], b[half]);
                }
            }
            _ => return Err(format!("PTX has no instruction for `{}` of 128 bits", data.op)),
        }
        Ok(())
    }
}
