//! Rows of lanes, for planning: the step within a row or a column, masks by rows, and the costs of accesses by rows and by columns.
//!
//! The step along a dimension is computed from the defining operations, since the distance along others may be unknown:
//! `y * width` is uniform in a row for any `width`. The result holds for active lanes.

use super::access_plan::{AccessPlanner, LaneAccess, predicate_of};
use super::value_reps::{ValueRep, ValueReps};
use super::{Remark, RemarkKind};
use crate::target::{AccessDirection, AccessLanes, TargetInfo};
use heddle_analysis::shape::Steps;
use heddle_analysis::{Divergence, Shape};
use heddle_ir::ops::Effect;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::Flag;
use heddle_ir::{Constant, Function, Inst, Op, Scalar, Value};

/// Bits of the parts of registers that loads repeat.
const PART_BITS: u32 = 128;
/// Maximum depth of operations to look into for the step of an address (`MAX_DEPTH`), and to recompute for a mask (`MASK_DEPTH`).
const MAX_DEPTH: usize = 8;
const MASK_DEPTH: usize = 4;

/// Sources of the step along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StepFacts {
    /// Shapes, which hold for active lanes.
    Shapes,
    /// Operations alone: the step holds whichever lanes are active.
    Operations,
}

/// Number of lanes in a row of a brush, and number of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RowExtents {
    pub(super) length: u32,
    pub(super) count: u32,
    /// True for a brush of two dimensions.
    is_tile: bool,
}

impl RowExtents {
    /// Extents of a brush's rows.
    pub(super) fn of(brush: [u32; MAX_DIMENSIONS]) -> RowExtents {
        RowExtents { length: brush[0], count: brush[1..].iter().product(), is_tile: brush[2..] == [1, 1] }
    }

    /// Least cost of a load by all lanes whose addresses have these steps, where there are any: by rows, by columns, or with an address
    /// for each lane.
    pub(super) fn separate_load_cost(
        self,
        steps: Steps<Option<i64>>,
        scalar: Scalar,
        target: &TargetInfo,
    ) -> u32 {
        let size = Some(i64::from(scalar.bytes()));
        let lanes = self.length * self.count;
        let load = AccessDirection::Load;
        let alone = target.scattered_cost(load, AccessLanes::All, lanes, scalar.bytes() * 8);
        let is_row = steps[0] == Some(0) || steps[0] == size;
        let row_bits = self.length * scalar.bytes() * 8;
        match (is_row, steps[1..].iter().any(|&step| step != Some(0))) {
            (false, _) if self.is_tile && steps[1] == size => {
                alone.min(self.column_cost(load, scalar, target))
            }
            (false, _) => alone,
            (true, true) => alone.min(self.load_cost(scalar, target)),
            // All rows are one, and a load repeats a part of a register.
            (true, false) => {
                let repeated = if row_bits < PART_BITS { target.permute.register } else { 0 };
                let row = target.contiguous_cost(load, AccessLanes::All, self.length, scalar.bytes() * 8);
                alone.min(row + repeated)
            }
        }
    }

    /// Cost of loading and joining rows.
    fn load_cost(self, scalar: Scalar, target: &TargetInfo) -> u32 {
        let (load, bits) = (AccessDirection::Load, scalar.bytes() * 8);
        target.contiguous_cost(load, AccessLanes::All, self.length, bits) * self.count
            + target.cost(target.permute, 1, target.vector_bits) * self.joins(scalar, target)
    }

    /// Cost of loading or storing columns. They are concatenated into registers, and each result register takes parts of all of these.
    fn column_cost(self, direction: AccessDirection, scalar: Scalar, target: &TargetInfo) -> u32 {
        let bits = scalar.bytes() * 8;
        let (columns, length) = (self.length, self.count);
        let registers = target.registers_of(columns * length * bits).max(1);
        let joined = columns.saturating_sub(registers) + registers * (registers - 1).max(1);
        target.contiguous_cost(direction, AccessLanes::All, length, bits) * columns
            + target.cost(target.permute, 1, target.vector_bits) * joined
    }

