//! Updates of narrow elements, one lane after the other.
//!
//! No machine gathers or scatters elements of less than 32 bits. Where each lane loads, changes and stores an element (`counts[c]++`), a
//! gather and a scatter would take the lanes' addresses out of vectors, put the elements into one, and take the results out of another.
//! Scalars need the address of a lane only: on an Emerald Rapids 0.6 ns for a lane instead of 1.1.
//!
//! Lanes at one address change the element one after the other, where a gather loads it for all of them first. So races have to be
//! undefined.

use super::access_plan::{AccessPlan, AccessPlanner, AccessPlans, predicate_of};
use super::value_reps::ValueRep;
use super::widener::Widener;
use crate::races::RaceSemantics;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::words::Flag;
use heddle_ir::{Inst, Op, Scalar, Value};

/// Width of elements from which on there are gathers and scatters.
const LEAST_GATHERED: u32 = 32;

/// Load and operation of an update, whose store has the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneUpdate {
    load: Inst,
    operation: Inst,
}

/// Plans updates among accesses that have no plan yet.
pub(super) fn find_updates(planner: &AccessPlanner<'_>, plans: &mut AccessPlans) {
    if planner.options.races != RaceSemantics::Excluded || planner.lanes() < 2 {
        return;
    }
    for block in planner.func.blocks() {
        for store in planner.func.block_insts(block) {
            if let Some(update) = planner.update_of(store)
                && ![update.load, store].into_iter().any(|inst| plans.is_planned(inst))
            {
                plans.add_update([update.load, update.operation], store, AccessPlan::LaneUpdate(update));
            }
        }
    }
}

impl AccessPlanner<'_> {
    /// Returns the update that a store completes: all lanes run it, and nothing else reads what it loads and computes.
    fn update_of(&self, store: Inst) -> Option<LaneUpdate> {
        let func = self.func;
        let &[stored, address] = &func.inst(store).args[..] else { return None };
        if func.inst(store).op != Op::Store || !self.is_plain_and_scattered(store, address, stored) {
            return None;
        }
        let operation = func.def_inst(stored)?;
        let data = func.inst(operation);
        let is_simple = matches!(data.op, Op::Add | Op::Sub | Op::And | Op::Or | Op::Xor)
            || matches!(data.op, Op::Umin | Op::Umax | Op::Smin | Op::Smax);
        if !is_simple || self.worklist.readers(stored).count() != 1 {
            return None;
        }
        let block = func.layout.block_of(store)?;
        let load = data.args.iter().find_map(|&arg| {
            let load = func.def_inst(arg)?;
            let is_own = func.inst(load).op == Op::Load && func.inst(load).args[0] == address;
            (is_own
                && self.worklist.readers(arg).count() == 1
                && self.is_plain_and_scattered(load, address, arg))
            .then_some(load)
        })?;
        if [load, operation].into_iter().any(|inst| func.layout.block_of(inst) != Some(block)) {
            return None;
        }
        let mut between = func
            .block_insts(block)
            .skip_while(|&inst| inst != load)
            .skip(1)
            .take_while(|&inst| inst != store);
        let keeps_memory = between.all(|inst| func.inst(inst).op.info().effect == Effect::Pure);
        keeps_memory.then_some(LaneUpdate { load, operation })
    }

    /// True if all lanes access narrow integers at addresses of their own.
    fn is_plain_and_scattered(&self, inst: Inst, address: Value, element: Value) -> bool {
        let data = self.func.inst(inst);
        let ty = self.func.value_type(element);
        let is_plain = !data.flags.has(Flag::Volatile)
            && data.access().is_some_and(|access| access.atomic.is_none())
            && predicate_of(self.func, inst).is_none();
        let is_narrow = !ty.is_vector() && ty.scalar().is_int() && ty.bytes() * 8 < LEAST_GATHERED;
        is_plain && is_narrow && !self.reps.is_rebased(address) && self.is_scattered(inst, address, ty)
    }
}

impl Widener<'_> {
    /// Emits an update for each lane.
    pub(super) fn update_lanes(&mut self, store: Inst, update: LaneUpdate) {
        let [store, load, operation] =
            [store, update.load, update.operation].map(|inst| self.old.inst(inst).clone());
        let [stored, address] = [store.args[0], store.args[1]];
        let ty = self.old.value_type(stored);
        let [store_detail, load_detail] = [&store, &load].map(|data| {
            let access = data.access().copied().unwrap_or(Access::aligned(1));
            let align = self.lane_align(&access, address, ty);
            Detail::Access(self.wide_access(access, align))
        });
        let loaded = self.old.result(update.load);
        for lane in 0..u32::from(self.lanes) {
            let pointer = self.address_in_lane(address, lane);
            let args = [pointer].into_iter().collect();
            let element = self.emit(InstData { args, detail: load_detail.clone(), ..load.clone() }, Some(ty));
            let mut changed = operation.clone();
            for at in 0..changed.args.len() {
                let arg = changed.args[at];
                changed.args[at] =
                    if Some(arg) == loaded { element } else { self.element_in_lane(arg, lane) };
            }
            let changed = self.emit(changed, None);
            let args = [changed, pointer].into_iter().collect();
            self.insert(InstData { args, detail: store_detail.clone(), ..store.clone() }, None);
        }
    }

    /// Address of a lane. An index that it extends comes out of a vector before: that takes less than an address of 64 bits.
    fn address_in_lane(&mut self, address: Value, lane: u32) -> Value {
        let data = self.old.def_inst(address).map(|inst| self.old.inst(inst).clone());
        match data.filter(|data| data.op == Op::PtrAdd && self.reps.of(address) == ValueRep::Vector) {
            Some(data) => {
                let base = self.address_in_lane(data.args[0], lane);
                let offset = self.offset_in_lane(data.args[1], lane);
                self.emit(InstData { args: [base, offset].into_iter().collect(), ..data }, None)
            }
            None => self.lane_start(address, lane),
        }
    }

    fn offset_in_lane(&mut self, offset: Value, lane: u32) -> Value {
        let data = self.old.def_inst(offset).map(|inst| self.old.inst(inst).clone());
        let data = data.filter(|_| self.reps.of(offset) == ValueRep::Vector);
        match data.map(|data| (data.op, data)) {
            Some((Op::Sext | Op::Zext, data)) => {
                let index = self.element_in_lane(data.args[0], lane);
                let ty = self.old.value_type(offset);
                self.emit(InstData { args: [index].into_iter().collect(), ..data }, Some(ty))
            }
            Some((Op::Shl, data)) if self.reps.is_uniform(data.args[1]) => {
                let index = self.offset_in_lane(data.args[0], lane);
                let by = self.scalar(data.args[1]);
                self.emit(InstData { args: [index, by].into_iter().collect(), ..data }, None)
            }
            _ => self.element_in_lane(offset, lane),
        }
    }

    fn element_in_lane(&mut self, value: Value, lane: u32) -> Value {
        if self.reps.is_uniform(value) {
            return self.scalar(value);
        }
        let vector = self.vector(value);
        let lane = self.new.make_int(Scalar::I32, lane.into());
        self.emit(InstData::plain(Op::Extract, [vector, lane]), None)
    }
}
