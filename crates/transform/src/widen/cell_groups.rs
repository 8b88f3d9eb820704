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
//! lanes do: of all lanes, or of those in a row (`cell_loads`). Where low bits of an index decide by how much, there is code for each
//! residue. Where not all lanes run, the mask of the cells is that of the lanes, in the order in which cells have lanes. A load whose
//! index may be negative, or of which a row's first lane does not run, has an address for each lane besides.
//!
//! A group reads from its first to its last cell, gaps included: both are cells of one object. Loads execute at the first member;
//! no access in between may write what they read.
//!
//! After: S. Moll, *The Region Vectorizer*, 11.4 and 11.5. Differs in: cells lie within twice the lanes, and no register takes cells from more
//! than two others; lanes need not differ by constant steps.

use super::WidenOptions;
use super::cell_loads::{CellFinder, CellLoad, ResidueIndex};
use super::interleave_groups::{AccessOrder, InterleaveGroups};
use super::memory::AccessPattern;
use super::rows::RowExtents;
use super::structure_groups::{OrderEffect, order_effect};
use super::value_reps::ValueReps;
use super::widener::{WidenResult, Widener};
use super::{Remark, RemarkKind, access_remark};
use crate::target::TargetInfo;
use heddle_analysis::{AccessGroups, Divergence};
use heddle_ir::diagnostic::{AccessLowering, LoweringCosts};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Constant, Function, Inst, Op, Scalar, Type, Value};
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

/// Cells that the members of a group read, for one residue of the index if that decides.
#[derive(Clone, Debug)]
struct CellLayout {
    /// For each member, the places of the cells of a row's lanes, in elements from the cell of the first member's first lane.
    places: Vec<Vec<i64>>,
    /// First cell of a row, and the one after the last.
    cells: Range<i64>,
}

/// Loads of one block that read cells of the same object.
#[derive(Clone, Debug)]
pub(super) struct CellGroup {
    /// Members, in block order.
    members: SmallVec<[Inst; 4]>,
    /// Address of the first member.
    address: Value,
    /// Number of rows of lanes whose cells are apart by constants; each row has its own cells.
    rows: u32,
    scalar: Scalar,
    /// Index whose residue decides between the layouts.
    index: Option<ResidueIndex>,
    layouts: Vec<CellLayout>,
    is_masked: bool,
}

/// Cell groups of a function.
#[derive(Debug, Default)]
pub(super) struct CellGroups {
    all: Vec<CellGroup>,
    of: FxHashMap<Inst, u32>,
    /// Remarks on the groups.
    pub(super) remarks: Vec<Remark>,
}

impl CellGroups {
    /// Finds the groups among loads that are in no other group.
    pub(super) fn new(
        func: &Function,
        facts: &Divergence,
        accesses: &AccessGroups,
        reps: &ValueReps,
        interleave_groups: &InterleaveGroups,
        brush: [u32; MAX_DIMENSIONS],
        options: &WidenOptions,
    ) -> CellGroups {
        let mut this = CellGroups::default();
        let finder = CellFinder::new(func, facts, reps, brush, options);
        let order = AccessOrder { func, accesses };
        for block in func.blocks() {
            let mut open: Vec<Vec<CellLoad>> = Vec::new();
            for inst in func.block_insts(block) {
                let is_taken = interleave_groups.of(inst).is_some();
                if let Some(load) = finder.load(block, inst).filter(|_| !is_taken) {
                    match open.iter().position(|all| may_join(all, &load)) {
                        Some(at) => open[at].push(load),
                        None => open.push(vec![load]),
                    }
                    if open.len() > MAX_OPEN {
                        this.close(&finder, &open.remove(0));
                    }
                    continue;
                }
                let ends = |all: &mut Vec<CellLoad>| match order_effect(func, inst) {
                    OrderEffect::None | OrderEffect::Reads(_) => false,
                    OrderEffect::Writes(address) => !order.are_disjoint(address, all[0].address),
                    OrderEffect::Fence => true,
                };
                open.extract_if(.., ends).for_each(|all| this.close(&finder, &all));
            }
            open.iter().for_each(|all| this.close(&finder, all));
        }
        this
    }

    /// True if a load is in a group.
    pub(super) fn contains(&self, inst: Inst) -> bool {
        self.of.contains_key(&inst)
    }