    /// Permutations that concatenate rows: none if each fills registers.
    pub(super) fn joins(self, scalar: Scalar, target: &TargetInfo) -> u32 {
        let row_bits = self.length * scalar.bytes() * 8;
        match row_bits.is_multiple_of(target.vector_bits) {
            true => 0,
            false => self.count.saturating_sub(target.registers_of(row_bits * self.count)),
        }
    }
}

/// Accesses that together make one of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RowPattern {
    /// Rows of contiguous lanes.
    Rows,
    /// Columns of contiguous lanes.
    Columns,
    /// Loads of one element for each row.
    Uniform,
}

/// Rows of the lanes of a function.
#[derive(Clone, Copy)]
pub(super) struct RowFacts<'a> {
    pub(super) func: &'a Function,
    pub(super) facts: &'a Divergence,
    pub(super) reps: &'a ValueReps,
    pub(super) brush: [u32; MAX_DIMENSIONS],
}

impl RowFacts<'_> {
    pub(super) fn extents(&self) -> RowExtents {
        RowExtents::of(self.brush)
    }

    /// True if the address of a row's lane 0 is as far from the others' as its operations say, whether lane 0 is active or not.
    pub(super) fn has_lane_0_address(&self, address: Value, size: i64) -> bool {
        self.step(0, address, StepFacts::Operations, MAX_DEPTH) == Some(size)
    }

    /// True if the lanes that run an instruction are the same places in each row, as far as its operations tell.
    fn has_equal_masks(&self, inst: Inst) -> bool {
        let Some(predicate) = predicate_of(self.func, inst) else { return true };
        self.is_recomputable(predicate) && !self.varies_between_rows(predicate)
    }

    /// True if all rows may be read where one lane runs an access: either all of them have active lanes or none has, and lane 0 of each has
    /// the address of its row.
    pub(super) fn has_equal_rows(&self, inst: Inst, address: Value) -> bool {
        let is_masked = predicate_of(self.func, inst).is_some();
        self.has_equal_masks(inst) && (!is_masked || self.has_lane_0_address(address, 0))
    }

    /// True if a row's mask costs no permutation.
    fn has_recomputable_masks(&self, inst: Inst) -> bool {
        predicate_of(self.func, inst).is_none_or(|predicate| self.is_recomputable(predicate))
    }

    /// True if a vector comes from scalars by a few cheap operations.
    pub(super) fn is_recomputable(&self, value: Value) -> bool {
        self.is_recomputable_within(value, MASK_DEPTH)
    }

    fn is_recomputable_within(&self, value: Value, depth: usize) -> bool {
        if self.func.constant(value).is_some() {
            return matches!(self.func.constant(value), Some(Constant::Scalar(..)));
        }
        if matches!(self.reps.of(value), ValueRep::Scalar(_)) {
            return !self.reps.is_rebased(value);
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        let Some(inst) = self.func.def_inst(value) else { return false };
        let data = self.func.inst(inst);
        let is_cheap = matches!(data.op, Op::Icmp | Op::And | Op::Or | Op::Xor | Op::Select);
        is_cheap && data.args.iter().all(|&arg| self.is_recomputable_within(arg, depth))
    }

    /// True if a recomputable value may differ between rows.
    pub(super) fn varies_between_rows(&self, value: Value) -> bool {
        self.varies_within(value, MASK_DEPTH)
    }

    fn varies_within(&self, value: Value, depth: usize) -> bool {
        if self.func.constant(value).is_some() {
            return false;
        }
        if let ValueRep::Scalar(steps) = self.reps.of(value) {
            return steps[1..].iter().any(|&step| step != 0);
        }
        let (Some(depth), Some(inst)) = (depth.checked_sub(1), self.func.def_inst(value)) else {
            return true;
        };
        self.func.inst(inst).args.iter().any(|&arg| self.varies_within(arg, depth))
    }

    /// Step of a value from each lane to the next along a dimension of the brush, modulo its width.
    fn step(&self, along: usize, value: Value, facts: StepFacts, depth: usize) -> Option<i64> {
        if self.func.constant(value).is_some() {
            return Some(0);
        }
        if let ValueRep::Scalar(steps) = self.reps.of(value) {
            return Some(steps[along]);
        }
        if self.reps.is_rebased(value) {
            return None;
        }
        if let (StepFacts::Shapes, Shape::Strided { strides, .. }) = (facts, self.facts.shape(value)) {
            return Some(strides.along(along));
        }
        let depth = depth.checked_sub(1)?;
        let data = self.func.inst(self.func.def_inst(value)?);
        let step = |at: usize| self.step(along, data.args[at], facts, depth);
        let number = |at: usize| self.func.i64_constant(data.args[at]);
        match data.op {
            Op::Add => Some(step(0)?.wrapping_add(step(1)?)),
            Op::Sub => Some(step(0)?.wrapping_sub(step(1)?)),
            Op::PtrAdd if self.func.value_type(data.args[1]).scalar().bits() == 64 => {
                Some(step(0)?.wrapping_add(step(1)?))
            }
            Op::Mul if let Some(factor) = number(1) => Some(step(0)?.wrapping_mul(factor)),
            Op::Mul if let Some(factor) = number(0) => Some(step(1)?.wrapping_mul(factor)),
            Op::Shl if let Some(amount @ 0..63) = number(1) => Some(step(0)?.wrapping_shl(amount as u32)),
            Op::Trunc | Op::SpaceCast => step(0),
            Op::Sext if facts == StepFacts::Shapes => self.exact_step(along, data.args[0], true, depth),
            Op::Zext if facts == StepFacts::Shapes => self.exact_step(along, data.args[0], false, depth),
            op if op.info().effect == Effect::Pure && op != Op::Freeze && !data.args.is_empty() => {
                (0..data.args.len()).all(|at| step(at) == Some(0)).then_some(0)
            }
            _ => None,
        }
    }

    /// Step along a dimension, if no lane wraps around.
    fn exact_step(&self, along: usize, value: Value, is_signed: bool, depth: usize) -> Option<i64> {
        if self.step(along, value, StepFacts::Shapes, depth) == Some(0) {
            return Some(0);
        }
        let fact = self.facts.fact(value);
        if let Shape::Strided { strides, .. } = fact.shape {
            let is_straight = if is_signed { fact.no_wrap.signed } else { fact.no_wrap.unsigned };
            return is_straight.then(|| strides.along(along));
        }
        let depth = depth.checked_sub(1)?;
        let data = self.func.inst(self.func.def_inst(value)?);
        let keeps = data.flags.has(if is_signed { Flag::Nsw } else { Flag::Nuw });
        let step = |at: usize| self.exact_step(along, data.args[at], is_signed, depth);
        match data.op {
            Op::Add if keeps => step(0)?.checked_add(step(1)?),
            Op::Sub if keeps => step(0)?.checked_sub(step(1)?),
            _ => None,
        }
    }
}

