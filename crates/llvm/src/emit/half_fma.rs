//! `fma` of f16 and bf16, rounded once.
//!
//! LLVM 22.1 computes it in f32 and rounds again, which errs by one unit where the first rounding lands halfway
//! between two halves. The product is exact in a wider format: f32 for f16, f64 for bf16. Two-sum gives the exact
//! error of the sum, which sets the last bit of the sum (rounding to odd), so that the final rounding is the only
//! one.

use super::assembler::ValueHandle;
use super::function::BodyEmitter;
use heddle_ir::words::{FloatPredicate, IntPredicate};
use heddle_ir::{Scalar, Type};
use llvm_sys::LLVMOpcode as Code;

impl BodyEmitter<'_, '_> {
    /// Emits `a * b + c` of halves, or of vectors of halves.
    pub(super) fn fma_of_halves(&self, args: &[ValueHandle], ty: Type) -> ValueHandle {
        let asm = &self.module.asm;
        let is_brain = ty.scalar() == Scalar::BF16;
        let (float, int) = if is_brain { (Scalar::F64, Scalar::I64) } else { (Scalar::F32, Scalar::I32) };
        let (wide, word) = (ty.with_scalar(float), ty.with_scalar(int));
        let widened = |arg: ValueHandle| asm.cast(Code::LLVMFPExt, arg, asm.ty(wide));
        let (add, subtract) = (Code::LLVMFAdd, Code::LLVMFSub);
        let product = asm.binary(Code::LLVMFMul, widened(args[0]), widened(args[1]));
        let more = widened(args[2]);
        let sum = asm.binary(add, product, more);
        let of_more = asm.binary(subtract, sum, product);
        let of_product = asm.binary(subtract, sum, of_more);
        let lacks =
            [(product, of_product), (more, of_more)].map(|(whole, part)| asm.binary(subtract, whole, part));
        let lack = asm.binary(add, lacks[0], lacks[1]);

        let all = |scalar: Scalar, bits: u128| {
            let one = asm.scalar(scalar, bits);
            ty.lanes().map_or(one, |lanes| asm.vector(&vec![one; usize::from(lanes)]))
        };
        let bits_of = |value: ValueHandle| asm.cast(Code::LLVMBitCast, value, asm.ty(word));
        // The sum exceeds the exact one in magnitude if its error has the other sign.
        let signs = asm.binary(Code::LLVMXor, bits_of(sum), bits_of(lack));
        let is_further = asm.icmp(IntPredicate::Slt, signs, all(int, 0));
        let cut = asm.binary(Code::LLVMSub, bits_of(sum), asm.cast(Code::LLVMZExt, is_further, asm.ty(word)));
        let odd = asm.binary(Code::LLVMOr, cut, all(int, 1));
        // Infinities and NaN are exact: their error is NaN.
        let is_inexact = asm.fcmp(FloatPredicate::One, lack, all(float, 0));
        let bits = asm.select(is_inexact, odd, bits_of(sum));
        let sum = asm.cast(Code::LLVMBitCast, bits, asm.ty(wide));
        match is_brain {
            true => self.round_to_bf16(sum, wide, ty),
            false => asm.cast(Code::LLVMFPTrunc, sum, asm.ty(ty)),
        }
    }
}
