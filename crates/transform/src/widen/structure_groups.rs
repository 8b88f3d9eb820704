//! Structure groups: accesses of several fields of one structure per lane, one access for each lane.
//!
//! ```text
//!     load x, p           lane 0: x y z .    one load per lane, as wide as the fields that are read;
//!     load y, p + 4       lane 1: x y z .    several of them concatenated form a chunk,
//!     load z, p + 8       …                  chunks are deinterleaved
//! ```
//!
//! The addresses of different lanes are unrelated; those within a lane differ by constants. This is cheaper than one
//! gather per field where a gather costs as much as a load per lane. Stores go the other way, if there is no gap between their
//! fields. Elements of a row that each lane walks along are such fields (`row_strips`).
//!
//! *Touched memory.* An active lane reads from the first to the last byte of its fields, which are in one object as in
//! `interleaving`. An inactive lane reads a dummy object of the wide function, where the pointer is generic; else many fields
//! are accessed together if all lanes are active, and one by one if not. Loads execute at the first member, stores at the last;
//! no access in between may alias them.

use super::cell_groups::CellGroups;
use super::interleave_groups::{AccessOrder, GroupMember, InterleaveGroups};
use super::interleaving::InterleaveLayout;
use super::memory::AccessPattern;
use super::value_reps::{ValueRep, ValueReps};
use super::widener::{WidenResult, Widener};
use super::{Remark, RemarkKind, WidenOptions, access_remark};
use crate::target::{AccessDirection, AccessLanes};
use heddle_analysis::{AccessGroups, Divergence, Shape};
use heddle_ir::diagnostic::{AccessLowering, LoweringCosts};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Maximum number of bytes that one access covers.
const MAX_BYTES: u32 = 32;
/// Minimum number of fields that are worth a version for blocks in which all lanes are active.
const MIN_VERSIONED: usize = 4;
/// Maximum number of open groups.
const MAX_OPEN: usize = 8;
/// Maximum number of constant additions to look through in an address.
const MAX_STEPS: usize = 8;

/// Loads or stores of one block that access fields of the same structures.
#[derive(Clone, Debug)]
pub(super) struct StructureGroup {
    /// Members, in block order.
    members: SmallVec<[GroupMember; 4]>,
    /// Element type of the accesses: the members' common type, or an integer of that size.
    element: Scalar,
    /// Number of elements from the first to the last that is accessed.
    span: u32,
    direction: AccessDirection,
    /// True if they are accessed together only where all lanes are active.
    is_versioned: bool,
}

impl StructureGroup {
    fn lowest(&self) -> GroupMember {
        *self.members.iter().min_by_key(|member| member.offset).expect("a group has members")
    }

    /// Number of elements that each lane accesses: a power of two.
    fn factor(&self) -> u32 {
        self.span.next_power_of_two()
    }

    fn layout(&self, lanes: u16) -> InterleaveLayout {
        let (lowest, size) = (self.lowest().offset, i64::from(self.element.bytes()));
        let at = |member: &GroupMember| ((member.offset - lowest) / size) as usize;
        let positions: SmallVec<[usize; 4]> = self.members.iter().map(at).collect();
        InterleaveLayout::new(lanes.into(), self.factor() as usize, false, &positions)
    }
}

/// Structure groups of a function.
#[derive(Debug, Default)]
pub(super) struct StructureGroups {
    all: Vec<StructureGroup>,
    of: FxHashMap<Inst, u32>,
    /// Remarks on the groups that were considered.
    pub(super) remarks: Vec<Remark>,
}

/// Address without its constant offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AddressRoot {
    Address(Value),
    /// Base of an access group of the analysis.
    Group(usize),
}

/// Access that may join a group.
#[derive(Clone, Copy, Debug)]
struct FieldAccess {
    member: GroupMember,
    /// Address without the constant offset.
    root: AddressRoot,
    scalar: Scalar,
    flags: Flags,
    writes: bool,
}

/// Accesses of a group that is open.
type OpenFields = SmallVec<[FieldAccess; 4]>;

/// Effect of an instruction on the order of accesses.
#[derive(Clone, Copy)]
pub(super) enum OrderEffect {
    None,
    Reads(Value),
    Writes(Value),
    /// No access may move past it.
    Fence,
}

