//! Integers of odd widths, zero-extended in the next wider type.

use super::body::{BodyImporter, Leaves};
use super::refusal::{ImportRefusal, ImportResult};
use super::types::Leaf;
use crate::view::Val;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Op, Scalar, Value};
use llvm_sys::LLVMOpcode as Code;
use std::cmp::Ordering;

/// True for signed comparisons.
pub(super) fn is_signed(predicate: IntPredicate) -> bool {
    matches!(predicate, IntPredicate::Slt | IntPredicate::Sle | IntPredicate::Sgt | IntPredicate::Sge)
}

impl<'m> BodyImporter<'_, 'm> {
    /// Clears the bits above a width.
    pub(super) fn clear_upper_bits(&mut self, value: Value, bits: u32) -> ImportResult<Value> {
        let scalar = self.scalar(value);
        if bits >= scalar.bits() {
            return Ok(value);
        }
        let mask = self.bits(scalar, (1 << bits) - 1);
        self.op(Op::And, &[value, mask])
    }

    /// Sign-extends a value from a width to its container.
    pub(super) fn sign_extend(&mut self, value: Value, bits: u32) -> ImportResult<Value> {
        let scalar = self.scalar(value);
        let gap = self.int(scalar, i128::from(scalar.bits().saturating_sub(bits)));
        let up = self.op(Op::Shl, &[value, gap])?;
        self.op(Op::Ashr, &[up, gap])
    }

    /// Computes an op in the wider type. Drops poison-generating flags, which describe the narrow width.
    pub(super) fn odd_arithmetic(&mut self, op: Op, inst: Val<'m>, bits: u32) -> ImportResult<Leaves> {
        let operands = self.operands(inst)?;
        (0..operands[0].len())
            .map(|lane| {
                let mut args: Vec<Value> = operands.iter().map(|operand| operand[lane]).collect();
                // Shift amounts are unsigned.
                let signed = match op {
                    Op::Sdiv | Op::Srem => 2,
                    Op::Ashr => 1,
                    _ => 0,
                };
                for arg in &mut args[..signed] {
                    *arg = self.sign_extend(*arg, bits)?;
                }
                let value = self.op(op, &args)?;
                self.clear_upper_bits(value, bits)
            })
            .collect()
    }

    /// Reverses the bits of the container, and drops those that are above the width.
    pub(super) fn odd_bitreverse(&mut self, inst: Val<'m>, argument: Val<'m>) -> ImportResult<Leaves> {
        let bits = self.module.types.odd_bits(inst.ty()).unwrap_or(0);
        let values = self.leaves(argument)?;
        let reversed = values.iter().map(|&value| {
            let scalar = self.scalar(value);
            let gap = self.int(scalar, i128::from(scalar.bits().saturating_sub(bits)));
            let turned = self.op(Op::Bitreverse, &[value])?;
            self.op(Op::Lshr, &[turned, gap])
        });
        reversed.collect()
    }

    /// Imports a cast from or to an odd width.
    pub(super) fn odd_cast(
        &mut self,
        code: Code,
        operand: &Leaves,
        from: Option<u32>,
        to: &[Leaf],
    ) -> ImportResult<Leaves> {
        if code == Code::LLVMBitCast {
            let scalar_bits = operand.first().map_or(0, |&first| self.scalar(first).bits());
            return self.regroup_bits(operand, from.unwrap_or(scalar_bits), to);
        }
        let signs = matches!(code, Code::LLVMSExt | Code::LLVMSIToFP);
        let mut results = Leaves::new();
        for (&value, leaf) in operand.iter().zip(to) {
            let value = match from {
                Some(bits) if signs => self.sign_extend(value, bits)?,
                _ => value,
            };
            let to = leaf.scalar;
            let cast = match code {
                Code::LLVMTrunc | Code::LLVMZExt | Code::LLVMSExt => self.resized(value, to, signs)?,
                Code::LLVMUIToFP => self.op_to(Op::Uitofp, to, &[value])?,
                Code::LLVMSIToFP => self.op_to(Op::Sitofp, to, &[value])?,
                Code::LLVMFPToUI => self.op_to(Op::Fptoui, to, &[value])?,
                Code::LLVMFPToSI => self.op_to(Op::Fptosi, to, &[value])?,
                Code::LLVMPtrToInt | Code::LLVMPtrToAddr => self.op_to(Op::Ptrtoint, to, &[value])?,
                Code::LLVMIntToPtr => {
                    let int = self.resized(value, Scalar::I64, false)?;
                    self.op_to(Op::Inttoptr, to, &[int])?
                }
                _ => {
                    return Err(ImportRefusal::new("cast of odd integers", "use the next wider type"));
                }
            };
            results.push(if to.is_int() { self.clear_upper_bits(cast, leaf.bits)? } else { cast });
        }
        Ok(results)
    }

    /// Bitcasts between vectors of integers one of which has an odd width, through an integer of all bits.
    fn regroup_bits(&mut self, parts: &[Value], bits: u32, to: &[Leaf]) -> ImportResult<Leaves> {
        let refused = || ImportRefusal::new("cast of odd integers", "use the next wider type");
        let total = bits * parts.len() as u32;
        let Some(whole_type) = [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::I128]
            .into_iter()
            .find(|scalar| scalar.bits() >= total)
        else {
            return Err(refused());
        };
        if parts.iter().any(|&part| !self.scalar(part).is_int())
            || to.iter().any(|leaf| !leaf.scalar.is_int())
        {
            return Err(refused());
        }
        let mut whole = self.int(whole_type, 0);
        for (number, &part) in parts.iter().enumerate() {
            let mut wide = self.resized(part, whole_type, false)?;
            if number > 0 {
                let amount = self.int(whole_type, number as i128 * i128::from(bits));
                wide = self.op(Op::Shl, &[wide, amount])?;
            }
            whole = if number == 0 { wide } else { self.op(Op::Or, &[whole, wide])? };
        }
        let mut results = Leaves::new();
        for (number, leaf) in to.iter().enumerate() {
            let amount = self.int(whole_type, number as i128 * i128::from(leaf.bits));
            let shifted = if number == 0 { whole } else { self.op(Op::Lshr, &[whole, amount])? };
            let part = self.resized(shifted, leaf.scalar, false)?;
            results.push(self.clear_upper_bits(part, leaf.bits)?);
        }
        Ok(results)
    }

    /// Truncates or extends an integer.
    fn resized(&mut self, value: Value, to: Scalar, signs: bool) -> ImportResult<Value> {
        match self.scalar(value).bits().cmp(&to.bits()) {
            Ordering::Equal => Ok(value),
            Ordering::Greater => self.op_to(Op::Trunc, to, &[value]),
            Ordering::Less => self.op_to(if signs { Op::Sext } else { Op::Zext }, to, &[value]),
        }
    }
}
