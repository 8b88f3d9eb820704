//! Conversions and arithmetic that round to bf16 once.
//!
//! Only recent CPUs round to bf16 in hardware. LLVM 22.1 calls a function per lane on x86; on AArch64, in vectors of
//! eight lanes, it takes the tie-breaking bit from a wrong operand. So floats are rounded by integer arithmetic here.
//! bf16 arithmetic runs in f32, whose precision is more than twice that of bf16, which makes double rounding
//! harmless.
//!
//! LLVM 22.1 converts integers through f32 on x86, which rounds integers of more than 24 bits twice, and cannot
//! compile i128 on AArch64. f64 holds 48 bits exactly. For wider integers only the upper bits are converted and
//! scaled; their last bit is set if any lower bit was set (rounding to odd), so the final rounding is the only one.

use super::assembler::ValueHandle;
use super::function::BodyEmitter;
use super::memory::ordering;
use heddle_ir::inst::{Access, InstData};
use heddle_ir::words::{AtomicOrdering, Flag, FloatPredicate, IntPredicate, Rmw, SyncScope};
use heddle_ir::{Op, Scalar, Type};
use llvm_sys::LLVMOpcode as Code;

/// Integer bits converted exactly through f64.
const KEPT: u32 = 48;

/// True for conversions that LLVM would round twice.
pub(super) fn is_rounded_twice(op: Op, from: Type, to: Type) -> bool {
    matches!(op, Op::Sitofp | Op::Uitofp) && to.scalar() == Scalar::BF16 && from.scalar().bits() > 16
}

impl BodyEmitter<'_, '_> {
    /// Converts integers of more than 16 bits, or vectors of them, to bf16.
    pub(super) fn to_bf16(&self, op: Op, number: ValueHandle, from: Type, to: Type) -> ValueHandle {
        let asm = &self.module.asm;
        let (shift_right, convert) = match op {
            Op::Sitofp => (Code::LLVMAShr, Code::LLVMSIToFP),
            _ => (Code::LLVMLShr, Code::LLVMUIToFP),
        };
        let all = |ty: Type, bits: u128| {
            let one = asm.scalar(ty.scalar(), bits);
            ty.lanes().map_or(one, |lanes| asm.vector(&vec![one; usize::from(lanes)]))
        };
        let double = from.with_scalar(Scalar::F64);
        let power = |exponent: u32| all(double, u128::from(1023 + exponent) << 52);
        let bits = from.scalar().bits();
        let shifted = |by: u32| asm.binary(shift_right, number, all(from, by.into()));
        // The last bit is sticky: it represents all bits cut off.
        let cut = |by: u32| {
            let low = asm.binary(Code::LLVMAnd, number, all(from, (1 << by) - 1));
            let is_some = asm.icmp(IntPredicate::Ne, low, all(from, 0));
            asm.binary(Code::LLVMOr, shifted(by), asm.cast(Code::LLVMZExt, is_some, asm.ty(from)))
        };
        let fits = |value: ValueHandle| {
            let around = all(from, (bits - KEPT).into());
            let back = asm.binary(shift_right, asm.binary(Code::LLVMShl, value, around), around);
            asm.icmp(IntPredicate::Eq, back, value)
        };
        // Shift amounts, smallest sufficient one first. A value that needs the next step keeps at least 15 bits after
        // it.
        let steps: &[u32] = match bits {
            ..=32 => &[],
            33..=64 => &[0, 16],
            _ => &[0, 32, 64, 80],
        };
        let (mut kept, mut scale) = (number, None);
        if let [less @ .., most] = steps {
            (kept, scale) = (cut(*most), Some(power(*most)));
            for &by in less.iter().rev() {
                let (value, is_enough) = match by {
                    0 => (number, fits(number)),
                    _ => (cut(by), fits(shifted(by))),
                };
                kept = asm.select(is_enough, value, kept);
                scale = scale.map(|scale| asm.select(is_enough, power(by), scale));
            }
        }
        if bits > 64 {
            kept = asm.cast(Code::LLVMTrunc, kept, asm.ty(from.with_scalar(Scalar::I64)));
        }
        let mut exact = asm.cast(convert, kept, asm.ty(double));
        if let Some(scale) = scale {
            exact = asm.binary(Code::LLVMFMul, exact, scale);
        }
        self.round_to_bf16(exact, double, to)
    }

    /// Emits bf16 arithmetic in f32.
    pub(super) fn in_f32(
        &self,
        args: &[ValueHandle],
        ty: Type,
        compute: impl Fn(&[ValueHandle], Type) -> ValueHandle,
    ) -> ValueHandle {
        let asm = &self.module.asm;
        let single = ty.with_scalar(Scalar::F32);
        let args: Vec<ValueHandle> =
            args.iter().map(|&arg| asm.cast(Code::LLVMFPExt, arg, asm.ty(single))).collect();
        self.round_to_bf16(compute(&args, single), single, ty)
    }

    /// Rounds f32 or f64 to bf16.
    pub(super) fn round_to_bf16(&self, value: ValueHandle, from: Type, to: Type) -> ValueHandle {
        let asm = &self.module.asm;
        asm.cast(Code::LLVMBitCast, self.bits_of_bf16(value, from), asm.ty(to))
    }

