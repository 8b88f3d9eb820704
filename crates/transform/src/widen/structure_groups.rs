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

use super::access_plan::{AccessPlan, AccessPlanner, AccessPlans, predicate_of};
use super::interleave_groups::{AccessOrder, GroupMember};
use super::interleaving::InterleaveLayout;
use super::value_reps::{ValueRep, ValueReps};
use super::{Remark, RemarkKind, WidenOptions};
use crate::target::{AccessDirection, AccessLanes};
use heddle_analysis::{AccessGroups, Shape};
use heddle_ir::diagnostic::AccessLowering;
use heddle_ir::ops::Effect;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Function, Inst, Op, Scalar, Space, Value};
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
    pub(super) members: SmallVec<[GroupMember; 4]>,
    /// Element type of the accesses: the members' common type, or an integer of that size.
    pub(super) element: Scalar,
    /// Number of elements from the first to the last that is accessed.
    pub(super) span: u32,
    pub(super) direction: AccessDirection,
    /// True if they are accessed together only where all lanes are active.
    pub(super) is_versioned: bool,
}

impl StructureGroup {
    pub(super) fn lowest(&self) -> GroupMember {
        *self.members.iter().min_by_key(|member| member.offset).expect("a group has members")
    }

    /// Number of elements that each lane accesses: a power of two.
    pub(super) fn factor(&self) -> u32 {
        self.span.next_power_of_two()
    }

    pub(super) fn layout(&self, lanes: u16) -> InterleaveLayout {
        let (lowest, size) = (self.lowest().offset, i64::from(self.element.bytes()));
        let at = |member: &GroupMember| ((member.offset - lowest) / size) as usize;
        let positions: SmallVec<[usize; 4]> = self.members.iter().map(at).collect();
        InterleaveLayout::new(lanes.into(), self.factor() as usize, false, &positions)
    }
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

/// Finds groups among accesses that have no plan yet, and plans those that pay. Returns remarks on the groups that were considered.
pub(super) fn find_groups(
    planner: &AccessPlanner<'_>,
    accesses: &AccessGroups,
    plans: &mut AccessPlans,
) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let [lanes, others @ ..] = planner.brush;
    if lanes < 2 || !lanes.is_power_of_two() || others.iter().any(|&extent| extent != 1) {
        return remarks;
    }
    let func = planner.func;
    let order = AccessOrder { func, accesses };
    for block in func.blocks() {
        let mut open: Vec<OpenFields> = Vec::new();
        for inst in func.block_insts(block) {
            let is_taken = plans.is_planned(inst);
            let access = field_access(planner, accesses, inst).filter(|_| !is_taken);
            let joined = access
                .as_ref()
                .and_then(|access| open.iter().position(|all| may_join(all, access, lanes, planner.options)));
            let effect = order_effect(func, inst);
            let mut number = 0;
            let ends = |all: &mut OpenFields| {
                number += 1;
                Some(number - 1) != joined && conflicts(&order, &all[0], effect)
            };
            // The position of the joined group changes with those before it.
            let own = joined.map(|at| open[at][0].member.inst);
            let ended: Vec<OpenFields> = open.extract_if(.., ends).collect();
            ended.into_iter().for_each(|all| close(planner, &all, plans, &mut remarks));
            let Some(access) = access else { continue };
            match open.iter().position(|all| Some(all[0].member.inst) == own) {
                Some(at) => open[at].push(access),
                None => open.push(SmallVec::from_iter([access])),
            }
            if open.len() > MAX_OPEN {
                let all = open.remove(0);
                close(planner, &all, plans, &mut remarks);
            }
        }
        for all in open {
            close(planner, &all, plans, &mut remarks);
        }
    }
    remarks
}

/// Closes a group, and plans it if it pays.
fn close(planner: &AccessPlanner<'_>, all: &OpenFields, plans: &mut AccessPlans, remarks: &mut Vec<Remark>) {
    let Some(group) = StructureGroup::new(planner, all) else { return };
    let first = group.members[0];
    let costs = group.costs(planner);
    let text = format!("{} bytes per lane at once", group.span * group.element.bytes());
    let lowering = AccessLowering {
        condition: if group.is_versioned { "all lanes are active".into() } else { String::new() },
        ..planner.lowering(group.direction, group.members.len(), text, costs)
    };
    let pays = lowering.is_chosen;
    remarks.push(planner.remark(first.inst, first.address, RemarkKind::Structures, lowering));
    if pays {
        let members: SmallVec<[Inst; 4]> = group.members.iter().map(|member| member.inst).collect();
        plans.add_group(&members, group.direction, AccessPlan::StructureGroup(Box::new(group)));
    }
}

impl StructureGroup {
    /// Returns the group of some fields, if each lane's can be accessed at once.
    fn new(planner: &AccessPlanner<'_>, all: &OpenFields) -> Option<StructureGroup> {
        if all.len() < 2 {
            return None;
        }
        let first = all[0];
        let (low, high) = bounds(all);
        let size = first.scalar.bytes();
        let is_same = all.iter().all(|access| access.scalar == first.scalar);
        let element = if is_same { Some(first.scalar) } else { Scalar::int(size * 8) }?;
        let span = (high - low) as u32 / size;
        let is_gapless = span.is_power_of_two() && span as usize == all.len();
        if !is_gapless && first.writes {
            return None;
        }
        // The dummy object is private: only a generic address can point to it.
        let space = planner.func.value_type(first.member.address).scalar();
        let is_masked = predicate_of(planner.func, first.member.inst).is_some();
        let is_versioned = is_masked && (first.writes || space != Scalar::Ptr(Space::Generic));
        let is_scalar =
            |access: &FieldAccess| matches!(planner.reps.of(access.member.address), ValueRep::Scalar(_));
        let is_derivable = all.iter().all(|access| is_scalar(access) == is_scalar(&first));
        if is_versioned && (all.len() < MIN_VERSIONED || !is_derivable) {
            return None;
        }
        let members = all.iter().map(|access| access.member).collect();
        let direction = if first.writes { AccessDirection::Store } else { AccessDirection::Load };
        Some(StructureGroup { members, element, span, direction, is_versioned })
    }

    /// Cost of the group, and of its members with an address for each lane.
    fn costs(&self, planner: &AccessPlanner<'_>) -> [u32; 2] {
        let (target, lanes) = (&planner.options.target, planner.lanes());
        let GroupMember { inst, address, .. } = self.members[0];
        let is_masked = predicate_of(planner.func, inst).is_some();
        let steps = matches!(planner.reps.of(address), ValueRep::Scalar(_)) && !is_masked;
        let (direction, factor, size) = (self.direction, self.factor(), self.element.bytes() * 8);
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
        [if self.is_versioned { versioned } else { together }, alone]
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
fn field_access(planner: &AccessPlanner<'_>, accesses: &AccessGroups, inst: Inst) -> Option<FieldAccess> {
    let AccessPlanner { func, facts, reps, .. } = *planner;
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
