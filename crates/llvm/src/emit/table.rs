//! The table: what each op is in LLVM.

use super::assembler::{TypeHandle, ValueHandle};
use super::bf16::is_rounded_twice;
use super::function::BodyEmitter;
use crate::inverse_roots::INVERSE_ROOT;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::words::{Flag, Flags, IntPredicate, SyncScope};
use heddle_ir::{Block, Code, Diagnostic, Inst, Op, Scalar, Type};
use llvm_sys::LLVMOpcode as Opcode;

/// Lowering of an elementwise op.
enum OpLowering {
    /// A binary instruction.
    Binary(Opcode),
    /// An intrinsic overloaded on the operand type.
    Intrinsic(&'static str),
    /// An intrinsic with the flag `strict` as last operand.
    Strict(&'static str),
    /// A cast.
    Cast(Opcode),
    /// An intrinsic overloaded on result and operand type.
    Convert(&'static str),
    /// A lowering of its own.
    Special,
}

fn row(op: Op) -> OpLowering {
    use OpLowering::{Binary, Cast, Convert, Intrinsic, Special, Strict};
    match op {
        Op::Add => Binary(Opcode::LLVMAdd),
        Op::Sub => Binary(Opcode::LLVMSub),
        Op::Mul => Binary(Opcode::LLVMMul),
        Op::Udiv => Binary(Opcode::LLVMUDiv),
        Op::Sdiv => Binary(Opcode::LLVMSDiv),
        Op::Urem => Binary(Opcode::LLVMURem),
        Op::Srem => Binary(Opcode::LLVMSRem),
        Op::Shl => Binary(Opcode::LLVMShl),
        Op::Lshr => Binary(Opcode::LLVMLShr),
        Op::Ashr => Binary(Opcode::LLVMAShr),
        Op::And => Binary(Opcode::LLVMAnd),
        Op::Or => Binary(Opcode::LLVMOr),
        Op::Xor => Binary(Opcode::LLVMXor),
        Op::Fadd => Binary(Opcode::LLVMFAdd),
        Op::Fsub => Binary(Opcode::LLVMFSub),
        Op::Fmul => Binary(Opcode::LLVMFMul),
        Op::Fdiv => Binary(Opcode::LLVMFDiv),
        Op::Frem => Binary(Opcode::LLVMFRem),
        Op::Umin => Intrinsic("llvm.umin"),
        Op::Umax => Intrinsic("llvm.umax"),
        Op::Smin => Intrinsic("llvm.smin"),
        Op::Smax => Intrinsic("llvm.smax"),
        Op::UaddSat => Intrinsic("llvm.uadd.sat"),
        Op::SaddSat => Intrinsic("llvm.sadd.sat"),
        Op::UsubSat => Intrinsic("llvm.usub.sat"),
        Op::SsubSat => Intrinsic("llvm.ssub.sat"),
        Op::Ctpop => Intrinsic("llvm.ctpop"),
        Op::Bswap => Intrinsic("llvm.bswap"),
        Op::Bitreverse => Intrinsic("llvm.bitreverse"),
        Op::Fshl => Intrinsic("llvm.fshl"),
        Op::Fshr => Intrinsic("llvm.fshr"),
        Op::Fabs => Intrinsic("llvm.fabs"),
        Op::Copysign => Intrinsic("llvm.copysign"),
        Op::Sqrt => Intrinsic("llvm.sqrt"),
        Op::Fma => Intrinsic("llvm.fma"),
        Op::Fminimum => Intrinsic("llvm.minimum"),
        Op::Fmaximum => Intrinsic("llvm.maximum"),
        Op::Floor => Intrinsic("llvm.floor"),
        Op::Ceil => Intrinsic("llvm.ceil"),
        Op::Truncate => Intrinsic("llvm.trunc"),
        Op::Round => Intrinsic("llvm.round"),
        Op::RoundEven => Intrinsic("llvm.roundeven"),
        Op::Abs => Strict("llvm.abs"),
        Op::Ctlz => Strict("llvm.ctlz"),
        Op::Cttz => Strict("llvm.cttz"),
        Op::Trunc => Cast(Opcode::LLVMTrunc),
        Op::Zext => Cast(Opcode::LLVMZExt),
        Op::Sext => Cast(Opcode::LLVMSExt),
        Op::Fptrunc => Cast(Opcode::LLVMFPTrunc),
        Op::Fpext => Cast(Opcode::LLVMFPExt),
        Op::Fptoui => Cast(Opcode::LLVMFPToUI),
        Op::Fptosi => Cast(Opcode::LLVMFPToSI),
        Op::Uitofp => Cast(Opcode::LLVMUIToFP),
        Op::Sitofp => Cast(Opcode::LLVMSIToFP),
        Op::Ptrtoint => Cast(Opcode::LLVMPtrToInt),
        Op::Inttoptr => Cast(Opcode::LLVMIntToPtr),
        Op::FptouiSat => Convert("llvm.fptoui.sat"),
        Op::FptosiSat => Convert("llvm.fptosi.sat"),
        _ => Special,
    }
}

/// True if the op computes its NaNs, rather than moving them or changing their sign.
fn computes_floats(op: Op) -> bool {
    !matches!(
        op,
        Op::Fneg
            | Op::Fabs
            | Op::Copysign
            | Op::Select
            | Op::Freeze
            | Op::Bitcast
            | Op::Phi
            | Op::Splat
            | Op::Insert
    )
}

fn is_half(ty: Type) -> bool {
    matches!(ty.scalar(), Scalar::F16 | Scalar::BF16)
}

fn is_mask(ty: Type) -> bool {
    ty.is_vector() && ty.scalar() == Scalar::I1
}

/// True for vector conversions between floats and 128-bit integers, which runtime functions do lane by lane; LLVM
/// 22.1 cannot split all such vectors.
fn is_far(op: Op, from: Type, to: Type) -> bool {
    let converts =
        matches!(op, Op::Uitofp | Op::Sitofp | Op::Fptoui | Op::Fptosi | Op::FptouiSat | Op::FptosiSat);
    converts && from.is_vector() && [from, to].iter().any(|ty| ty.scalar() == Scalar::I128)
}

impl BodyEmitter<'_, '_> {
    /// Emits an op whose result type is its operand type.
    pub(super) fn by_table(&self, op: Op, args: &[ValueHandle], ty: Type, flags: Flags) -> ValueHandle {
        let asm = &self.module.asm;
        let open = [asm.ty(ty)];
        let node = match row(op) {
            OpLowering::Binary(code) if ty.scalar() == Scalar::BF16 => {
                self.in_f32(args, ty, |args, _| asm.binary(code, args[0], args[1]))
            }
            OpLowering::Intrinsic(name) if op == Op::Sqrt && ty.scalar() == Scalar::BF16 => {
                self.in_f32(args, ty, |args, single| asm.intrinsic(name, &[asm.ty(single)], args))
            }
            OpLowering::Intrinsic(_) if op == Op::Fma && is_half(ty) => self.fma_of_halves(args, ty),
            OpLowering::Binary(code @ (Opcode::LLVMSDiv | Opcode::LLVMSRem)) => {
                self.signed_division(code, args[0], args[1], ty)
            }
            OpLowering::Binary(code) => asm.binary(code, args[0], args[1]),
            // Byte swap of one byte is the identity.
            OpLowering::Intrinsic(_) if op == Op::Bswap && ty.scalar() == Scalar::I8 => args[0],
            OpLowering::Intrinsic(name) => asm.intrinsic(name, &open, args),
            OpLowering::Strict(name) => {
                let strict = asm.int(1, flags.has(Flag::Strict).into());
                asm.intrinsic(name, &open, &[args[0], strict])
            }
            _ => match op {
                Op::Fneg => asm.negate(args[0]),
                // Without `nsz` zeros are ordered, which LLVM's `minnum` does not do in all back ends.
                Op::Fmin | Op::Fmax => {
                    let name = match (op, flags.has(Flag::Nsz)) {
                        (Op::Fmin, true) => "llvm.minnum",
                        (Op::Fmin, false) => "llvm.minimumnum",
                        (_, true) => "llvm.maxnum",
                        (_, false) => "llvm.maximumnum",
                    };
                    asm.intrinsic(name, &open, args)
                }
                Op::Fmuladd => match self.module.options.fused {
                    None => asm.intrinsic("llvm.fmuladd", &open, args),
                    Some(true) if is_half(ty) => self.fma_of_halves(args, ty),
                    Some(true) => asm.intrinsic("llvm.fma", &open, args),
                    Some(false) => {
                        let product = self.by_table(Op::Fmul, &args[..2], ty, flags);
                        return self.by_table(Op::Fadd, &[product, args[2]], ty, flags);
                    }
                },
                Op::Rsqrt => {
                    let root = self.by_table(Op::Sqrt, args, ty, flags);
                    let inverse = self.by_table(Op::Fdiv, &[self.one(ty), root], ty, flags);
                    if !self.module.options.exact_roots && ty.scalar() == Scalar::F32 {
                        asm.attach(inverse, INVERSE_ROOT, None, &[]);
                    }
                    return inverse;
                }
                Op::Freeze => asm.freeze(args[0]),
                Op::Select => asm.select(args[0], args[1], args[2]),
                _ => args[0],
            },
        };
        match computes_floats(op) {
            true => self.computed(node, ty, flags),
            false => self.flagged(node, flags),
        }
    }

    /// Finishes a computed float: sets flags, canonicalizes NaN if requested.
    fn computed(&self, node: ValueHandle, ty: Type, flags: Flags) -> ValueHandle {
        let node = self.flagged(node, flags);
        match self.module.options.canonical_nans && ty.scalar().is_float() {
            true => self.canonical(node, ty),
            false => node,
        }
    }

    /// Emits an instruction other than terminators, φs and calls.
    pub(super) fn operation(
        &mut self,
        block: Block,
        inst: Inst,
        data: &InstData,
    ) -> Result<Vec<ValueHandle>, Diagnostic> {
        let results: Vec<Type> =
            self.func.results(inst).iter().map(|&result| self.func.value_type(result)).collect();
        let to = results.first().copied().unwrap_or(Type::I1);
        let types: Vec<Type> = data.args.iter().map(|&arg| self.func.value_type(arg)).collect();
        let is_memory = matches!(
            data.op.info().effect,
            Effect::Reads | Effect::Writes | Effect::ReadsWrites | Effect::Allocates
        );
        if is_memory || matches!(data.op, Op::PtrAdd | Op::Fence) {
            return self.memory(block, inst, data, &results);
        }
        let args = self.nodes(&data.args);
        let asm = &self.module.asm;
        let flags = data.flags;
        let from = types.first().copied().unwrap_or(to);
        Ok(vec![match (row(data.op), data.op) {
            (OpLowering::Cast(_), op) if is_rounded_twice(op, from, to) => {
                self.to_bf16(op, args[0], from, to)
            }
            (OpLowering::Cast(_) | OpLowering::Convert(_), op) if is_far(op, from, to) => {
                self.lane_by_lane(args[0], to, |lane| {
                    let (from, to) = (Type::Scalar(from.scalar()), Type::Scalar(to.scalar()));
                    let node = match row(op) {
                        OpLowering::Convert(name) => {
                            asm.intrinsic(name, &[asm.ty(to), asm.ty(from)], &[lane])
                        }
                        OpLowering::Cast(code) => asm.cast(code, lane, asm.ty(to)),
                        _ => lane,
                    };
                    self.computed(node, to, flags)
                })
            }
            (OpLowering::Cast(code), op)
                if to.scalar() == Scalar::BF16 && from.scalar() != Scalar::I16 && op != Op::Bitcast =>
            {
                let (value, float) = match from.scalar() {
                    Scalar::F32 | Scalar::F64 => (args[0], from),
                    _ => {
                        let single = from.with_scalar(Scalar::F32);
                        (asm.cast(code, args[0], asm.ty(single)), single)
                    }
                };
                self.computed(self.round_to_bf16(value, float, to), to, flags)
            }
            (OpLowering::Cast(code), _) => {
                let cast = asm.cast(code, args[0], asm.ty(to));
                self.computed(cast, to, flags)
            }
            // LLVM 22.1 does not return 0 for NaN where x86 converts f16 in hardware; f32 holds every f16.
            (OpLowering::Convert(name), _) if from.scalar() == Scalar::F16 => {
                let wide = from.with_scalar(Scalar::F32);
                let value = asm.cast(Opcode::LLVMFPExt, args[0], asm.ty(wide));
                asm.intrinsic(name, &[asm.ty(to), asm.ty(wide)], &[value])
            }
            (OpLowering::Convert(name), _) => asm.intrinsic(name, &[asm.ty(to), asm.ty(from)], &args),
            (OpLowering::Special, Op::Icmp) => match data.detail {
                Detail::IntCompare(predicate) => asm.icmp(predicate, args[0], args[1]),
                _ => return Err(self.broken(inst, "it has no predicate")),
            },
            (OpLowering::Special, Op::Fcmp) => match data.detail {
                Detail::FloatCompare(predicate) => self.flagged(asm.fcmp(predicate, args[0], args[1]), flags),
                _ => return Err(self.broken(inst, "it has no predicate")),
            },
            (OpLowering::Special, Op::FloatClass) => match data.detail {
                Detail::FloatClass(classes) => {
                    asm.intrinsic("llvm.is.fpclass", &[asm.ty(from)], &[args[0], asm.int(32, classes.into())])
                }
                _ => return Err(self.broken(inst, "it has no classes")),
            },
            (OpLowering::Special, Op::Ldexp) => {
                let exponent = self.exponent(args[1], types[1], from.scalar());
                // LLVM 22.1 miscompiles f16 vectors on AVX-512, and cannot select some bf16 code on AArch64. f32 is
                // exact for the clamped exponents.
                let is_half = is_half(from);
                let scaled = asm.ty(if is_half { from.with_scalar(Scalar::F32) } else { from });
                let number = if is_half { asm.cast(Opcode::LLVMFPExt, args[0], scaled) } else { args[0] };
                let open = [scaled, asm.type_of(exponent)];
                let node = asm.intrinsic("llvm.ldexp", &open, &[number, exponent]);
                let node = if is_half { asm.cast(Opcode::LLVMFPTrunc, node, asm.ty(to)) } else { node };
                self.computed(node, to, flags)
            }
            (OpLowering::Special, Op::SpaceCast) => args[0],
            (OpLowering::Special, Op::Bitcast) if to.scalar().is_ptr() => args[0],
            (OpLowering::Special, Op::Bitcast) if is_mask(from) && to.scalar() == Scalar::F16 => {
                return Err(self.refuse(
                    inst,
                    "f16 from a mask, which LLVM 22.1 cannot select",
                    "keep it an integer",
                ));
            }
            (OpLowering::Special, Op::Bitcast) => asm.cast(Opcode::LLVMBitCast, args[0], asm.ty(to)),
            (OpLowering::Special, Op::Assume) => {
                let condition = self.vote(Op::All, args[0], from);
                asm.intrinsic("llvm.assume", &[], &[condition]);
                return Ok(Vec::new());
            }
            (OpLowering::Special, Op::Any | Op::All) => self.vote(data.op, args[0], from),
            (OpLowering::Special, Op::Ballot | Op::Popcount) => self.count(data.op, args[0], from, to),
            (OpLowering::Special, Op::Reduce) => match data.detail {
                Detail::Reduce(by) => self.reduce(by, args[0], from, flags),
                _ => return Err(self.broken(inst, "it does not say how")),
            },
            (OpLowering::Special, Op::Scan) => match data.detail {
                Detail::Scan { by, before } => self.scan(by, before, args[0], from, flags),
                _ => return Err(self.broken(inst, "it does not say how")),
            },
            (OpLowering::Special, Op::Shuffle | Op::Broadcast) => self.pick(args[0], args[1], from),
            (OpLowering::Special, Op::First) => args[0],
            (OpLowering::Special, Op::Mask) => asm.int(1, 1),
            (OpLowering::Special, Op::Lane) => asm.scalar(to.scalar(), 0),
            (OpLowering::Special, Op::Width) => asm.scalar(to.scalar(), 1),
            (OpLowering::Special, Op::Splat) => self.splat(args[0], to),
            (OpLowering::Special, Op::Extract) => match from.lanes().map(u32::from) {
                Some(lanes @ ..=64)
                    if from.scalar() == Scalar::I1
                        && types.get(1) == Some(&Type::I32)
                        && !asm.is_constant(args[1]) =>
                {
                    self.mask_lane(args[0], args[1], lanes)
                }
                _ => self.element(args[0], args[1]),
            },
            (OpLowering::Special, Op::Insert) => asm.insert(args[0], args[1], args[2]),
            (OpLowering::Special, Op::Permute) => match &data.detail {
                Detail::Permute(lanes) => {
                    let lanes: Vec<u32> = lanes.iter().map(|&lane| lane.into()).collect();
                    asm.shuffle(args[0], args[1], &lanes)
                }
                _ => return Err(self.broken(inst, "it does not say which")),
            },
            (OpLowering::Special, Op::Compress | Op::Expand) => self.squeeze(data.op, args[0], args[1], from),
            (
                OpLowering::Special,
                Op::LocalId
                | Op::LocalSize
                | Op::EnqueuedSize
                | Op::GroupId
                | Op::NumGroups
                | Op::GlobalId
                | Op::GlobalSize
                | Op::GlobalOffset
                | Op::WorkDim,
            ) => {
                let text = "work-item index in a function that nothing launches";
                return Err(self.refuse_as(Code::NeedsLaunch, inst, text, "pass the index as a parameter"));
            }
            // A brush runs in one thread, which sees its own memory operations in order.
            (OpLowering::Special, Op::Barrier)
                if matches!(data.detail, Detail::Barrier(SyncScope::Brush | SyncScope::Lane)) =>
            {
                return Ok(Vec::new());
            }
            (OpLowering::Special, Op::Barrier) => {
                let help = "run `kernels` first, which splits the kernel at its barriers";
                return Err(self.refuse(inst, "barrier in sequential code", help));
            }
            (OpLowering::Special, Op::Launch) => {
                return Err(self.refuse(
                    inst,
                    "launch of a lock-step region in LLVM IR",
                    "run `widen` first",
                ));
            }
            _ => self.by_table(data.op, &args, to, flags),
        }])
    }

    /// Divides signed integers. The minimum divided by -1 gives itself and the remainder 0, where machines trap.
    /// LLVM drops the test where ranges exclude one of the two; constant divisors need none.
    fn signed_division(&self, code: Opcode, a: ValueHandle, b: ValueHandle, ty: Type) -> ValueHandle {
        let asm = &self.module.asm;
        if asm.is_constant(b) {
            return asm.binary(code, a, b);
        }
        let ones = self.constant(ty.scalar().bit_mask(), ty);
        let mut overflows = asm.icmp(IntPredicate::Eq, b, ones);
        // Every remainder of a division by -1 is 0, as by 1.
        if code == Opcode::LLVMSDiv {
            let minimum = self.constant(1 << (ty.scalar().bits() - 1), ty);
            let is_minimum = asm.icmp(IntPredicate::Eq, a, minimum);
            overflows = asm.binary(Opcode::LLVMAnd, is_minimum, overflows);
        }
        let divisor = asm.select(overflows, self.constant(1, ty), b);
        asm.binary(code, a, divisor)
    }

    /// Clamps the exponent of `ldexp` to i32; larger exponents give the same result. On x86 LLVM 22.1 converts the
    /// exponent for an f16 to f16, where large ones become infinite, and 0 times infinity is NaN.
    fn exponent(&self, exponent: ValueHandle, ty: Type, float: Scalar) -> ValueHandle {
        let asm = &self.module.asm;
        let to = ty.with_scalar(Scalar::I32);
        let bits = ty.scalar().bits();
        let exponent = if bits < 32 { asm.cast(Opcode::LLVMSExt, exponent, asm.ty(to)) } else { exponent };
        let most: i128 = if float == Scalar::F16 { 64 } else { 1 << 20 };
        if bits <= 32 && float != Scalar::F16 {
            return exponent;
        }
        let wide = bits.max(32);
        let all = |value: i128| {
            let one = asm.int(wide, value as u128);
            ty.lanes().map_or(one, |lanes| asm.vector(&vec![one; lanes.into()]))
        };
        let open: [TypeHandle; 1] = [asm.type_of(exponent)];
        let low = asm.intrinsic("llvm.smax", &open, &[exponent, all(-most)]);
        let both = asm.intrinsic("llvm.smin", &open, &[low, all(most)]);
        if wide > 32 { asm.cast(Opcode::LLVMTrunc, both, asm.ty(to)) } else { both }
    }
}