    /// Returns the bits of f32 or f64 rounded to bf16.
    fn bits_of_bf16(&self, value: ValueHandle, from: Type) -> ValueHandle {
        let asm = &self.module.asm;
        let (single, word) = (from.with_scalar(Scalar::F32), from.with_scalar(Scalar::I32));
        let all = |bits: u128| {
            let one = asm.scalar(Scalar::I32, bits);
            from.lanes().map_or(one, |lanes| asm.vector(&vec![one; usize::from(lanes)]))
        };
        let bits_of = |value: ValueHandle| asm.cast(Code::LLVMBitCast, value, asm.ty(word));
        let bits = match from.scalar() {
            // Round to odd: the last bit is sticky, so the second rounding is correct.
            Scalar::F64 => {
                let near = asm.cast(Code::LLVMFPTrunc, value, asm.ty(single));
                let back = asm.cast(Code::LLVMFPExt, near, asm.ty(from));
                let [size, wanted] =
                    [back, value].map(|it| asm.intrinsic("llvm.fabs", &[asm.ty(from)], &[it]));
                let is_further =
                    asm.cast(Code::LLVMZExt, asm.fcmp(FloatPredicate::Ogt, size, wanted), asm.ty(word));
                let cut = asm.binary(Code::LLVMSub, bits_of(near), is_further);
                let odd = asm.binary(Code::LLVMOr, cut, all(1));
                asm.select(asm.fcmp(FloatPredicate::One, back, value), odd, bits_of(near))
            }
            _ => bits_of(value),
        };
        let last = asm.binary(Code::LLVMAnd, asm.binary(Code::LLVMLShr, bits, all(16)), all(1));
        let up = asm.binary(Code::LLVMAdd, asm.binary(Code::LLVMAdd, bits, all(0x7fff)), last);
        let is_nan = asm.fcmp(FloatPredicate::Uno, value, value);
        let quiet = asm.binary(Code::LLVMOr, bits, all(0x40_0000));
        let rounded = asm.binary(Code::LLVMLShr, asm.select(is_nan, quiet, up), all(16));
        asm.cast(Code::LLVMTrunc, rounded, asm.ty(from.with_scalar(Scalar::I16)))
    }

    /// Emits a bf16 atomic as a call of a compare-exchange loop on its bits; none for other types. LLVM 22.1's own
    /// loop rounds the expected value again, which on x86 may flush a subnormal to zero, and then never terminates.
    ///
    /// ```text
    ///     i16 @heddle.rmw.….bf16(ptr, i16):  old = load; again: old = φ; cmpxchg old, round(f32(old) op f32(operand))
    /// ```
    pub(super) fn rmw_of_bf16(
        &self,
        rmw: Rmw,
        data: &InstData,
        args: &[ValueHandle],
        ty: Type,
        access: &Access,
    ) -> Option<ValueHandle> {
        let asm = &self.module.asm;
        let single = Type::from(Scalar::F32);
        let compute = |old: ValueHandle, operand: ValueHandle| match rmw {
            Rmw::Fadd => Some(asm.binary(Code::LLVMFAdd, old, operand)),
            Rmw::Fsub => Some(asm.binary(Code::LLVMFSub, old, operand)),
            Rmw::Fmin => Some(asm.intrinsic("llvm.minnum", &[asm.ty(single)], &[old, operand])),
            Rmw::Fmax => Some(asm.intrinsic("llvm.maxnum", &[asm.ty(single)], &[old, operand])),
            _ => None,
        };
        let is_arithmetic = matches!(rmw, Rmw::Fadd | Rmw::Fsub | Rmw::Fmin | Rmw::Fmax);
        if ty.scalar() != Scalar::BF16 || !is_arithmetic {
            return None;
        }
        let (order, scope) = access.atomic.unwrap_or((AtomicOrdering::SeqCst, SyncScope::System));
        let (is_single, is_volatile) = (scope == SyncScope::Lane, data.flags.has(Flag::Volatile));
        let (half, pointer) = (asm.int_ty(16), asm.type_of(args[0]));
        let space = asm.space_of(pointer);
        let name = format!(
            "heddle.rmw.{rmw:?}.{order:?}.{}{}{space}.{}.bf16",
            if is_single { "lane." } else { "" },
            if is_volatile { "volatile." } else { "" },
            access.align
        );
        let function_ty = asm.function_ty(half, &[pointer, half]);
        let func = asm.function_named(&name, function_ty);
        if asm.is_declared(func) {
            let here = asm.here();
            asm.set_internal(func);
            let [entry, again, end] = [(); 3].map(|()| asm.add_label(func));
            let as_single = |bits: ValueHandle| {
                let word = asm.cast(Code::LLVMZExt, bits, asm.int_ty(32));
                let word = asm.binary(Code::LLVMShl, word, asm.int(32, 16));
                asm.cast(Code::LLVMBitCast, word, asm.ty(single))
            };
            asm.position_at_end(entry);
            let (address, operand) = (asm.param(func, 0), as_single(asm.param(func, 1)));
            let first = asm.load(half, address, access.align);
            asm.make_atomic(first, ordering(AtomicOrdering::Relaxed), is_single);
            asm.jump(again);
            asm.position_at_end(again);
            let old = asm.phi(half);
            let new = self.bits_of_bf16(compute(as_single(old), operand)?, single);
            let orders = [order, AtomicOrdering::Relaxed].map(ordering);
            let both = asm.exchange([address, old, new], orders, is_single, access.align);
            if is_volatile {
                asm.make_volatile(first);
                asm.make_volatile(both);
            }
            let seen = asm.field(both, 0);
            asm.branch(asm.field(both, 1), end, again);
            asm.add_incoming(old, first, entry);
            asm.add_incoming(old, seen, again);
            asm.position_at_end(end);
            asm.ret(Some(seen));
            asm.position_at_end(here);
        }
        let operand = asm.cast(Code::LLVMBitCast, args[1], half);
        let old = asm.call(function_ty, func, &[args[0], operand]);
        Some(asm.cast(Code::LLVMBitCast, old, asm.ty(ty)))
    }
}
