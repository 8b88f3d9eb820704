//! Structure groups: loads of several fields of one structure per lane, one load for each lane.
//!
//! ```text
//!     load x, p           lane 0: x y z .    one load per lane, as wide as the fields that are read;
//!     load y, p + 4       lane 1: x y z .    several of them concatenated form a chunk,
//!     load z, p + 8       …                  chunks are deinterleaved
//! ```
//!
//! The addresses of different lanes are unrelated; those within a lane differ by constants. This is cheaper than one
//! gather per field where a gather costs as much as a load per lane.
//!
//! *Touched memory.* An active lane reads from the first to the last byte of its fields, which are in one object as in
//! `interleaving`. An inactive lane reads a dummy object of the wide function. The loads execute at the first member;
//! no store in between may alias them.

use super::interleave_groups::{AccessOrder, GroupMember, InterleaveGroups};
use super::interleaving::InterleaveLayout;
use super::value_reps::{ValueRep, ValueReps};
use super::widener::{WidenResult, Widener};
use super::{Remark, RemarkKind, WidenOptions, access_remark};
use heddle_analysis::{AccessGroups, Divergence, Shape};
use heddle_ir::diagnostic::{AccessLowering, LoweringCosts};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Maximum number of bytes that one load covers.
const MAX_BYTES: u32 = 32;
/// Maximum number of open groups.
const MAX_OPEN: usize = 8;
/// Maximum number of constant additions to look through in an address.
const MAX_STEPS: usize = 8;

/// Loads of one block that read fields of the same structures.
#[derive(Clone, Debug)]
pub(super) struct StructureGroup {
    /// Members, in block order.
    members: SmallVec<[GroupMember; 4]>,
    /// Element type of the loads: the members' common type, or an integer of that size.
    element: Scalar,
    /// Number of elements from the first to the last that is read.
    span: u32,
}

impl StructureGroup {
    fn lowest(&self) -> GroupMember {
        *self.members.iter().min_by_key(|member| member.offset).expect("a record has members")
    }