impl StructureGroups {
    /// Finds the groups among accesses that are in no interleave group.
    pub(super) fn new(
        func: &Function,
        facts: &Divergence,
        accesses: &AccessGroups,
        reps: &ValueReps,
        (interleave_groups, cell_groups): (&InterleaveGroups, &CellGroups),
        brush: [u32; MAX_DIMENSIONS],
        options: &WidenOptions,
    ) -> StructureGroups {
        let mut this = StructureGroups::default();
        let [lanes, others @ ..] = brush;
        if lanes < 2 || !lanes.is_power_of_two() || others.iter().any(|&extent| extent != 1) {
            return this;
        }
        let order = AccessOrder { func, accesses };
        for block in func.blocks() {
            let mut open: Vec<OpenFields> = Vec::new();
            for inst in func.block_insts(block) {
                let is_taken = interleave_groups.of(inst).is_some() || cell_groups.contains(inst);
                let access = field_access(func, facts, accesses, reps, inst).filter(|_| !is_taken);
                let joined = access
                    .as_ref()
                    .and_then(|access| open.iter().position(|all| may_join(all, access, lanes, options)));
                let effect = order_effect(func, inst);
                let mut number = 0;
                let ends = |all: &mut OpenFields| {
                    number += 1;
                    Some(number - 1) != joined && conflicts(&order, &all[0], effect)
                };
                // The position of the joined group changes with those before it.
                let own = joined.map(|at| open[at][0].member.inst);
                let ended: Vec<OpenFields> = open.extract_if(.., ends).collect();
                ended.into_iter().for_each(|all| this.close(func, reps, block, all, lanes, options));
                let Some(access) = access else { continue };
                match open.iter().position(|all| Some(all[0].member.inst) == own) {
                    Some(at) => open[at].push(access),
                    None => open.push(SmallVec::from_iter([access])),
                }
                if open.len() > MAX_OPEN {
                    let all = open.remove(0);
                    this.close(func, reps, block, all, lanes, options);
                }
            }
            for all in open {
                this.close(func, reps, block, all, lanes, options);
            }
        }
        this
    }

    /// Closes a group, and keeps it if it pays.
    fn close(
        &mut self,
        func: &Function,
        reps: &ValueReps,
        block: Block,
        all: OpenFields,
        lanes: u32,
        options: &WidenOptions,
    ) {
        if all.len() < 2 {
            return;
        }
        let first = all[0];
        let (low, high) = bounds(&all);
        let size = first.scalar.bytes();
        let is_same = all.iter().all(|access| access.scalar == first.scalar);
        let element = if is_same { Some(first.scalar) } else { Scalar::int(size * 8) };
        let Some(element) = element else { return };
        let span = (high - low) as u32 / size;
        let is_gapless = span.is_power_of_two() && span as usize == all.len();
        if !is_gapless && first.writes {
            return;
        }
        let is_masked = func.predicate(block).is_some() && !func.inst(first.member.inst).is_total();
        // The dummy object is private: only a generic address can point to it.
        let space = func.value_type(first.member.address).scalar();
        let is_versioned = is_masked && (first.writes || space != Scalar::Ptr(Space::Generic));
        let is_scalar = |access: &FieldAccess| matches!(reps.of(access.member.address), ValueRep::Scalar(_));
        let is_derivable = all.iter().all(|access| is_scalar(access) == is_scalar(&first));
        if is_versioned && (all.len() < MIN_VERSIONED || !is_derivable) {
            return;
        }
        let members = all.iter().map(|access| access.member).collect();
        let direction = if first.writes { AccessDirection::Store } else { AccessDirection::Load };
        let group = StructureGroup { members, element, span, direction, is_versioned };
        let steps = matches!(reps.of(first.member.address), ValueRep::Scalar(_)) && !is_masked;
        let (together, alone) = group.costs(lanes, is_masked, steps, options);
        let pays = together < alone;
        let number = group.members.len();
        let kind = if pays { RemarkKind::Structures } else { RemarkKind::PerLane };
        let lowering = AccessLowering {
            accesses: number,
            is_store: direction.is_store(),
            objects: Vec::new(),
            lowering: format!("{} bytes per lane at once", group.span * size),
            condition: if is_versioned { "all lanes are active".into() } else { String::new() },
            is_chosen: pays,
            costs: Some(LoweringCosts { together, separate: alone, target: options.target.name, times: 1 }),
        };
        let diagnostic = access_remark(func, first.member.inst, first.member.address, lowering);
        self.remarks.push(Remark { kind, accesses: number, diagnostic });
        if pays {
            let at = self.all.len() as u32;
            self.of.extend(group.members.iter().map(|member| (member.inst, at)));
            self.all.push(group);
        }
    }