    /// Closes a group, and keeps it if it pays.
    fn close(&mut self, finder: &CellFinder<'_>, all: &[CellLoad]) {
        let target = &finder.options.target;
        let Some(group) = CellGroup::new(all) else { return };
        let Some(together) = group.cost(RowExtents::of(finder.brush), target) else { return };
        let number = group.members.len();
        let separate = all.iter().map(|load| load.separate).sum();
        // Loads that stay apart have remarks of their own.
        if together >= separate {
            return;
        }
        let cells =
            group.layouts.iter().map(|layout| layout.cells.end - layout.cells.start).max().unwrap_or(0);
        let rows = if group.rows > 1 { format!(" in each of {} rows", group.rows) } else { String::new() };
        let lowering = AccessLowering {
            accesses: number,
            is_store: false,
            objects: Vec::new(),
            lowering: format!("{cells} cells loaded once{rows}"),
            condition: String::new(),
            is_chosen: true,
            costs: Some(LoweringCosts { together, separate, target: target.name, times: 1 }),
        };
        let diagnostic = access_remark(finder.func, group.members[0], group.address, lowering);
        self.remarks.push(Remark { kind: RemarkKind::Cells, accesses: number, diagnostic });
        let at = self.all.len() as u32;
        self.of.extend(group.members.iter().map(|&member| (member, at)));
        self.all.push(group);
    }
}

fn may_join(all: &[CellLoad], load: &CellLoad) -> bool {
    let (first, size) = (&all[0], i64::from(load.scalar.bytes()));
    let mut residues = load.places.iter().zip(&first.places);
    // Only the first member's address is known where the group is loaded.
    !load.has_other_code()
        && !first.has_other_code()
        && all.len() < MAX_MEMBERS
        && (first.scalar, first.flags, first.rows) == (load.scalar, load.flags, load.rows)
        && first.index == load.index
        && residues.all(|(places, first)| (places[0] - first[0]) % size == 0)
        && first.root == load.root
}

impl CellGroup {
    /// Returns the group of some loads; none if their cells are far apart.
    fn new(all: &[CellLoad]) -> Option<CellGroup> {
        let first = &all[0];
        let layouts =
            (0..first.places.len()).map(|residue| CellLayout::new(all, residue)).collect::<Option<_>>()?;
        Some(CellGroup {
            members: all.iter().map(|load| load.inst).collect(),
            address: first.address,
            rows: first.rows,
            scalar: first.scalar,
            index: first.index,
            layouts,
            is_masked: first.is_masked,
        })
    }

    /// Cost of the group; none if cells take too many registers, or a register would take cells from too many others.
    fn cost(&self, brush: RowExtents, target: &TargetInfo) -> Option<u32> {
        let mut greatest = 0;
        for layout in &self.layouts {
            greatest = greatest.max(self.layout_cost(layout, target)?);
        }
        let joins =
            if self.rows > 1 { brush.joins(self.scalar, target) * self.members.len() as u32 } else { 0 };
        let permute = target.cost(target.permute, 1, target.vector_bits);
        let tests = self.layouts.len() as u32 - 1 + u32::from(self.is_masked);
        Some(greatest * self.rows + joins * permute + tests * target.branch)
    }

