//! Layouts of cells: the vectors that hold a row's cells, the elements that each load takes of them, and their cost.

use super::cell_loads::CellLoad;
use crate::target::TargetInfo;
use heddle_ir::Scalar;
use smallvec::SmallVec;
use std::ops::Range;

/// Part of the registers that cells may take: one of so many.
const SHARE_OF_REGISTERS: u32 = 4;
/// Maximum number of registers that a register of a result takes cells from.
const MAX_SOURCES: usize = 2;

/// Cells that the members of a group read, for one residue of the index if that decides.
#[derive(Clone, Debug)]
pub(super) struct CellLayout {
    /// For each member, the places of the cells of a row's lanes, in elements from the cell of the first member's first lane.
    pub(super) places: Vec<Vec<i64>>,
    /// First cell of a row, and the one after the last.
    pub(super) cells: Range<i64>,
}

impl CellLayout {
    pub(super) fn new(all: &[CellLoad], residue: usize) -> Option<CellLayout> {
        let (first, size) = (all[0].places[residue][0], i64::from(all[0].scalar.bytes()));
        let in_elements =
            |load: &CellLoad| load.places[residue].iter().map(|place| (place - first) / size).collect();
        let places: Vec<Vec<i64>> = all.iter().map(in_elements).collect();
        let (&lowest, &highest) = (places.iter().flatten().min()?, places.iter().flatten().max()?);
        let is_dense = (2..=2 * places[0].len() as i64).contains(&(highest - lowest + 1));
        is_dense.then_some(CellLayout { places, cells: lowest..highest + 1 })
    }

    /// Lengths and first cells of the vectors that are loaded: one, or two that overlap.
    pub(super) fn chunks(&self) -> (usize, SmallVec<[usize; 2]>) {
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
    pub(super) fn readers(&self, cells: Range<i64>, first_lane: u16, none: u16) -> Vec<Box<[u16]>> {
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
    pub(super) fn order(&self, places: &[i64]) -> Vec<u16> {
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

    /// Cost of loading the cells of a row and taking each member's; none if they take too many registers, or a register would take cells
    /// from too many others.
    pub(super) fn cost(&self, scalar: Scalar, target: &TargetInfo) -> Option<u32> {
        let (length, starts) = self.chunks();
        let bits = |lanes: usize| lanes as u32 * scalar.bytes() * 8;
        if target.registers_of(bits(length)) * starts.len() as u32 > target.registers / SHARE_OF_REGISTERS {
            return None;
        }
        let in_register = (target.vector_bits / 8 / scalar.bytes()).max(1) as usize;
        let permute = target.cost(target.permute, 1, target.vector_bits);
        let loads = target.cost(target.load.whole, length as u32, bits(length)) * starts.len() as u32;
        let mut permutes = 0;
        for member in &self.places {
            for lanes in self.order(member).chunks(in_register) {
                let mut sources: SmallVec<[usize; 4]> =
                    lanes.iter().map(|&element| usize::from(element) / in_register).collect();
                sources.sort_unstable();
                sources.dedup();
                if sources.len() > MAX_SOURCES {
                    return None;
                }
                permutes += permutes_of(sources.len(), scalar, target);
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
