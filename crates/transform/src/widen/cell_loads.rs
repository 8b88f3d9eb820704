//! Loads whose lanes read cells at constant distances from each other.
//!
//! A load's address is a root, which the lanes of a row have in common, and a distance for each lane. Distances of quotients and low bits
//! depend on the low bits of the index, its residue; where that is not known, there are distances for each residue. Lanes of several rows may
//! read cells of one line of memory (`lane_lines`); else each row has a line of its own.

use super::access_plan::AccessPlanner;
use super::address_polynomial::AddressPolynomial;
use super::lane_lines::CommonParts;
use super::row_facts::RowExtents;
use super::value_reps::ValueRep;
use heddle_analysis::lane_parts::AssumedResidue;
use heddle_analysis::shape::{Congruence, Geometry, Steps};
use heddle_analysis::{LaneParts, Shape};
use heddle_ir::ops::Effect;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Block, Inst, Op, Scalar, Value};

/// Maximum distance of a cell in bytes, which keeps differences free of overflow.
const MAX_PLACE: i64 = 1 << 40;
/// Maximum depth of operations to look into.
const MAX_DEPTH: usize = 5;
/// Maximum number of low bits of an index that are distinguished.
const MAX_RESIDUE_BITS: u32 = 2;

/// Index that decides which cells lanes read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ResidueIndex {
    pub(super) value: Value,
    /// Number of low bits that decide; 0 if those are known.
    pub(super) bits: u32,
    /// Greatest index in the first lane, as an unsigned number, for which no lane is negative or wraps around; none if that does not matter.
    pub(super) limit: Option<u64>,
}

/// Load that may join a group.
#[derive(Debug)]
pub(super) struct CellLoad {
    pub(super) inst: Inst,
    pub(super) address: Value,
    /// Lines of memory that the lanes read.
    pub(super) lines: Vec<MemoryLine>,
    /// True if lanes of several rows may be on one line.
    pub(super) shares_lines: bool,
    /// Index whose residue is not known.
    pub(super) index: Option<ResidueIndex>,
    /// True if some lanes may not load.
    pub(super) is_masked: bool,
    /// Line of each lane, and the distance from its root in bytes, for each residue.
    pub(super) places: Vec<Vec<LanePlace>>,
    pub(super) scalar: Scalar,
    pub(super) flags: Flags,
    /// Cost of the load by itself.
    pub(super) separate: u32,
}

/// Cells at constant distances from each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct MemoryLine {
    /// Common part of the addresses of the line's lanes; an index counts with the value of the row's first lane.
    pub(super) root: AddressPolynomial,
    /// Row of lanes with this line, if those have one each: rows may be apart by numbers that are not known.
    pub(super) row: Option<u32>,
}

/// Cell of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LanePlace {
    pub(super) line: usize,
    /// Distance in the line: in bytes, or in elements.
    pub(super) place: i64,
}

impl CellLoad {
    /// True if the load needs code for lanes whose distances are not constant.
    pub(super) fn has_other_code(&self) -> bool {
        self.is_masked || self.index.is_some_and(|index| index.limit.is_some())
    }
}

/// Address as what the lanes of a row have in common, and their distances from that.
struct LaneDistances {
    root: AddressPolynomial,
    rows: u32,
    index: Option<ResidueIndex>,
    /// Distance of each lane of a row in bytes, for each residue.
    distances: Vec<Vec<i128>>,
}

/// Cells that the lanes of a load read.
struct LaneCells {
    lines: Vec<MemoryLine>,
    index: Option<ResidueIndex>,
    /// Line of each lane, and the distance from its root in bytes, for each residue.
    places: Vec<Vec<LanePlace>>,
    /// Steps of the address, where it has any.
    steps: Steps<Option<i64>>,
}

/// Finds loads of cells.
pub(super) struct CellFinder<'a> {
    planner: AccessPlanner<'a>,
    geometry: Geometry,
    common: CommonParts,
}