    fn layout_cost(&self, layout: &CellLayout, target: &TargetInfo) -> Option<u32> {
        let (length, starts) = layout.chunks();
        let bits = |lanes: usize| lanes as u32 * self.scalar.bytes() * 8;
        if target.registers_of(bits(length)) * starts.len() as u32 > target.registers / SHARE_OF_REGISTERS {
            return None;
        }
        let in_register = (target.vector_bits / 8 / self.scalar.bytes()).max(1) as usize;
        let permute = target.cost(target.permute, 1, target.vector_bits);
        let loads = target.cost(target.load.whole, length as u32, bits(length)) * starts.len() as u32;
        let mut permutes = 0;
        for member in &layout.places {
            for lanes in layout.order(member).chunks(in_register) {
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

impl CellLayout {
    fn new(all: &[CellLoad], residue: usize) -> Option<CellLayout> {
        let (first, size) = (all[0].places[residue][0], i64::from(all[0].scalar.bytes()));
        let in_elements =
            |load: &CellLoad| load.places[residue].iter().map(|place| (place - first) / size).collect();
        let places: Vec<Vec<i64>> = all.iter().map(in_elements).collect();
        let (&lowest, &highest) = (places.iter().flatten().min()?, places.iter().flatten().max()?);
        let is_dense = (2..=2 * places[0].len() as i64).contains(&(highest - lowest + 1));
        is_dense.then_some(CellLayout { places, cells: lowest..highest + 1 })
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

    /// Lanes that read these cells of a row: the first one of each cell, the second one, and so on. A cell that fewer lanes read
    /// repeats its first lane; one that no lane reads has lane `none`.
    fn readers(&self, cells: Range<i64>, first_lane: u16, none: u16) -> Vec<Box<[u16]>> {
        let of_cell = |cell: i64| -> SmallVec<[u16; 4]> {
            let lanes = self.places.iter().flat_map(|places| (first_lane..).zip(places));
            lanes.filter(|(_, place)| **place == cell).map(|(lane, _)| lane).collect()
        };
        let all: Vec<_> = cells.map(of_cell).collect();
        let most = all.iter().map(SmallVec::len).max().unwrap_or(0).max(1);
        let of_round = |round: usize| {
            let lane =
                |lanes: &SmallVec<[u16; 4]>| lanes.get(round).or(lanes.first()).copied().unwrap_or(none);
            all.iter().map(lane).collect()
        };
        (0..most).map(of_round).collect()
    }

    /// Elements of the concatenated chunks of a row that a member's lanes take.
    fn order(&self, places: &[i64]) -> Vec<u16> {
        let (length, starts) = self.chunks();
        let element = |place: &i64| {
            let cell = (place - self.cells.start) as usize;
            match starts.get(1) {
                Some(second) if cell >= length => (length + cell - second) as u16,
                _ => cell as u16,
            }
        };
        places.iter().map(element).collect()
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

/// Conditions under which cells are loaded instead of an address for each lane.
struct CellConditions {
    /// For all cells; without conditions, they are always loaded.
    always: Option<Value>,
    /// For the cells of lanes that run, next to the mask of these.
    masked: Option<(Value, Value)>,
}

impl Widener<'_> {
    /// Emits a cell group at its first load; none if the access is in no group.
    pub(super) fn cell_access(&mut self, inst: Inst, cell_groups: &CellGroups) -> Option<WidenResult> {
        let group = &cell_groups.all[*cell_groups.of.get(&inst)? as usize];
        if group.members[0] != inst {
            return Some(Ok(()));
        }
        self.merge_origins(group.members.iter().copied());
        let scattered = |widener: &mut Self| vec![widener.load_by(inst, AccessPattern::Scattered)];
        let loaded = match self.without_origin(|widener| widener.has_constant_distances(group)) {
            CellConditions { always: None, masked: None } => {
                self.cells_by_residue(group, &group.layouts, None)
            }
            CellConditions { always: Some(always), masked: None } => self.emit_if_else(
                always,
                |widener| widener.cells_by_residue(group, &group.layouts, None),
                scattered,
            ),
            CellConditions { always, masked: Some((condition, mask)) } => {
                let masked = |widener: &mut Self| {
                    let some =
                        |widener: &mut Self| widener.cells_by_residue(group, &group.layouts, Some(mask));
                    widener.emit_if_else(condition, some, scattered)
                };
                match always {
                    None => masked(self),
                    Some(always) => self.emit_if_else(
                        always,
                        |widener| widener.cells_by_residue(group, &group.layouts, None),
                        masked,
                    ),
                }
            }
        };
        for (&member, cells) in group.members.iter().zip(loaded) {
            self.define(member, cells);
        }
        Some(Ok(()))
    }

    /// Conditions under which lanes are apart as the group's layouts say.
    fn has_constant_distances(&mut self, group: &CellGroup) -> CellConditions {
        let limited = group.index.and_then(|index| Some((index.value, index.limit?)));
        let is_small = limited.map(|(value, limit)| {
            let scalar = self.scalar(value);
            let limit = self.new.make_int(self.new.value_type(scalar).scalar(), limit.into());
            self.compare(IntPredicate::Ule, scalar, limit)
        });
        let mask = self.mask(group.members[0]).filter(|_| group.is_masked);
        match mask {
            None => CellConditions { always: is_small, masked: None },
            Some(mask) => {
                let has_firsts = self.runs_first_lanes(mask, group.rows);
                let masked = Some((self.and_also(has_firsts, is_small), mask));
                // With mask registers, a masked load takes as long as another one.
                let always = (self.options.target.mask_registers == 0).then(|| {
                    let all = self.emit(InstData::plain(Op::All, [mask]), None);
                    self.and_also(all, is_small)
                });
                CellConditions { always, masked }
            }
        }
    }

    /// Condition under which the first lane of each row runs, so that there is an address of its cells.
    fn runs_first_lanes(&mut self, mask: Value, rows: u32) -> Value {
        let length = u32::from(self.lanes) / rows;
        let mut all = None;
        for row in 0..rows {
            let lane = self.new.make_int(Scalar::I32, i128::from(row * length));
            let runs = self.emit(InstData::plain(Op::Extract, [mask, lane]), None);
            all = Some(self.and_also(runs, all));
        }
        all.expect("there is a row")
    }

    fn and_also(&mut self, condition: Value, limit: Option<Value>) -> Value {
        limit.map_or(condition, |limit| self.both(condition, limit))
    }

    /// Loads the cells of the layout that the index selects: the first of these is for the least residue.
    fn cells_by_residue(
        &mut self,
        group: &CellGroup,
        layouts: &[CellLayout],
        mask: Option<Value>,
    ) -> Vec<Value> {
        let (Some(index), [first, others @ ..]) = (group.index, layouts) else {
            return self.cells(group, &group.layouts[0], mask);
        };
        if others.is_empty() {
            return self.cells(group, first, mask);
        }
        let residue = group.layouts.len() - layouts.len();
        let origin = self.cursor.origin;
        self.without_origin(|widener| {
            let scalar = widener.scalar(index.value);
            let ty = widener.new.value_type(scalar).scalar();
            let [low_bits, wanted] =
                [(1 << index.bits) - 1, residue as i128].map(|number| widener.new.make_int(ty, number));
            let low = widener.emit(InstData::plain(Op::And, [scalar, low_bits]), None);
            let is_here = widener.compare(IntPredicate::Eq, low, wanted);
            widener.emit_if_else(
                is_here,
                |widener| {
                    widener.cursor.origin = origin;
                    widener.cells(group, first, mask)
                },
                |widener| {
                    widener.cursor.origin = origin;
                    widener.cells_by_residue(group, others, mask)
                },
            )
        })
    }

    /// Loads the cells of all rows, or those of lanes that run, and takes each member's.
    fn cells(&mut self, group: &CellGroup, layout: &CellLayout, mask: Option<Value>) -> Vec<Value> {
        let rows: Vec<_> = (0..group.rows).map(|row| self.load_cells(group, layout, row, mask)).collect();
        let length = u32::from(self.lanes) / group.rows;
        let ty = Type::Vector(group.scalar, length as u16);
        let mut loaded = Vec::with_capacity(group.members.len());
        for member in &layout.places {
            let order: Box<[u16]> = layout.order(member).into();
            let take = |chunks: &SmallVec<[Value; 2]>| {
                let args = [chunks[0], *chunks.last().expect("there is a chunk")];
                self.emit(InstData::new(Op::Permute, args, Detail::Permute(order.clone())), Some(ty))
            };
            let parts = rows.iter().map(take).collect();
            loaded.push(self.join_parts(parts, length as u16, group.scalar));
        }
        loaded
    }

    /// Loads the cells of a row: one vector, or two.
    fn load_cells(
        &mut self,
        group: &CellGroup,
        layout: &CellLayout,
        row: u32,
        mask: Option<Value>,
    ) -> SmallVec<[Value; 2]> {
        let mut data = self.old.inst(group.members[0]).clone();
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let size = group.scalar.bytes();
        data.detail = Detail::Access(self.wide_access(access, access.align.min(size)));
        let (length, starts) = layout.chunks();
        let ty = Type::Vector(group.scalar, length as u16);
        let first_lane = row * u32::from(self.lanes) / group.rows;
        let lane_0 = self.lane_start(group.address, first_lane);
        let load = |start: usize| {
            let cell = layout.cells.start + start as i64;
            let from = self.offset_address(lane_0, cell * i64::from(size));
            let mask = mask.map(|mask| self.cell_mask(mask, layout, cell..cell + length as i64, first_lane));
            self.load_vector(data.clone(), from, mask, ty)
        };
        starts.into_iter().map(load).collect()
    }

    /// Mask of these cells of a row: those of lanes that run.
    fn cell_mask(&mut self, mask: Value, layout: &CellLayout, cells: Range<i64>, first_lane: u32) -> Value {
        let ty = Type::mask(cells.clone().count() as u16);
        let none = self.new.make_const(Constant::splat(Type::mask(self.lanes), 0));
        let mut any = None;
        for order in layout.readers(cells, first_lane as u16, self.lanes) {
            let args = [mask, none];
            let runs = self.emit(InstData::new(Op::Permute, args, Detail::Permute(order)), Some(ty));
            any = Some(match any {
                Some(any) => self.emit(InstData::plain(Op::Or, [any, runs]), None),
                None => runs,
            });
        }
        any.expect("there are cells")
    }
}
