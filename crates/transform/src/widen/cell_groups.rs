//! Cell groups: loads of a block whose lanes read few cells of memory.
//!
//! ```text
//!     load p, a + 16 * y          lanes (x, y) of a brush of 4 x 4: each load reads 4 cells, all of them 16, which are
//!     load q, a + 16 * y + 4      contiguous; they are loaded once, and each load takes its cells from registers
//!     …
//!     load a + x / 2 + n * y      16 lanes along x: 8 cells in each row; a picture at half the resolution
//! ```
//!
//! Each cell is loaded once, although several lanes and several loads read it. Addresses of members differ by constants, as those of
//! lanes do: of all lanes, of those in a row (`cell_loads`), or of those on a line of memory (`lane_lines`). Where low bits of an index decide by how much, there is code for each
//! residue. Where not all lanes run, the mask of the cells is that of the lanes, in the order in which cells have lanes. A load whose
//! index may be negative, or of which a line's first lane does not run, has an address for each lane besides.
//!
//! A group reads from the first to the last cell of each line, gaps included: both are cells of one object. Loads execute at the first member;
//! no access in between may write what they read.
//!
//! After: S. Moll, *The Region Vectorizer*, 11.4 and 11.5. Differs in: cells lie within four times the lanes of a line, and no register takes cells from
//! more than four others; lanes need not differ by constant steps.

use super::access_plan::{AccessPlan, AccessPlanner, AccessPlans};
use super::address_polynomial::AddressPolynomial;
use super::cell_layouts::{CellLayout, LineCells};
use super::cell_loads::{CellFinder, CellLoad, MemoryLine, ResidueIndex};
use super::interleave_groups::AccessOrder;
use super::structure_groups::{OrderEffect, order_effect};
use super::{Remark, RemarkKind};
use crate::target::{AccessDirection, TargetInfo};
use heddle_analysis::AccessGroups;
use heddle_ir::entity::Entity;
use heddle_ir::{Block, Inst, Scalar, Value};
use smallvec::SmallVec;

/// Maximum number of open groups, and of members of one.
const MAX_OPEN: usize = 8;
const MAX_MEMBERS: usize = 32;
/// Maximum number of cells whose mask is that of lanes: LLVM 22 permutes no longer masks for AVX-512 without VBMI.
const MAX_MASKED_CELLS: usize = 64;

/// Loads of one block that read cells of the same object.
#[derive(Clone, Debug)]
pub(super) struct CellGroup {
    /// Members, in block order.
    pub(super) members: SmallVec<[Inst; 4]>,
    /// Address of the first member.
    pub(super) address: Value,
    /// Lines of memory with the cells.
    pub(super) lines: Vec<LineBase>,
    pub(super) scalar: Scalar,
    /// Index whose residue decides between the layouts.
    pub(super) index: Option<ResidueIndex>,
    pub(super) layouts: Vec<CellLayout>,
    pub(super) is_masked: bool,
    /// True if there is code for masks with all lanes.
    pub(super) tests_all_lanes: bool,
}

/// Cell of a line from which others are counted.
#[derive(Clone, Debug)]
pub(super) struct LineBase {
    /// Lane whose address is known: that of the first member.
    pub(super) lane: u32,
    /// Distance of the cell from that address.
    pub(super) distance: AddressPolynomial,
}

/// Finds groups among loads that have no plan yet, and plans those that pay. Returns remarks on them.
pub(super) fn find_groups(
    planner: &AccessPlanner<'_>,
    accesses: &AccessGroups,
    plans: &mut AccessPlans,
) -> Vec<Remark> {
    let func = planner.func;
    let mut groups = GroupPlanner { planner, finder: CellFinder::new(planner), plans, remarks: Vec::new() };
    let order = AccessOrder { func, accesses };
    for block in func.blocks() {
        let mut open: Vec<Vec<CellLoad>> = Vec::new();
        for inst in func.block_insts(block) {
            let is_taken = groups.plans.is_planned(inst);
            if let Some(load) = groups.finder.load(block, inst, true).filter(|_| !is_taken) {
                join(&mut open, load);
                if open.len() > MAX_OPEN {
                    groups.close(block, &open.remove(0));
                }
                continue;
            }
            let ends = |all: &mut Vec<CellLoad>| match order_effect(func, inst) {
                OrderEffect::None | OrderEffect::Reads(_) => false,
                OrderEffect::Writes(address) => !order.are_disjoint(address, all[0].address),
                OrderEffect::Fence => true,
            };
            open.extract_if(.., ends).for_each(|all| groups.close(block, &all));
        }
        open.iter().for_each(|all| groups.close(block, all));
    }
    groups.remarks
}

/// Adds a load to a group that it may join, or to one of its own.
fn join(groups: &mut Vec<Vec<CellLoad>>, load: CellLoad) {
    match groups.iter().position(|all| may_join(all, &load)) {
        Some(at) => groups[at].push(load),
        None => groups.push(vec![load]),
    }
}

/// Plans groups.
struct GroupPlanner<'p, 'a> {
    planner: &'p AccessPlanner<'a>,
    finder: CellFinder<'a>,
    plans: &'p mut AccessPlans,
    remarks: Vec<Remark>,
}

