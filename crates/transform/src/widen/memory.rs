//! Emits memory instructions by their plans.

use super::access_plan::AccessPlan;
use super::value_reps::ValueRep;
use super::widener::{WidenResult, Widener};
use crate::address_pattern::AddressPattern;
use heddle_analysis::shape::Steps;
use heddle_analysis::{Shape, StrideCondition};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::{Constant, Inst, Op, Scalar, Type, Value};

impl Widener<'_> {
    /// Emits a memory instruction by its plan.
    pub(super) fn access(&mut self, inst: Inst, plan: &AccessPlan) -> WidenResult {
        match plan {
            AccessPlan::Member => {}
            AccessPlan::InterleaveGroup(group) => self.interleaved_access(group),
            AccessPlan::StructureGroup(group) => self.structure_access(group),
            AccessPlan::CellGroup(group) => self.cell_access(group),
            AccessPlan::CellStore(store) => self.store_cells(inst, store),
            &AccessPlan::Addresses(pattern) => {
                if let Some(loaded) = self.access_by(inst, pattern, &[]) {
                    self.define(inst, loaded);
                }
            }
            &AccessPlan::Rows(pattern) => self.access_rows(inst, pattern),
            AccessPlan::LookupTable(lookup) => {
                let loaded = self.load_from_table(inst, lookup);
                self.define(inst, loaded);
            }
            AccessPlan::CandidateElements(candidates) if self.old.inst(inst).op == Op::Store => {
                self.store_candidates(inst, candidates);
            }
            AccessPlan::CandidateElements(candidates) => {
                let loaded = self.load_candidates(inst, candidates);
                self.define(inst, loaded);
            }
            AccessPlan::GatherWords => {
                let loaded = self.gather_words(inst);
                self.define(inst, loaded);
            }
            &AccessPlan::CombinedUpdate(combination) => self.update_together(inst, combination),
            AccessPlan::UniformTransfer => self.transfer_once(inst),
            &AccessPlan::FillObjects(bytes) => self.fill_objects(inst, bytes),
            AccessPlan::FillInterleaved => self.fill_interleaved(inst),
            AccessPlan::FillInterleavedMasked => self.fill_interleaved_masked(inst),
            &AccessPlan::BlendedStore(pattern, inactive) => self.store_blended(inst, pattern, inactive),
            &AccessPlan::LaneUpdate(update) => self.update_lanes(inst, update),
            AccessPlan::LaneLoop => return self.lane_by_lane(inst),
        }
        Ok(())
    }

    /// Emits an access by a pattern; `conditions` are assumed to hold. Returns the loaded value.
    pub(super) fn access_by(
        &mut self,
        inst: Inst,
        pattern: AddressPattern,
        conditions: &[StrideCondition],
    ) -> Option<Value> {
        if self.old.inst(inst).op == Op::Store {
            self.store_by(inst, pattern, conditions);
            return None;
        }
        Some(self.load_by(inst, pattern, conditions))
    }

    /// Emits a load of narrow elements as a gather of 32 bits for each lane.
    fn gather_words(&mut self, inst: Inst) -> Value {
        let mut data = self.old.inst(inst).clone();
        let (address, result) = (data.args[0], self.old.result(inst).expect("a load gives a value"));
        let ty = self.old.value_type(result);
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let words = Type::Vector(Scalar::I32, self.lanes);
        let narrow = Type::Vector(Scalar::int(ty.scalar().bits()).unwrap_or(Scalar::I8), self.lanes);
        let align = self.lane_align(&access, address, ty);
        data.op = Op::Gather;
        data.detail = Detail::Access(self.wide_access(access, align));
        let (pointers, mask) = (self.vector(address), self.mask_or_all(inst));
        let otherwise = self.new.make_poison(words);
        data.args = [pointers, mask, otherwise].into_iter().collect();
        let loaded = self.emit(data, Some(words));
        let cut = self.emit(InstData::plain(Op::Trunc, [loaded]), Some(narrow));
        match ty.scalar().is_float() {
            true => self.emit(InstData::plain(Op::Bitcast, [cut]), Some(self.wide_type(ty))),
            false => cut,
        }
    }

    /// Emits a load with this pattern.
    fn load_by(&mut self, inst: Inst, pattern: AddressPattern, conditions: &[StrideCondition]) -> Value {
        let mut data = self.old.inst(inst).clone();
        let result = self.old.result(inst).expect("a load gives a value");
        let ty = self.old.value_type(result);
        let address = data.args[0];
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let wide = self.wide_type(ty);
        match pattern {
            AddressPattern::Uniform => {
                data.args[0] = self.shared_address(inst, address, conditions);
                data.detail = Detail::Access(self.wide_access(access, access.align));
                let any = self.any_active_lane(inst);
                let value = self.emit_if(any, |widener| vec![widener.emit(data, Some(ty))])[0];
                match self.reps.of(result) {
                    ValueRep::Vector => self.strided_vector(value, Steps::default(), wide),
                    ValueRep::Scalar(_) => value,
                }
            }
            AddressPattern::Contiguous => {
                let pointer = self.vector_address(inst, address, pattern, ty, conditions);
                let align = self.vector_align(&access, address, pattern, ty);
                data.detail = Detail::Access(self.wide_access(access, align));
                let mask = self.mask(inst);
                self.load_vector(data, pointer, mask, wide)
            }
            AddressPattern::Reversed => {
                let pointer = self.vector_address(inst, address, pattern, ty, conditions);
                let align = self.vector_align(&access, address, pattern, ty);
                data.detail = Detail::Access(self.wide_access(access, align));
                let mask = self.mask(inst).map(|mask| self.reverse(mask));
                let loaded = self.load_vector(data, pointer, mask, wide);
                self.reverse(loaded)
            }
            AddressPattern::Scattered => {
                data.op = Op::Gather;
                let align = self.lane_align(&access, address, ty);
                data.detail = Detail::Access(self.wide_access(access, align));
                let pointers = self.vector(address);
                let mask = self.mask_or_all(inst);
                let otherwise = self.new.make_poison(wide);
                data.args = [pointers, mask, otherwise].into_iter().collect();
                self.emit(data, Some(wide))
            }
        }
    }

    pub(super) fn load_vector(
        &mut self,
        mut data: InstData,
        pointer: Value,
        mask: Option<Value>,
        wide: Type,
    ) -> Value {
        data.args = [pointer].into_iter().collect();
        if let Some(mask) = mask {
            data.op = Op::MaskedLoad;
            let otherwise = self.new.make_poison(wide);
            data.args.extend([mask, otherwise]);
        }
        self.emit(data, Some(wide))
    }

    /// Emits a store with this pattern.
    fn store_by(&mut self, inst: Inst, pattern: AddressPattern, conditions: &[StrideCondition]) {
        let mut data = self.old.inst(inst).clone();
        let [stored, address] = [data.args[0], data.args[1]];
        let ty = self.old.value_type(stored);
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        match pattern {
            AddressPattern::Uniform => {
                let pointer = self.shared_address(inst, address, conditions);
                // The highest active lane stores last.
                let value = match self.reps.is_uniform(stored) {
                    true => self.scalar(stored),
                    false => {
                        let vector = self.vector(stored);
                        let mask = self.mask(inst);
                        let lane = self.last_lane(mask);
                        self.emit(InstData::plain(Op::Extract, [vector, lane]), None)
                    }
                };
                data.args = [value, pointer].into_iter().collect();
                data.detail = Detail::Access(self.wide_access(access, access.align));
                let any = self.any_active_lane(inst);
                self.emit_if(any, |widener| {
                    widener.insert(data, None);
                    Vec::new()
                });
            }
            AddressPattern::Contiguous | AddressPattern::Reversed => {
                let pointer = self.vector_address(inst, address, pattern, ty, conditions);
                let align = self.vector_align(&access, address, pattern, ty);
                data.detail = Detail::Access(self.wide_access(access, align));
                let (mut value, mut mask) = (self.vector(stored), self.mask(inst));
                if pattern == AddressPattern::Reversed {
                    value = self.reverse(value);
                    mask = mask.map(|mask| self.reverse(mask));
                }
                self.store_vector(data, value, pointer, mask);
            }
            AddressPattern::Scattered => {
                data.op = Op::Scatter;
                let align = self.lane_align(&access, address, ty);
                data.detail = Detail::Access(self.wide_access(access, align));
                let value = self.vector(stored);
                let pointers = self.vector(address);
                let mask = self.mask_or_all(inst);
                data.args = [value, pointers, mask].into_iter().collect();
                self.insert(data, None);
            }
        }
    }

    /// Emits a contiguous store. Where masked stores are slow, one with all lanes active is whole: most brushes have all of them.
    pub(super) fn store_vector(
        &mut self,
        mut data: InstData,
        value: Value,
        pointer: Value,
        mask: Option<Value>,
    ) {
        data.args = [value, pointer].into_iter().collect();
        let Some(mask) = mask else {
            self.insert(data, None);
            return;
        };
        let mut masked = data.clone();
        masked.op = Op::MaskedStore;
        masked.args.push(mask);
        let ty = self.new.value_type(value);
        let lanes = u32::from(ty.lanes().unwrap_or(1));
        if !self.options.target.tests_store_masks(lanes, ty.bytes() * 8 / lanes) {
            self.insert(masked, None);
            return;
        }
        let all = self.emit(InstData::plain(Op::All, [mask]), None);
        self.emit_if_else(
            all,
            |widener| {
                widener.insert(data, None);
                Vec::new()
            },
            |widener| {
                widener.insert(masked, None);
                Vec::new()
            },
        );
    }

    /// Emits a copy or fill once for all lanes.
    fn transfer_once(&mut self, inst: Inst) {
        let mut data = self.old.inst(inst).clone();
        for index in 0..data.args.len() {
            data.args[index] = self.scalar(data.args[index]);
        }
        data.detail = self.wide_detail(data.detail);
        let any = self.any_active_lane(inst);
        self.emit_if(any, |widener| {
            widener.insert(data, None);
            Vec::new()
        });
    }

    /// Fills the objects of all lanes, of so many bytes together, with one call.
    fn fill_objects(&mut self, inst: Inst, bytes: u64) {
        let mut data = self.old.inst(inst).clone();
        data.args[0] = self.scalar(data.args[0]);
        data.args[1] = self.scalar(data.args[1]);
        let ty = self.old.value_type(data.args[2]);
        data.args[2] = self.new.make_const(Constant::splat(ty, bytes.into()));
        data.detail = self.wide_detail(data.detail);
        self.insert(data, None);
    }

    /// Fills interleaved objects of all lanes with one call.
    fn fill_interleaved(&mut self, inst: Inst) {
        let data = self.old.inst(inst).clone();
        let [address, byte, size] = [0, 1, 2].map(|at| self.scalar(data.args[at]));
        let ty = self.new.value_type(size);
        let lanes = self.new.make_const(Constant::splat(ty, self.lanes.into()));
        let size = self.emit(InstData::plain(Op::Mul, [size, lanes]), None);
        let detail = self.wide_detail(data.detail.clone());
        self.insert(InstData { args: [address, byte, size].into_iter().collect(), detail, ..data }, None);
    }

    /// Fills the interleaved objects of active lanes with a constant byte: with one call if all are active, else by one store for each
    /// element.
    fn fill_interleaved_masked(&mut self, inst: Inst) {
        let Some(mask) = self.mask(inst) else { return self.fill_interleaved(inst) };
        let all = self.emit(InstData::plain(Op::All, [mask]), None);
        self.emit_if_else(
            all,
            |widener| {
                widener.fill_interleaved(inst);
                Vec::new()
            },
            |widener| {
                widener.fill_active(inst, mask);
                Vec::new()
            },
        );
    }

    /// Stores the byte of a fill to each element of active lanes.
    fn fill_active(&mut self, inst: Inst, mask: Value) {
        let data = self.old.inst(inst).clone();
        // Poison may be anything, as what is there.
        let Some(byte) = self.old.unsigned_constant(data.args[1]) else { return };
        let alloca = self.old.def_inst(data.args[0]).expect("a whole object is filled");
        let element = self.objects.stride(alloca);
        let scalar = Scalar::int(8 * u32::try_from(element).unwrap_or(1)).unwrap_or(Scalar::I8);
        let pattern = (byte & 0xff) * (scalar.bit_mask() / 0xff);
        let value = self.new.make_const(Constant::splat(Type::Vector(scalar, self.lanes), pattern));
        let first = self.scalar(data.args[0]);
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let detail =
            Detail::Access(self.wide_access(access, access.align.min(1 << element.trailing_zeros())));
        for at in (0..self.objects.size(alloca)).step_by(usize::try_from(element).unwrap_or(1)) {
            let distance = self.new.make_int(Scalar::I64, (at * u64::from(self.lanes)).into());
            let pointer = match at {
                0 => first,
                _ => self.emit(InstData::plain(Op::PtrAdd, [first, distance]), None),
            };
            let data = InstData { detail: detail.clone(), ..data.clone() };
            if self.options.target.tests_store_masks(self.lanes.into(), scalar.bits()) {
                self.blend(data, value, pointer, mask, None);
                continue;
            }
            let args = [value, pointer, mask].into_iter().collect();
            self.insert(InstData { op: Op::MaskedStore, args, ..data }, None);
        }
    }

    /// Mask of the lanes that run an instruction; all-true if it has no predicate.
    fn mask_or_all(&mut self, inst: Inst) -> Value {
        match self.mask(inst) {
            Some(mask) => mask,
            None => self.all_true(),
        }
    }

    /// Address that all lanes share.
    fn shared_address(&mut self, inst: Inst, address: Value, conditions: &[StrideCondition]) -> Value {
        match self.reps.of(address) {
            ValueRep::Scalar(_) => self.scalar(address),
            ValueRep::Vector => self.first_active_address(inst, address, conditions),
        }
    }

    /// Address of the first lane that runs an access.
    fn first_active_address(&mut self, inst: Inst, address: Value, conditions: &[StrideCondition]) -> Value {
        if let Some(scalar) = self.first_lane_value(inst, address, conditions) {
            return scalar;
        }
        let vector = self.vector(address);
        let lane = match self.predicate_of(inst) {
            Some(_) => self.first_lane(),
            None => self.new.make_int(Scalar::I32, 0),
        };
        self.emit(InstData::plain(Op::Extract, [vector, lane]), None)
    }

    /// Address of the vector that a contiguous or reversed access reads or writes.
    pub(super) fn vector_address(
        &mut self,
        inst: Inst,
        address: Value,
        pattern: AddressPattern,
        ty: Type,
        conditions: &[StrideCondition],
    ) -> Value {
        let size = i64::from(ty.bytes());
        if pattern != AddressPattern::Reversed {
            return self.lane_0_address(inst, address, size, conditions);
        }
        let pointer = self.lane_0_address(inst, address, -size, conditions);
        self.lowest_address(pointer, ty)
    }

    /// Alignment of that vector.
    pub(super) fn vector_align(
        &self,
        access: &Access,
        address: Value,
        pattern: AddressPattern,
        ty: Type,
    ) -> u32 {
        match pattern {
            AddressPattern::Reversed => access.align.min(natural_align(ty)),
            _ => self.lane_0_align(access, address, ty),
        }
    }

    /// Lane 0's address; where it is in a vector, computed back from the first active lane's.
    pub(super) fn lane_0_address(
        &mut self,
        inst: Inst,
        address: Value,
        step: i64,
        conditions: &[StrideCondition],
    ) -> Value {
        if let ValueRep::Scalar(_) = self.reps.of(address) {
            return self.scalar(address);
        }
        let first = self.first_active_address(inst, address, conditions);
        if self.predicate_of(inst).is_none() {
            return first;
        }
        let lane = self.first_lane();
        let lane = self.convert_lane(lane, Scalar::I64);
        let back = self.new.make_int(Scalar::I64, -i128::from(step));
        let offset = self.emit(InstData::plain(Op::Mul, [lane, back]), None);
        self.emit(InstData::plain(Op::PtrAdd, [first, offset]), None)
    }

    /// Lowest address of lanes that descend from this one.
    fn lowest_address(&mut self, pointer: Value, ty: Type) -> Value {
        let back = -(i128::from(self.lanes) - 1) * i128::from(ty.bytes());
        let back = self.new.make_int(Scalar::I64, back);
        self.emit(InstData::plain(Op::PtrAdd, [pointer, back]), None)
    }

    pub(super) fn reverse(&mut self, vector: Value) -> Value {
        let ty = self.new.value_type(vector);
        let back: Box<[u16]> = (0..self.lanes).rev().collect();
        self.emit(InstData::new(Op::Permute, [vector, vector], Detail::Permute(back)), Some(ty))
    }

    /// Alignment of lane 0's address, active or not.
    fn lane_0_align(&self, access: &Access, address: Value, ty: Type) -> u32 {
        let promised = access.align.min(natural_align(ty));
        if self.reps.is_rebased(address) {
            return promised;
        }
        match self.facts.shape(address) {
            shape @ Shape::Strided { .. } => promised.max(shape.base().align().min(1 << 12) as u32),
            _ => promised,
        }
    }

    /// Alignment of each lane's address.
    pub(super) fn lane_align(&self, access: &Access, address: Value, ty: Type) -> u32 {
        match self.objects.is_interleaved(address) {
            true => access.align.min(natural_align(ty)),
            false => access.align,
        }
    }

    /// Access details restricted to what holds for all lanes together.
    pub(super) fn wide_access(&mut self, access: Access, align: u32) -> Access {
        let base = access.base.and_then(|base| self.wide_base(base));
        Access { align, dereferenceable: 0, base, atomic: access.atomic }
    }

    /// Base object of an access, if one value names it for all lanes; an array of the lanes' objects does.
    fn wide_base(&mut self, base: Value) -> Option<Value> {
        let is_object = self.old.def_inst(base).is_some_and(|inst| self.old.inst(inst).op == Op::Alloca);
        (is_object || self.reps.is_uniform(base)).then(|| self.scalar(base))
    }

    /// Instruction details with their references mapped to the wide function.
    pub(super) fn wide_detail(&mut self, detail: Detail) -> Detail {
        match detail {
            Detail::Access(access) => Detail::Access(self.wide_access(access, access.align)),
            Detail::Rmw(rmw, access) => Detail::Rmw(rmw, self.wide_access(access, access.align)),
            Detail::CompareExchange(access, failure) => {
                Detail::CompareExchange(self.wide_access(access, access.align), failure)
            }
            Detail::Transfer(both) => {
                let [to, from] = [both.0, both.1].map(|access| self.wide_access(access, access.align));
                Detail::Transfer(Box::new((to, from)))
            }
            Detail::Call(callee) => Detail::Call(self.new.make_callee(&self.old.callees[callee])),
            other => other,
        }
    }
}

/// Largest power of two that divides the element size.
pub(super) fn natural_align(ty: Type) -> u32 {
    let bytes = ty.scalar().bytes();
    1 << bytes.trailing_zeros()
}
