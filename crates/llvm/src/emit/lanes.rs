//! Emission of horizontal operations: over the elements of a vector, or the single lane of a scalar function.

use super::assembler::ValueHandle;
use super::function::BodyEmitter;
use crate::lane_shuffles::LANE_SHUFFLE;
use heddle_ir::words::{Flag, Flags, FloatPredicate, IntPredicate, Reduction};
use heddle_ir::{Op, Scalar, Type};
use llvm_sys::LLVMOpcode;

impl BodyEmitter<'_, '_> {
    fn lane(&self, vector: ValueHandle, lane: u16) -> ValueHandle {
        let asm = &self.module.asm;
        asm.extract(vector, asm.int(64, lane.into()))
    }

    fn set_lane(&self, vector: ValueHandle, value: ValueHandle, lane: u16) -> ValueHandle {
        let asm = &self.module.asm;
        asm.insert(vector, value, asm.int(64, lane.into()))
    }

    /// Applies a function to each lane of a vector.
    pub(super) fn lane_by_lane(
        &self,
        vector: ValueHandle,
        to: Type,
        of_lane: impl Fn(ValueHandle) -> ValueHandle,
    ) -> ValueHandle {
        let mut result = self.module.asm.poison(self.module.asm.ty(to));
        for lane in 0..to.lanes().unwrap_or(1) {
            result = self.set_lane(result, of_lane(self.lane(vector, lane)), lane);
        }
        result
    }

    /// Emits a vote: true in some lane (`Op::Any`), or in all.
    pub(super) fn vote(&self, op: Op, condition: ValueHandle, ty: Type) -> ValueHandle {
        let asm = &self.module.asm;
        match ty.lanes() {
            None => condition,
            Some(_) => {
                let name = if op == Op::Any { "llvm.vector.reduce.or" } else { "llvm.vector.reduce.and" };
                asm.intrinsic(name, &[asm.ty(ty)], &[condition])
            }
        }
    }

    /// Emits a ballot (one bit per lane) or the number of true lanes.
    pub(super) fn count(&self, op: Op, condition: ValueHandle, ty: Type, to: Type) -> ValueHandle {
        let asm = &self.module.asm;
        let lanes = u32::from(ty.lanes().unwrap_or(1));
        let mut bits = match ty.lanes() {
            None => condition,
            Some(_) => asm.cast(LLVMOpcode::LLVMBitCast, condition, asm.int_ty(lanes)),
        };
        let width = lanes.max(8);
        if op == Op::Popcount {
            if lanes < width {
                bits = asm.cast(LLVMOpcode::LLVMZExt, bits, asm.int_ty(width));
            }
            bits = asm.intrinsic("llvm.ctpop", &[asm.int_ty(width)], &[bits]);
        }
        let from = if op == Op::Popcount { width } else { lanes };
        match to.scalar().bits() {
            bits_to if bits_to > from => asm.cast(LLVMOpcode::LLVMZExt, bits, asm.ty(to)),
            bits_to if bits_to < from => asm.cast(LLVMOpcode::LLVMTrunc, bits, asm.ty(to)),
            _ => bits,
        }
    }

    /// Combines two lanes.
    fn combine(
        &self,
        by: Reduction,
        a: ValueHandle,
        b: ValueHandle,
        scalar: Scalar,
        flags: Flags,
    ) -> ValueHandle {
        self.combine_as(by, a, b, scalar.into(), flags)
    }

    /// Combines two values lane by lane.
    fn combine_as(
        &self,
        by: Reduction,
        a: ValueHandle,
        b: ValueHandle,
        ty: Type,
        flags: Flags,
    ) -> ValueHandle {
        let op = match by {
            Reduction::Add => Op::Add,
            Reduction::Mul => Op::Mul,
            Reduction::And => Op::And,
            Reduction::Or => Op::Or,
            Reduction::Xor => Op::Xor,
            Reduction::Umin => Op::Umin,
            Reduction::Umax => Op::Umax,
            Reduction::Smin => Op::Smin,
            Reduction::Smax => Op::Smax,
            Reduction::Fadd => Op::Fadd,
            Reduction::Fmul => Op::Fmul,
            Reduction::Fmin => Op::Fmin,
            Reduction::Fmax => Op::Fmax,
        };
        self.by_table(op, &[a, b], ty, flags)
    }

