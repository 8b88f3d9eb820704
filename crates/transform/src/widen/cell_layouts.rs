//! Layouts of cells: the vectors that hold a line's cells, the elements that each load takes of them, and their cost.

use super::cell_loads::{CellLoad, LanePlace, MemoryLine};
use crate::target::TargetInfo;
use crate::timing::{permuted_registers, permutes_of};
use heddle_ir::Scalar;
use smallvec::SmallVec;
use std::ops::Range;

/// Part of the registers that the cells of a line may take: one of so many.
const SHARE_OF_REGISTERS: u32 = 4;
/// Maximum number of registers that a register of a result takes cells from.
const MAX_SOURCES: usize = 4;
/// Maximum number of cells of a line for each lane of a load on it.
const MAX_CELLS: i64 = 4;

/// Cells that the members of a group read, for one residue of the index if that decides.
#[derive(Clone, Debug)]
pub(super) struct CellLayout {
    /// For each member, the lines and cells of the lanes. Cells of a line are counted from that of its base.
    pub(super) places: Vec<Vec<LanePlace>>,
    /// Cells of each line.
    pub(super) lines: Vec<LineCells>,
}

/// Cells of a line that a group loads.
#[derive(Clone, Debug)]
pub(super) struct LineCells {
    /// The first one, and the one after the last.
    pub(super) cells: Range<i64>,
    /// True if they are loaded under a mask, as the first ones of a longer vector, since that takes fewer loads.
    pub(super) is_padded: bool,
}

impl LineCells {
    fn new(cells: Range<i64>, scalar: Scalar, target: &TargetInfo) -> LineCells {
        let whole = LineCells { cells, is_padded: false };
        let padded = LineCells { is_padded: true, ..whole.clone() };
        let is_shorter = padded.loads(scalar, target) < whole.loads(scalar, target);
        if target.mask_registers > 0 && is_shorter { padded } else { whole }
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        (self.cells.end - self.cells.start) as usize
    }

    /// Length and first cells of the vectors that are loaded: one, or two that overlap.
    pub(super) fn chunks(&self) -> (usize, SmallVec<[usize; 2]>) {
        let length = match self.is_padded {
            true => self.len().next_power_of_two(),
            false => 1 << self.len().ilog2(),
        };
        let mut starts = SmallVec::from_iter([0]);
        if self.len() > length {
            starts.push(self.len() - length);
        }
        (length, starts)
    }

    /// Number of registers that are loaded. Those with no cell are not.
    fn loads(&self, scalar: Scalar, target: &TargetInfo) -> u32 {
        let (length, starts) = self.chunks();
        let lanes = if self.is_padded { self.len() } else { length };
        target.registers_of(lanes as u32 * scalar.bytes() * 8) * starts.len() as u32
    }
}

impl CellLayout {
    /// Returns the layout of loads on these lines, each with the place of its base in bytes; none if cells are far apart.
    pub(super) fn new(
        all: &[CellLoad],
        lines: &[(MemoryLine, i64)],
        residue: usize,
        target: &TargetInfo,
    ) -> Option<CellLayout> {
        let scalar = all[0].scalar;
        let size = i64::from(scalar.bytes());
        let mut ranges: Vec<Option<Range<i64>>> = vec![None; lines.len()];
        let mut most = vec![0; lines.len()];
        let mut places = Vec::with_capacity(all.len());
        for load in all {
            let mut counts = vec![0; lines.len()];
            let in_group = |lane: &LanePlace| {
                let line = lines.iter().position(|(line, _)| *line == load.lines[lane.line])?;
                let distance = lane.place - lines[line].1;
                let place = distance / size;
                let range = ranges[line].get_or_insert(place..place + 1);
                *range = range.start.min(place)..range.end.max(place + 1);
                counts[line] += 1;
                (distance % size == 0).then_some(LanePlace { line, place })
            };
            places.push(load.places[residue].iter().map(in_group).collect::<Option<Vec<_>>>()?);
            most.iter_mut().zip(counts).for_each(|(most, count)| *most = count.max(*most));
        }
        let lines: Vec<Range<i64>> = ranges.into_iter().collect::<Option<_>>()?;
        let is_dense =
            |(cells, most): (&Range<i64>, &i64)| (2..=MAX_CELLS * most).contains(&(cells.end - cells.start));
        let is_dense = lines.iter().zip(&most).all(is_dense);
        let lines = lines.into_iter().map(|cells| LineCells::new(cells, scalar, target)).collect();
        is_dense.then_some(CellLayout { places, lines })
    }

