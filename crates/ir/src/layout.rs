//! Order of blocks and instructions: doubly linked lists, with insertion and removal in O(1).

use crate::entity::SecondaryMap;
use crate::{Block, Inst};

#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct BlockLinks {
    prev: Option<Block>,
    next: Option<Block>,
    first: Option<Inst>,
    last: Option<Inst>,
    placed: bool,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct InstLinks {
    prev: Option<Inst>,
    next: Option<Inst>,
    block: Option<Block>,
}

/// Order of a function's blocks and of each block's instructions.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Layout {
    blocks: SecondaryMap<Block, BlockLinks>,
    insts: SecondaryMap<Inst, InstLinks>,
    first: Option<Block>,
    last: Option<Block>,
}

impl Layout {
    /// The first block: the entry.
    pub fn entry(&self) -> Option<Block> {
        self.first
    }
    /// The last block.
    pub fn last_block(&self) -> Option<Block> {
        self.last
    }
    /// True if the block is in the layout.
    pub fn is_placed(&self, block: Block) -> bool {
        self.blocks[block].placed
    }
    /// The block after this one.
    pub fn next_block(&self, block: Block) -> Option<Block> {
        self.blocks[block].next
    }
    /// The block before this one.
    pub fn prev_block(&self, block: Block) -> Option<Block> {
        self.blocks[block].prev
    }
    /// All blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        std::iter::successors(self.first, |&block| self.next_block(block))
    }

    /// Appends the block.
    pub fn append_block(&mut self, block: Block) {
        match self.last {
            Some(last) => self.insert_block_after(block, last),
            None => {
                assert!(!self.is_placed(block), "{block} stands already");
                self.blocks[block].placed = true;
                (self.first, self.last) = (Some(block), Some(block));
            }
        }
    }

    /// Inserts the block at the start: it becomes the entry.
    pub fn prepend_block(&mut self, block: Block) {
        let Some(first) = self.first else { return self.append_block(block) };
        assert!(!self.is_placed(block), "{block} stands already");
        let node = &mut self.blocks[block];
        (node.prev, node.next, node.placed) = (None, Some(first), true);
        self.blocks[first].prev = Some(block);
        self.first = Some(block);
    }

    /// Inserts the block after another.
    pub fn insert_block_after(&mut self, block: Block, before: Block) {
        assert!(!self.is_placed(block), "{block} stands already");
        assert!(self.is_placed(before), "{before} does not stand");
        let next = self.blocks[before].next;
        let node = &mut self.blocks[block];
        (node.prev, node.next, node.placed) = (Some(before), next, true);
        self.blocks[before].next = Some(block);
        match next {
            Some(next) => self.blocks[next].prev = Some(block),
            None => self.last = Some(block),
        }
    }

    /// Removes the block, with its instructions, from the order.
    pub fn remove_block(&mut self, block: Block) {
        assert!(self.is_placed(block), "{block} does not stand");
        while let Some(inst) = self.first_inst(block) {
            self.remove_inst(inst);
        }
        let node = std::mem::take(&mut self.blocks[block]);
        match node.prev {
            Some(prev) => self.blocks[prev].next = node.next,
            None => self.first = node.next,
        }
        match node.next {
            Some(next) => self.blocks[next].prev = node.prev,
            None => self.last = node.prev,
        }
    }

    /// The block that contains the instruction.
    pub fn block_of(&self, inst: Inst) -> Option<Block> {
        self.insts[inst].block
    }
    /// The first instruction of the block.
    pub fn first_inst(&self, block: Block) -> Option<Inst> {
        self.blocks[block].first
    }
    /// The last instruction of the block; its terminator, if the block is complete.
    pub fn last_inst(&self, block: Block) -> Option<Inst> {
        self.blocks[block].last
    }
    /// The instruction after this one in its block.
    pub fn next_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].next
    }
    /// The instruction before this one in its block.
    pub fn prev_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].prev
    }
    /// The instructions of the block, in order.
    pub fn insts(&self, block: Block) -> impl Iterator<Item = Inst> + '_ {
        std::iter::successors(self.first_inst(block), |&inst| self.next_inst(inst))
    }

    /// Appends the instruction to the block.
    pub fn append_inst(&mut self, inst: Inst, block: Block) {
        let last = self.blocks[block].last;
        self.link(inst, block, last, None);
    }
    /// Inserts the instruction at the start of the block.
    pub fn prepend_inst(&mut self, inst: Inst, block: Block) {
        let first = self.blocks[block].first;
        self.link(inst, block, None, first);
    }
    /// Inserts the instruction before another.
    pub fn insert_inst_before(&mut self, inst: Inst, next: Inst) {
        let block = self.block_of(next).expect("the instruction to insert before stands in a block");
        let prev = self.insts[next].prev;
        self.link(inst, block, prev, Some(next));
    }
    /// Inserts the instruction after another.
    pub fn insert_inst_after(&mut self, inst: Inst, prev: Inst) {
        let block = self.block_of(prev).expect("the instruction to insert after stands in a block");
        let next = self.insts[prev].next;
        self.link(inst, block, Some(prev), next);
    }

    fn link(&mut self, inst: Inst, block: Block, prev: Option<Inst>, next: Option<Inst>) {
        assert!(self.is_placed(block), "{block} does not stand");
        assert!(self.block_of(inst).is_none(), "{inst} stands already");
        self.insts[inst] = InstLinks { prev, next, block: Some(block) };
        match prev {
            Some(prev) => self.insts[prev].next = Some(inst),
            None => self.blocks[block].first = Some(inst),
        }
        match next {
            Some(next) => self.insts[next].prev = Some(inst),
            None => self.blocks[block].last = Some(inst),
        }
    }

    /// Removes the instruction from its block.
    pub fn remove_inst(&mut self, inst: Inst) {
        let node = std::mem::take(&mut self.insts[inst]);
        let block = node.block.expect("the instruction to remove stands in a block");
        match node.prev {
            Some(prev) => self.insts[prev].next = node.next,
            None => self.blocks[block].first = node.next,
        }
        match node.next {
            Some(next) => self.insts[next].prev = node.prev,
            None => self.blocks[block].last = node.prev,
        }
    }
}
