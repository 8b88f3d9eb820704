//! What a running function holds: its registers, and where each lane stands.

use crate::lane_partition::LanePartition;
use crate::lanes::LaneMask;
use crate::profile::TripCounters;
use crate::reconvergence::StackEntry;
use crate::schedule::InvocationCursor;
use heddle_ir::{Block, Inst};
use std::cell::Cell;

const FRAME_COST: u64 = 1024;

/// Where a lane stands in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneState {
    /// Waits at a place of the control graph, on its way to a block.
    At {
        node: u32,
        target: Block,
    },
    Returned,
}

/// The values of a frame, in rows: for each element of a value the bits of all lanes side by side, and a word that says
/// in which lanes it is ⊤ (where the bits mean nothing).
#[derive(Debug)]
pub(crate) struct RegisterFile<M> {
    lanes: usize,
    bits: Vec<u128>,
    poison: Vec<M>,
}

impl<M: LaneMask> RegisterFile<M> {
    pub(crate) fn new(lanes: usize) -> RegisterFile<M> {
        RegisterFile { lanes, bits: Vec::new(), poison: Vec::new() }
    }

    /// Makes of them so many rows of ⊤, whatever they were.
    pub(crate) fn forget(&mut self, rows: usize) {
        self.bits.resize(rows * self.lanes, 0);
        self.poison.clear();
        self.poison.resize(rows, M::first(self.lanes));
    }

    /// What the registers of a frame take in memory, with what else there is in a frame.
    pub(crate) fn cost_of(rows: usize, lanes: usize) -> u64 {
        (rows as u64)
            .saturating_mul(16 * lanes as u64 + size_of::<M>() as u64)
            .saturating_add(FRAME_COST + 32 * lanes as u64)
    }

    pub(crate) fn cost(&self) -> u64 {
        RegisterFile::<M>::cost_of(self.poison.len(), self.lanes)
    }

    #[inline]
    pub(crate) fn get(&self, row: usize, lane: usize) -> Option<u128> {
        (!self.poison[row].has(lane)).then(|| self.bits[row * self.lanes + lane])
    }

    #[inline]
    pub(crate) fn set(&mut self, row: usize, lane: usize, value: Option<u128>) {
        match value {
            Some(bits) => {
                self.bits[row * self.lanes + lane] = bits;
                self.poison[row] &= !M::of(lane);
            }
            None => self.poison[row] |= M::of(lane),
        }
    }

    /// Gives these lanes of a row one value.
    pub(crate) fn fill(&mut self, row: usize, lanes: M, value: Option<u128>) {
        match value {
            Some(bits) => {
                let row_bits = &mut self.bits[row * self.lanes..][..self.lanes];
                lanes.lanes().for_each(|lane| row_bits[lane] = bits);
                self.poison[row] &= !lanes;
            }
            None => self.poison[row] |= lanes,
        }
    }

    /// Copies these lanes of a row to another.
    #[inline]
    pub(crate) fn copy(&mut self, from: usize, to: usize, lanes: M) {
        let (first, to_first) = (from * self.lanes, to * self.lanes);
        if lanes == M::first(self.lanes) {
            self.bits.copy_within(first..first + self.lanes, to_first);
        } else {
            lanes.lanes().for_each(|lane| self.bits[to_first + lane] = self.bits[first + lane]);
        }
        self.poison[to] = self.poison[to] & !lanes | self.poison[from] & lanes;
    }

    /// Copies a whole row from other registers.
    pub(crate) fn copy_from(&mut self, other: &RegisterFile<M>, from: usize, to: usize) {
        self.bits[to * self.lanes..][..self.lanes].copy_from_slice(other.row(from));
        self.poison[to] = other.poison[from];
    }

    /// Copies these lanes of a row from other registers.
    pub(crate) fn copy_lanes_from(&mut self, other: &RegisterFile<M>, from: usize, to: usize, lanes: M) {
        let row = &mut self.bits[to * self.lanes..][..self.lanes];
        lanes.lanes().for_each(|lane| row[lane] = other.row(from)[lane]);
        self.set_poison(to, lanes, other.poison[from] & lanes);
    }

    /// The bits of a row, lane by lane.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[u128] {
        &self.bits[row * self.lanes..][..self.lanes]
    }

    /// In which lanes a row is ⊤.
    #[inline]
    pub(crate) fn poison(&self, row: usize) -> M {
        self.poison[row]
    }

    /// Says of these lanes of a row in which of them it is ⊤.
    #[inline]
    pub(crate) fn set_poison(&mut self, row: usize, lanes: M, poison: M) {
        self.poison[row] = self.poison[row] & !lanes | poison;
    }

    /// The bits of some rows, which may be the same, to be read and written.
    #[inline]
    pub(crate) fn views<const N: usize>(&mut self, rows: [usize; N]) -> [&[Cell<u128>]; N] {
        let cells = Cell::from_mut(&mut self.bits[..]).as_slice_of_cells();
        rows.map(|row| &cells[row * self.lanes..][..self.lanes])
    }
}

/// A function that is running.
#[derive(Debug)]
pub(crate) struct CallFrame<M> {
    pub(crate) code: usize,
    pub(crate) registers: RegisterFile<M>,
    /// Where each lane stands; one that never started stands nowhere.
    pub(crate) places: LanePartition<LaneState, M>,
    /// The block that each lane comes from, once it comes from one.
    pub(crate) from: LanePartition<Block, M>,
    /// The block that is running, if one is.
    pub(crate) block: Option<Block>,
    pub(crate) next: Option<Inst>,
    /// Before this instruction the block's predicate is read, if the block computes it itself.
    pub(crate) reads_predicate: Option<Inst>,
    pub(crate) control: M,
    pub(crate) active: M,
    /// What the entry function returns; another one's results go to the registers of its caller.
    pub(crate) results: Vec<Vec<Option<u128>>>,
    /// The private objects that were there before it.
    pub(crate) mark: usize,
    /// The call that this frame answers, in the frame below.
    pub(crate) call: Option<Inst>,
    /// Where it stands in the schedule.
    pub(crate) track: InvocationCursor,
    pub(crate) stack: Vec<StackEntry<M>>,
    /// For a profile.
    pub(crate) rounds: TripCounters,
    /// The number of the running block's step in the trace.
    pub(crate) step: usize,
}
