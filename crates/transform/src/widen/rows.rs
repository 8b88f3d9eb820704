//! Rows of lanes: lanes of a multi-dimensional brush that differ along the first dimension only.
//!
//! ```text
//!     a[y * width + x]      lanes 0 1 2 3      at y      one load per row, concatenated
//!                           lanes 4 5 6 7      at y + 1
//!     a[y * width + k]      one scalar per row, splatted and concatenated
//!     a[x * 16 + y]         one load per column, concatenated and transposed
//! ```
//!
//! The step within a row is computed from the defining operations, since the distance between rows may be unknown:
//! `y * width` is uniform in a row for any `width`. The result holds for active lanes. Rows are stored in ascending
//! order, like lanes.

use super::memory::AccessPattern;
use super::single_lane::LanePosition;
use super::value_reps::ValueRep;
use super::widener::Widener;
use super::{Remark, RemarkKind, access_remark};
use crate::target::{AccessDirection, AccessLanes, TargetInfo};
use heddle_analysis::Shape;
use heddle_analysis::shape::Steps;
use heddle_ir::diagnostic::{AccessLowering, LoweringCosts};
use heddle_ir::inst::{Args, Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::Flag;
use heddle_ir::{Inst, Op, Scalar, Type, Value};

/// Bits of the parts of registers that loads repeat.
const PART_BITS: u32 = 128;

/// Maximum depth of operations to look into.
const MAX_DEPTH: usize = 8;

/// Sources of the step within a row.
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

impl Widener<'_> {
    /// Returns the row addresses of an access, if rows are cheaper than an address for each lane.
    pub(super) fn rows(&mut self, inst: Inst, address: Value, scalar: Scalar) -> Option<AccessPattern> {
        let RowExtents { length, count, .. } = self.row_extents();
        let size = i64::from(scalar.bytes());
        if length < 2 || count < 2 || scalar == Scalar::I1 {
            return None;
        }
        match self.row_step(address, StepFacts::Shapes, MAX_DEPTH) {
            Some(0) => return self.row_uniform(inst, address, scalar),
            Some(step) if step == size => {}
            _ => return self.columns(inst, address, scalar),
        }
        let direction = AccessDirection::of(self.old.inst(inst).op);
        let target = &self.options.target;
        let is_masked = self.predicate_of(inst).is_some();
        let active = AccessLanes::under(is_masked);
        let bits = scalar.bytes() * 8;
        let lanes = u32::from(self.lanes);
        // Computing a row's address takes a few scalar operations; so does testing its mask.
        let tests_mask = is_masked && !self.has_lane_0_address(address, size);
        let finding = if tests_mask { 30 } else { 5 };
        let mut permutes = self.row_extents().joins(scalar, target);
        if !self.has_recomputable_row_masks(inst) {
            permutes += count;
        }
        let together = (target.contiguous_cost(direction, active, length, bits) + finding) * count
            + target.cost(target.permute, 1, target.vector_bits) * permutes;
        let alone = target.scattered_cost(direction, active, lanes, bits);
        self.rows_pay(inst, address, length, together, alone).then(|| {
            AccessPattern::Rows((0..count).map(|row| self.row_start(inst, address, row, size)).collect())
        })
    }

    /// True if the address of a row's lane 0 is as far from the others' as its operations say, whether lane 0 is active or not.
    fn has_lane_0_address(&self, address: Value, size: i64) -> bool {
        self.row_step(address, StepFacts::Operations, MAX_DEPTH) == Some(size)
    }

    /// Returns the addresses of rows that are uniform, if that is cheaper than an address for each lane.
    fn row_uniform(&mut self, inst: Inst, address: Value, scalar: Scalar) -> Option<AccessPattern> {
        let count = self.row_extents().count;
        // Rows without active lanes must not be read: either all rows have some or none has.
        let reads_all_rows = self.has_equal_row_masks(inst)
            && (self.predicate_of(inst).is_none() || self.has_lane_0_address(address, 0));
        if self.old.inst(inst).op == Op::Store || !reads_all_rows {
            return None;
        }
        let target = &self.options.target;
        let lanes = u32::from(self.lanes);
        let guard = if self.predicate_of(inst).is_some() { target.branch } else { 0 };
        let together = self.row_extents().load_cost(scalar, target) + guard;
        let alone = target.scattered_cost(AccessDirection::Load, AccessLanes::All, lanes, scalar.bytes() * 8);
        self.rows_pay(inst, address, 1, together, alone).then(|| {
            AccessPattern::RowUniform((0..count).map(|row| self.row_start(inst, address, row, 0)).collect())
        })
    }

    /// Returns the column addresses of a tile whose lanes are contiguous along the second dimension, if columns are cheaper
    /// than an address for each lane.
    fn columns(&mut self, inst: Inst, address: Value, scalar: Scalar) -> Option<AccessPattern> {
        let [count, length, planes, spaces] = self.brush;
        let size = i64::from(scalar.bytes());
        let [step, step_down] = match (self.reps.of(address), self.facts.shape(address)) {
            (ValueRep::Scalar(steps), _) => [steps[0], steps[1]],
            (ValueRep::Vector, Shape::Strided { strides, .. }) => [strides.along(0), strides.along(1)],
            _ => return None,
        };
        if length < 2 || planes * spaces > 1 || step_down != size || self.predicate_of(inst).is_some() {
            return None;
        }
        let direction = AccessDirection::of(self.old.inst(inst).op);
        // Where columns overlap, the highest lane must store last.
        if direction.is_store() && step.unsigned_abs() < u64::from(length) * size.unsigned_abs() {
            return None;
        }
        let target = &self.options.target;
        let lanes = u32::from(self.lanes);
        let together = self.row_extents().column_cost(direction, scalar, target);
        let alone = target.scattered_cost(direction, AccessLanes::All, lanes, scalar.bytes() * 8);
        self.parts_pay(inst, address, ("columns", [count, length]), together, alone).then(|| {
            AccessPattern::Columns((0..count).map(|column| self.lane_start(address, column)).collect())
        })
    }

    /// Permutation from concatenated columns to lane order.
    fn transposed_order(&self) -> Box<[u16]> {
        let [count, length, ..] = self.brush;
        (0..length).flat_map(|row| (0..count).map(move |column| (column * length + row) as u16)).collect()
    }

    /// Loads columns and transposes them.
    pub(super) fn load_columns(&mut self, data: &InstData, starts: &[Value], scalar: Scalar) -> Value {
        let ty = Type::Vector(scalar, self.brush[1] as u16);
        let parts = starts.iter().map(|&start| self.load_vector(data.clone(), start, None, ty)).collect();
        let joined = self.join_parts(parts, self.brush[1] as u16, scalar);
        let order = Detail::Permute(self.transposed_order());
        let all = Type::Vector(scalar, self.lanes);
        self.emit(InstData::new(Op::Permute, [joined, joined], order), Some(all))
    }

    /// Transposes lanes and stores columns.
    pub(super) fn store_columns(&mut self, data: &InstData, starts: &[Value], value: Value) {
        let length = self.brush[1] as u16;
        let order = self.transposed_order();
        let mut lanes = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&element, lane)| lanes[usize::from(element)] = lane);
        let ty = Type::Vector(self.new.value_type(value).scalar(), length);
        for (column, &start) in lanes.chunks(length.into()).zip(starts) {
            let pick = Detail::Permute(column.into());
            let part = self.emit(InstData::new(Op::Permute, [value, value], pick), Some(ty));
            self.store_vector(data.clone(), part, start, None);
        }
    }

    /// True if rows pay; adds a remark with the costs.
    fn rows_pay(&mut self, inst: Inst, address: Value, length: u32, together: u32, alone: u32) -> bool {
        let count = self.row_extents().count;
        self.parts_pay(inst, address, ("rows", [count, length]), together, alone)
    }

    /// True if this many rows or columns of a length pay; adds a remark with the costs.
    fn parts_pay(
        &mut self,
        inst: Inst,
        address: Value,
        (parts, [count, length]): (&str, [u32; 2]),
        together: u32,
        alone: u32,
    ) -> bool {
        let pays = together < alone;
        let lowering = AccessLowering {
            accesses: 1,
            is_store: self.old.inst(inst).op == Op::Store,
            objects: Vec::new(),
            lowering: format!("contiguous in {count} {parts} of {length}"),
            condition: String::new(),
            is_chosen: pays,
            costs: Some(LoweringCosts {
                together,
                separate: alone,
                target: self.options.target.name,
                times: 1,
            }),
        };
        let kind = if pays { RemarkKind::Rows } else { RemarkKind::PerLane };
        let diagnostic = access_remark(self.old, inst, address, lowering);
        self.remarks.push(Remark { kind, accesses: 1, diagnostic });
        pays
    }

    /// Extents of the brush's rows.
    pub(super) fn row_extents(&self) -> RowExtents {
        RowExtents::of(self.brush)
    }

    /// Address of a row's first lane.
    fn row_start(&mut self, inst: Inst, address: Value, row: u32, size: i64) -> Value {
        let from = row * self.row_extents().length;
        let mask = match self.reps.of(address) {
            ValueRep::Scalar(_) => None,
            ValueRep::Vector if self.has_lane_0_address(address, size) => None,
            ValueRep::Vector => self.row_mask(inst, row),
        };
        let Some(mask) = mask else { return self.lane_start(address, from) };
        // Only active lanes have a valid address.
        let lane_offset = self.first_lane_of(mask);
        let position = LanePosition { from, lane_offset: Some(lane_offset), crosses_rows: false };
        let found = self
            .lane_value(address, position)
            .unwrap_or_else(|| self.lane_of(address, from, Some(lane_offset)));
        let lane_offset = self.convert_lane(lane_offset, Scalar::I64);
        let back = self.new.make_int(Scalar::I64, -i128::from(size));
        let distance = self.emit(InstData::plain(Op::Mul, [lane_offset, back]), None);
        self.emit(InstData::plain(Op::PtrAdd, [found, distance]), None)
    }

    /// Address of an active lane.
    pub(super) fn lane_start(&mut self, address: Value, lane: u32) -> Value {
        if let ValueRep::Scalar(steps) = self.reps.of(address) {
            let scalar = self.scalar(address);
            let offset = self.offsets(steps)[lane as usize];
            return self.offset_address(scalar, offset as i64);
        }
        let position = LanePosition { from: lane, lane_offset: None, crosses_rows: false };
        self.lane_value(address, position).unwrap_or_else(|| self.lane_of(address, lane, None))
    }

    fn lane_of(&mut self, value: Value, from: u32, lane_offset: Option<Value>) -> Value {
        let vector = self.vector(value);
        let mut lane = self.new.make_int(Scalar::I32, from.into());
        if let Some(lane_offset) = lane_offset {
            let lane_offset = self.convert_lane(lane_offset, Scalar::I32);
            lane = self.emit(InstData::plain(Op::Add, [lane, lane_offset]), None);
        }
        self.emit(InstData::plain(Op::Extract, [vector, lane]), None)
    }

    /// Lanes of a row of a vector.
    pub(super) fn row_of(&mut self, vector: Value, row: u32) -> Value {
        let length = self.row_extents().length as u16;
        let first = row as u16 * length;
        let ty = Type::Vector(self.new.value_type(vector).scalar(), length);
        let lanes = Detail::Permute((first..first + length).collect());
        self.emit(InstData::new(Op::Permute, [vector, vector], lanes), Some(ty))
    }

    /// Loads and concatenates rows.
    pub(super) fn load_rows(
        &mut self,
        inst: Inst,
        data: &InstData,
        starts: &[Value],
        scalar: Scalar,
    ) -> Value {
        let length = self.row_extents().length as u16;
        let ty = Type::Vector(scalar, length);
        let mut parts: Vec<Value> = Vec::with_capacity(starts.len());
        for (row, &start) in (0..).zip(starts) {
            let mask = self.row_mask(inst, row);
            parts.push(self.load_row(data, start, mask, ty));
        }
        self.join_parts(parts, self.row_extents().length as u16, scalar)
    }

    /// Loads a scalar for each row, splats and concatenates.
    pub(super) fn spread_rows(
        &mut self,
        inst: Inst,
        data: &InstData,
        starts: &[Value],
        scalar: Scalar,
    ) -> Value {
        let ty = Type::Vector(scalar, self.row_extents().length as u16);
        let any = self.any_active_lane(inst);
        let loaded = self.emit_if(any, |widener| {
            let load = |&start: &Value| InstData { args: [start].into_iter().collect(), ..data.clone() };
            starts.iter().map(|start| widener.emit(load(start), Some(scalar.into()))).collect()
        });
        let parts = loaded
            .into_iter()
            .map(|value| self.emit(InstData::plain(Op::Splat, [value]), Some(ty)))
            .collect();
        self.join_parts(parts, self.row_extents().length as u16, scalar)
    }

    /// Concatenates vectors of `lanes` lanes each.
    pub(super) fn join_parts(&mut self, mut parts: Vec<Value>, mut lanes: u16, scalar: Scalar) -> Value {
        while parts.len() > 1 && parts.len().is_multiple_of(2) {
            lanes *= 2;
            let both: Box<[u16]> = (0..lanes).collect();
            let ty = Type::Vector(scalar, lanes);
            let join = |pair: &[Value]| {
                let args: Args = pair.iter().copied().collect();
                self.emit(InstData::new(Op::Permute, args, Detail::Permute(both.clone())), Some(ty))
            };
            parts = parts.chunks(2).map(join).collect();
        }
        if parts.len() == 1 {
            return parts[0];
        }
        // For an odd number of parts: widen each to all lanes, then shuffle it into place.
        let all = Type::Vector(scalar, self.lanes);
        let (width, total) = (usize::from(lanes), usize::from(self.lanes));
        let mut joined: Option<Value> = None;
        for (number, part) in parts.into_iter().enumerate() {
            let front = Detail::Permute((0..total).map(|lane| lane.min(width - 1) as u16).collect());
            let part = self.emit(InstData::new(Op::Permute, [part, part], front), Some(all));
            joined = Some(match joined {
                None => part,
                Some(before) => {
                    let from = number * width;
                    let pick = |lane: usize| match lane.checked_sub(from) {
                        Some(within) if within < width => (total + within) as u16,
                        _ => lane as u16,
                    };
                    let lanes = Detail::Permute((0..total).map(pick).collect());
                    self.emit(InstData::new(Op::Permute, [before, part], lanes), Some(all))
                }
            });
        }
        joined.expect("there are rows")
    }

    /// Stores rows, in ascending order.
    pub(super) fn store_rows(&mut self, inst: Inst, data: &InstData, starts: &[Value], value: Value) {
        for (row, &start) in (0..).zip(starts) {
            let part = self.row_of(value, row);
            let mask = self.row_mask(inst, row);
            self.store_vector(data.clone(), part, start, mask);
        }
    }

    /// Step of a value from each lane of a row to the next, modulo its width.
    fn row_step(&self, value: Value, facts: StepFacts, depth: usize) -> Option<i64> {
        if self.old.constant(value).is_some() {
            return Some(0);
        }
        if let ValueRep::Scalar(steps) = self.reps.of(value) {
            return Some(steps[0]);
        }
        if self.reps.is_rebased(value) {
            return None;
        }
        if let (StepFacts::Shapes, Shape::Strided { strides, .. }) = (facts, self.facts.shape(value)) {
            return Some(strides.along(0));
        }
        let depth = depth.checked_sub(1)?;
        let data = self.old.inst(self.old.def_inst(value)?);
        let step = |at: usize| self.row_step(data.args[at], facts, depth);
        let number = |at: usize| self.old.i64_constant(data.args[at]);
        match data.op {
            Op::Add => Some(step(0)?.wrapping_add(step(1)?)),
            Op::Sub => Some(step(0)?.wrapping_sub(step(1)?)),
            Op::PtrAdd if self.old.value_type(data.args[1]).scalar().bits() == 64 => {
                Some(step(0)?.wrapping_add(step(1)?))
            }
            Op::Mul if let Some(factor) = number(1) => Some(step(0)?.wrapping_mul(factor)),
            Op::Mul if let Some(factor) = number(0) => Some(step(1)?.wrapping_mul(factor)),
            Op::Shl if let Some(amount @ 0..63) = number(1) => Some(step(0)?.wrapping_shl(amount as u32)),
            Op::Trunc | Op::SpaceCast => step(0),
            Op::Sext if facts == StepFacts::Shapes => self.exact_row_step(data.args[0], true, depth),
            Op::Zext if facts == StepFacts::Shapes => self.exact_row_step(data.args[0], false, depth),
            op if op.info().effect == Effect::Pure && op != Op::Freeze && !data.args.is_empty() => {
                (0..data.args.len()).all(|at| step(at) == Some(0)).then_some(0)
            }
            _ => None,
        }
    }

    /// Step within a row, if no lane of the row wraps around.
    fn exact_row_step(&self, value: Value, is_signed: bool, depth: usize) -> Option<i64> {
        if self.row_step(value, StepFacts::Shapes, depth) == Some(0) {
            return Some(0);
        }
        let fact = self.facts.fact(value);
        if let Shape::Strided { strides, .. } = fact.shape {
            let is_straight = if is_signed { fact.no_wrap.signed } else { fact.no_wrap.unsigned };
            return is_straight.then(|| strides.along(0));
        }
        let depth = depth.checked_sub(1)?;
        let data = self.old.inst(self.old.def_inst(value)?);
        let keeps = data.flags.has(if is_signed { Flag::Nsw } else { Flag::Nuw });
        let step = |at: usize| self.exact_row_step(data.args[at], is_signed, depth);
        match data.op {
            Op::Add if keeps => step(0)?.checked_add(step(1)?),
            Op::Sub if keeps => step(0)?.checked_sub(step(1)?),
            _ => None,
        }
    }
}
