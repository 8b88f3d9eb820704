//! What a running function holds: its registers, and where each lane stands.

use crate::parties::Parties;
use crate::reconvergence::StackEntry;
use heddle_ir::{Block, Inst};
use std::cell::Cell;
use std::ops::Range;

/// Where a lane stands in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Waits at a place of the control graph, on its way to a block.
    At {
        node: u32,
        target: Block,
    },
    Returned,
}

/// The values of a frame, element by element; none is ⊤.
#[derive(Clone, Default, Debug)]
pub(crate) struct Registers {
    elements: Vec<Option<u128>>,
}

impl Registers {
    pub(crate) fn poisoned(len: usize) -> Registers {
        Registers { elements: vec![None; len] }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<u128> {
        self.elements[index]
    }

    #[inline]
    pub(crate) fn set(&mut self, index: usize, value: Option<u128>) {
        self.elements[index] = value;
    }

    /// These elements, to be read and written through several views at once.
    #[inline]
    pub(crate) fn cells(&mut self) -> &[Cell<Option<u128>>] {
        Cell::from_mut(&mut self.elements[..]).as_slice_of_cells()
    }

    #[inline]
    pub(crate) fn slice(&self, range: Range<usize>) -> &[Option<u128>] {
        &self.elements[range]
    }
}

/// A function that is running.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) code: usize,
    pub(crate) registers: Registers,
    /// Where each lane stands; one that never started stands nowhere.
    pub(crate) places: Parties<Place>,
    /// The block that each lane comes from, once it comes from one.
    pub(crate) from: Parties<Block>,
    /// The block that is running, if one is.
    pub(crate) block: Option<Block>,
    pub(crate) next: Option<Inst>,
    /// Before this instruction the block's predicate is read, if the block computes it itself.
    pub(crate) reads_predicate: Option<Inst>,
    pub(crate) control: u128,
    pub(crate) active: u128,
    pub(crate) results: Vec<Vec<Option<u128>>>,
    pub(crate) mark: Vec<usize>,
    /// The call that this frame answers, in the frame below.
    pub(crate) call: Option<Inst>,
    pub(crate) stack: Vec<StackEntry>,
    pub(crate) step: usize,
}