    /// Number of elements that each lane loads: a power of two.
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

/// Load that may join a group.
#[derive(Clone, Copy, Debug)]
struct FieldLoad {
    member: GroupMember,
    /// Address without the constant offset.
    root: AddressRoot,
    scalar: Scalar,
    flags: Flags,
}

impl StructureGroups {
    /// Finds the groups among loads that are in no interleave group.
    pub(super) fn new(
        func: &Function,
        facts: &Divergence,
        accesses: &AccessGroups,
        reps: &ValueReps,
        interleave_groups: &InterleaveGroups,
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
            let mut open: Vec<SmallVec<[FieldLoad; 4]>> = Vec::new();
            for inst in func.block_insts(block) {
                let is_taken = interleave_groups.of(inst).is_some();
                if let Some(load) = field_load(func, facts, accesses, reps, inst).filter(|_| !is_taken) {
                    match open.iter().position(|all| may_join(all, &load, lanes, options)) {
                        Some(at) => open[at].push(load),
                        None => open.push(SmallVec::from_iter([load])),
                    }
                    if open.len() > MAX_OPEN {
                        let all = open.remove(0);
                        this.close(func, reps, block, all, lanes, options);
                    }
                } else if is_barrier_to_loads(func, inst) {
                    let stored = stored_address(func, inst);
                    let may_alias = |all: &mut SmallVec<[FieldLoad; 4]>| {
                        stored.is_none_or(|stored| !order.are_disjoint(stored, all[0].member.address))
                    };
                    let aliased: Vec<_> = open.extract_if(.., may_alias).collect();
                    for all in aliased {
                        this.close(func, reps, block, all, lanes, options);
                    }
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
        all: SmallVec<[FieldLoad; 4]>,
        lanes: u32,
        options: &WidenOptions,
    ) {
        if all.len() < 2 {
            return;
        }
        let first = all[0];
        let (low, high) = bounds(&all);
        let size = first.scalar.bytes();
        let is_same = all.iter().all(|load| load.scalar == first.scalar);
        let element = if is_same { Some(first.scalar) } else { Scalar::int(size * 8) };
        let Some(element) = element else { return };
        let span = (high - low) as u32 / size;
        let group = StructureGroup { members: all.iter().map(|load| load.member).collect(), element, span };
        let is_masked = func.predicate(block).is_some() && !func.inst(first.member.inst).is_total();
        // The dummy object is private: only a generic address can point to it.
        let space = func.value_type(first.member.address).scalar();
        if is_masked && space != Scalar::Ptr(Space::Generic) {
            return;
        }
        let steps = matches!(reps.of(first.member.address), ValueRep::Scalar(_)) && !is_masked;
        let (together, alone) = group.costs(lanes, is_masked, steps, options);
        let pays = together < alone;
        let number = group.members.len();
        let kind = if pays { RemarkKind::Structures } else { RemarkKind::PerLane };
        let lowering = AccessLowering {
            accesses: number,
            is_store: false,
            objects: Vec::new(),
            lowering: format!("{} bytes per lane at once", group.span * size),
            condition: String::new(),
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

    /// Group of a load.
    fn of(&self, inst: Inst) -> Option<&StructureGroup> {
        self.of.get(&inst).map(|&number| &self.all[number as usize])
    }
}

impl StructureGroup {
    /// Cost of the group, and of its loads as separate gathers.
    fn costs(&self, lanes: u32, is_masked: bool, steps: bool, options: &WidenOptions) -> (u32, u32) {
        let target = &options.target;
        let size = self.element.bytes() * 8;
        let costs = &target.load;
        let factor = self.factor();
        let load = if factor == self.span { costs.whole } else { costs.masked };
        let each =
            target.cost(load, factor, factor * size) + if steps { target.lane / 2 } else { target.lane };
        let permutes =
            self.layout(lanes as u16).permutes(false) * target.cost(target.permute, lanes, lanes * size);
        let blend = if is_masked { 10 * target.registers_of(lanes * 64) } else { 0 };
        let alone = if is_masked { costs.masked_scattered } else { costs.scattered };
        let alone = target.cost(alone, lanes, lanes * size) * self.members.len() as u32;
        (lanes * each + permutes + blend, alone)
    }
}

/// First byte, and the byte after the last one.
fn bounds(all: &[FieldLoad]) -> (i64, i64) {
    let ends = |load: &FieldLoad| (load.member.offset, load.member.offset + i64::from(load.scalar.bytes()));
    let (low, high) = all
        .iter()
        .map(ends)
        .fold((i64::MAX, i64::MIN), |(low, high), (from, to)| (low.min(from), high.max(to)));
    (low, high)
}

/// Returns a plain load with an unrelated or non-contiguous address for each lane.
fn field_load(
    func: &Function,
    facts: &Divergence,
    accesses: &AccessGroups,
    reps: &ValueReps,
    inst: Inst,
) -> Option<FieldLoad> {
    let data = func.inst(inst);
    if data.op != Op::Load || data.flags.has(Flag::Volatile) {
        return None;
    }
    data.access().filter(|access| access.atomic.is_none())?;
    let (result, address) = (func.result(inst)?, data.args[0]);
    let scalar = func.value_type(result).scalar();
    let is_apart = match reps.of(address) {
        ValueRep::Scalar(_) => is_strided_apart(reps, address, scalar),
        ValueRep::Vector => !matches!(facts.shape(address), Shape::Strided { .. }),
    };
    let is_plain =
        scalar != Scalar::I1 && scalar.bytes().is_power_of_two() && reps.of(result) == ValueRep::Vector;
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
    Some(FieldLoad { member: GroupMember { inst, address, offset }, root, scalar, flags: data.flags })
}

/// Splits the constants that were added last off an address.
fn split_constant_offset(func: &Function, address: Value) -> Option<(Value, i64)> {
    let (mut root, mut offset) = (address, 0i64);
    for _ in 0..MAX_STEPS {
        let Some(from) = func.def_inst(root).map(|inst| func.inst(inst)).filter(|data| data.op == Op::PtrAdd)
        else {
            break;
        };
        let scalar = func.value_type(from.args[1]).scalar();
        let Some(bits) = func.constant(from.args[1]).and_then(Constant::splat_bits) else { break };
        let unused = 128 - scalar.bits();
        let step = (bits << unused) as i128 >> unused;
        offset = i64::try_from(step).ok().and_then(|step| offset.checked_add(step))?;
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

fn may_join(all: &[FieldLoad], load: &FieldLoad, lanes: u32, options: &WidenOptions) -> bool {
    let first = &all[0];
    let size = i64::from(load.scalar.bytes());
    let is_alike =
        (first.root, first.scalar.bytes(), first.flags) == (load.root, load.scalar.bytes(), load.flags);
    // Pointers cannot be reinterpreted as integers.
    let is_number = |load: &FieldLoad| !load.scalar.is_ptr();
    let is_readable = first.scalar == load.scalar || all.iter().chain([load]).all(is_number);
    let (low, high) = bounds(all);
    let low = low.min(load.member.offset);
    let high = high.max(load.member.offset + size);
    let is_aligned = all.iter().chain([load]).all(|it| (it.member.offset - low) % size == 0);
    let most = i64::from(MAX_BYTES.min(options.target.vector_bits / 8)).min(i64::from(lanes) * size);
    is_alike && is_readable && is_aligned && high - low <= most
}

/// True if loads must not move up past the instruction.
fn is_barrier_to_loads(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_plain_load = data.op == Op::Load
        && !data.flags.has(Flag::Volatile)
        && data.access().is_some_and(|access| access.atomic.is_none());
    !is_plain_load
        && !matches!(
            data.op.info().effect,
            Effect::Pure | Effect::Traps | Effect::Horizontal | Effect::Joins | Effect::Allocates
        )
}

/// Address of a plain store, which only conflicts with aliasing loads.
fn stored_address(func: &Function, inst: Inst) -> Option<Value> {
    let data = func.inst(inst);
    let is_plain = data.op == Op::Store
        && !data.flags.has(Flag::Volatile)
        && data.access().is_some_and(|access| access.atomic.is_none());
    is_plain.then(|| data.args[1])
}

impl Widener<'_> {
    /// Emits a structure group at its first load; none if the load is in no group.
    pub(super) fn structure_load(
        &mut self,
        inst: Inst,
        structure_groups: &StructureGroups,
    ) -> Option<WidenResult> {
        let group = structure_groups.of(inst)?;
        if group.members[0].inst != inst {
            return Some(Ok(()));
        }
        self.merge_origins(group.members.iter().map(|member| member.inst));
        let values = self.load_structures(group);
        for (member, value) in group.members.iter().zip(values) {
            self.define(member.inst, value);
        }
        Some(Ok(()))
    }

    fn load_structures(&mut self, group: &StructureGroup) -> Vec<Value> {
        let first = group.members[0];
        let lowest = group.lowest();
        let mask = self.mask(first.inst);
        let part = Type::Vector(group.element, group.factor() as u16);
        let mut data = self.old.inst(lowest.inst).clone();
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let wide_access = self.wide_access(access, access.align);
        // Inactive lanes read the dummy object.
        let base = wide_access.base.filter(|_| mask.is_none());
        data.detail = Detail::Access(Access { base, ..wide_access });
        let starts = self.structure_addresses(first, lowest.offset - first.offset, mask, part, access.align);
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
            if ty == all { value } else { self.emit(InstData::plain(Op::Bitcast, [value]), Some(ty)) }
        };
        group.members.iter().zip(taken).map(as_read).collect()
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
