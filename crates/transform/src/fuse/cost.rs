//! Costs of instructions, selects and branches, in tenths of a plain operation.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::Geometry;
use heddle_ir::ops::Effect;
use heddle_ir::{Function, Inst, Op, Type};

use crate::address_pattern::AddressPattern;
use crate::target::{AccessDirection, AccessLanes, TargetInfo};

/// Machine for which costs are estimated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineModel {
    /// Vectors of this many lanes on a CPU, where divergent branches are linearized.
    Vectors(TargetInfo, u32),
    /// Warps, which execute one side after the other. Costs estimate issued instructions.
    Warps,
}

impl Default for MachineModel {
    fn default() -> MachineModel {
        MachineModel::Vectors(TargetInfo::default(), 8)
    }
}

/// Lanes of a warp.
const WARP: u32 = 32;
/// Plain operation.
const PLAIN: i64 = 10;
/// Call.
const CALL: i64 = 400;
/// Load or store of a warp; scattered accesses cost twice as much.
const WARP_ACCESS: i64 = 200;
/// Division or root of a warp.
const WARP_DIVISION: i64 = 160;
/// Divergent branch of a warp: one issued instruction, as profiles count it. Reconvergence is part of the join.
const WARP_BRANCH: i64 = PLAIN;
/// Maximum cost that a warp executes speculatively to avoid a divergent branch.
const WARP_GAP: i64 = 8 * PLAIN;

impl MachineModel {
    /// Returns the work-item layout that costs assume: a row.
    pub(crate) fn geometry(self) -> Geometry {
        match self {
            MachineModel::Vectors(_, lanes) => Geometry::brush(&[lanes]),
            MachineModel::Warps => Geometry::brush(&[WARP]),
        }
    }

    /// Returns the cost of a select.
    pub(crate) fn select(self, ty: Type) -> i64 {
        match self {
            MachineModel::Vectors(..) => PLAIN * self.registers(ty),
            MachineModel::Warps => PLAIN,
        }
    }

    /// Returns the cost of a divergent branch: of its edge masks, or of a warp's branch.
    pub(crate) fn branch(self) -> i64 {
        match self {
            MachineModel::Vectors(target, _) => i64::from(target.branch),
            MachineModel::Warps => WARP_BRANCH,
        }
    }

    /// Returns the maximum cost of speculatable operations of one side that all lanes execute without a branch.
    pub(super) fn max_speculated_cost(self) -> i64 {
        match self {
            MachineModel::Vectors(..) => 2 * self.branch(),
            MachineModel::Warps => WARP_GAP,
        }
    }

    /// True if the machine has a fused multiply-add instruction.
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

    /// Returns the cost of an instruction under a mask; `access_pattern` is the address pattern of a memory operation.
    pub(crate) fn inst(
        self,
        func: &Function,
        facts: &Divergence,
        inst: Inst,
        access_pattern: Option<AddressPattern>,
    ) -> i64 {
        let data = func.inst(inst);
        let result = func.results(inst).first().copied();
        let ty =
            result.or_else(|| data.args.first().copied()).map_or(Type::I32, |value| func.value_type(value));
        match data.op.info().effect {
            Effect::Joins => self.select(ty),
            Effect::Terminator => 0,
            Effect::Reads | Effect::Writes | Effect::ReadsWrites => self.access(
                AccessDirection::of(data.op),
                ty,
                access_pattern.unwrap_or(AddressPattern::Scattered),
            ),
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

    /// Returns the cost of a varying operation with a constant operand; integer divisions become multiplications.
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

    /// Returns the cost of a masked memory operation.
    pub(super) fn access(self, direction: AccessDirection, ty: Type, access_pattern: AddressPattern) -> i64 {
        self.access_of(direction, ty, access_pattern, AccessLanes::Masked)
    }

    /// Returns the cost of a memory operation with or without a mask.
    pub(crate) fn access_of(
        self,
        direction: AccessDirection,
        ty: Type,
        access_pattern: AddressPattern,
        active: AccessLanes,
    ) -> i64 {
        match self {
            MachineModel::Warps => {
                WARP_ACCESS * if access_pattern == AddressPattern::Scattered { 2 } else { 1 }
            }
            MachineModel::Vectors(target, lanes) => {
                let bits = ty.scalar().bits().max(8);
                i64::from(match access_pattern {
                    AddressPattern::Uniform => return PLAIN,
                    pattern => pattern.cost(&target, direction, active, lanes, bits),
                })
            }
        }
    }

    /// Returns the cost of a uniform operation.
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

    /// Returns the cost of a varying operation.
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
