//! Interleave groups: accesses of a block whose lanes together cover whole vectors of memory.
//!
//! ```text
//!     load x, a[4 * i]          x y z w x y z w …    contiguous memory, loaded as vectors and deinterleaved,
//!     load y, a[4 * i + 1]                           or interleaved and stored
//!     …
//! ```
//!
//! Loads of a group execute at its first member, stores at its last. A load moves up past stores that don't alias it; a
//! store moves down past loads and stores that don't alias it. Calls, copies, atomics, fences and barriers close all
//! groups. Two accesses don't alias
//!
//! * if their address spaces or their base objects differ, or
//! * if they are in one access group with stride `s` and don't overlap modulo `s`: then no two lanes overlap either.
//!
//! An access that is regular only under run-time conditions forms a group of its own. It is versioned: a branch on the
//! conditions, which are computed as far out of loops as their operands allow.
//!
//! The target's costs decide whether a group pays.

use super::access_plan::{AccessPlan, AccessPlanner, AccessPlans};
use super::interleaving::InterleaveLayout;
use super::value_reps::{ValueRep, ValueReps};
use super::{Remark, RemarkKind, VersioningPolicy, WidenOptions};
use crate::address_pattern::AddressPattern;
use crate::target::{AccessDirection, AccessLanes};
use heddle_analysis::{AccessGroups, StrideCondition, underlying_object};
use heddle_ir::diagnostic::AccessLowering;
use heddle_ir::ops::Effect;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Function, Inst, Op, Scalar, Space, Value, ValueDef};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Maximum number of open groups, and of accesses to check between two members.
const MAX_OPEN: usize = 8;
const MAX_BETWEEN: usize = 16;
/// Maximum interleave factor: elements from a lane's to the next one's.
const MAX_FACTOR: i64 = 8;

/// Member of an access group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupMember {
    pub(super) inst: Inst,
    /// Address, and its constant offset within the group.
    pub(super) address: Value,
    pub(super) offset: i64,
}

/// Accesses of one block that are combined.
#[derive(Clone, Debug)]
pub(super) struct InterleaveGroup {
    /// Members, in block order.
    pub(super) members: SmallVec<[GroupMember; 4]>,
    /// Bytes from a lane to the next.
    pub(super) stride: i64,
    pub(super) scalar: Scalar,
    pub(super) direction: AccessDirection,
    /// Run-time conditions for this stride; empty if it is static.
    pub(super) conditions: Vec<StrideCondition>,
}

impl InterleaveGroup {
    pub(super) fn has_versions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Pattern of the addresses, if lanes are at one address or next to each other.
    pub(super) fn pattern(&self) -> Option<AddressPattern> {
        let size = i64::from(self.scalar.bytes());
        match self.stride {
            0 => Some(AddressPattern::Uniform),
            stride if stride == size => Some(AddressPattern::Contiguous),
            stride if stride == -size => Some(AddressPattern::Reversed),
            _ => None,
        }
    }

    /// Lowest offset of a member.
    pub(super) fn lowest(&self) -> i64 {
        self.members.iter().map(|member| member.offset).min().unwrap_or(0)
    }

    /// Position of each member among the elements of one lane.
    pub(super) fn positions(&self) -> SmallVec<[usize; 4]> {
        let (lowest, size) = (self.lowest(), i64::from(self.scalar.bytes()));
        self.members.iter().map(|member| ((member.offset - lowest) / size) as usize).collect()
    }

    pub(super) fn layout(&self, lanes: u16) -> InterleaveLayout {
        let factor = self.stride.unsigned_abs() as usize / self.scalar.bytes() as usize;
        InterleaveLayout::new(lanes.into(), factor, self.stride < 0, &self.positions())
    }
}

