//! Emits structure groups: an access for each lane, concatenated or taken apart.

use super::interleave_groups::GroupMember;
use super::structure_groups::StructureGroup;
use super::value_reps::ValueRep;
use super::widener::Widener;
use crate::address_pattern::AddressPattern;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::{Constant, Op, Scalar, Type, Value};

impl Widener<'_> {
    /// Emits a structure group.
    pub(super) fn structure_access(&mut self, group: &StructureGroup) {
        self.merge_origins(group.members.iter().map(|member| member.inst));
        let mask = self.mask(group.members[0].inst);
        let values = match mask {
            Some(mask) if group.is_versioned => {
                self.derive_addresses(group);
                let all = self.emit(InstData::plain(Op::All, [mask]), None);
                self.emit_if_else(
                    all,
                    |widener| widener.access_structures(group, None),
                    |widener| widener.access_fields(group),
                )
            }
            mask => self.access_structures(group, mask),
        };
        for (member, value) in group.members.iter().zip(values) {
            self.define(member.inst, value);
        }
    }

    /// Computes the members' addresses from that of the first one, since the code that computes them may follow.
    fn derive_addresses(&mut self, group: &StructureGroup) {
        let first = group.members[0];
        for member in group.members.iter().skip(1).filter(|_| !group.direction.is_store()) {
            let distance = member.offset - first.offset;
            if let ValueRep::Scalar(_) = self.reps.of(member.address) {
                let scalar = self.scalar(first.address);
                let derived = self.offset_address(scalar, distance);
                self.define_value(member.address, derived);
                continue;
            }
            let addresses = self.vector(first.address);
            let ty = Type::Vector(Scalar::I64, self.lanes);
            let distance = self.new.make_const(Constant::splat(ty, distance as u64 as u128));
            let derived = self.emit(InstData::plain(Op::PtrAdd, [addresses, distance]), None);
            self.define_value(member.address, derived);
        }
    }

    /// Accesses the members with an address for each lane; returns the loaded values.
    fn access_fields(&mut self, group: &StructureGroup) -> Vec<Value> {
        let insts = group.members.iter().map(|member| member.inst);
        insts.filter_map(|inst| self.access_by(inst, AddressPattern::Scattered, &[])).collect()
    }

    /// Accesses the structures of the lanes that a mask selects; returns the loaded values.
    fn access_structures(&mut self, group: &StructureGroup, mask: Option<Value>) -> Vec<Value> {
        let first = group.members[0];
        let lowest = group.lowest();
        let part = Type::Vector(group.element, group.factor() as u16);
        let mut data = self.old.inst(lowest.inst).clone();
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let wide_access = self.wide_access(access, access.align);
        // Inactive lanes read the dummy object.
        let base = wide_access.base.filter(|_| mask.is_none());
        data.detail = Detail::Access(Access { base, ..wide_access });
        let starts = self.structure_addresses(first, lowest.offset - first.offset, mask, part, access.align);
        if group.direction.is_store() {
            self.store_structures(group, &data, starts);
            return Vec::new();
        }
        let is_read = |element: u32| u128::from(element < group.span);
        let padded = (group.span < group.factor()).then(|| {
            let bits = (0..group.factor()).map(is_read).collect();
            self.new.make_const(Constant::Vector(Scalar::I1, bits))
        });
        let parts: Vec<Value> =
            starts.into_iter().map(|start| self.load_vector(data.clone(), start, padded, part)).collect();
        let chunks = self.concatenate(parts, group.element, group.factor() as u16);
        let all = Type::Vector(group.element, self.lanes);
        let taken = self.deinterleave(&group.layout(self.lanes), &chunks, all);
        let as_read = |(member, value): (&GroupMember, Value)| {
            let result = self.old.result(member.inst).expect("a load gives a value");
            let ty = self.wide_type(self.old.value_type(result));
            self.bit_cast(value, ty)
        };
        group.members.iter().zip(taken).map(as_read).collect()
    }

    /// Stores the structures of all lanes.
    fn store_structures(&mut self, group: &StructureGroup, data: &InstData, starts: Vec<Value>) {
        let all = Type::Vector(group.element, self.lanes);
        let stored = |member: &GroupMember| self.old.inst(member.inst).args[0];
        let values: Vec<Value> = group.members.iter().map(stored).collect();
        let values: Vec<Value> = values
            .into_iter()
            .map(|value| self.vector(value))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|value| self.bit_cast(value, all))
            .collect();
        let chunks = self.interleave(&group.layout(self.lanes), &values, all);
        let factor = group.factor() as u16;
        let part = Type::Vector(group.element, factor);
        for (lane, start) in (0..).zip(starts) {
            let element = lane * factor;
            let chunk = chunks[usize::from(element / self.lanes)];
            let first = element % self.lanes;
            let row = Detail::Permute((first..first + factor).collect());
            let row = self.emit(InstData::new(Op::Permute, [chunk, chunk], row), Some(part));
            self.store_vector(data.clone(), row, start, None);
        }
    }

    fn bit_cast(&mut self, value: Value, to: Type) -> Value {
        if self.new.value_type(value) == to {
            return value;
        }
        self.emit(InstData::plain(Op::Bitcast, [value]), Some(to))
    }

    /// Address of each lane's structure.
    fn structure_addresses(
        &mut self,
        first: GroupMember,
        distance: i64,
        mask: Option<Value>,
        part: Type,
        align: u32,
    ) -> Vec<Value> {
        if let (ValueRep::Scalar(steps), None) = (self.reps.of(first.address), mask) {
            let scalar = self.scalar(first.address);
            let offsets = self.offsets(steps);
            return offsets
                .into_iter()
                .map(|offset| self.offset_address(scalar, offset as i64 + distance))
                .collect();
        }
        let mut addresses = self.vector(first.address);
        if distance != 0 {
            let ty = Type::Vector(Scalar::I64, self.lanes);
            let on = self.new.make_const(Constant::splat(ty, distance as u64 as u128));
            addresses = self.emit(InstData::plain(Op::PtrAdd, [addresses, on]), None);
        }
        if let Some(mask) = mask {
            let dummy = self.emit_at_entry(InstData::new(
                Op::Alloca,
                [],
                Detail::Alloca { bytes: part.bytes().into(), align },
            ));
            let ty = self.new.value_type(addresses);
            let dummy = self.emit(InstData::plain(Op::SpaceCast, [dummy]), Some(ty.scalar().into()));
            let dummy = self.emit(InstData::plain(Op::Splat, [dummy]), Some(ty));
            addresses = self.emit(InstData::plain(Op::Select, [mask, addresses, dummy]), None);
        }
        let lanes = self.lanes;
        let lane = |lane: u16| {
            let number = self.new.make_int(Scalar::I32, lane.into());
            self.emit(InstData::plain(Op::Extract, [addresses, number]), None)
        };
        (0..lanes).map(lane).collect()
    }

    /// Concatenates short vectors into vectors of all lanes.
    fn concatenate(&mut self, mut parts: Vec<Value>, element: Scalar, mut length: u16) -> Vec<Value> {
        while length < self.lanes {
            length *= 2;
            let ty = Type::Vector(element, length);
            let both: Box<[u16]> = (0..length).collect();
            let join = |pair: &[Value]| {
                let args = pair.iter().copied().collect();
                self.emit(
                    InstData { args, ..InstData::new(Op::Permute, [], Detail::Permute(both.clone())) },
                    Some(ty),
                )
            };
            parts = parts.chunks(2).map(join).collect();
        }
        parts
    }
}
