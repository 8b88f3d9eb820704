//! Cell groups: loads of a block whose lanes, over all dimensions of the brush, read few cells of memory.
//!
//! ```text
//!     load p, a + 16 * y          lanes (x, y) of a brush of 4 x 4: each load reads 4 cells, all of them 16, which are
//!     load q, a + 16 * y + 4      contiguous; they are loaded once, and each load takes its cells from registers
//!     …
//! ```
//!
//! Each cell is loaded once, although several lanes and several loads read it. Addresses of members differ by constants, as those of
//! lanes do. A group reads from its first to its last cell, gaps included: both are cells of one object. Loads execute at the first member;
//! no access in between may write what they read.
//!
//! After: S. Moll, *The Region Vectorizer*, 11.4 and 11.5. Differs in: cells lie within twice the lanes, and no register takes cells from more
//! than two others.

use super::address_polynomial::AddressPolynomial;
use super::interleave_groups::{AccessOrder, GroupMember, InterleaveGroups};
use super::rows::RowExtents;
use super::structure_groups::{OrderEffect, StructureGroups, order_effect};
use super::value_reps::{ValueRep, ValueReps};
use super::widener::{WidenResult, Widener};
use super::{Remark, RemarkKind, WidenOptions, access_remark};
use crate::target::TargetInfo;
use heddle_analysis::AccessGroups;
use heddle_analysis::shape::Steps;
use heddle_ir::diagnostic::{AccessLowering, LoweringCosts};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Block, Function, Inst, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;

/// Maximum number of open groups, and of members of one.
const MAX_OPEN: usize = 8;
const MAX_MEMBERS: usize = 32;
/// Part of the registers that cells may take: one of so many.
const SHARE_OF_REGISTERS: u32 = 4;
/// Maximum number of registers that a register of a result takes cells from.
const MAX_SOURCES: usize = 2;

/// Loads of one block that read cells of the same object.
#[derive(Clone, Debug)]
pub(super) struct CellGroup {
    /// Members, in block order. Offsets are those of lane 0.
    members: SmallVec<[GroupMember; 4]>,
    /// Places of all lanes' cells, relative to the member's own, in elements.
    places: Vec<i64>,
    scalar: Scalar,
    /// First cell, and the one after the last, in elements.
    cells: Range<i64>,
}

/// Cell groups of a function.
#[derive(Debug, Default)]
pub(super) struct CellGroups {
    all: Vec<CellGroup>,
    of: FxHashMap<Inst, u32>,
    /// Remarks on the groups.
    pub(super) remarks: Vec<Remark>,
}

/// Load that may join a group.
#[derive(Debug)]
struct CellLoad {
    member: GroupMember,
    /// Address without the constant offset.
    root: AddressPolynomial,
    steps: Steps<i64>,
    scalar: Scalar,
    flags: Flags,
}

impl CellGroups {
    /// Finds the groups among loads that are in no other group.
    pub(super) fn new(
        func: &Function,
        accesses: &AccessGroups,
        reps: &ValueReps,
        (interleave_groups, structure_groups): (&InterleaveGroups, &StructureGroups),
        brush: [u32; MAX_DIMENSIONS],
        options: &WidenOptions,
    ) -> CellGroups {
        let mut this = CellGroups::default();
        if brush[1..].iter().all(|&extent| extent == 1) {
            return this;
        }
        let order = AccessOrder { func, accesses };
        for block in func.blocks() {
            let mut open: Vec<Vec<CellLoad>> = Vec::new();
            for inst in func.block_insts(block) {
                let is_taken = interleave_groups.of(inst).is_some() || structure_groups.of(inst).is_some();
                if let Some(load) = cell_load(func, reps, block, inst).filter(|_| !is_taken) {
                    match open.iter().position(|all| may_join(all, &load)) {
                        Some(at) => open[at].push(load),
                        None => open.push(vec![load]),
                    }
                    if open.len() > MAX_OPEN {
                        this.close(func, reps, open.remove(0), brush, options);
                    }
                    continue;
                }
                let ends = |all: &mut Vec<CellLoad>| match order_effect(func, inst) {
                    OrderEffect::None | OrderEffect::Reads(_) => false,
                    OrderEffect::Writes(address) => !order.are_disjoint(address, all[0].member.address),
                    OrderEffect::Fence => true,
                };
                let ended: Vec<Vec<CellLoad>> = open.extract_if(.., ends).collect();
                ended.into_iter().for_each(|all| this.close(func, reps, all, brush, options));
            }
            open.into_iter().for_each(|all| this.close(func, reps, all, brush, options));
        }
        this
    }