    /// Group of an access.
    pub(super) fn of(&self, inst: Inst) -> Option<&StructureGroup> {
        self.of.get(&inst).map(|&number| &self.all[number as usize])
    }
}

impl StructureGroup {
    /// Cost of the group, and of its members with an address for each lane.
    fn costs(&self, lanes: u32, is_masked: bool, steps: bool, options: &WidenOptions) -> (u32, u32) {
        let target = &options.target;
        let size = self.element.bytes() * 8;
        let (direction, factor) = (self.direction, self.factor());
        let each = target.contiguous_cost(direction, AccessLanes::under(factor != self.span), factor, size)
            + if steps { target.lane / 2 } else { target.lane };
        let permutes =
            self.layout(lanes as u16).permutes(direction) * target.cost(target.permute, lanes, lanes * size);
        let blend = if is_masked { 10 * target.registers_of(lanes * 64) } else { 0 };
        let active = AccessLanes::under(is_masked);
        let alone = target.repeated_cost(direction, active, lanes, size, self.members.len() as u32);
        let together = lanes * each + permutes + blend;
        // Lanes are all active more often than not.
        let versioned = (3 * together + alone) / 4 + target.branch;
        (if self.is_versioned { versioned } else { together }, alone)
    }
}

/// First byte, and the byte after the last one.
fn bounds(all: &[FieldAccess]) -> (i64, i64) {
    let ends = |access: &FieldAccess| {
        (access.member.offset, access.member.offset + i64::from(access.scalar.bytes()))
    };
    let (low, high) = all
        .iter()
        .map(ends)
        .fold((i64::MAX, i64::MIN), |(low, high), (from, to)| (low.min(from), high.max(to)));
    (low, high)
}

/// Returns a plain access with an unrelated or non-contiguous address for each lane.
fn field_access(
    func: &Function,
    facts: &Divergence,
    accesses: &AccessGroups,
    reps: &ValueReps,
    inst: Inst,
) -> Option<FieldAccess> {
    let data = func.inst(inst);
    let (accessed, address, writes) = match data.op {
        Op::Load => (func.result(inst)?, data.args[0], false),
        Op::Store => (data.args[0], data.args[1], true),
        _ => return None,
    };
    if data.flags.has(Flag::Volatile) {
        return None;
    }
    data.access().filter(|access| access.atomic.is_none())?;
    let scalar = func.value_type(accessed).scalar();
    let is_apart = match reps.of(address) {
        ValueRep::Scalar(_) => is_strided_apart(reps, address, scalar),
        ValueRep::Vector => !matches!(facts.shape(address), Shape::Strided { .. }),
    };
    // Stores of private addresses are diagnosed where they are lowered separately.
    let is_vector = if writes { !reps.is_rebased(accessed) } else { reps.of(accessed) == ValueRep::Vector };
    let is_plain = scalar != Scalar::I1 && scalar.bytes().is_power_of_two() && is_vector;
    if !is_apart || !is_plain || reps.is_rebased(address) {
        return None;
    }
    let (root, offset) = match accesses.position(inst) {
        Some((group, access)) => (AddressRoot::Group(group), access.offset),
        None => {
            let (root, offset) = split_constant_offset(func, address)?;
            (AddressRoot::Address(root), offset)
        }
    };
    // Keeps differences of offsets free of overflow.
    if offset.unsigned_abs() > 1 << 32 {
        return None;
    }
    let member = GroupMember { inst, address, offset };
    Some(FieldAccess { member, root, scalar, flags: data.flags, writes })
}