impl<'a> CellFinder<'a> {
    pub(super) fn new(planner: &AccessPlanner<'a>) -> CellFinder<'a> {
        CellFinder {
            planner: *planner,
            geometry: Geometry::brush(&planner.brush),
            common: CommonParts::default(),
        }
    }

    fn lanes(&self) -> u32 {
        self.planner.brush.iter().product()
    }

    /// Returns a plain load whose addresses differ by constants, within rows at least, but are not contiguous. Lanes of several rows are on
    /// one line only if they may share lines.
    pub(super) fn load(&mut self, block: Block, inst: Inst, may_share_lines: bool) -> Option<CellLoad> {
        let data = self.planner.func.inst(inst);
        if data.op != Op::Load || data.flags.has(Flag::Volatile) {
            return None;
        }
        data.access().filter(|access| access.atomic.is_none())?;
        let (address, result) = (data.args[0], self.planner.func.result(inst)?);
        let scalar = self.planner.func.value_type(result).scalar();
        let is_plain = scalar != Scalar::I1
            && scalar.bytes().is_power_of_two()
            && self.planner.reps.of(result) == ValueRep::Vector;
        if !is_plain || self.planner.reps.is_rebased(address) {
            return None;
        }
        let is_masked = self.planner.func.predicate(block).is_some() && !data.is_total();
        let size = i64::from(scalar.bytes());
        let whole = AddressPolynomial::new(self.planner.func, address);
        let on_lines = if may_share_lines { self.cells_on_lines(address, &whole, size) } else { None };
        let shares_lines = on_lines.is_some();
        let cells = on_lines.or_else(|| self.cells_of_rows(address, whole, is_masked, size))?;
        let LaneCells { lines, index, places, steps } = cells;
        let separate = RowExtents::of(self.planner.brush).separate_load_cost(
            steps,
            scalar,
            &self.planner.options.target,
        );
        let flags = data.flags;
        Some(CellLoad {
            inst,
            address,
            lines,
            shares_lines,
            index,
            is_masked,
            places,
            scalar,
            flags,
            separate,
        })
    }

    /// Cells of lanes of several rows on one line; none if no index is divided, or there are more lines than rows.
    fn cells_on_lines(&mut self, address: Value, whole: &AddressPolynomial, size: i64) -> Option<LaneCells> {
        let [row, others @ ..] = self.planner.brush;
        let rows = others.iter().product::<u32>();
        if row < 2 || rows < 2 || self.planner.reps.of(address) != ValueRep::Vector {
            return None;
        }
        let mut lines: Vec<MemoryLine> = Vec::new();
        let mut places = Vec::with_capacity(self.lanes() as usize);
        for address in self.common.lane_addresses(&self.planner, whole)? {
            let (root, place) = address.without_constant();
            let line = MemoryLine { root, row: None };
            let known = lines.iter().position(|it| *it == line).unwrap_or_else(|| {
                lines.push(line);
                lines.len() - 1
            });
            if place.abs() >= MAX_PLACE || lines.len() > rows as usize {
                return None;
            }
            places.push(LanePlace { line: known, place });
        }
        let is_whole = places.iter().all(|lane| (lane.place - places[0].place) % size == 0);
        let steps = [None; MAX_DIMENSIONS];
        is_whole.then_some(LaneCells { lines, index: None, places: vec![places], steps })
    }

    /// Cells of rows whose lanes are apart by the same constants. If that is not so of all lanes, each row has a line of its own.
    fn cells_of_rows(
        &self,
        address: Value,
        whole: AddressPolynomial,
        is_masked: bool,
        size: i64,
    ) -> Option<LaneCells> {
        let (root, constant) = whole.without_constant();
        let (address_lanes, steps) = match self.planner.reps.of(address) {
            // Rows of one dimension are for other groups.
            ValueRep::Scalar(_) if is_masked || self.planner.brush[1..].iter().all(|&extent| extent == 1) => {
                return None;
            }
            ValueRep::Scalar(steps) => {
                let distances = vec![self.planner.reps.offsets(steps)];
                (LaneDistances { root, rows: 1, index: None, distances }, steps.map(Some))
            }
            ValueRep::Vector => {
                let found = self.irregular_distances(&root, address)?;
                let steps = self.steps_of(address, &found.distances[0]);
                (found, steps)
            }
        };
        let LaneDistances { root, rows, index, distances } = address_lanes;
        let place = |distance: &i128| {
            let place = i64::try_from(*distance).ok()?.checked_add(constant)?;
            (place.abs() < MAX_PLACE).then_some(place)
        };
        let in_lines = |distances: &Vec<i128>| {
            let places: Vec<i64> = distances.iter().map(place).collect::<Option<_>>()?;
            let of_row = |line: usize| places.iter().map(move |&place| LanePlace { line, place });
            let all = (0..rows as usize).flat_map(of_row).collect::<Vec<_>>();
            are_cells(&places, size).then_some(all)
        };
        let places = distances.iter().map(in_lines).collect::<Option<_>>()?;
        let row_of = |row: u32| MemoryLine { root: root.clone(), row: (rows > 1).then_some(row) };
        Some(LaneCells { lines: (0..rows).map(row_of).collect(), index, places, steps })
    }

    /// Steps of an address whose lanes have these distances. Without strides, only rows that are lines have a step.
    fn steps_of(&self, address: Value, distances: &[i128]) -> Steps<Option<i64>> {
        if let Some(strides) = self.planner.facts.shape(address).strides() {
            return strides.all().map(Some);
        }
        let row = self.planner.brush[0].max(2) as usize;
        let step = distances.get(1).map_or(0, |second| second - distances[0]);
        let is_line = |lanes: &[i128]| lanes.windows(2).all(|pair| pair[1] - pair[0] == step);
        let are_lines = distances.chunks(row).all(is_line);
        [i64::try_from(step).ok().filter(|_| are_lines), None, None, None]
    }

    /// Distances of lanes from the rest of an address where they are not constant steps, for each residue of the index if that decides.
    fn irregular_distances(&self, root: &AddressPolynomial, address: Value) -> Option<LaneDistances> {
        if let Some((root, rows, distances)) = self.row_distances(root, None) {
            return Some(LaneDistances { root, rows, index: None, distances: vec![distances] });
        }
        let index = self.residue_index(address, MAX_DEPTH)?;
        let known = self.planner.facts.shape(index.value).base();
        let mut all = Vec::new();
        let mut common: Option<(AddressPolynomial, u32)> = None;
        for residue in 0..1i128 << index.bits {
            let residue = if index.bits == 0 { known } else { Congruence::new(residue, index.bits) };
            let assumed = AssumedResidue { value: index.value, residue, is_small: index.limit.is_some() };
            let (rest, rows, distances) = self.row_distances(root, Some(assumed))?;
            if common.as_ref().is_some_and(|(root, known)| (root, *known) != (&rest, rows)) {
                return None;
            }
            common = Some((rest, rows));
            all.push(distances);
        }
        let (root, rows) = common?;
        Some(LaneDistances { root, rows, index: Some(index), distances: all })
    }

    /// Index that an address divides or masks, of which too few low bits are known. Lanes step from its scalar.
    fn residue_index(&self, value: Value, depth: usize) -> Option<ResidueIndex> {
        let data = self.planner.func.inst(self.planner.func.def_inst(value)?);
        let number = |at: usize| self.planner.func.signed_constant(*data.args.get(at)?);
        let bits = match (data.op, number(1)) {
            (Op::Lshr | Op::Ashr, Some(shift)) => u32::try_from(shift).ok(),
            (Op::And | Op::Xor | Op::Or, Some(mask)) if mask >= 0 => Some(128 - mask.leading_zeros()),
            (Op::And, Some(mask)) => Some(mask.trailing_zeros()),
            (Op::Sdiv | Op::Srem, Some(divisor)) if divisor > 1 && divisor & (divisor - 1) == 0 => {
                Some(divisor.trailing_zeros())
            }
            _ => None,
        };
        if let Some(bits @ 1..=MAX_RESIDUE_BITS) = bits
            && let Some(index) = self.strided_source(data.args[0], depth)
        {
            let divides = matches!(data.op, Op::Sdiv | Op::Srem);
            return self.index_of_bits(index, bits, divides);
        }
        let depth = depth.checked_sub(1)?;
        let looks_through = data.op.info().effect == Effect::Pure && data.op != Op::Phi;
        let args = data.args.iter().filter(|_| looks_through);
        args.filter(|&&arg| self.planner.facts.shape(arg).is_varying())
            .find_map(|&arg| self.residue_index(arg, depth))
    }

    /// Number with constant steps that another one is computed from by sums and extensions.
    fn strided_source(&self, value: Value, depth: usize) -> Option<Value> {
        match self.planner.facts.shape(value) {
            Shape::Strided { strides, .. } => (!strides.is_zero()).then_some(value),
            _ => {
                let data = self.planner.func.inst(self.planner.func.def_inst(value)?);
                let looks_through =
                    matches!(data.op, Op::Sext | Op::Zext | Op::Add | Op::Sub | Op::Or | Op::Trunc);
                let depth = depth.checked_sub(1).filter(|_| looks_through)?;
                data.args.iter().find_map(|&arg| self.strided_source(arg, depth))
            }
        }
    }

    /// Index whose low bits decide; it is checked if a division rounds towards zero, or if it is narrower than an address and may wrap around.
    fn index_of_bits(&self, value: Value, bits: u32, divides: bool) -> Option<ResidueIndex> {
        let (fact, width) =
            (self.planner.facts.fact(value), self.planner.func.value_type(value).scalar().bits());
        let Shape::Strided { strides, base } = fact.shape else { return None };
        if !matches!(self.planner.reps.of(value), ValueRep::Scalar(_)) {
            return None;
        }
        let is_straight = width == 64 || fact.no_wrap.signed && fact.no_wrap.unsigned;
        let limit = if divides || !is_straight {
            let mut reach = 0u64;
            for (step, extent) in strides.all().into_iter().zip(self.planner.brush) {
                let far = u64::try_from(step).ok()?.checked_mul(u64::from(extent) - 1)?;
                reach = reach.checked_add(far)?;
            }
            Some((u64::MAX >> (65 - width.clamp(2, 64))).checked_sub(reach)?)
        } else {
            None
        };
        let bits = if base.bits() < bits { bits } else { 0 };
        (bits > 0 || limit.is_some()).then_some(ResidueIndex { value, bits, limit })
    }

    /// Distances of lanes from the rest of an address: of all lanes, or of those of a row and the number of rows.
    fn row_distances(
        &self,
        root: &AddressPolynomial,
        assumed: Option<AssumedResidue>,
    ) -> Option<(AddressPolynomial, u32, Vec<i128>)> {
        let (lanes, row) = (self.lanes(), self.planner.brush[0]);
        if row < 2 {
            return None;
        }
        if let Some((rest, distances)) = self.distances(root.clone(), lanes, assumed) {
            return Some((rest, 1, distances));
        }
        let (rest, distances) = self.distances(root.clone(), row, assumed).filter(|_| row < lanes)?;
        // Rows that differ would read more than their own cells.
        let first = &distances[..row as usize];
        let are_equal = distances.chunks(row as usize).all(|other| other == first);
        are_equal.then(|| (rest, lanes / row, first.to_vec()))
    }

    /// Distances of all lanes from the first of their row, for rows of this length, next to the rest of an address.
    fn distances(
        &self,
        mut root: AddressPolynomial,
        row: u32,
        assumed: Option<AssumedResidue>,
    ) -> Option<(AddressPolynomial, Vec<i128>)> {
        let mut distances = vec![0i128; self.lanes() as usize];
        let terms: Vec<_> = root.terms().collect();
        for (values, factor) in terms {
            if values.iter().all(|&value| self.is_row_uniform(value, row, MAX_DEPTH)) {
                continue;
            }
            let &[index] = &values[..] else { return None };
            let found = self.parts(index, assumed)?;
            let factor = i128::from(factor as i64);
            let parts = found.parts();
            for (lane, distance) in distances.iter_mut().enumerate() {
                let first = if found.is_known() { 0 } else { parts[lane - lane % row as usize] };
                *distance = distance.checked_add((parts[lane] - first).checked_mul(factor)?)?;
            }
            if found.is_known() {
                root.remove(index);
            }
        }
        Some((root, distances))
    }

    fn parts(&self, value: Value, assumed: Option<AssumedResidue>) -> Option<LaneParts> {
        LaneParts::of(self.planner.func, self.planner.facts, &self.geometry, value, assumed, true)
    }

    /// True if the lanes of each row of this length have one value.
    fn is_row_uniform(&self, value: Value, row: u32, depth: usize) -> bool {
        if self.planner.reps.is_uniform(value) || self.planner.facts.shape(value).is_uniform() {
            return true;
        }
        if let Some(found) = self.parts(value, None) {
            return found
                .parts()
                .chunks(row as usize)
                .all(|lanes| lanes.iter().all(|&part| part == lanes[0]));
        }
        let may_follow = depth > 0 && row < self.lanes();
        let Some(inst) = self.planner.func.def_inst(value).filter(|_| may_follow) else { return false };
        let data = self.planner.func.inst(inst);
        data.op.info().effect == Effect::Pure
            && !matches!(data.op, Op::Phi | Op::Freeze)
            && !data.args.is_empty()
            && data.args.iter().all(|&arg| self.is_row_uniform(arg, row, depth - 1))
    }
}

/// True if a row's lanes read cells of this size that are not next to each other.
fn are_cells(places: &[i64], size: i64) -> bool {
    let [first, second, ..] = places else { return false };
    let step = second - first;
    let is_line = places.iter().zip(0..).all(|(place, lane)| place - first == lane * step);
    let is_whole = places.iter().all(|place| (place - first) % size == 0);
    is_whole && (!is_line || step != 0 && step.abs() != size)
}
