//! Import of constants: interned if known at compile time, computed in the prologue if only the loader knows them.

use super::body::{BodyImporter, Leaves};
use super::refusal::{ImportRefusal, ImportResult};
use super::types::Leaf;
use crate::view::Val;
use heddle_ir::inst::InstData;
use heddle_ir::{Constant, Op, Scalar, Type};
use llvm_sys::{LLVMOpcode as Code, LLVMValueKind as Kind};

const MAX_DEPTH: u32 = 64;

impl<'m> BodyImporter<'_, 'm> {
    /// Returns the scalars of a constant.
    pub(super) fn constant(&mut self, value: Val<'m>, depth: u32) -> ImportResult<Leaves> {
        if depth > MAX_DEPTH {
            return Err(ImportRefusal::new("a constant is nested too deeply", "compute it step by step"));
        }
        if let Some(cached) = self.values.get(&value) {
            return Ok(cached.clone());
        }
        let before = std::mem::replace(&mut self.in_prologue, true);
        let imported = self.make_constant(value, depth);
        self.in_prologue = before;
        let imported = imported?;
        self.values.insert(value, imported.clone());
        Ok(imported)
    }

    fn make_constant(&mut self, value: Val<'m>, depth: u32) -> ImportResult<Leaves> {
        let ty = value.ty();
        let leaves = self.module.types.leaves(ty)?;
        let scalar = leaves.first().map(|leaf| leaf.scalar);
        match (value.kind(), scalar) {
            (Kind::LLVMConstantIntValueKind | Kind::LLVMConstantFPValueKind, Some(scalar))
                if !ty.is_vector() =>
            {
                let bits = value.bits().ok_or_else(|| unknown(value))?;
                Ok(Leaves::from_slice(&[self.func.make_const(Constant::Scalar(scalar, bits))]))
            }
            (Kind::LLVMPoisonValueKind, _) => {
                Ok(leaves.iter().map(|leaf| self.func.make_poison(leaf.scalar.into())).collect())
            }
            (Kind::LLVMUndefValueValueKind, _) => {
                leaves.iter().map(|leaf| self.undefined_leaf(leaf)).collect()
            }
            (Kind::LLVMConstantAggregateZeroValueKind | Kind::LLVMConstantPointerNullValueKind, _) => {
                Ok(leaves.iter().map(|leaf| self.func.make_const(Constant::Scalar(leaf.scalar, 0))).collect())
            }
            (
                Kind::LLVMConstantArrayValueKind
                | Kind::LLVMConstantStructValueKind
                | Kind::LLVMConstantVectorValueKind
                | Kind::LLVMConstantDataArrayValueKind
                | Kind::LLVMConstantDataVectorValueKind
                | Kind::LLVMConstantIntValueKind
                | Kind::LLVMConstantFPValueKind,
                _,
            ) => {
                let mut all = Leaves::new();
                for index in 0..ty.count() as u32 {
                    let part = value.aggregate_element(index).ok_or_else(|| unknown(value))?;
                    all.extend(self.constant(part, depth + 1)?);
                }
                Ok(all)
            }
            (Kind::LLVMGlobalVariableValueKind, Some(scalar)) => match self.module.globals.get(&value) {
                Some(Ok((space, name))) => {
                    let address = self.func.make_const(Constant::Address(*space, name.clone()));
                    Ok(Leaves::from_slice(&[self.in_space(address, scalar)?]))
                }
                Some(Err(why)) => {
                    Err(ImportRefusal::new(format!("use of @{}: {}", value.name(), why.reason), &why.help))
                }
                None => Err(unknown(value)),
            },
            (Kind::LLVMGlobalAliasValueKind, _) => self.constant(value.aliasee(), depth + 1),
            (Kind::LLVMFunctionValueKind, Some(scalar)) => {
                Ok(Leaves::from_slice(&[self.function_address(value, scalar)?]))
            }
            (Kind::LLVMBlockAddressValueKind, _) => {
                Err(ImportRefusal::new("address of a label", "use a switch instead of a computed goto"))
            }
            (Kind::LLVMConstantExprValueKind, _) => self.constant_expression(value, depth),
            _ => Err(unknown(value)),
        }
    }

    fn constant_expression(&mut self, value: Val<'m>, depth: u32) -> ImportResult<Leaves> {
        let mut operands = Vec::new();
        for operand in value.operands() {
            operands.push(self.constant(operand, depth + 1)?);
        }
        match value.const_opcode() {
            Code::LLVMGetElementPtr => self.gep(value, &operands),
            _ if self.module.types.odd_bits(value.ty()).is_some() => Err(unknown(value)),
            Code::LLVMAdd => self.lanewise(Op::Add, &operands),
            Code::LLVMSub => self.lanewise(Op::Sub, &operands),
            Code::LLVMXor => self.lanewise(Op::Xor, &operands),
            code @ (Code::LLVMTrunc
            | Code::LLVMPtrToInt
            | Code::LLVMPtrToAddr
            | Code::LLVMIntToPtr
            | Code::LLVMBitCast
            | Code::LLVMAddrSpaceCast) => self.cast(code, value, &operands[0]),
            _ => Err(unknown(value)),
        }
    }

    fn undefined_leaf(&mut self, leaf: &Leaf) -> ImportResult<heddle_ir::Value> {
        let any = self.undefined(leaf.scalar)?;
        self.clear_upper_bits(any, leaf.bits)
    }

    /// Returns the frozen poison value that stands for `undef`.
    pub(super) fn undefined(&mut self, scalar: Scalar) -> ImportResult<heddle_ir::Value> {
        if let Some(&cached) = self.undefined.get(&scalar) {
            return Ok(cached);
        }
        let poison = self.func.make_poison(Type::Scalar(scalar));
        let before = std::mem::replace(&mut self.in_prologue, true);
        let frozen = self.emit(InstData::plain(Op::Freeze, [poison]), None);
        self.in_prologue = before;
        let frozen = frozen?;
        self.undefined.insert(scalar, frozen);
        Ok(frozen)
    }
}

fn unknown(value: Val<'_>) -> ImportRefusal {
    ImportRefusal::new(
        format!("constant `{}` is not known before the program is loaded", value.text()),
        "compute it",
    )
}
