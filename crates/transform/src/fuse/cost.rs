//! What instructions, selects and branches cost, in tenths of a plain operation.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::{Geometry, Shape};
use heddle_ir::ops::Effect;
use heddle_ir::{Function, Inst, Op, Scalar, Type, Value};

use crate::target::TargetInfo;

/// What code is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineModel {
    /// Vectors of so many lanes on a CPU, where both sides of a divergent branch are folded into one.
    Vectors(TargetInfo, u32),
    /// Warps, which execute one side after the other. Estimates of instructions that a warp issues.
    Warps,
}

impl Default for MachineModel {
    fn default() -> MachineModel {
        MachineModel::Vectors(TargetInfo::default(), 8)
    }
}

/// How the lanes of an address lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessPattern {
    /// All at one address.
    Uniform,
    /// Side by side.
    Contiguous,
    /// Anywhere.
    Scattered,
}

/// The lanes of a warp.
const WARP: u32 = 32;
/// A plain operation.
const PLAIN: i64 = 10;
/// A call.
const CALL: i64 = 400;
/// A load or a store of a warp; another one where lanes are scattered.
const WARP_ACCESS: i64 = 200;
/// A division or root of a warp.
const WARP_DIVISION: i64 = 160;
/// A branch at which a warp parts: one instruction, as the profile counts it. What joins it again comes with the join.
const WARP_BRANCH: i64 = PLAIN;
/// What a warp executes without need rather than part for it.
const WARP_GAP: i64 = 8 * PLAIN;

impl MachineModel {
    /// How lanes lie, for costs: in a row. Where they lie otherwise, accesses cost something else.
    pub(crate) fn geometry(self) -> Geometry {
        match self {
            MachineModel::Vectors(_, lanes) => Geometry::brush(&[lanes]),
            MachineModel::Warps => Geometry::brush(&[WARP]),
        }
    }

    /// A choice between two values of a type.
    pub(crate) fn select(self, ty: Type) -> i64 {
        match self {
            MachineModel::Vectors(..) => PLAIN * self.registers(ty),
            MachineModel::Warps => PLAIN,
        }
    }

    /// A branch at which lanes part: the masks of its edges, or what a warp does there.
    pub(crate) fn branch(self) -> i64 {
        match self {
            MachineModel::Vectors(target, _) => i64::from(target.branch),
            MachineModel::Warps => WARP_BRANCH,
        }
    }

    /// The most that harmless operations of one side may cost to be executed by all lanes.
    pub(super) fn harmless_gap(self) -> i64 {
        match self {
            MachineModel::Vectors(..) => 2 * self.branch(),
            MachineModel::Warps => WARP_GAP,
        }
    }

    /// Whether `fma` is one instruction.
    pub(super) fn has_fma(self) -> bool {
        match self {
            MachineModel::Vectors(target, _) => target != TargetInfo::SSE42,
            MachineModel::Warps => true,
        }
    }

    pub(crate) fn registers(self, ty: Type) -> i64 {
        match self {
            MachineModel::Vectors(target, lanes) => {
                i64::from(target.registers_of(ty.scalar().bits().max(8).saturating_mul(lanes)).max(1))
            }
            MachineModel::Warps => 1,
        }
    }

    /// An instruction where not all lanes are active; of a memory operation `reach` tells how its addresses lie.
    pub(crate) fn inst(
        self,
        func: &Function,
        facts: &Divergence,
        inst: Inst,
        reach: Option<AccessPattern>,
    ) -> i64 {
        let data = func.inst(inst);
        let result = func.results(inst).first().copied();
        let ty =
            result.or_else(|| data.args.first().copied()).map_or(Type::I32, |value| func.value_type(value));
        match data.op.info().effect {
            Effect::Joins => self.select(ty),
            Effect::Terminator => 0,
            Effect::Reads | Effect::Writes | Effect::ReadsWrites => {
                self.access(data.op == Op::Load, ty, reach.unwrap_or(AccessPattern::Scattered))
            }
            Effect::Callee => CALL,
            Effect::Pure | Effect::Traps if result.is_some_and(|value| facts.fact(value).is_uniform()) => {
                self.scalar(data.op)
            }
            _ if data.args.get(1).is_some_and(|&divisor| func.constant(divisor).is_some()) => {
                self.operation_by_constant(data.op, ty)
            }
            _ => self.operation(data.op, ty),
        }
    }

