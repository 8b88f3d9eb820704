//! Dispatch of all instructions that are no terminators, and checks that they share.

use crate::arithmetic::{binary_opcode, comparison};
use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::function::{FunctionWriter, SpirvValue};
use crate::module::is_annotation;
use crate::types::{NumberKind, NumberType};
use spirv::Op;

/// Class of the operands of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperandClass {
    Int,
    Float,
    Bool,
}

impl OperandClass {
    pub(crate) fn holds(self, kind: NumberKind) -> bool {
        match self {
            OperandClass::Int => kind.is_int(),
            OperandClass::Float => kind.is_float(),
            OperandClass::Bool => kind == NumberKind::Bool,
        }
    }
}

impl<'w> FunctionWriter<'_, 'w> {
    /// Writes an instruction that is no terminator.
    pub(crate) fn instruction(&mut self, inst: &SpirvInst<'w>, op: Op) -> SpirvResult<()> {
        if let Some((opcode, class)) = binary_opcode(op) {
            return self.binary(inst, opcode, class);
        }
        if let Some((opcode, class)) = comparison(op) {
            return self.compare(inst, opcode, class);
        }
        match op {
            Op::Nop
            | Op::LoopMerge
            | Op::SelectionMerge
            | Op::LoopControlINTEL
            | Op::LifetimeStart
            | Op::LifetimeStop
            | Op::UntypedPrefetchKHR
            | Op::SubgroupBlockPrefetchINTEL => Ok(()),
            Op::Undef => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                let text = self.sized_text(inst, ty)?;
                self.alias(id, &text, "undef");
                Ok(())
            }
            Op::Phi => self.phi(inst),
            Op::Variable | Op::UntypedVariableKHR => self.variable(inst),
            Op::FunctionCall => self.call(inst),
            Op::ExtInst | Op::ExtInstWithForwardRefsKHR => self.extended(inst),
            Op::ShiftLeftLogical => self.shift(inst, "shl"),
            Op::ShiftRightLogical => self.shift(inst, "lshr"),
            Op::ShiftRightArithmetic => self.shift(inst, "ashr"),
            Op::SMod => self.signed_modulo(inst),
            Op::FMod => self.float_modulo(inst),
            Op::SNegate => {
                self.unary(inst, OperandClass::Int, |it| format!("sub {} {}, {}", it.0, it.1, it.2))
            }
            Op::Not => self.unary_ones(inst, OperandClass::Int),
            Op::LogicalNot => self.unary_ones(inst, OperandClass::Bool),
            Op::FNegate => {
                let flags = self.fast_flags(inst, false);
                self.unary(inst, OperandClass::Float, |(ty, _, value)| format!("fneg {flags}{ty} {value}"))
            }
            Op::BitCount | Op::BitReverse => {
                let name = if op == Op::BitCount { "ctpop" } else { "bitreverse" };
                self.bit_intrinsic(inst, name)
            }
            Op::BitFieldInsert | Op::BitFieldSExtract | Op::BitFieldUExtract => self.bit_field(inst, op),
            Op::VectorTimesScalar => self.vector_times_scalar(inst),
            Op::Dot => self.dot(inst),
            Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => {
                self.integer_dot(inst, op)
            }
            Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => {
                self.extended_pair(inst, op)
            }
            Op::Any | Op::All => self.reduce_bits(inst, op == Op::Any),
            Op::IsNan | Op::IsInf | Op::IsFinite | Op::IsNormal | Op::SignBitSet => self.classify(inst, op),
            Op::Select => self.select(inst),
            Op::ConvertFToU => self.convert(inst, OperandClass::Float, OperandClass::Int, "fptoui", false),
            Op::ConvertFToS => self.convert(inst, OperandClass::Float, OperandClass::Int, "fptosi", true),
            Op::ConvertSToF => self.convert(inst, OperandClass::Int, OperandClass::Float, "sitofp", true),
            Op::ConvertUToF => self.convert(inst, OperandClass::Int, OperandClass::Float, "uitofp", false),
            Op::FConvert => self.convert(inst, OperandClass::Float, OperandClass::Float, "fp", true),
            Op::UConvert => self.convert(inst, OperandClass::Int, OperandClass::Int, "zext", false),
            Op::SConvert => self.convert(inst, OperandClass::Int, OperandClass::Int, "sext", true),
            Op::SatConvertSToU => self.saturate(inst, true),
            Op::SatConvertUToS => self.saturate(inst, false),
            Op::ConvertFToBF16INTEL | Op::ConvertBF16ToFINTEL => {
                self.bfloat(inst, op == Op::ConvertFToBF16INTEL)
            }
            Op::Bitcast => self.bitcast(inst),
            Op::ConvertPtrToU => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                let (value, ..) = self.pointer(inst, 2)?;
                let number = self.number_type(inst, ty)?;
                if !number.kind.is_int() || number.is_vector {
                    return Err(inst.invalid("the result is no integer"));
                }
                self.result(id, &format!("ptrtoint {} to {}", value.typed(), number.text()));
                Ok(())
            }
            Op::ConvertUToPtr => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                let value = self.operand(inst, 2)?;
                let number = self.number_of(inst, &value)?;
                if !number.kind.is_int() || number.is_vector || self.module.types.pointer(ty).is_none() {
                    return Err(inst.invalid("it converts no integer to a pointer"));
                }
                let to = self.type_text(inst, ty)?;
                self.result(id, &format!("inttoptr {} to {to}", value.typed()));
                Ok(())
            }
            Op::CompositeConstruct | Op::CompositeConstructReplicateEXT => self.construct(inst, op),
            Op::CompositeExtract => self.extract(inst),
            Op::CompositeInsert => self.insert(inst),
            Op::CopyLogical => self.copy_logical(inst),
            Op::CopyObject | Op::ArithmeticFenceEXT | Op::ExpectKHR => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                let text = self.type_text(inst, ty)?;
                let value = self.operand_of(inst, 2, &text)?;
                self.alias(id, &text, &value.text);
                Ok(())
            }
            Op::AssumeTrueKHR => {
                let condition = self.operand_of(inst, 0, "i1")?;
                self.output.declare_plain("llvm.assume", "void", "i1");
                self.line(&format!("call void @llvm.assume({})", condition.typed()));
                Ok(())
            }
            Op::VectorExtractDynamic => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                let vector = self.operand(inst, 2)?;
                let number = self.vector_of(inst, &vector)?;
                self.check_type(inst, ty, number.kind.text())?;
                let index = self.index(inst, 3)?;
                self.result(id, &format!("extractelement {}, {}", vector.typed(), index.typed()));
                Ok(())
            }
            Op::VectorInsertDynamic => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                let vector = self.operand(inst, 2)?;
                let number = self.vector_of(inst, &vector)?;
                self.check_type(inst, ty, &vector.type_text)?;
                let element = self.operand_of(inst, 3, number.kind.text())?;
                let index = self.index(inst, 4)?;
                let (vector, element, index) = (vector.typed(), element.typed(), index.typed());
                self.result(id, &format!("insertelement {vector}, {element}, {index}"));
                Ok(())
            }
            Op::VectorShuffle => self.shuffle(inst),
            Op::FmaKHR => self.fma(inst),
            Op::SizeOf => self.size_of(inst),
            Op::BitwiseFunctionINTEL => self.bitwise_function(inst),
            _ if self.integer_function(inst, op)? => Ok(()),
            _ if self.memory(inst, op)? => Ok(()),
            _ if self.group(inst, op)? || self.image(inst, op)? => Ok(()),
            _ if is_annotation(op) => Err(inst.invalid("the instruction belongs before the functions")),
            _ => Err(self.unsupported(inst)),
        }
    }

    /// Checks that a type has this text.
    pub(crate) fn check_type(&self, inst: &SpirvInst<'_>, ty: u32, wanted: &str) -> SpirvResult<()> {
        let text = self.type_text(inst, ty)?;
        match text == wanted {
            true => Ok(()),
            false => Err(inst.invalid(format!("the result is of type {text}, not {wanted}"))),
        }
    }

    /// Returns the type of a vector operand.
    pub(crate) fn vector_of(&self, inst: &SpirvInst<'_>, value: &SpirvValue) -> SpirvResult<NumberType> {
        let number = self.number_of(inst, value)?;
        match number.is_vector {
            true => Ok(number),
            false => Err(inst.invalid(format!("{} is no vector", self.module.show(value.id)))),
        }
    }

    /// Returns an integer operand.
    pub(crate) fn index(&mut self, inst: &SpirvInst<'_>, index: usize) -> SpirvResult<SpirvValue> {
        let value = self.operand(inst, index)?;
        let number = self.number_of(inst, &value)?;
        match number.kind.is_int() && !number.is_vector {
            true => Ok(value),
            false => Err(inst.invalid(format!("{} is no integer", self.module.show(value.id)))),
        }
    }

    /// Returns the result's type, checked for its class, and the result's id.
    pub(crate) fn result_of(
        &self,
        inst: &SpirvInst<'_>,
        class: OperandClass,
    ) -> SpirvResult<(NumberType, u32)> {
        let number = self.number_type(inst, inst.operand(0)?)?;
        if number.kind == NumberKind::BFloat {
            return Err(inst.unsupported("arithmetic of bfloat16 is not supported", "compute in float"));
        }
        match class.holds(number.kind) {
            true => Ok((number, inst.operand(1)?)),
            false => Err(inst.invalid(format!("the result cannot be of type {}", number.text()))),
        }
    }
}
