//! Conversions between numbers, and between numbers and pointers.

use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::function::{FunctionWriter, PURE, SpirvValue};
use crate::instruction::OperandClass;
use crate::mangle::{MangledNumber, MangledType};
use crate::types::{NumberKind, NumberType};
use spirv::{Decoration, FPRoundingMode};

impl FunctionWriter<'_, '_> {
    /// Writes a conversion of numbers: an instruction, or a call of `convert_…` for saturation and rounding modes.
    pub(crate) fn convert(
        &mut self,
        inst: &SpirvInst<'_>,
        from: OperandClass,
        to: OperandClass,
        opcode: &str,
        is_signed: bool,
    ) -> SpirvResult<()> {
        let number = self.number_type(inst, inst.operand(0)?)?;
        let id = inst.operand(1)?;
        let value = self.operand(inst, 2)?;
        let of = self.number_of(inst, &value)?;
        if !to.holds(number.kind) || !from.holds(of.kind) || of.with(number.kind) != number {
            return Err(inst.invalid(format!(
                "{} cannot be converted from {} to {}",
                self.module.show(value.id),
                of.text(),
                number.text()
            )));
        }
        let text = number.text();
        let saturates = self.module.decoration(id, Decoration::SaturatedConversion).is_some();
        let mode = self.module.decoration(id, Decoration::FPRoundingMode).and_then(|words| words.first());
        let mode = mode.and_then(|&mode| FPRoundingMode::from_u32(mode));
        // Floats become integers by truncation, everything else rounds to the nearest.
        let default = if to == OperandClass::Int { FPRoundingMode::RTZ } else { FPRoundingMode::RTE };
        let has_halves = [of, number].iter().any(|it| it.kind.bits() == 16 && it.kind.is_float());
        let widens =
            from == OperandClass::Float && to == OperandClass::Float && of.kind.bits() <= number.kind.bits();
        let mode = mode.filter(|mode| {
            *mode != default && !widens && (from, to) != (OperandClass::Int, OperandClass::Int)
        });
        let has_builtin = ![of, number].iter().any(|it| it.kind == NumberKind::BFloat);
        if mode.is_some() && has_builtin || saturates && !has_halves {
            let (from_signed, to_signed) = match (from, to) {
                (OperandClass::Int, OperandClass::Float) => (is_signed, true),
                _ => (is_signed, is_signed),
            };
            return self.convert_by_builtin(
                inst,
                &value,
                of,
                number,
                [from_signed, to_signed],
                saturates,
                mode,
            );
        }
        if saturates {
            let name = if is_signed { "fptosi.sat" } else { "fptoui.sat" };
            let full = format!("llvm.{name}.{}.{}", Self::suffix(number), Self::suffix(of));
            self.output.declare_plain(&full, &text, &of.text());
            self.result(id, &format!("call {text} @{full}({})", value.typed()));
            return Ok(());
        }
        if let Some(mode) = mode {
            let reason = format!("conversions of bfloat16 with the rounding mode {mode:?} are not supported");
            return Err(inst.unsupported(reason, "round to the nearest"));
        }
        let opcode = match (opcode, of.kind.bits().cmp(&number.kind.bits())) {
            ("zext" | "sext", std::cmp::Ordering::Greater) => "trunc",
            ("fp", std::cmp::Ordering::Greater) => "fptrunc",
            ("fp", std::cmp::Ordering::Less) => "fpext",
            (_, std::cmp::Ordering::Equal) if from == to => "",
            _ => opcode,
        };
        match opcode {
            "" if of.kind == number.kind => self.alias(id, &text, &value.text),
            "" => {
                return Err(inst.unsupported("half and bfloat16 are not converted", "convert through float"));
            }
            _ => self.result(id, &format!("{opcode} {} to {text}", value.typed())),
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn convert_by_builtin(
        &mut self,
        inst: &SpirvInst<'_>,
        value: &SpirvValue,
        from: NumberType,
        to: NumberType,
        [from_signed, to_signed]: [bool; 2],
        saturates: bool,
        mode: Option<FPRoundingMode>,
    ) -> SpirvResult<()> {
        let base = match to.kind {
            NumberKind::Int(8) => "char",
            NumberKind::Int(16) => "short",
            NumberKind::Int(32) => "int",
            NumberKind::Int(_) => "long",
            NumberKind::Float(16) => "half",
            NumberKind::Float(32) => "float",
            _ => "double",
        };
        let sign = if to.kind.is_int() && !to_signed { "u" } else { "" };
        let count = if to.is_vector { to.count.to_string() } else { String::new() };
        let saturated = if saturates && to.kind.is_int() { "_sat" } else { "" };
        let rounded = match mode {
            Some(FPRoundingMode::RTE) => "_rte",
            Some(FPRoundingMode::RTZ) => "_rtz",
            Some(FPRoundingMode::RTP) => "_rtp",
            Some(FPRoundingMode::RTN) => "_rtn",
            _ => "",
        };
        let name = format!("convert_{sign}{base}{count}{saturated}{rounded}");
        let mangled =
            MangledType::Number(MangledNumber { kind: from.kind, is_signed: from_signed, count: from.count });
        let args = [(value.type_text.clone(), value.text.clone())];
        let call = self.builtin_call(&name, &to.text(), &[mangled], &args, PURE);
        self.result(inst.operand(1)?, &call);
        Ok(())
    }

    pub(crate) fn saturate(&mut self, inst: &SpirvInst<'_>, is_signed: bool) -> SpirvResult<()> {
        let (number, _) = self.result_of(inst, OperandClass::Int)?;
        let value = self.operand(inst, 2)?;
        let of = self.number_of(inst, &value)?;
        if !of.kind.is_int() || of.with(number.kind) != number {
            return Err(inst.invalid(format!("{} has the wrong type", self.module.show(value.id))));
        }
        self.convert_by_builtin(inst, &value, of, number, [is_signed, !is_signed], true, None)
    }

    /// Conversions between float and the bits of bfloat16.
    pub(crate) fn bfloat(&mut self, inst: &SpirvInst<'_>, narrows: bool) -> SpirvResult<()> {
        let (number, id) = (self.number_type(inst, inst.operand(0)?)?, inst.operand(1)?);
        let value = self.operand(inst, 2)?;
        let of = self.number_of(inst, &value)?;
        let kinds = if narrows {
            (NumberKind::Float(32), NumberKind::Int(16))
        } else {
            (NumberKind::Int(16), NumberKind::Float(32))
        };
        if (of.kind, number.kind) != kinds || of.with(number.kind) != number {
            return Err(inst.invalid(format!("{} has the wrong type", self.module.show(value.id))));
        }
        let short = of.with(NumberKind::BFloat).text();
        if narrows {
            let rounded = self.temporary(&format!("fptrunc {} to {short}", value.typed()));
            self.result(id, &format!("bitcast {short} {rounded} to {}", number.text()));
        } else {
            let cast = self.temporary(&format!("bitcast {} to {short}", value.typed()));
            self.result(id, &format!("fpext {short} {cast} to {}", number.text()));
        }
        Ok(())
    }

    pub(crate) fn bitcast(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let value = self.operand(inst, 2)?;
        let to = self.sized_text(inst, ty)?;
        let types = &self.module.types;
        // Pointers and vectors of 64 bits are converted by way of an integer.
        let is_vector =
            |ty| types.number(ty).is_some_and(|it| it.is_vector && it.kind.bits() * it.count == 64);
        let opcode = match (types.pointer(value.ty), types.pointer(ty)) {
            (Some(_), None) if is_vector(ty) => {
                let address = self.temporary(&format!("ptrtoint {} to i64", value.typed()));
                self.result(id, &format!("bitcast i64 {address} to {to}"));
                return Ok(());
            }
            (None, Some(_)) if is_vector(value.ty) => {
                let address = self.temporary(&format!("bitcast {} to i64", value.typed()));
                self.result(id, &format!("inttoptr i64 {address} to {to}"));
                return Ok(());
            }
            (Some((from, _)), Some((to, _))) if from == to => "bitcast",
            (Some(_), None) if self.module.is_int(ty, 64) => "ptrtoint",
            (None, Some(_)) if self.module.is_int(value.ty, 64) => "inttoptr",
            (None, None) => {
                let bits = |number: NumberType| number.kind.bits() * number.count;
                let number = types.number(ty).map(bits);
                match types.number(value.ty).map(bits) {
                    Some(bits) if Some(bits) == number => "bitcast",
                    _ => return Err(inst.invalid("the types have different sizes")),
                }
            }
            _ => return Err(inst.invalid("these types cannot be converted")),
        };
        self.result(id, &format!("{opcode} {} to {to}", value.typed()));
        Ok(())
    }
}