/// Finds the interleave groups of a function, and plans those that pay. Returns remarks on the groups that were considered.
pub(super) fn find_groups(
    planner: &AccessPlanner<'_>,
    accesses: &AccessGroups,
    plans: &mut AccessPlans,
) -> Vec<Remark> {
    let AccessPlanner { func, reps, options, .. } = *planner;
    let lanes = planner.lanes() as u16;
    let mut remarks = Vec::new();
    if lanes < 2 {
        return remarks;
    }
    let order = AccessOrder { func, accesses };
    for block in func.blocks() {
        let is_masked = func.predicate(block).is_some();
        let mut open: Vec<OpenGroup> = Vec::new();
        let mut done: Vec<OpenGroup> = Vec::new();
        for inst in func.block_insts(block) {
            let Some(access) = plain_access(func, accesses, inst) else {
                if !is_reorderable(func, inst) {
                    done.append(&mut open);
                }
                continue;
            };
            let candidate = order.candidate(&access, reps, lanes, options);
            let joined = candidate.as_ref().and_then(|candidate| {
                open.iter().position(|group| order.may_join(group, candidate, &access))
            });
            // A store group's members move down to its last one.
            let mut here: SmallVec<[PlainAccess; 4]> = SmallVec::from_iter([access]);
            if let Some(at) = joined {
                open[at].accesses.push(access);
                if access.writes {
                    here = open[at].accesses.clone();
                }
            }
            for (at, group) in open.iter_mut().enumerate() {
                if joined != Some(at) {
                    group.between.extend(here.iter().filter(|it| it.writes || group.writes));
                }
            }
            open.extend(candidate.filter(|_| joined.is_none()));
            let is_full = |group: &mut OpenGroup| group.between.len() > MAX_BETWEEN;
            done.extend(open.extract_if(.., is_full));
            if open.len() > MAX_OPEN {
                done.push(open.remove(0));
            }
        }
        done.append(&mut open);
        for group in done {
            let group = group.close();
            let is_masked = is_masked && !func.inst(group.members[0].inst).is_total();
            let mut lowering = group.lowering(planner, is_masked);
            lowering.is_chosen |= group.has_versions() && options.versions == VersioningPolicy::Force;
            let is_chosen = lowering.is_chosen;
            let GroupMember { inst, address, .. } = group.members[0];
            let kind = if group.has_versions() { RemarkKind::Versioned } else { RemarkKind::Interleaved };
            remarks.push(planner.remark(inst, address, kind, lowering));
            if is_chosen {
                let members: SmallVec<[Inst; 4]> = group.members.iter().map(|member| member.inst).collect();
                plans.add_group(&members, group.direction, AccessPlan::InterleaveGroup(Box::new(group)));
            }
        }
    }
    remarks
}

impl InterleaveGroup {
    /// Lowering of the group, with its costs and those of its accesses with an address for each lane.
    fn lowering(&self, planner: &AccessPlanner<'_>, is_masked: bool) -> AccessLowering {
        let (lanes, target) = (planner.lanes(), &planner.options.target);
        let (direction, bits) = (self.direction, self.scalar.bytes() * 8);
        let size = i64::from(self.scalar.bytes());
        let text = match self.stride {
            0 => "one address".to_string(),
            stride if stride == size => "contiguous".into(),
            stride if stride == -size => "contiguous in reverse".into(),
            stride => format!("in whole vectors by {stride} bytes"),
        };
        let active = AccessLanes::under(is_masked);
        let known = self.pattern().map(|pattern| pattern.cost(target, direction, active, lanes, bits));
        let mut together = known.unwrap_or_else(|| self.interleaved_cost(planner, is_masked));
        if self.has_versions() {
            together += target.branch;
        }
        let number = self.members.len();
        let separate = number as u32 * target.scattered_cost(direction, active, lanes, bits);
        let conditions: BTreeSet<String> =
            self.conditions.iter().map(|it| it.describe_for_user(planner.func)).collect();
        AccessLowering {
            condition: conditions.into_iter().collect::<Vec<_>>().join(" and "),
            is_wrap_test: !self.conditions.is_empty()
                && self.conditions.iter().all(StrideCondition::tests_wrap),
            ..planner.lowering(direction, number, text, [together, separate])
        }
    }

    /// Cost of whole vectors of memory with permutations.
    fn interleaved_cost(&self, planner: &AccessPlanner<'_>, is_masked: bool) -> u32 {
        let (lanes, target) = (planner.lanes(), &planner.options.target);
        let (layout, bits) = (self.layout(lanes as u16), self.scalar.bytes() * 8);
        // Gaps may be read, but not written.
        let needs_mask = is_masked || self.direction.is_store() && !layout.is_gapless();
        let vector = target.contiguous_cost(self.direction, AccessLanes::under(needs_mask), lanes, bits);
        let permute = target.cost(target.permute, lanes, lanes * bits);
        layout.factor() as u32 * vector + layout.permutes(self.direction) * permute
    }
}

