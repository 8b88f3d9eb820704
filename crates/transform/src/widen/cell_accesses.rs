//! Emits cell groups: loads of cells, under the conditions of their layouts, and a permutation for each member.

use super::address_polynomial::AddressPolynomial;
use super::cell_groups::{CellGroup, LineBase};
use super::cell_layouts::CellLayout;
use super::cell_loads::LanePlace;
use super::widener::Widener;
use crate::address_pattern::AddressPattern;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Constant, Op, Scalar, Type, Value};
use smallvec::SmallVec;
use std::ops::Range;

/// Conditions under which cells are loaded instead of an address for each lane.
struct CellConditions {
    /// For all cells; without conditions, they are always loaded.
    always: Option<Value>,
    /// For the cells of lanes that run, next to the mask of these.
    masked: Option<(Value, Value)>,
}

impl Widener<'_> {
    /// Emits a cell group.
    pub(super) fn cell_access(&mut self, group: &CellGroup) {
        self.merge_origins(group.members.iter().copied());
        let scattered = |widener: &mut Self| {
            let loaded = widener.access_by(group.members[0], AddressPattern::Scattered, &[]);
            loaded.into_iter().collect()
        };
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
                let has_firsts = self.runs_bases(mask, &group.lines);
                let masked = Some((self.and_also(has_firsts, is_small), mask));
                let always = group.tests_all_lanes.then(|| {
                    let all = self.emit(InstData::plain(Op::All, [mask]), None);
                    self.and_also(all, is_small)
                });
                CellConditions { always, masked }
            }
        }
    }

    /// Condition under which a lane of each line runs, so that there is an address of its cells.
    fn runs_bases(&mut self, mask: Value, lines: &[LineBase]) -> Value {
        let mut all = None;
        for line in lines {
            let lane = self.new.make_int(Scalar::I32, line.lane.into());
            let runs = self.emit(InstData::plain(Op::Extract, [mask, lane]), None);
            all = Some(self.and_also(runs, all));
        }
        all.expect("there is a line")
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

    /// Loads the cells of all lines, or those of lanes that run, and takes each member's.
    fn cells(&mut self, group: &CellGroup, layout: &CellLayout, mask: Option<Value>) -> Vec<Value> {
        let lines: Vec<_> =
            (0..group.lines.len()).map(|line| self.load_cells(group, layout, line, mask)).collect();
        let mut loaded = Vec::with_capacity(group.members.len());
        for member in &layout.places {
            let take = |part: &[LanePlace]| {
                let chunks = &lines[part[0].line];
                let args = [chunks[0], *chunks.last().expect("there is a chunk")];
                let order = Detail::Permute(layout.order(part).into());
                let ty = Type::Vector(group.scalar, part.len() as u16);
                self.emit(InstData::new(Op::Permute, args, order), Some(ty))
            };
            let parts: Vec<Value> = layout.parts(member).map(take).collect();
            let length = member.len() / parts.len();
            loaded.push(self.join_parts(parts, length as u16, group.scalar));
        }
        loaded
    }

    /// Loads the cells of a line: one vector, or two.
    fn load_cells(
        &mut self,
        group: &CellGroup,
        layout: &CellLayout,
        line: usize,
        mask: Option<Value>,
    ) -> SmallVec<[Value; 2]> {
        let mut data = self.old.inst(group.members[0]).clone();
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let size = group.scalar.bytes();
        data.detail = Detail::Access(self.wide_access(access, access.align.min(size)));
        let cells = &layout.lines[line];
        let (length, starts) = cells.chunks();
        let ty = Type::Vector(group.scalar, length as u16);
        let base = &group.lines[line];
        let lane = self.lane_start(group.address, base.lane);
        let address = self.add_polynomial(lane, &base.distance);
        let load = |start: usize| {
            let cell = cells.cells.start + start as i64;
            let from = self.offset_address(address, cell * i64::from(size));
            let mask = match mask {
                Some(mask) => Some(self.cell_mask(mask, layout, line, cell..cell + length as i64)),
                None if cells.is_padded => {
                    let bits = (0..length).map(|lane| u128::from(lane < cells.len())).collect();
                    Some(self.new.make_const(Constant::Vector(Scalar::I1, bits)))
                }
                None => None,
            };
            self.load_vector(data.clone(), from, mask, ty)
        };
        starts.into_iter().map(load).collect()
    }

    /// Address at a distance that is a polynomial of uniform values.
    fn add_polynomial(&mut self, address: Value, distance: &AddressPolynomial) -> Value {
        let mut sum = address;
        for (values, factor) in distance.terms() {
            let mut product = self.new.make_int(Scalar::I64, i128::from(factor as i64));
            for value in values {
                let scalar = self.scalar(value);
                product = self.emit(InstData::plain(Op::Mul, [scalar, product]), None);
            }
            sum = self.emit(InstData::plain(Op::PtrAdd, [sum, product]), None);
        }
        sum
    }

    /// Mask of these cells of a line: those of lanes that run.
    fn cell_mask(&mut self, mask: Value, layout: &CellLayout, line: usize, cells: Range<i64>) -> Value {
        let ty = Type::mask(cells.clone().count() as u16);
        let none = self.new.make_const(Constant::splat(Type::mask(self.lanes), 0));
        let mut any = None;
        for order in layout.readers(line, cells, self.lanes) {
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
