//! What one lane computes, computed again with scalars: an address that lanes hold in a vector is wanted of one of them,
//! and is made of scalars that step from lane to lane. Then nothing needs the vector but gathers by it.

use super::value_reps::ValueRep;
use super::widener::Widener;
use heddle_analysis::Condition;
use heddle_analysis::shape::Steps;
use heddle_ir::inst::InstData;
use heddle_ir::words::Flags;
use heddle_ir::{Constant, Inst, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;

/// The most instructions that are repeated.
const MAX_RECOMPUTED: usize = 12;

/// A lane: so many behind one that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct LanePosition {
    pub(super) from: u32,
    pub(super) lane_offset: Option<Value>,
    /// Whether the lane may be in another row than that one.
    pub(super) crosses_rows: bool,
}

impl Widener<'_> {
    /// The value of the first lane that runs an instruction, computed by scalars alone; none if that takes too much.
    /// `conditions` are known to hold.
    pub(super) fn first_lane_value(
        &mut self,
        inst: Inst,
        value: Value,
        conditions: &[Condition],
    ) -> Option<Value> {
        let order = self.recomputable(value, conditions, true)?;
        let lane_offset = self.predicate_of(inst).map(|_| self.first_lane());
        self.emit_for_lane(&order, value, LanePosition { from: 0, lane_offset, crosses_rows: true })
    }

    /// The value of a lane, the same way.
    pub(super) fn lane_value(&mut self, value: Value, place: LanePosition) -> Option<Value> {
        let order = self.recomputable(value, &[], place.crosses_rows)?;
        self.emit_for_lane(&order, value, place)
    }

    /// Writes instructions with scalars; gives what becomes of a value.
    fn emit_for_lane(&mut self, order: &[Inst], value: Value, lane: LanePosition) -> Option<Value> {
        let mut known: FxHashMap<Value, Value> = FxHashMap::default();
        for &inst in order {
            let mut data = self.old.inst(inst).clone();
            let result = self.old.result(inst)?;
            let written = matches!(data.op.info().gives, heddle_ir::ops::Gives::Written(_));
            let ty = self.old.value_type(result);
            for at in 0..data.args.len() {
                let arg = data.args[at];
                data.args[at] = match known.get(&arg) {
                    Some(&scalar) => scalar,
                    None => {
                        let scalar = self.scalar_in_lane(arg, lane);
                        known.insert(arg, scalar);
                        scalar
                    }
                };
            }
            // Where no lane is, whatever it computes must be something.
            data.flags = data.flags.without(Flags::POISON);
            let scalar = self.emit(data, written.then_some(ty));
            known.insert(result, scalar);
        }
        known.get(&value).copied()
    }

    /// The instructions that compute a value from scalars, each after those that it needs.
    fn recomputable(&self, value: Value, conditions: &[Condition], crosses_rows: bool) -> Option<Vec<Inst>> {
        let mut order: Vec<Inst> = Vec::new();
        let mut work = vec![(value, false)];
        while let Some((value, is_ready)) = work.pop() {
            if self.old.constant(value).is_some() {
                continue;
            }
            if let ValueRep::Scalar(steps) = self.reps.of(value) {
                let is_line = !crosses_rows || self.lane_step(steps).is_some();
                let is_number = !self.old.value_type(value).scalar().is_float()
                    && self.old.value_type(value).scalar().bits() >= 8;
                if steps != Steps::default() && !(is_line && is_number) {
                    return None;
                }
                continue;
            }
            let inst = self.old.def_inst(value)?;
            if order.contains(&inst) {
                continue;
            }
            if is_ready {
                order.push(inst);
                continue;
            }
            let data = self.old.inst(inst);
            let divides = |divisor: Value| {
                conditions.iter().any(|condition| condition.value == divisor && condition.least >= 1)
            };
            let is_plain = match data.op {
                Op::Add | Op::Sub | Op::Mul | Op::Shl | Op::Lshr | Op::Ashr | Op::And | Op::Or | Op::Xor => {
                    true
                }
                Op::Zext | Op::Sext | Op::Trunc | Op::SpaceCast => true,
                Op::Umin | Op::Umax | Op::Smin | Op::Smax => true,
                Op::PtrAdd => !self.objects.is_interleaved(data.args[0]),
                Op::Udiv | Op::Urem | Op::Sdiv | Op::Srem => divides(data.args[1]),
                _ => false,
            };
            if !is_plain || order.len() + work.len() > 2 * MAX_RECOMPUTED {
                return None;
            }
            work.push((value, true));
            work.extend(data.args.iter().map(|&arg| (arg, false)));
        }
        (order.len() <= MAX_RECOMPUTED).then_some(order)
    }

    /// A value that is a scalar, in a lane.
    fn scalar_in_lane(&mut self, value: Value, lane: LanePosition) -> Value {
        let mut scalar = self.scalar(value);
        let ValueRep::Scalar(steps) = self.reps.of(value) else { return scalar };
        if steps == Steps::default() || self.old.constant(value).is_some() {
            return scalar;
        }
        let found = self.old.value_type(value).scalar();
        let (number, op) = if found.is_ptr() { (Scalar::I64, Op::PtrAdd) } else { (found, Op::Add) };
        let offset = self.offsets(steps)[lane.from as usize];
        if offset != 0 {
            let offset = self.new.make_const(Constant::int(number, offset));
            scalar = self.emit(InstData::plain(op, [scalar, offset]), None);
        }
        let step = if lane.crosses_rows { self.lane_step(steps).unwrap_or(0) } else { steps[0] };
        let Some(lane_offset) = lane.lane_offset.filter(|_| step != 0) else { return scalar };
        let lane_offset = self.convert_lane(lane_offset, number);
        let step = self.new.make_const(Constant::int(number, step.into()));
        let distance = self.emit(InstData::plain(Op::Mul, [lane_offset, step]), None);
        self.emit(InstData::plain(op, [scalar, distance]), None)
    }

    /// The number of a lane, in a type of integers.
    pub(super) fn convert_lane(&mut self, lane: Value, number: Scalar) -> Value {
        let bits = self.new.value_type(lane).scalar().bits();
        let op = match bits.cmp(&number.bits()) {
            std::cmp::Ordering::Less => Op::Zext,
            std::cmp::Ordering::Equal => return lane,
            std::cmp::Ordering::Greater => Op::Trunc,
        };
        self.emit(InstData::plain(op, [lane]), Some(Type::Scalar(number)))
    }
}