impl GroupPlanner<'_, '_> {
    /// Closes a group. Loads of lines that do not pay are tried again by rows.
    fn close(&mut self, block: Block, all: &[CellLoad]) {
        if self.plan(all) || !all[0].shares_lines {
            return;
        }
        let mut by_rows: Vec<Vec<CellLoad>> = Vec::new();
        for load in all {
            if let Some(load) = self.finder.load(block, load.inst, false) {
                join(&mut by_rows, load);
            }
        }
        for group in by_rows {
            self.plan(&group);
        }
    }

    /// Plans a group if it pays. Loads that stay apart have remarks of their own.
    fn plan(&mut self, all: &[CellLoad]) -> bool {
        let target = &self.planner.options.target;
        let Some(group) = CellGroup::new(all, self.planner) else { return false };
        let Some(together) = group.cost(target) else { return false };
        let separate = all.iter().map(|load| load.separate).sum();
        let cells =
            group.layouts.iter().flat_map(|layout| &layout.lines).map(LineCells::len).max().unwrap_or(0);
        let lines = match (group.lines.len(), all[0].lines[0].row) {
            (1, _) => String::new(),
            (rows, Some(_)) => format!(" in each of {rows} rows"),
            (lines, None) => format!(" on each of {lines} lines"),
        };
        let text = format!("{cells} cells loaded once{lines}");
        let members = group.members.clone();
        let lowering =
            self.planner.lowering(AccessDirection::Load, members.len(), text, [together, separate]);
        let is_chosen = lowering.is_chosen;
        if is_chosen {
            self.remarks.push(self.planner.remark(members[0], group.address, RemarkKind::Cells, lowering));
            let plan = AccessPlan::CellGroup(Box::new(group));
            self.plans.add_group(&members, AccessDirection::Load, plan);
        }
        is_chosen
    }
}

fn may_join(all: &[CellLoad], load: &CellLoad) -> bool {
    let (first, size) = (&all[0], i64::from(load.scalar.bytes()));
    let mut residues = load.places.iter().zip(&first.places);
    // Lines of rows are those of all members.
    let shares_lines = match first.lines[0].row {
        Some(_) => first.lines == load.lines,
        None => all.iter().any(|other| other.lines.iter().any(|line| load.lines.contains(line))),
    };
    // Only the first member's address is known where the group is loaded.
    !load.has_other_code()
        && !first.has_other_code()
        && all.len() < MAX_MEMBERS
        && (first.scalar, first.flags) == (load.scalar, load.flags)
        && first.index == load.index
        && residues.all(|(places, first)| (places[0].place - first[0].place) % size == 0)
        && shares_lines
}

impl CellGroup {
    /// Returns the group of some loads; none if their cells are far apart, or a line is at a distance that is not known before the first load.
    fn new(all: &[CellLoad], planner: &AccessPlanner<'_>) -> Option<CellGroup> {
        let first = &all[0];
        let mut lines: Vec<MemoryLine> = Vec::new();
        let new_lines = all.iter().flat_map(|load| &load.lines);
        new_lines.for_each(|line| lines.extend((!lines.contains(line)).then(|| line.clone())));
        let base_of = |line: &MemoryLine| {
            let of_first = first.lines.iter().position(|it| it == line);
            let lanes = &first.places[0];
            let lane = lanes.iter().position(|lane| lane.line == of_first.unwrap_or(0))?;
            let distance = line.root.clone().minus(&first.lines[lanes[lane].line].root)?;
            let is_known = distance.terms().all(|(values, _)| {
                let is_value = |value: Value| value.index() < planner.func.value_count();
                values.iter().all(|&it| is_value(it) && planner.is_scalar_before(it, first.inst))
            });
            is_known.then_some(LineBase { lane: lane as u32, distance })
        };
        let bases: Vec<LineBase> = lines.iter().map(base_of).collect::<Option<_>>()?;
        let layout = |residue: usize| {
            let place = |base: &LineBase| first.places[residue][base.lane as usize].place;
            let lines: Vec<(MemoryLine, i64)> = lines.iter().cloned().zip(bases.iter().map(place)).collect();
            CellLayout::new(all, &lines, residue, &planner.options.target)
        };
        let layouts = (0..first.places.len()).map(layout).collect::<Option<Vec<_>>>()?;
        let is_short =
            |layout: &CellLayout| layout.lines.iter().all(|line| line.chunks().0 <= MAX_MASKED_CELLS);
        if first.is_masked && !layouts.iter().all(is_short) {
            return None;
        }
        Some(CellGroup {
            members: all.iter().map(|load| load.inst).collect(),
            address: first.address,
            lines: bases,
            scalar: first.scalar,
            index: first.index,
            layouts,
            is_masked: first.is_masked,
            // With mask registers, a masked load takes as long as another one.
            tests_all_lanes: planner.options.target.mask_registers == 0,
        })
    }

    /// Cost of the group; none if cells take too many registers, or a register would take cells from too many others.
    fn cost(&self, target: &TargetInfo) -> Option<u32> {
        let mut greatest = 0;
        for layout in &self.layouts {
            greatest = greatest.max(layout.cost(self.scalar, target)?);
        }
        let tests = self.layouts.len() as u32 - 1 + u32::from(self.is_masked);
        Some(greatest + tests * target.branch)
    }
}