/// Plain load or store.
#[derive(Clone, Copy, Debug)]
struct PlainAccess {
    inst: Inst,
    address: Value,
    writes: bool,
    bytes: i64,
    /// Access group, and the offset within it.
    group_offset: Option<(usize, i64)>,
}

/// Group that may still gain members.
#[derive(Debug)]
struct OpenGroup {
    group: usize,
    stride: i64,
    scalar: Scalar,
    writes: bool,
    is_total: bool,
    flags: Flags,
    accesses: SmallVec<[PlainAccess; 4]>,
    /// Accesses since the first member that it may conflict with; for loads, only stores.
    between: Vec<PlainAccess>,
    conditions: Vec<StrideCondition>,
}

impl OpenGroup {
    fn close(self) -> InterleaveGroup {
        let member = |access: &PlainAccess| GroupMember {
            inst: access.inst,
            address: access.address,
            offset: access.group_offset.map_or(0, |(_, offset)| offset),
        };
        let members = self.accesses.iter().map(member).collect();
        let OpenGroup { stride, scalar, conditions, .. } = self;
        let direction = if self.writes { AccessDirection::Store } else { AccessDirection::Load };
        InterleaveGroup { members, stride, scalar, direction, conditions }
    }
}

/// Returns a plain load or store; none for other instructions.
fn plain_access(func: &Function, accesses: &AccessGroups, inst: Inst) -> Option<PlainAccess> {
    let data = func.inst(inst);
    let (address, accessed) = match data.op {
        Op::Load => (data.args[0], func.result(inst)?),
        Op::Store => (data.args[1], data.args[0]),
        _ => return None,
    };
    if data.flags.has(Flag::Volatile) || data.access().is_none_or(|access| access.atomic.is_some()) {
        return None;
    }
    let bytes = func.value_type(accessed).bytes().into();
    let group_offset = accesses.position(inst).map(|(group, access)| (group, access.offset));
    Some(PlainAccess { inst, address, writes: data.op == Op::Store, bytes, group_offset })
}

/// True if accesses may move past an instruction that isn't one itself.
fn is_reorderable(func: &Function, inst: Inst) -> bool {
    matches!(
        func.inst(inst).op.info().effect,
        Effect::Pure | Effect::Traps | Effect::Horizontal | Effect::Joins | Effect::Allocates
    )
}

/// Alias queries that restrict reordering.
pub(super) struct AccessOrder<'a> {
    pub(super) func: &'a Function,
    pub(super) accesses: &'a AccessGroups,
}

