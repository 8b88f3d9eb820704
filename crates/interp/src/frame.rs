//! State of a running function: its registers, and the control state of each lane.

use crate::lane_partition::LanePartition;
use crate::lanes::LaneMask;
use crate::profile::TripCounters;
use crate::reconvergence::StackEntry;
use crate::schedule::InvocationCursor;
use heddle_ir::{Block, Inst};
use std::cell::Cell;

const FRAME_COST: u64 = 1024;

/// Control state of a lane in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneState {
    /// Waits at a node of the control graph, on its way to block `target`.
    Waiting {
        node: u32,
        target: Block,
    },
    /// Waits at a barrier in block `target` for lanes that run on.
    Parked {
        target: Block,
    },
    Returned,
}

/// Values of a frame in rows. A row holds one element of a value: its bits in all lanes, and a mask of the lanes
/// where it is poison. The bits of a poison lane are meaningless.
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

    /// Resizes to `rows` rows and makes all of them poison.
    pub(crate) fn reset(&mut self, rows: usize) {
        self.bits.resize(rows * self.lanes, 0);
        self.poison.clear();
        self.poison.resize(rows, M::first(self.lanes));
    }

    /// Returns the bytes that a frame with these registers takes.
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

    /// Writes one value to these lanes of a row.
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

    /// Copies these lanes of a row to another row.
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

    /// Copies a whole row from another register file.
    pub(crate) fn copy_from(&mut self, other: &RegisterFile<M>, from: usize, to: usize) {
        self.bits[to * self.lanes..][..self.lanes].copy_from_slice(other.row(from));
        self.poison[to] = other.poison[from];
    }

    /// Copies these lanes of a row from another register file.
    pub(crate) fn copy_lanes_from(&mut self, other: &RegisterFile<M>, from: usize, to: usize, lanes: M) {
        let row = &mut self.bits[to * self.lanes..][..self.lanes];
        lanes.lanes().for_each(|lane| row[lane] = other.row(from)[lane]);
        self.set_poison(to, lanes, other.poison[from] & lanes);
    }

    /// Returns the bits of a row, lane by lane.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[u128] {
        &self.bits[row * self.lanes..][..self.lanes]
    }

    /// Returns the lanes in which a row is poison.
    #[inline]
    pub(crate) fn poison(&self, row: usize) -> M {
        self.poison[row]
    }

    /// Sets the poison lanes of a row, among `lanes`.
    #[inline]
    pub(crate) fn set_poison(&mut self, row: usize, lanes: M, poison: M) {
        self.poison[row] = self.poison[row] & !lanes | poison;
    }

    /// Returns rows as cells, so that an operand and the result may be one row.
    #[inline]
    pub(crate) fn cells<const N: usize>(&mut self, rows: [usize; N]) -> [&[Cell<u128>]; N] {
        let cells = Cell::from_mut(&mut self.bits[..]).as_slice_of_cells();
        rows.map(|row| &cells[row * self.lanes..][..self.lanes])
    }
}

/// Activation record of a running function.
#[derive(Debug)]
pub(crate) struct CallFrame<M> {
    pub(crate) code: usize,
    pub(crate) registers: RegisterFile<M>,
    /// Control state of each lane; none for a lane that never started.
    pub(crate) lane_states: LanePartition<LaneState, M>,
    /// Block that each lane executed last.
    pub(crate) from: LanePartition<Block, M>,
    /// Running block.
    pub(crate) block: Option<Block>,
    pub(crate) next: Option<Inst>,
    /// Instruction before which the block's predicate is read, if the block computes it.
    pub(crate) reads_predicate: Option<Inst>,
    pub(crate) control: M,
    pub(crate) active: M,
    /// Results of the entry function. Those of other functions are written to the caller's registers.
    pub(crate) results: Vec<Vec<Option<u128>>>,
    /// Number of private objects at entry, for their release.
    pub(crate) mark: usize,
    /// Call instruction in the caller's frame.
    pub(crate) call: Option<Inst>,
    /// Position in the recorded and the replayed schedule.
    pub(crate) cursor: InvocationCursor,
    pub(crate) stack: Vec<StackEntry<M>>,
    /// Trip counts for a profile.
    pub(crate) trips: TripCounters,
    /// Index of the running block's step in the trace.
    pub(crate) step: usize,
}