impl AccessPlanner<'_> {
    /// Pattern of an access by rows or columns, if that is cheaper than an address for each lane.
    pub(super) fn row_pattern(&self, access: &LaneAccess, remarks: &mut Vec<Remark>) -> Option<RowPattern> {
        let RowExtents { length, count, .. } = self.rows().extents();
        if length < 2 || count < 2 || access.scalar == Scalar::I1 {
            return None;
        }
        let size = i64::from(access.scalar.bytes());
        match self.rows().step(0, access.address, StepFacts::Shapes, MAX_DEPTH) {
            Some(0) => self.row_uniform_pays(access, remarks).then_some(RowPattern::Uniform),
            Some(step) if step == size => self.rows_pay(access, remarks).then_some(RowPattern::Rows),
            _ => self.columns_pay(access, remarks).then_some(RowPattern::Columns),
        }
    }

    /// True if contiguous rows are cheaper than an address for each lane; adds a remark with the costs.
    fn rows_pay(&self, access: &LaneAccess, remarks: &mut Vec<Remark>) -> bool {
        let (rows, target) = (self.rows(), &self.options.target);
        let RowExtents { length, count, .. } = rows.extents();
        let size = i64::from(access.scalar.bytes());
        // Computing a row's address takes a few scalar operations; so does testing its mask.
        let tests_mask =
            access.active == AccessLanes::Masked && !rows.has_lane_0_address(access.address, size);
        let finding = if tests_mask { 30 } else { 5 };
        let mut permutes = rows.extents().joins(access.scalar, target);
        if !rows.has_recomputable_masks(access.inst) {
            permutes += count;
        }
        let row = target.contiguous_cost(access.direction, access.active, length, access.element_bits());
        let together =
            (row + finding) * count + target.cost(target.permute, 1, target.vector_bits) * permutes;
        let alone = self.scattered_cost(access, access.active);
        self.parts_pay(access, ("rows", [count, length]), [together, alone], remarks)
    }

    /// True if a load for each row, all of whose lanes have one address, is cheaper than an address for each lane; adds a remark with
    /// the costs.
    fn row_uniform_pays(&self, access: &LaneAccess, remarks: &mut Vec<Remark>) -> bool {
        let (rows, is_masked) = (self.rows(), access.active == AccessLanes::Masked);
        if access.direction.is_store() {
            return false;
        }
        let target = &self.options.target;
        let count = rows.extents().count;
        let mut guard = if is_masked { target.branch } else { 0 };
        if !rows.has_equal_rows(access.inst, access.address) {
            // The row's mask and address, and the choice of another address.
            guard += (target.cost(target.permute, 1, target.vector_bits) + 40) * count;
        }
        let together = rows.extents().load_cost(access.scalar, target) + guard;
        let alone = self.scattered_cost(access, AccessLanes::All);
        self.parts_pay(access, ("rows", [rows.extents().count, 1]), [together, alone], remarks)
    }

    /// True if the lanes of a tile are contiguous along the second dimension, and columns are cheaper than an address for each lane;
    /// adds a remark with the costs.
    fn columns_pay(&self, access: &LaneAccess, remarks: &mut Vec<Remark>) -> bool {
        let [count, length, planes, spaces] = self.brush;
        let size = i64::from(access.scalar.bytes());
        // The distance of columns may be unknown.
        let step = match (self.reps.of(access.address), self.facts.shape(access.address)) {
            (ValueRep::Scalar(steps), _) => Some(steps[0]),
            (ValueRep::Vector, Shape::Strided { strides, .. }) => Some(strides.along(0)),
            _ => None,
        };
        let step_down = self.rows().step(1, access.address, StepFacts::Shapes, MAX_DEPTH);
        let is_whole_tile = length >= 2 && planes * spaces <= 1 && access.active == AccessLanes::All;
        // Where columns overlap, the highest lane must store last.
        let may_overlap = step.is_none_or(|it| it.unsigned_abs() < u64::from(length) * size.unsigned_abs());
        if !is_whole_tile || step_down != Some(size) || access.direction.is_store() && may_overlap {
            return false;
        }
        let extents = self.rows().extents();
        let together = extents.column_cost(access.direction, access.scalar, &self.options.target);
        let alone = self.scattered_cost(access, AccessLanes::All);
        self.parts_pay(access, ("columns", [count, length]), [together, alone], remarks)
    }

    fn parts_pay(
        &self,
        access: &LaneAccess,
        (parts, [count, length]): (&str, [u32; 2]),
        costs: [u32; 2],
        remarks: &mut Vec<Remark>,
    ) -> bool {
        let text = format!("contiguous in {count} {parts} of {length}");
        self.pays(access, RemarkKind::Rows, text, costs, remarks)
    }
}
