//! Extensions of 32-bit numbers, which LLVM writes as shifts of 64 bits where these are the machine's fastest.
//!
//! ```text
//!   ashr (shl %x, 32), 32                        sext (trunc %x)
//!   ashr (add (shl %x, 32), 1 << 32), 30         shl nsw (sext (add (trunc %x), 1)), 2
//!   lshr (shl %x, 32), 31                        shl nuw nsw (zext (trunc %x)), 1
//!   ashr (mul %x, 3 << 32), 30                   shl nsw (sext (mul (trunc %x), 3)), 2
//! ```
//!
//! Comparisons of two such extensions compare what they extend, and comparisons of masked lower halves with constants compare halves. As
//! extensions, indices have the shapes and the access patterns of the source's. Only numbers whose lower 32 bits are zeros are taken, so that
//! a shift to the right loses nothing and `exact` does not matter.

use super::body::{BodyImporter, Leaves};
use super::refusal::ImportResult;
use crate::view::Val;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Constant, Op, Scalar, Value};
use llvm_sys::{LLVMOpcode as Code, LLVMValueKind};

const HALF: u128 = 32;
const BITS: u32 = 64;
/// Maximum depth of sums of shifted numbers.
const MAX_DEPTH: u32 = 4;

impl<'m> BodyImporter<'_, 'm> {
    /// Imports a shift to the right of a number whose lower half is 0; none for other numbers.
    pub(super) fn extension(&mut self, inst: Val<'m>) -> ImportResult<Option<Leaves>> {
        let amount = inst.operand(1).bits().filter(|amount| (1..=HALF).contains(amount));
        let Some(amount) = amount.filter(|_| inst.ty().is_int(BITS)) else { return Ok(None) };
        let shifted = inst.operand(0);
        if shifted.is_constant() || !has_empty_lower_half(shifted, MAX_DEPTH) {
            return Ok(None);
        }
        let upper = self.upper_half(shifted)?;
        let (extend, flags) = match inst.opcode() {
            Code::LLVMAShr => (Op::Sext, Flags::of(&[Flag::Nsw])),
            _ => (Op::Zext, Flags::of(&[Flag::Nuw, Flag::Nsw])),
        };
        let mut value = self.op_to(extend, Scalar::I64, &[upper])?;
        if amount < HALF {
            let left = self.int(Scalar::I64, (HALF - amount) as i128);
            value = self.op_with(Op::Shl, &[value, left], flags)?;
        }
        Ok(Some([value].into_iter().collect()))
    }

    /// Returns two numbers of 32 bits that compare as their extensions do: LLVM does not see through shifts.
    pub(super) fn before_extensions(&self, a: Value, b: Value) -> Option<[Value; 2]> {
        let source = |value: Value| {
            let inst = self.func.inst(self.func.def_inst(value)?);
            let keeps_sign = inst.op == Op::Sext || inst.op == Op::Zext && inst.flags.has(Flag::Nneg);
            let source = inst.args.first().copied().filter(|_| keeps_sign)?;
            (self.scalar(source) == Scalar::I32).then_some(source)
        };
        let is_wide = self.scalar(a) == Scalar::I64 && self.scalar(b) == Scalar::I64;
        if is_wide { Some([source(a)?, source(b)?]) } else { None }
    }

    /// Emits the lower halves of a number whose upper half is cleared, and of a constant without upper half: they are equal where these are.
    /// LLVM writes `(int)id == 0` so where 64 bits are the machine's fastest.
    pub(super) fn lower_halves(&mut self, a: Value, b: Value) -> ImportResult<Option<[Value; 2]>> {
        const LOWER: u128 = (1 << HALF) - 1;
        let bits = |value: Value| self.func.constant(value).and_then(Constant::splat_bits);
        let Some(bits_of_b) = bits(b).filter(|&bits| bits <= LOWER) else { return Ok(None) };
        let Some(inst) = self.func.def_inst(a).filter(|_| self.scalar(a) == Scalar::I64) else {
            return Ok(None);
        };
        let data = self.func.inst(inst);
        let [number, mask] = data.args[..] else { return Ok(None) };
        if data.op != Op::And || bits(mask) != Some(LOWER) {
            return Ok(None);
        }
        let lower = self.op_to(Op::Trunc, Scalar::I32, &[number])?;
        Ok(Some([lower, self.bits(Scalar::I32, bits_of_b)]))
    }

    /// Emits the upper half of a number whose lower half is 0.
    fn upper_half(&mut self, value: Val<'m>) -> ImportResult<Value> {
        if let Some(bits) = value.bits() {
            return Ok(self.bits(Scalar::I32, bits >> HALF));
        }
        let op = match value.opcode() {
            Code::LLVMAdd => Op::Add,
            Code::LLVMSub => Op::Sub,
            _ => {
                let number = self.operand(value, 0)?;
                let lower = self.op_to(Op::Trunc, Scalar::I32, &[number])?;
                if value.opcode() == Code::LLVMMul {
                    let factor = value.operand(1).bits().map_or(0, |factor| factor >> HALF);
                    let factor = self.bits(Scalar::I32, factor);
                    return self.op(Op::Mul, &[lower, factor]);
                }
                let amount = value.operand(1).bits().map_or(0, |amount| amount - HALF);
                if amount == 0 {
                    return Ok(lower);
                }
                let amount = self.int(Scalar::I32, amount as i128);
                return self.op(Op::Shl, &[lower, amount]);
            }
        };
        let halves = [self.upper_half(value.operand(0))?, self.upper_half(value.operand(1))?];
        self.op(op, &halves)
    }
}

/// True for shifts by 32 to 63 bits, products with 2^32, constants, and sums of these.
fn has_empty_lower_half(value: Val<'_>, depth: u32) -> bool {
    if value.kind() != LLVMValueKind::LLVMInstructionValueKind {
        return is_empty_constant(value);
    }
    match value.opcode() {
        Code::LLVMShl => {
            value.operand(1).bits().is_some_and(|amount| (HALF..u128::from(BITS)).contains(&amount))
        }
        Code::LLVMMul => is_empty_constant(value.operand(1)),
        Code::LLVMAdd | Code::LLVMSub if depth > 0 => {
            value.operands().all(|operand| has_empty_lower_half(operand, depth - 1))
        }
        _ => false,
    }
}

fn is_empty_constant(value: Val<'_>) -> bool {
    value.bits().is_some_and(|bits| bits & ((1 << HALF) - 1) == 0)
}