    /// Reduces all lanes in ascending order.
    pub(super) fn reduce(&self, by: Reduction, vector: ValueHandle, ty: Type, flags: Flags) -> ValueHandle {
        let asm = &self.module.asm;
        let Some(lanes) = ty.lanes() else { return vector };
        let name = match by {
            Reduction::Add => "llvm.vector.reduce.add",
            Reduction::Mul => "llvm.vector.reduce.mul",
            Reduction::And => "llvm.vector.reduce.and",
            Reduction::Or => "llvm.vector.reduce.or",
            Reduction::Xor => "llvm.vector.reduce.xor",
            Reduction::Umin => "llvm.vector.reduce.umin",
            Reduction::Umax => "llvm.vector.reduce.umax",
            Reduction::Smin => "llvm.vector.reduce.smin",
            Reduction::Smax => "llvm.vector.reduce.smax",
            // Tree reduction where the order is free; each step uses the op's own lowering.
            Reduction::Fmin | Reduction::Fmax if lanes.is_power_of_two() => {
                return self.reduce_halves(by, vector, ty.scalar(), lanes, flags);
            }
            Reduction::Fadd | Reduction::Fmul if lanes.is_power_of_two() && flags.has(Flag::Reassoc) => {
                return self.reduce_halves(by, vector, ty.scalar(), lanes, flags);
            }
            // Strictly in order.
            Reduction::Fadd | Reduction::Fmul | Reduction::Fmin | Reduction::Fmax => {
                let mut all = self.lane(vector, 0);
                for lane in 1..lanes {
                    all = self.combine(by, all, self.lane(vector, lane), ty.scalar(), flags);
                }
                return all;
            }
        };
        asm.intrinsic(name, &[asm.ty(ty)], &[vector])
    }

    fn reduce_halves(
        &self,
        by: Reduction,
        vector: ValueHandle,
        scalar: Scalar,
        lanes: u16,
        flags: Flags,
    ) -> ValueHandle {
        let asm = &self.module.asm;
        let (mut all, mut half) = (vector, lanes / 2);
        while half > 0 {
            let [lower, upper] = [0, half].map(|first| {
                let wanted: Vec<u32> = (first..first + half).map(u32::from).collect();
                asm.shuffle(all, all, &wanted)
            });
            all = self.combine_as(by, lower, upper, Type::Vector(scalar, half), flags);
            half /= 2;
        }
        self.lane(all, 0)
    }

    /// Emits a prefix scan, inclusive or exclusive.
    pub(super) fn scan(
        &self,
        by: Reduction,
        before: bool,
        vector: ValueHandle,
        ty: Type,
        flags: Flags,
    ) -> ValueHandle {
        let asm = &self.module.asm;
        let scalar = ty.scalar();
        let neutral = asm.scalar(scalar, neutral(by, scalar));
        let Some(lanes) = ty.lanes() else { return if before { neutral } else { vector } };
        if scalar.is_int() && scalar != Scalar::I1 && lanes.is_power_of_two() {
            return self.scan_by_halves(by, before, vector, (ty, lanes), neutral);
        }
        let mut all = None;
        let mut result = asm.poison(asm.ty(ty));
        for lane in 0..lanes {
            let value = self.lane(vector, lane);
            let next = match all {
                None => value,
                Some(all) => self.combine(by, all, value, scalar, flags),
            };
            result = self.set_lane(result, if before { all.unwrap_or(neutral) } else { next }, lane);
            all = Some(next);
        }
        result
    }

    /// Emits an integer prefix scan in logarithmic steps (Hillis-Steele).
    fn scan_by_halves(
        &self,
        by: Reduction,
        before: bool,
        vector: ValueHandle,
        (ty, lanes): (Type, u16),
        neutral: ValueHandle,
    ) -> ValueHandle {
        let asm = &self.module.asm;
        let neutral = self.splat(neutral, ty);
        let moved = |vector: ValueHandle, far: u16| {
            let wanted: Vec<u32> =
                (0..lanes).map(|lane| if lane < far { lanes + lane } else { lane - far }.into()).collect();
            asm.shuffle(vector, neutral, &wanted)
        };
        let (mut all, mut far) = (if before { moved(vector, 1) } else { vector }, 1);
        while far < lanes {
            all = self.combine_as(by, moved(all, far), all, ty, Flags::NONE);
            far *= 2;
        }
        all
    }

    /// Emits a shuffle: each lane selects a lane; poison if out of range.
    pub(super) fn pick(&self, vector: ValueHandle, index: ValueHandle, ty: Type) -> ValueHandle {
        let asm = &self.module.asm;
        let Some(lanes) = ty.lanes() else {
            let zero = asm.zero(asm.type_of(index));
            let is_first = asm.icmp(IntPredicate::Eq, index, zero);
            return asm.select(is_first, vector, asm.poison(asm.ty(ty)));
        };
        let mut result = asm.poison(asm.ty(ty));
        for lane in 0..lanes {
            let value = self.element(vector, self.lane(index, lane));
            result = self.set_lane(result, value, lane);
        }
        // The CPU is not known here, and the last insertion leads to the whole chain.
        asm.attach(result, LANE_SHUFFLE, None, &[]);
        result
    }

    /// Extracts an element; the index is unsigned.
    pub(super) fn element(&self, vector: ValueHandle, index: ValueHandle) -> ValueHandle {
        self.module.asm.extract(vector, index)
    }