    /// An operation on values that differ, and on one that is known: quotients of integers become products then.
    pub(super) fn operation_by_constant(self, op: Op, ty: Type) -> i64 {
        match self {
            MachineModel::Vectors(target, _) if is_division(op) && !ty.scalar().is_float() => {
                let plain = i64::from(target.times.plain.busy.max(1));
                let products = 2 * i64::from(target.times.multiply.busy);
                self.registers(ty) * PLAIN * (products + 4 * plain) / plain
            }
            _ => self.operation(op, ty),
        }
    }

    /// A memory operation of this many bits.
    pub(super) fn access(self, is_load: bool, ty: Type, reach: AccessPattern) -> i64 {
        self.access_of(is_load, ty, reach, true)
    }

    /// The same, of the lanes of a mask or of all.
    pub(crate) fn access_of(self, is_load: bool, ty: Type, reach: AccessPattern, is_masked: bool) -> i64 {
        match self {
            MachineModel::Warps => WARP_ACCESS * if reach == AccessPattern::Scattered { 2 } else { 1 },
            MachineModel::Vectors(target, lanes) => {
                let costs = if is_load { target.load } else { target.store };
                let cost = match (reach, is_masked) {
                    (AccessPattern::Uniform, _) => return PLAIN,
                    (AccessPattern::Contiguous, true) => costs.masked,
                    (AccessPattern::Contiguous, false) => costs.whole,
                    (AccessPattern::Scattered, true) => costs.masked_scattered,
                    (AccessPattern::Scattered, false) => costs.scattered,
                };
                i64::from(target.cost(cost, lanes, ty.scalar().bits().max(8).saturating_mul(lanes)))
            }
        }
    }

    /// An operation on a value that all lanes share.
    fn scalar(self, op: Op) -> i64 {
        match self {
            MachineModel::Vectors(target, _) => {
                let busy = i64::from(target.times.scalar.busy.max(1));
                let plain = i64::from(target.times.plain.busy.max(1));
                let times = if is_division(op) { 10 } else { 1 };
                times * PLAIN * busy / plain
            }
            MachineModel::Warps => self.operation(op, Type::I32),
        }
    }

    /// An operation on values that differ.
    pub(crate) fn operation(self, op: Op, ty: Type) -> i64 {
        let MachineModel::Vectors(target, lanes) = self else {
            return if is_division(op) { WARP_DIVISION } else { PLAIN };
        };
        let times = target.times;
        let is_float = ty.scalar().is_float();
        let busy = match op {
            _ if is_division(op) && !is_float => return PLAIN * i64::from(lanes) * 2,
            Op::Frem => return 4 * PLAIN * i64::from(lanes),
            _ if is_division(op) => times.divide.busy,
            Op::Fma | Op::Fmuladd if !self.has_fma() => return 5 * PLAIN * i64::from(lanes),
            Op::Mul => times.multiply.busy,
            _ if is_float => times.float.busy,
            _ => times.plain.busy,
        };
        PLAIN * self.registers(ty) * i64::from(busy) / i64::from(times.plain.busy.max(1))
    }
}

fn is_division(op: Op) -> bool {
    matches!(op, Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem | Op::Fdiv | Op::Frem | Op::Sqrt | Op::Rsqrt)
}

/// How the lanes of an address lie, for accesses to this type.
pub(crate) fn reach(facts: &Divergence, address: Value, scalar: Scalar) -> AccessPattern {
    match facts.fact(address).shape {
        shape if shape.is_uniform() => AccessPattern::Uniform,
        Shape::Strided { strides, .. } if strides.along(0).unsigned_abs() == u64::from(scalar.bytes()) => {
            AccessPattern::Contiguous
        }
        _ => AccessPattern::Scattered,
    }
}