    /// Closes a group, and keeps it if it pays.
    fn close(
        &mut self,
        func: &Function,
        reps: &ValueReps,
        all: Vec<CellLoad>,
        brush: [u32; MAX_DIMENSIONS],
        options: &WidenOptions,
    ) {
        let (steps, rows) = (all[0].steps, RowExtents::of(brush));
        let Some(group) = CellGroup::new(reps, &all) else { return };
        let Some(together) = group.cost(&options.target) else { return };
        let number = group.members.len();
        let separate = rows.separate_load_cost(steps, group.scalar, &options.target) * number as u32;
        // Loads that stay apart have remarks of their own.
        if together >= separate {
            return;
        }
        let cells = group.cells.end - group.cells.start;
        let lowering = AccessLowering {
            accesses: number,
            is_store: false,
            objects: Vec::new(),
            lowering: format!("{cells} cells loaded once"),
            condition: String::new(),
            is_chosen: true,
            costs: Some(LoweringCosts { together, separate, target: options.target.name, times: 1 }),
        };
        let GroupMember { inst, address, .. } = group.members[0];
        let diagnostic = access_remark(func, inst, address, lowering);
        self.remarks.push(Remark { kind: RemarkKind::Cells, accesses: number, diagnostic });
        let at = self.all.len() as u32;
        self.of.extend(group.members.iter().map(|member| (member.inst, at)));
        self.all.push(group);
    }
}

/// Returns a plain load by all lanes whose addresses differ by constants, but are not contiguous.
fn cell_load(func: &Function, reps: &ValueReps, block: Block, inst: Inst) -> Option<CellLoad> {
    let data = func.inst(inst);
    if data.op != Op::Load || data.flags.has(Flag::Volatile) {
        return None;
    }
    data.access().filter(|access| access.atomic.is_none())?;
    let (address, result) = (data.args[0], func.result(inst)?);
    let scalar = func.value_type(result).scalar();
    let ValueRep::Scalar(steps) = reps.of(address) else { return None };
    let size = i64::from(scalar.bytes());
    let is_apart = reps.lane_step(steps).is_none_or(|step| step != 0 && step.abs() != size);
    let is_plain =
        scalar != Scalar::I1 && scalar.bytes().is_power_of_two() && reps.of(result) == ValueRep::Vector;
    let is_masked = func.predicate(block).is_some() && !data.is_total();
    if !is_apart || !is_plain || is_masked || reps.is_rebased(address) {
        return None;
    }
    let (root, offset) = AddressPolynomial::new(func, address).without_constant();
    // Keeps differences of offsets free of overflow.
    if offset.unsigned_abs() > 1 << 32 {
        return None;
    }
    Some(CellLoad { member: GroupMember { inst, address, offset }, root, steps, scalar, flags: data.flags })
}

fn may_join(all: &[CellLoad], load: &CellLoad) -> bool {
    let first = &all[0];
    all.len() < MAX_MEMBERS
        && (first.scalar, first.flags, first.steps) == (load.scalar, load.flags, load.steps)
        && (load.member.offset - first.member.offset) % i64::from(load.scalar.bytes()) == 0
        && first.root == load.root
}

impl CellGroup {
    /// Returns the group of some loads; none if their cells are far apart.
    fn new(reps: &ValueReps, all: &[CellLoad]) -> Option<CellGroup> {
        let (first, size) = (&all[0], i128::from(all[0].scalar.bytes()));
        let offsets = reps.offsets(first.steps);
        let is_whole = offsets.iter().all(|offset| offset % size == 0);
        let places: Vec<i64> = offsets
            .iter()
            .map(|offset| i64::try_from(offset / size).ok().filter(|place| place.unsigned_abs() < 1 << 32))
            .collect::<Option<_>>()?;
        let members: SmallVec<[GroupMember; 4]> = all.iter().map(|load| load.member).collect();
        let cell = |member: &GroupMember| (member.offset - first.member.offset) / size as i64;
        let lowest = members.iter().map(cell).min()? + places.iter().min()?;
        let highest = members.iter().map(cell).max()? + places.iter().max()?;
        let (span, lanes) = ((highest - lowest + 1) as usize, places.len());
        let is_dense = (2..=2 * lanes).contains(&span);
        (is_whole && is_dense).then(|| CellGroup {
            members,
            places,
            scalar: first.scalar,
            cells: lowest..highest + 1,
        })
    }