impl AccessOrder<'_> {
    /// Opens a group with this access, if its stride allows one.
    fn candidate(
        &self,
        access: &PlainAccess,
        reps: &ValueReps,
        lanes: u16,
        options: &WidenOptions,
    ) -> Option<OpenGroup> {
        let (number, _) = access.group_offset?;
        let group = &self.accesses.groups()[number];
        let data = self.func.inst(access.inst);
        let accessed = if access.writes { data.args[0] } else { self.func.result(access.inst)? };
        let scalar = self.func.value_type(accessed).scalar();
        let factor = group.stride.checked_abs().filter(|stride| stride % access.bytes == 0)? / access.bytes;
        // Stores of private addresses are diagnosed where they are lowered separately.
        let is_vector = match access.writes {
            true => !reps.is_rebased(accessed),
            false => reps.of(accessed) == ValueRep::Vector,
        };
        let is_plain = is_vector && scalar != Scalar::I1 && access.bytes.count_ones() == 1;
        let has_versions = !group.conditions.is_empty();
        let least = match has_versions {
            true if options.versions == VersioningPolicy::None
                || reps.of(access.address) != ValueRep::Vector =>
            {
                return None;
            }
            true => 0,
            false => 2,
        };
        let fits = (least..=MAX_FACTOR.min(lanes.into())).contains(&factor);
        // The scalar of a strided condition is lane 0's value, so its steps must be those of the condition.
        let is_checkable = |condition: &StrideCondition| {
            let steps = match (self.func.constant(condition.value), reps.of(condition.value)) {
                (None, ValueRep::Scalar(steps)) => steps,
                _ => return false,
            };
            let is_uniform = |value| match reps.of(value) {
                ValueRep::Scalar(steps) => reps.lane_step(steps) == Some(0),
                ValueRep::Vector => false,
            };
            reps.lane_step(steps) == Some(condition.stride)
                && condition.bound.is_none_or(|bound| is_uniform(bound.value))
        };
        let is_supported = group.conditions.iter().all(is_checkable) && !reps.is_rebased(access.address);
        (fits && is_plain && is_supported).then(|| OpenGroup {
            group: number,
            stride: group.stride,
            scalar,
            writes: access.writes,
            is_total: data.is_total(),
            flags: data.flags,
            accesses: SmallVec::from_iter([*access]),
            between: Vec::new(),
            conditions: group.conditions.clone(),
        })
    }

    fn may_join(&self, group: &OpenGroup, candidate: &OpenGroup, access: &PlainAccess) -> bool {
        let is_alike = (group.group, group.scalar, group.writes, group.is_total, group.flags)
            == (candidate.group, candidate.scalar, candidate.writes, candidate.is_total, candidate.flags);
        if !is_alike || !group.conditions.is_empty() {
            return false;
        }
        let offset = |access: &PlainAccess| access.group_offset.map_or(0, |(_, offset)| offset);
        let all = || group.accesses.iter().chain([access]).map(offset);
        let (Some(lowest), Some(highest)) = (all().min(), all().max()) else { return false };
        let span = highest.checked_sub(lowest).and_then(|span| span.checked_add(access.bytes));
        let fits = span.is_some_and(|span| span <= group.stride.abs())
            && all().all(|offset| offset.wrapping_sub(lowest) % access.bytes == 0);
        let is_free = if access.writes {
            let is_new = group.accesses.iter().all(|it| offset(it) != offset(access));
            let mut pairs = group.accesses.iter().flat_map(|it| group.between.iter().map(move |at| (it, at)));
            is_new && pairs.all(|(it, at)| !self.may_alias(it, at))
        } else {
            group.between.iter().all(|it| !self.may_alias(it, access))
        };
        fits && is_free
    }

    /// True if two accesses may touch the same byte, in any lanes.
    fn may_alias(&self, a: &PlainAccess, b: &PlainAccess) -> bool {
        if let (Some((group, from)), Some((other, to))) = (a.group_offset, b.group_offset)
            && group == other
            && self.accesses.groups()[group].conditions.is_empty()
        {
            let stride = i128::from(self.accesses.groups()[group].stride).abs();
            let apart = (i128::from(to) - i128::from(from)).checked_rem_euclid(stride);
            return apart.is_none_or(|apart| apart < a.bytes.into() || apart + i128::from(b.bytes) > stride);
        }
        !self.are_disjoint(a.address, b.address)
    }

    /// True if accesses at these addresses never alias, since their spaces or objects differ.
    pub(super) fn are_disjoint(&self, a: Value, b: Value) -> bool {
        let space = |address: Value| match self.func.value_type(address).scalar() {
            Scalar::Ptr(space) => space,
            _ => Space::Generic,
        };
        let spaces = [space(a), space(b)];
        if spaces[0] != spaces[1] && !spaces.contains(&Space::Generic) {
            return true;
        }
        let roots = [a, b].map(|address| underlying_object(self.func, address));
        let are_objects = roots.iter().all(|&root| self.func.is_object(root));
        let is_disjoint = roots.iter().any(|&root| self.is_unaliased(root))
            || roots.iter().all(|&root| self.func.constant(root).is_some());
        roots[0] != roots[1] && are_objects && is_disjoint
    }

    /// True if no other parameter and no global points into this object.
    fn is_unaliased(&self, root: Value) -> bool {
        match self.func.value_def(root) {
            ValueDef::Param(index) => self.func.signature.params[index as usize].noalias,
            _ => self.is_alloca(root),
        }
    }

    fn is_alloca(&self, value: Value) -> bool {
        self.func.def_inst(value).is_some_and(|inst| self.func.inst(inst).op == Op::Alloca)
    }
}