    /// Lanes that read these cells of a line: the first one of each cell, the second one, and so on. A cell that fewer lanes read
    /// repeats its first lane; one that no lane reads has lane `none`.
    pub(super) fn readers(&self, line: usize, cells: Range<i64>, none: u16) -> Vec<Box<[u16]>> {
        let of_cell = |place: i64| -> SmallVec<[u16; 4]> {
            let lanes = self.places.iter().flat_map(|places| (0..).zip(places));
            lanes.filter(|(_, lane)| **lane == LanePlace { line, place }).map(|(lane, _)| lane).collect()
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

    /// Equal parts of a member's lanes, each on one line: as few as possible.
    pub(super) fn parts<'a>(&self, member: &'a [LanePlace]) -> impl Iterator<Item = &'a [LanePlace]> {
        let is_on_one = |lanes: &[LanePlace]| lanes.iter().all(|lane| lane.line == lanes[0].line);
        let lengths = (1..=member.len()).rev().filter(|length| member.len().is_multiple_of(*length));
        let longest = lengths.clone().find(|&length| member.chunks(length).all(is_on_one));
        member.chunks(longest.unwrap_or(1))
    }

    /// Elements of the concatenated chunks of a line that the lanes of a part take.
    pub(super) fn order(&self, part: &[LanePlace]) -> Vec<u16> {
        let line = &self.lines[part[0].line];
        let (length, starts) = line.chunks();
        let element = |lane: &LanePlace| {
            let cell = (lane.place - line.cells.start) as usize;
            match starts.get(1) {
                Some(second) if cell >= length => (length + cell - second) as u16,
                _ => cell as u16,
            }
        };
        part.iter().map(element).collect()
    }

    /// Cost of loading the cells and taking each member's; none if those of a line take too many registers, or a register would take cells
    /// from too many others.
    pub(super) fn cost(&self, scalar: Scalar, target: &TargetInfo) -> Option<u32> {
        let bits = |lanes: usize| lanes as u32 * scalar.bytes() * 8;
        let mut loads = 0;
        for line in &self.lines {
            if line.loads(scalar, target) > target.registers / SHARE_OF_REGISTERS {
                return None;
            }
            let (length, starts) = line.chunks();
            let length = if line.is_padded { line.len() } else { length };
            loads += target.cost(target.load.whole, length as u32, bits(length)) * starts.len() as u32;
        }
        let permute = target.cost(target.permute, 1, target.vector_bits);
        let mut permutes = 0;
        for member in &self.places {
            let mut parts = 0;
            for part in self.parts(member) {
                parts += 1;
                permutes += permutations(&self.order(part), scalar, target)?;
            }
            // Parts that do not fill registers are joined.
            let length = member.len() / parts as usize;
            if !bits(length).is_multiple_of(target.vector_bits) {
                permutes += u32::saturating_sub(parts, target.registers_of(bits(member.len())));
            }
        }
        Some(loads + permutes * permute)
    }
}

/// Permutations for a vector that takes these elements of others; none if one of its registers takes elements from too many.
pub(super) fn permutations(order: &[u16], scalar: Scalar, target: &TargetInfo) -> Option<u32> {
    let of_register = |sources: usize| (sources <= MAX_SOURCES).then(|| permutes_of(sources, scalar, target));
    permuted_registers(order, scalar, target).map(of_register).sum()
}