    /// Lengths and first cells of the vectors that are loaded: one, or two that overlap.
    fn chunks(&self) -> (usize, SmallVec<[usize; 2]>) {
        let span = (self.cells.end - self.cells.start) as usize;
        let length = 1 << span.ilog2();
        let mut starts = SmallVec::from_iter([0]);
        if span > length {
            starts.push(span - length);
        }
        (length, starts)
    }

    /// Elements of the concatenated chunks that a member's lanes take.
    fn order(&self, member: &GroupMember) -> Vec<u16> {
        let (length, starts) = self.chunks();
        let size = i64::from(self.scalar.bytes());
        let own = (member.offset - self.members[0].offset) / size - self.cells.start;
        let element = |place: &i64| {
            let cell = (own + place) as usize;
            match starts.get(1) {
                Some(second) if cell >= length => (length + cell - second) as u16,
                _ => cell as u16,
            }
        };
        self.places.iter().map(element).collect()
    }

    /// Cost of the group; none if cells take too many registers, or a register would take cells from too many others.
    fn cost(&self, target: &TargetInfo) -> Option<u32> {
        let (length, starts) = self.chunks();
        let bits = |lanes: usize| lanes as u32 * self.scalar.bytes() * 8;
        if target.registers_of(bits(length)) * starts.len() as u32 > target.registers / SHARE_OF_REGISTERS {
            return None;
        }
        let in_register = (target.vector_bits / 8 / self.scalar.bytes()).max(1) as usize;
        let permute = target.cost(target.permute, 1, target.vector_bits);
        let loads = target.cost(target.load.whole, length as u32, bits(length)) * starts.len() as u32;
        let mut permutes = 0;
        for member in &self.members {
            for lanes in self.order(member).chunks(in_register) {
                let mut sources: SmallVec<[usize; 4]> =
                    lanes.iter().map(|&element| usize::from(element) / in_register).collect();
                sources.sort_unstable();
                sources.dedup();
                if sources.len() > MAX_SOURCES {
                    return None;
                }
                permutes += permutes_of(sources.len(), self.scalar, target);
            }
        }
        Some(loads + permutes * permute)
    }
}

/// Permutations for a register that takes elements from so many others. Without masks and two-register permutations, halves are blended;
/// bytes do not cross the halves of a register.
fn permutes_of(sources: usize, scalar: Scalar, target: &TargetInfo) -> u32 {
    let has_all = target.vector_bits >= 512;
    match (sources, scalar.bytes()) {
        _ if has_all => 1,
        (1, 4..) => 1,
        (1, _) => 3,
        (_, 4..) => 3,
        _ => 6,
    }
}

impl Widener<'_> {
    /// Emits a cell group at its first load; none if the access is in no group.
    pub(super) fn cell_access(&mut self, inst: Inst, cell_groups: &CellGroups) -> Option<WidenResult> {
        let group = &cell_groups.all[*cell_groups.of.get(&inst)? as usize];
        let first = group.members[0];
        if first.inst != inst {
            return Some(Ok(()));
        }
        self.merge_origins(group.members.iter().map(|member| member.inst));
        let chunks = self.load_cells(group);
        let ty = Type::Vector(group.scalar, self.lanes);
        for member in &group.members {
            let order = Detail::Permute(group.order(member).into());
            let args = [chunks[0], *chunks.last().expect("there is a chunk")];
            let cells = self.emit(InstData::new(Op::Permute, args, order), Some(ty));
            self.define(member.inst, cells);
        }
        Some(Ok(()))
    }

    fn load_cells(&mut self, group: &CellGroup) -> SmallVec<[Value; 2]> {
        let first = group.members[0];
        let mut data = self.old.inst(first.inst).clone();
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let size = group.scalar.bytes();
        data.detail = Detail::Access(self.wide_access(access, access.align.min(size)));
        let (length, starts) = group.chunks();
        let ty = Type::Vector(group.scalar, length as u16);
        let lane_0 = self.scalar(first.address);
        let load = |start: usize| {
            let cell = group.cells.start + start as i64;
            let from = self.offset_address(lane_0, cell * i64::from(size));
            self.load_vector(data.clone(), from, None, ty)
        };
        starts.into_iter().map(load).collect()
    }
}