    /// Extracts a lane of a mask by an index of 32 bits. In loops over lanes, LLVM would store all of an `i1` vector's lanes as
    /// bytes to load one of them. Bits of other lanes may be poison.
    pub(super) fn mask_lane(&self, mask: ValueHandle, index: ValueHandle, lanes: u32) -> ValueHandle {
        let asm = &self.module.asm;
        let mut bits = asm.cast(LLVMOpcode::LLVMBitCast, asm.freeze(mask), asm.int_ty(lanes));
        let width = asm.int_ty(lanes.max(32));
        if lanes < 32 {
            bits = asm.cast(LLVMOpcode::LLVMZExt, bits, width);
        }
        let index = if lanes > 32 { asm.cast(LLVMOpcode::LLVMZExt, index, width) } else { index };
        let shifted = asm.binary(LLVMOpcode::LLVMLShr, bits, index);
        asm.cast(LLVMOpcode::LLVMTrunc, shifted, asm.int_ty(1))
    }

    /// Emits compress (`Op::Compress`: moves selected lanes to the front) or expand.
    pub(super) fn squeeze(&self, op: Op, vector: ValueHandle, mask: ValueHandle, ty: Type) -> ValueHandle {
        let asm = &self.module.asm;
        // LLVM 22.1 miscompiles this intrinsic for vectors that it splits, and for `i1` elements; vectors up to 128
        // bits are never split.
        let bits = ty.scalar().bits() * u32::from(ty.lanes().unwrap_or(1));
        if op == Op::Compress && bits <= 128 && ty.scalar() != Scalar::I1 {
            let poison = asm.poison(asm.ty(ty));
            return asm.intrinsic(
                "llvm.experimental.vector.compress",
                &[asm.ty(ty)],
                &[vector, mask, poison],
            );
        }
        let mut count = asm.int(32, 0);
        let mut result = asm.poison(asm.ty(ty));
        let missing = asm.poison(asm.scalar_ty(ty.scalar()));
        for lane in 0..ty.lanes().unwrap_or(1) {
            let is_picked = self.lane(mask, lane);
            result = if op == Op::Compress {
                let moved = asm.insert(result, self.lane(vector, lane), count);
                asm.select(is_picked, moved, result)
            } else {
                let value = self.element(vector, count);
                self.set_lane(result, asm.select(is_picked, value, missing), lane)
            };
            let step = asm.cast(LLVMOpcode::LLVMZExt, is_picked, asm.int_ty(32));
            count = asm.binary(LLVMOpcode::LLVMAdd, count, step);
        }
        result
    }

    /// Broadcasts a value to all lanes.
    pub(super) fn splat(&self, value: ValueHandle, ty: Type) -> ValueHandle {
        let asm = &self.module.asm;
        let first = asm.insert(asm.poison(asm.ty(ty)), value, asm.int(64, 0));
        let lanes = vec![0; ty.lanes().unwrap_or(1).into()];
        asm.shuffle(first, asm.poison(asm.ty(ty)), &lanes)
    }

    /// Replaces any NaN by the canonical one.
    pub(super) fn canonical(&self, node: ValueHandle, ty: Type) -> ValueHandle {
        let asm = &self.module.asm;
        let bits: u128 = match ty.scalar() {
            Scalar::F16 => 0x7e00,
            Scalar::BF16 => 0x7fc0,
            Scalar::F32 => 0x7fc0_0000,
            _ => 0x7ff8_0000_0000_0000,
        };
        asm.select(asm.fcmp(FloatPredicate::Uno, node, node), self.constant(bits, ty), node)
    }

    /// Returns a constant with the same bits in every lane.
    pub(super) fn constant(&self, bits: u128, ty: Type) -> ValueHandle {
        let asm = &self.module.asm;
        let number = asm.scalar(ty.scalar(), bits);
        match ty.lanes() {
            Some(lanes) => asm.vector(&vec![number; lanes.into()]),
            None => number,
        }
    }

    /// Returns 1 in every lane.
    pub(super) fn one(&self, ty: Type) -> ValueHandle {
        self.constant(neutral(Reduction::Fmul, ty.scalar()), ty)
    }
}

/// Returns the neutral element of a reduction.
fn neutral(by: Reduction, scalar: Scalar) -> u128 {
    let all = scalar.bit_mask();
    let (one, infinity, sign) = match scalar {
        Scalar::F16 => (0x3c00, 0x7c00, 1 << 15),
        Scalar::BF16 => (0x3f80, 0x7f80, 1 << 15),
        Scalar::F32 => (0x3f80_0000, 0x7f80_0000, 1 << 31),
        Scalar::F64 => (0x3ff0_0000_0000_0000, 0x7ff0_0000_0000_0000, 1 << 63),
        _ => (1, 0, 0),
    };
    match by {
        Reduction::Add | Reduction::Or | Reduction::Xor | Reduction::Umax => 0,
        Reduction::Mul | Reduction::Fmul => one,
        Reduction::And | Reduction::Umin => all,
        Reduction::Smin => all >> 1,
        Reduction::Smax => (all >> 1) + 1,
        Reduction::Fadd => sign,
        Reduction::Fmin => infinity,
        Reduction::Fmax => infinity | sign,
    }
}
