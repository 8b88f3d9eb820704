//! Rows of lanes: lanes of a multi-dimensional brush that differ along the first dimension only.
//!
//! ```text
//!     a[y * width + x]      lanes 0 1 2 3      at y      one load per row, concatenated
//!                           lanes 4 5 6 7      at y + 1
//!     a[y * width + k]      one scalar per row, splatted and concatenated
//!     a[x * 16 + y]         one load per column, concatenated and transposed
//! ```
//!
//! Rows are stored in ascending order, like lanes. `row_facts` decides which accesses are made by rows.

use super::memory::natural_align;
use super::row_facts::{RowExtents, RowFacts, RowPattern};
use super::single_lane::LanePosition;
use super::value_reps::ValueRep;
use super::widener::Widener;
use heddle_ir::inst::{Access, Args, Detail, InstData};
use heddle_ir::{Inst, Op, Scalar, Type, Value};

impl Widener<'_> {
    /// Emits an access by rows or columns.
    pub(super) fn access_rows(&mut self, inst: Inst, pattern: RowPattern) {
        let mut data = self.old.inst(inst).clone();
        let (stored, address) = match data.op {
            Op::Store => (Some(data.args[0]), data.args[1]),
            _ => (None, data.args[0]),
        };
        let accessed = stored.or(self.old.result(inst)).expect("a load gives a value");
        let ty = self.old.value_type(accessed);
        let (scalar, size) = (ty.scalar(), i64::from(ty.bytes()));
        let extents = self.row_extents();
        let starts: Vec<Value> = match pattern {
            RowPattern::Rows => {
                (0..extents.count).map(|row| self.row_start(inst, address, row, size)).collect()
            }
            RowPattern::Uniform => {
                (0..extents.count).map(|row| self.row_start(inst, address, row, 0)).collect()
            }
            RowPattern::Columns => {
                (0..extents.length).map(|column| self.lane_start(address, column)).collect()
            }
        };
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        data.detail = Detail::Access(self.wide_access(access, access.align.min(natural_align(ty))));
        let stored = stored.map(|stored| self.vector(stored));
        let loaded = match (pattern, stored) {
            (RowPattern::Rows, Some(value)) => return self.store_rows(inst, &data, &starts, value),
            (RowPattern::Columns, Some(value)) => return self.store_columns(&data, &starts, value),
            (RowPattern::Rows, None) => self.load_rows(inst, &data, &starts, scalar),
            (RowPattern::Columns, None) => self.load_columns(&data, &starts, scalar),
            (RowPattern::Uniform, _) => self.spread_rows(inst, &data, &starts, scalar),
        };
        self.define(inst, loaded);
    }

    /// Permutation from concatenated columns to lane order.
    fn transposed_order(&self) -> Box<[u16]> {
        let [count, length, ..] = self.brush;
        (0..length).flat_map(|row| (0..count).map(move |column| (column * length + row) as u16)).collect()
    }

    /// Loads columns and transposes them.
    fn load_columns(&mut self, data: &InstData, starts: &[Value], scalar: Scalar) -> Value {
        let ty = Type::Vector(scalar, self.brush[1] as u16);
        let parts = starts.iter().map(|&start| self.load_vector(data.clone(), start, None, ty)).collect();
        let joined = self.join_parts(parts, self.brush[1] as u16, scalar);
        let order = Detail::Permute(self.transposed_order());
        let all = Type::Vector(scalar, self.lanes);
        self.emit(InstData::new(Op::Permute, [joined, joined], order), Some(all))
    }

    /// Transposes lanes and stores columns.
    fn store_columns(&mut self, data: &InstData, starts: &[Value], value: Value) {
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

    /// Extents of the brush's rows.
    pub(super) fn row_extents(&self) -> RowExtents {
        RowExtents::of(self.brush)
    }

    pub(super) fn row_facts(&self) -> RowFacts<'_> {
        RowFacts { func: self.old, facts: self.facts, reps: self.reps, brush: self.brush }
    }

    /// Address of a row's first lane.
    fn row_start(&mut self, inst: Inst, address: Value, row: u32, size: i64) -> Value {
        let from = row * self.row_extents().length;
        let mask = match self.reps.of(address) {
            ValueRep::Scalar(_) => None,
            ValueRep::Vector if self.row_facts().has_lane_0_address(address, size) => None,
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
    fn load_rows(&mut self, inst: Inst, data: &InstData, starts: &[Value], scalar: Scalar) -> Value {
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
    fn spread_rows(&mut self, inst: Inst, data: &InstData, starts: &[Value], scalar: Scalar) -> Value {
        let ty = Type::Vector(scalar, self.row_extents().length as u16);
        let starts = match self.row_facts().has_equal_rows(inst, self.old.inst(inst).args[0]) {
            true => starts.to_vec(),
            false => self.readable_starts(inst, starts),
        };
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

    /// Addresses to read for each row, if a lane is active: rows without active lanes read where another row does.
    fn readable_starts(&mut self, inst: Inst, starts: &[Value]) -> Vec<Value> {
        let is_active: Vec<Option<Value>> = (0..starts.len() as u32)
            .map(|row| {
                let mask = self.row_mask(inst, row)?;
                Some(self.emit(InstData::plain(Op::Any, [mask]), None))
            })
            .collect();
        let mut choose = |active: Option<Value>, one: Value, other: Value| match active {
            Some(active) => self.emit(InstData::plain(Op::Select, [active, one, other]), None),
            None => one,
        };
        let rows = || is_active.iter().copied().zip(starts.iter().copied());
        let readable =
            rows().skip(1).fold(starts[0], |before, (active, start)| choose(active, start, before));
        rows().map(|(active, start)| choose(active, start, readable)).collect()
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
    fn store_rows(&mut self, inst: Inst, data: &InstData, starts: &[Value], value: Value) {
        for (row, &start) in (0..).zip(starts) {
            let part = self.row_of(value, row);
            let mask = self.row_mask(inst, row);
            self.store_vector(data.clone(), part, start, mask);
        }
    }
}