/// Splits the constants that were added last off an address.
fn split_constant_offset(func: &Function, address: Value) -> Option<(Value, i64)> {
    let (mut root, mut offset) = (address, 0i64);
    for _ in 0..MAX_STEPS {
        let Some(from) = func.def_inst(root).map(|inst| func.inst(inst)).filter(|data| data.op == Op::PtrAdd)
        else {
            break;
        };
        let Some(step) = func.i64_constant(from.args[1]) else { break };
        offset = offset.checked_add(step)?;
        root = from.args[0];
    }
    Some((root, offset))
}

/// True if lanes step by a constant other than zero and the element size.
fn is_strided_apart(reps: &ValueReps, address: Value, scalar: Scalar) -> bool {
    let ValueRep::Scalar(steps) = reps.of(address) else { return false };
    let size = u64::from(scalar.bytes());
    reps.lane_step(steps).is_some_and(|step| step != 0 && step.unsigned_abs() != size)
}

fn may_join(all: &[FieldAccess], access: &FieldAccess, lanes: u32, options: &WidenOptions) -> bool {
    let first = &all[0];
    let size = i64::from(access.scalar.bytes());
    let kind = |it: &FieldAccess| (it.root, it.scalar.bytes(), it.flags, it.writes);
    // Pointers cannot be reinterpreted as integers.
    let is_number = |it: &FieldAccess| !it.scalar.is_ptr();
    let is_accessible = first.scalar == access.scalar || all.iter().chain([access]).all(is_number);
    let (low, high) = bounds(all);
    let low = low.min(access.member.offset);
    let high = high.max(access.member.offset + size);
    let is_aligned = all.iter().chain([access]).all(|it| (it.member.offset - low) % size == 0);
    let is_new = !access.writes || all.iter().all(|it| it.member.offset != access.member.offset);
    let most = i64::from(MAX_BYTES.min(options.target.vector_bits / 8)).min(i64::from(lanes) * size);
    kind(first) == kind(access) && is_accessible && is_aligned && is_new && high - low <= most
}

/// Returns the effect of an instruction on the order of accesses.
pub(super) fn order_effect(func: &Function, inst: Inst) -> OrderEffect {
    let data = func.inst(inst);
    let is_plain =
        !data.flags.has(Flag::Volatile) && data.access().is_some_and(|access| access.atomic.is_none());
    match data.op {
        Op::Load if is_plain => OrderEffect::Reads(data.args[0]),
        Op::Store if is_plain => OrderEffect::Writes(data.args[1]),
        op => match op.info().effect {
            Effect::Pure | Effect::Traps | Effect::Horizontal | Effect::Joins | Effect::Allocates => {
                OrderEffect::None
            }
            _ => OrderEffect::Fence,
        },
    }
}

/// True if the members of an open group must not move past an instruction.
fn conflicts(order: &AccessOrder<'_>, first: &FieldAccess, effect: OrderEffect) -> bool {
    match effect {
        OrderEffect::None => false,
        OrderEffect::Reads(address) => first.writes && !order.are_disjoint(address, first.member.address),
        OrderEffect::Writes(address) => !order.are_disjoint(address, first.member.address),
        OrderEffect::Fence => true,
    }
}

impl Widener<'_> {
    /// Emits a structure group at its first load or last store; none if the access is in no group.
    pub(super) fn structure_access(
        &mut self,
        inst: Inst,
        structure_groups: &StructureGroups,
    ) -> Option<WidenResult> {
        let group = structure_groups.of(inst)?;
        let at = if group.direction.is_store() { group.members.last() } else { group.members.first() };
        if at.is_none_or(|member| member.inst != inst) {
            return Some(Ok(()));
        }
        self.merge_origins(group.members.iter().map(|member| member.inst));
        let mask = self.mask(inst);
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
        Some(Ok(()))
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
        if group.direction.is_store() {
            insts.for_each(|inst| self.store_by(inst, AccessPattern::Scattered));
            return Vec::new();
        }
        insts.map(|inst| self.load_by(inst, AccessPattern::Scattered)).collect()
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
