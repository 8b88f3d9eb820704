//! What a running function holds: its registers, and where each lane stands.

use crate::reconvergence::StackEntry;
use heddle_ir::{Block, Inst};

/// Where a lane stands in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Waits at a place of the control graph, on its way to a block.
    At {
        node: u32,
        target: Block,
    },
    Returned,
    Absent,
}

/// The values of a frame: bits and whether they are ⊤.
#[derive(Clone, Default, Debug)]
pub(crate) struct Registers {
    pub(crate) bits: Vec<u128>,
    pub(crate) poison: Vec<bool>,
}

impl Registers {
    pub(crate) fn poisoned(len: usize) -> Registers {
        Registers { bits: vec![0; len], poison: vec![true; len] }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<u128> {
        (!self.poison[index]).then(|| self.bits[index])
    }

    #[inline]
    pub(crate) fn set(&mut self, index: usize, value: Option<u128>) {
        self.bits[index] = value.unwrap_or(0);
        self.poison[index] = value.is_none();
    }
}

/// A function that is running.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) code: usize,
    pub(crate) registers: Registers,
    pub(crate) places: Vec<Place>,
    pub(crate) from: Vec<Option<Block>>,
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
