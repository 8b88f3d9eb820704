//! Recomputes one lane's value with scalars. Lanes hold an address in a vector, but its scalar operands give the address
//! of a single lane; only gathers then need the vector.

use super::value_reps::ValueRep;
use super::widener::Widener;
use heddle_analysis::StrideCondition;
use heddle_analysis::shape::Steps;
use heddle_ir::inst::InstData;
use heddle_ir::words::Flags;
use heddle_ir::{Constant, Inst, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;

/// Maximum number of instructions to recompute.
const MAX_RECOMPUTED: usize = 12;

/// Lane number, as a constant plus an optional run-time offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct LanePosition {
    pub(super) from: u32,
    pub(super) lane_offset: Option<Value>,
    /// True if the offset may lead into another row.
    pub(super) crosses_rows: bool,
}

impl Widener<'_> {
    /// Recomputes the value of the first lane that runs an instruction; none if that takes too many instructions.
    /// `conditions` are assumed to hold.
    pub(super) fn first_lane_value(
        &mut self,
        inst: Inst,
        value: Value,
        conditions: &[StrideCondition],
    ) -> Option<Value> {
        let order = self.recomputable(value, conditions, true)?;
        let lane_offset = self.predicate_of(inst).map(|_| self.first_lane());
        self.emit_for_lane(&order, value, LanePosition { from: 0, lane_offset, crosses_rows: true })
    }

    /// Recomputes the value of a lane; none if that takes too many instructions.
    pub(super) fn lane_value(&mut self, value: Value, position: LanePosition) -> Option<Value> {
        let order = self.recomputable(value, &[], position.crosses_rows)?;
        self.emit_for_lane(&order, value, position)
    }

    /// Emits instructions as scalars for a lane; returns the new scalar of a value.
    fn emit_for_lane(&mut self, order: &[Inst], value: Value, lane: LanePosition) -> Option<Value> {
        let mut known: FxHashMap<Value, Value> = FxHashMap::default();
        for &inst in order {
            let mut data = self.old.inst(inst).clone();
            let result = self.old.result(inst)?;
            let written = matches!(data.op.info().gives, heddle_ir::ops::ResultConstraint::Written(_));
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
            // With an empty mask the lane is arbitrary, so flags must not create poison.
            data.flags = data.flags.without(Flags::POISON);
            let scalar = self.emit(data, written.then_some(ty));
            known.insert(result, scalar);
        }
        known.get(&value).copied()
    }

    /// Instructions that compute a value from scalars, in order of dependence.
    fn recomputable(
        &self,
        value: Value,
        conditions: &[StrideCondition],
        crosses_rows: bool,
    ) -> Option<Vec<Inst>> {
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
                conditions.iter().any(|condition| condition.value == divisor && condition.min >= 1)
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

    /// Value of a lane, where the representation is a scalar.
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

    /// Converts a lane number to an integer type.
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
