//! Integers of odd widths: held in the next wider type, the bits above zero.

use super::body::{BodyImporter, Leaves};
use super::refusal::{ImportRefusal, ImportResult};
use super::types::Leaf;
use crate::view::Val;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Op, Scalar, Value};
use llvm_sys::LLVMOpcode as Code;
use std::cmp::Ordering;

/// Whether the comparison asks for signs.
pub(super) fn is_signed(predicate: IntPredicate) -> bool {
    matches!(predicate, IntPredicate::Slt | IntPredicate::Sle | IntPredicate::Sgt | IntPredicate::Sge)
}

impl<'m> BodyImporter<'_, 'm> {
    /// The value with the bits above these cleared.
    pub(super) fn cut(&mut self, value: Value, bits: u32) -> ImportResult<Value> {
        let scalar = self.scalar(value);
        if bits >= scalar.bits() {
            return Ok(value);
        }
        let mask = self.bits(scalar, (1 << bits) - 1);
        self.op(Op::And, &[value, mask])
    }

    /// The value with the sign that it has in this many bits, all through its type.
    pub(super) fn with_sign(&mut self, value: Value, bits: u32) -> ImportResult<Value> {
        let scalar = self.scalar(value);
        let gap = self.int(scalar, i128::from(scalar.bits().saturating_sub(bits)));
        let up = self.op(Op::Shl, &[value, gap])?;
        self.op(Op::Ashr, &[up, gap])
    }

    /// An op in the wider type. What would be poison is some value: its promises are about other bits.
    pub(super) fn odd_arithmetic(&mut self, op: Op, inst: Val<'m>, bits: u32) -> ImportResult<Leaves> {
        let operands = self.operands(inst)?;
        (0..operands[0].len())
            .map(|lane| {
                let mut args: Vec<Value> = operands.iter().map(|operand| operand[lane]).collect();
                // The amount of a shift has no sign.
                let signed = match op {
                    Op::Sdiv | Op::Srem => 2,
                    Op::Ashr => 1,
                    _ => 0,
                };
                for arg in &mut args[..signed] {
                    *arg = self.with_sign(*arg, bits)?;
                }
                let value = self.op(op, &args)?;
                self.cut(value, bits)
            })
            .collect()
    }

    /// A cast from or to an odd width.
    pub(super) fn odd_cast(
        &mut self,
        code: Code,
        operand: &Leaves,
        from: Option<u32>,
        to: &[Leaf],
    ) -> ImportResult<Leaves> {
        let signs = matches!(code, Code::LLVMSExt | Code::LLVMSIToFP);
        let mut results = Leaves::new();
        for (&value, leaf) in operand.iter().zip(to) {
            let value = match from {
                Some(bits) if signs => self.with_sign(value, bits)?,
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
                    return Err(ImportRefusal::new(
                        "a cast of the bits of odd integers",
                        "use the next wider type",
                    ));
                }
            };
            results.push(if to.is_int() { self.cut(cast, leaf.bits)? } else { cast });
        }
        Ok(results)
    }

    /// An integer in another type.
    fn resized(&mut self, value: Value, to: Scalar, signs: bool) -> ImportResult<Value> {
        match self.scalar(value).bits().cmp(&to.bits()) {
            Ordering::Equal => Ok(value),
            Ordering::Greater => self.op_to(Op::Trunc, to, &[value]),
            Ordering::Less => self.op_to(if signs { Op::Sext } else { Op::Zext }, to, &[value]),
        }
    }
}
