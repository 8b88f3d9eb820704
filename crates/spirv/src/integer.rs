//! Instructions of extensions on numbers: Intel's integer functions, functions of three bits, fused products, sizes.

use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::function::{FunctionWriter, PURE};
use crate::instruction::OperandClass;
use crate::mangle::{MangledNumber, MangledType};
use crate::types::{NumberKind, NumberType};
use spirv::Op;

/// Returns the builtin of an integer function, and whether its operands are signed.
fn integer_builtin(op: Op) -> Option<(&'static str, bool)> {
    Some(match op {
        Op::UCountLeadingZerosINTEL => ("clz", false),
        Op::UCountTrailingZerosINTEL => ("ctz", false),
        Op::AbsISubINTEL => ("abs_diff", true),
        Op::AbsUSubINTEL => ("abs_diff", false),
        Op::IAddSatINTEL => ("add_sat", true),
        Op::UAddSatINTEL => ("add_sat", false),
        Op::ISubSatINTEL => ("sub_sat", true),
        Op::USubSatINTEL => ("sub_sat", false),
        Op::IAverageINTEL => ("hadd", true),
        Op::UAverageINTEL => ("hadd", false),
        Op::IAverageRoundedINTEL => ("rhadd", true),
        Op::UAverageRoundedINTEL => ("rhadd", false),
        _ => return None,
    })
}

impl FunctionWriter<'_, '_> {
    /// Writes an integer function of Intel's; false for other instructions.
    pub(crate) fn integer_function(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<bool> {
        if let Op::IMul32x16INTEL | Op::UMul32x16INTEL = op {
            self.short_product(inst, op == Op::IMul32x16INTEL)?;
            return Ok(true);
        }
        let Some((name, is_signed)) = integer_builtin(op) else { return Ok(false) };
        let (number, _) = self.result_of(inst, OperandClass::Int)?;
        let count = if matches!(name, "clz" | "ctz") { 1 } else { 2 };
        self.call_same(inst, name, number, is_signed, count)?;
        Ok(true)
    }

    /// Calls a builtin whose operands are of the result's type.
    fn call_same(
        &mut self,
        inst: &SpirvInst<'_>,
        name: &str,
        number: NumberType,
        is_signed: bool,
        count: usize,
    ) -> SpirvResult<()> {
        let text = number.text();
        let mangled =
            MangledType::Number(MangledNumber { kind: number.kind, is_signed, count: number.count });
        let mut args = Vec::new();
        for index in 2..2 + count {
            let value = self.operand_of(inst, index, &text)?;
            args.push((value.type_text, value.text));
        }
        let call = self.builtin_call(name, &text, &vec![mangled; count], &args, PURE);
        self.result(inst.operand(1)?, &call);
        Ok(())
    }

    /// Product of 32 bits by 16 bits.
    fn short_product(&mut self, inst: &SpirvInst<'_>, is_signed: bool) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Int)?;
        let text = number.text();
        let left = self.operand_of(inst, 2, &text)?;
        let right = self.operand(inst, 3)?;
        let short = number.with(NumberKind::Int(16));
        if number.kind != NumberKind::Int(32) || right.type_text != short.text() {
            return Err(inst.invalid("the factors are not of 32 and 16 bits"));
        }
        let cast = if is_signed { "sext" } else { "zext" };
        let wide = self.temporary(&format!("{cast} {} to {text}", right.typed()));
        self.result(id, &format!("mul {text} {}, {wide}", left.text));
        Ok(())
    }

    pub(crate) fn fma(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (number, _) = self.result_of(inst, OperandClass::Float)?;
        self.call_same(inst, "fma", number, true, 3)
    }

    /// Size of the object that a pointer refers to.
    pub(crate) fn size_of(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Int)?;
        let (_, _, pointee) = self.pointer(inst, 2)?;
        if number.is_vector || !self.module.types.is_sized(pointee) {
            return Err(inst.invalid("the object has no size"));
        }
        let bytes = self.module.types.get(pointee).map_or(0, |ty| ty.bytes);
        self.alias(id, &number.text(), &bytes.to_string());
        Ok(())
    }

    /// Function of three bits in each place: bit `4a + 2b + c` of the table is the result.
    pub(crate) fn bitwise_function(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Int)?;
        let text = number.text();
        let Some(table) = self.module.constant_bits(inst.operand(5)?).filter(|&table| table < 256) else {
            return Err(inst.invalid("the table is no constant of 8 bits"));
        };
        let mut sides = Vec::new();
        for index in 2..5 {
            let value = self.operand_of(inst, index, &text)?.text;
            let ones = number.splat("-1");
            let negated = self.temporary(&format!("xor {text} {value}, {ones}"));
            sides.push([negated, value]);
        }
        let mut whole = number.splat("0");
        for bits in (0..8).filter(|bits| table >> bits & 1 != 0) {
            let [a, b, c] = [2, 1, 0].map(|place| bits >> place & 1);
            let both = self.temporary(&format!("and {text} {}, {}", sides[0][a], sides[1][b]));
            let all = self.temporary(&format!("and {text} {both}, {}", sides[2][c]));
            whole = self.temporary(&format!("or {text} {whole}, {all}"));
        }
        self.alias(id, &text, &whole);
        Ok(())
    }
}
