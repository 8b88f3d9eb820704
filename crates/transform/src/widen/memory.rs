//! Widens loads, stores, copies and fills.

use super::refusal;
use super::value_reps::ValueRep;
use super::widener::{WidenResult, Widener};
use crate::target::VectorCost;
use heddle_analysis::shape::Steps;
use heddle_analysis::{Shape, StrideCondition, underlying_object};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::Flag;
use heddle_ir::{Constant, Inst, Op, Scalar, Space, Type, Value};

/// Address pattern of an access over the lanes.
pub(super) enum AccessPattern {
    /// One address for all lanes.
    Uniform(Value),
    /// Contiguous, ascending from this address.
    Contiguous(Value),
    /// Contiguous, descending from this address.
    Reversed(Value),
    /// Rows of contiguous lanes, each from its address.
    Rows(Vec<Value>),
    /// Columns of contiguous lanes, each from its address.
    Columns(Vec<Value>),
    /// One address for each row.
    RowUniform(Vec<Value>),
    /// An address for each lane.
    Scattered,
}

impl Widener<'_> {
    pub(super) fn load(&mut self, inst: Inst) -> WidenResult {
        if self.is_volatile_or_atomic(inst) {
            return self.lane_by_lane(inst);
        }
        let result = self.old.result(inst).expect("a load gives a value");
        let scalar = self.old.value_type(result).scalar();
        let address = self.old.inst(inst).args[0];
        let value = match self.pattern(inst, address, scalar) {
            AccessPattern::Scattered => self.load_scattered(inst, address, scalar.into()),
            pattern => self.load_by(inst, pattern),
        };
        self.define(inst, value);
        Ok(())
    }

    /// Emits a load from an address for each lane.
    fn load_scattered(&mut self, inst: Inst, address: Value, ty: Type) -> Value {
        if let Some(value) = self.load_from_table(inst, address, ty) {
            return value;
        }
        match self.candidate_elements(inst, address, ty) {
            Some(candidates) => self.load_candidates(inst, &candidates, ty),
            None if self.words_pay(inst, address, ty) => self.gather_words(inst, address, ty),
            None => self.load_by(inst, AccessPattern::Scattered),
        }
    }

    /// True if gathers of elements of this type from an interleaved object may read 32 bits for each lane: machines have no
    /// gathers of less. The object is padded, so that these are within it.
    pub(super) fn gathers_words(&self, address: Value, ty: Type) -> bool {
        let is_narrow = matches!(ty.scalar(), Scalar::I8 | Scalar::I16 | Scalar::F16 | Scalar::BF16);
        is_narrow && self.options.target.vector_bits >= 512 && self.objects.is_interleaved(address)
    }

    /// True if a gather of 32 bits for each lane costs less than what code generators make of a narrower one: a load for each
    /// lane, under a mask behind a branch.
    fn words_pay(&self, inst: Inst, address: Value, ty: Type) -> bool {
        let (target, lanes) = (&self.options.target, u32::from(self.lanes));
        let is_masked = self.predicate_of(inst).is_some();
        let scattered = if is_masked { target.load.masked_scattered } else { target.load.scattered };
        let each = target.lane + if is_masked { target.branch } else { 0 };
        self.gathers_words(address, ty) && target.cost(scattered, lanes, 32 * lanes) < each * lanes
    }

    /// Emits a load of narrow elements as a gather of 32 bits for each lane.
    fn gather_words(&mut self, inst: Inst, address: Value, ty: Type) -> Value {
        let mut data = self.old.inst(inst).clone();
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
    pub(super) fn load_by(&mut self, inst: Inst, pattern: AccessPattern) -> Value {
        let mut data = self.old.inst(inst).clone();
        let result = self.old.result(inst).expect("a load gives a value");
        let ty = self.old.value_type(result);
        let address = data.args[0];
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let wide = self.wide_type(ty);
        match pattern {
            AccessPattern::Uniform(pointer) => {
                data.args[0] = pointer;
                data.detail = Detail::Access(self.wide_access(access, access.align));
                let any = self.any_active_lane(inst);
                let value = self.emit_if(any, |widener| vec![widener.emit(data, Some(ty))])[0];
                match self.reps.of(result) {
                    ValueRep::Vector => self.strided_vector(value, Steps::default(), wide),
                    ValueRep::Scalar(_) => value,
                }
            }
            AccessPattern::Contiguous(pointer) => {
                data.detail =
                    Detail::Access(self.wide_access(access, self.lane_0_align(&access, address, ty)));
                let mask = self.mask(inst);
                self.load_vector(data, pointer, mask, wide)
            }
            AccessPattern::Reversed(pointer) => {
                let lowest = self.lowest_address(pointer, ty);
                data.detail = Detail::Access(self.wide_access(access, access.align.min(natural_align(ty))));
                let mask = self.mask(inst).map(|mask| self.reverse(mask));
                let loaded = self.load_vector(data, lowest, mask, wide);
                self.reverse(loaded)
            }
            AccessPattern::Rows(starts) => {
                data.detail = Detail::Access(self.wide_access(access, access.align.min(natural_align(ty))));
                self.load_rows(inst, &data, &starts, ty.scalar())
            }
            AccessPattern::Columns(starts) => {
                data.detail = Detail::Access(self.wide_access(access, access.align.min(natural_align(ty))));
                self.load_columns(&data, &starts, ty.scalar())
            }
            AccessPattern::RowUniform(starts) => {
                data.detail = Detail::Access(self.wide_access(access, access.align.min(natural_align(ty))));
                self.spread_rows(inst, &data, &starts, ty.scalar())
            }
            AccessPattern::Scattered => {
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

    pub(super) fn store(&mut self, inst: Inst) -> WidenResult {
        let data = self.old.inst(inst).clone();
        let [stored, address] = [data.args[0], data.args[1]];
        self.check_private_address(inst, stored, address)?;
        if self.is_volatile_or_atomic(inst) {
            return self.lane_by_lane(inst);
        }
        let ty = self.old.value_type(stored);
        let pattern = self.pattern(inst, address, ty.scalar());
        if matches!(pattern, AccessPattern::Scattered)
            && let Some(candidates) = self.candidate_elements(inst, address, ty)
        {
            self.store_candidates(inst, &candidates, stored);
            return Ok(());
        }
        self.store_by(inst, pattern);
        Ok(())
    }

    /// Widens an atomic operation: one update for all lanes if they combine, else a loop over lanes.
    pub(super) fn atomic_update(&mut self, inst: Inst) -> WidenResult {
        let data = self.old.inst(inst);
        if let [address, .., stored] = data.args[..] {
            self.check_private_address(inst, stored, address)?;
        }
        if self.combined_update(inst) {
            return Ok(());
        }
        self.lane_by_lane(inst)
    }

    /// Rejects stores of a private object's address to memory that other lanes may read.
    fn check_private_address(&self, inst: Inst, stored: Value, address: Value) -> WidenResult {
        let is_private =
            self.old.value_type(underlying_object(self.old, address)).scalar() == Scalar::Ptr(Space::Private);
        if self.reps.is_rebased(stored) && !is_private {
            let reason = "the address of a private object is stored where other lanes may read it, and their objects have other addresses; store an index instead";
            return Err(refusal(self.old, inst, reason));
        }
        Ok(())
    }

    /// Emits a store with this pattern.
    pub(super) fn store_by(&mut self, inst: Inst, pattern: AccessPattern) {
        let mut data = self.old.inst(inst).clone();
        let [stored, address] = [data.args[0], data.args[1]];
        let ty = self.old.value_type(stored);
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        match pattern {
            AccessPattern::Uniform(pointer) => {
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
            AccessPattern::Contiguous(pointer) => {
                data.detail =
                    Detail::Access(self.wide_access(access, self.lane_0_align(&access, address, ty)));
                let value = self.vector(stored);
                let mask = self.mask(inst);
                self.store_vector(data, value, pointer, mask);
            }
            AccessPattern::Reversed(pointer) => {
                let lowest = self.lowest_address(pointer, ty);
                data.detail = Detail::Access(self.wide_access(access, access.align.min(natural_align(ty))));
                let value = self.vector(stored);
                let value = self.reverse(value);
                let mask = self.mask(inst).map(|mask| self.reverse(mask));
                self.store_vector(data, value, lowest, mask);
            }
            AccessPattern::Rows(starts) => {
                data.detail = Detail::Access(self.wide_access(access, access.align.min(natural_align(ty))));
                let value = self.vector(stored);
                self.store_rows(inst, &data, &starts, value);
            }
            AccessPattern::Columns(starts) => {
                data.detail = Detail::Access(self.wide_access(access, access.align.min(natural_align(ty))));
                let value = self.vector(stored);
                self.store_columns(&data, &starts, value);
            }
            AccessPattern::RowUniform(_) | AccessPattern::Scattered => {
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
        if !self.checks_mask_of_store(value) {
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

    /// True if a masked store of a vector costs more than a branch and twice a whole one.
    fn checks_mask_of_store(&self, value: Value) -> bool {
        let (ty, target) = (self.new.value_type(value), &self.options.target);
        let cost = |of: VectorCost| target.cost(of, u32::from(ty.lanes().unwrap_or(1)), ty.bytes() * 8);
        cost(target.store.masked) > target.branch + 2 * cost(target.store.whole)
    }

    /// Widens copies and fills: once for all lanes if operands are uniform and repetition is idempotent.
    pub(super) fn transfer(&mut self, inst: Inst) -> WidenResult {
        let mut data = self.old.inst(inst).clone();
        if self.objects.is_interleaved(data.args[0]) {
            self.fill_interleaved(inst);
            return Ok(());
        }
        if let Some(bytes) = self.filled_bytes(inst) {
            data.args[0] = self.scalar(data.args[0]);
            data.args[1] = self.scalar(data.args[1]);
            let ty = self.old.value_type(data.args[2]);
            data.args[2] = self.new.make_const(Constant::splat(ty, bytes.into()));
            data.detail = self.wide_detail(data.detail);
            self.insert(data, None);
            return Ok(());
        }
        let is_volatile = data.flags.has(Flag::Volatile);
        let is_same = data.args.iter().all(|&arg| self.reps.is_uniform(arg));
        if is_volatile || !is_same || data.op == Op::Memmove {
            return self.lane_by_lane(inst);
        }
        for index in 0..data.args.len() {
            data.args[index] = self.scalar(data.args[index]);
        }
        data.detail = self.wide_detail(data.detail);
        let any = self.any_active_lane(inst);
        self.emit_if(any, |widener| {
            widener.insert(data, None);
            Vec::new()
        });
        Ok(())
    }

    /// Total size of the lanes' objects, if every lane fills its whole object with the same byte. Padding between them
    /// may be overwritten: it belongs to no lane.
    fn filled_bytes(&self, inst: Inst) -> Option<u64> {
        let data = self.old.inst(inst);
        let alloca = self.old.def_inst(data.args[0])?;
        let Detail::Alloca { bytes, .. } = self.old.inst(alloca).detail else { return None };
        let size = self.old.constant(*data.args.get(2)?)?.splat_bits()?;
        let all = self.objects.stride(alloca) * u64::from(self.lanes);
        let is_filled =
            data.op == Op::Memset && size == u128::from(bytes) && self.reps.is_uniform(data.args[1]);
        let block = self.old.layout.block_of(inst)?;
        let is_plain = !data.flags.has(Flag::Volatile) && self.old.predicate(block).is_none();
        let fits = u128::from(all) <= self.old.value_type(data.args[2]).scalar().bit_mask() >> 1;
        (is_filled && is_plain && all != 0 && fits).then_some(all)
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

    /// True for volatile and atomic accesses, which are serialized over the lanes.
    fn is_volatile_or_atomic(&self, inst: Inst) -> bool {
        let data = self.old.inst(inst);
        data.flags.has(Flag::Volatile) || data.access().is_some_and(|access| access.atomic.is_some())
    }

    /// Mask of the lanes that run an instruction; all-true if it has no predicate.
    fn mask_or_all(&mut self, inst: Inst) -> Value {
        match self.mask(inst) {
            Some(mask) => mask,
            None => self.all_true(),
        }
    }

    /// Determines the address pattern of an access.
    fn pattern(&mut self, inst: Inst, address: Value, scalar: Scalar) -> AccessPattern {
        let size = i64::from(scalar.bytes());
        match self.reps.of(address) {
            ValueRep::UNIFORM => AccessPattern::Uniform(self.scalar(address)),
            ValueRep::Scalar(steps) => match self.lane_step(steps) {
                Some(step) if step == size => AccessPattern::Contiguous(self.scalar(address)),
                Some(step) if step == -size => AccessPattern::Reversed(self.scalar(address)),
                _ => self.rows(inst, address, scalar).unwrap_or(AccessPattern::Scattered),
            },
            ValueRep::Vector if self.reps.is_rebased(address) => AccessPattern::Scattered,
            ValueRep::Vector => {
                // Facts hold for active lanes; a total access has all lanes active, lane 0 included.
                let Shape::Strided { strides, .. } = self.facts.shape(address) else {
                    return self.rows(inst, address, scalar).unwrap_or(AccessPattern::Scattered);
                };
                let steps = strides.all();
                if steps == Steps::default() {
                    let pointer = self.first_active_address(inst, address, &[]);
                    return AccessPattern::Uniform(pointer);
                }
                let Some(step) = self.lane_step(steps).filter(|step| step.abs() == size) else {
                    return self.rows(inst, address, scalar).unwrap_or(AccessPattern::Scattered);
                };
                let base = self.lane_0_address(inst, address, step, &[]);
                if step == size { AccessPattern::Contiguous(base) } else { AccessPattern::Reversed(base) }
            }
        }
    }

    /// Address of the first lane that runs an access.
    pub(super) fn first_active_address(
        &mut self,
        inst: Inst,
        address: Value,
        conditions: &[StrideCondition],
    ) -> Value {
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

    /// Lane 0's address, computed back from the first active lane's.
    pub(super) fn lane_0_address(
        &mut self,
        inst: Inst,
        address: Value,
        step: i64,
        conditions: &[StrideCondition],
    ) -> Value {
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

    fn reverse(&mut self, vector: Value) -> Value {
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
    fn lane_align(&self, access: &Access, address: Value, ty: Type) -> u32 {
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
fn natural_align(ty: Type) -> u32 {
    let bytes = ty.scalar().bytes();
    1 << bytes.trailing_zeros()
}
