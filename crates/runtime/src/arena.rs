//! Memory of middling size, out of large pages.
//!
//! A buffer of some 100 KiB on pages of 4 KiB lies in the second-level cache as the system happens to have free pages: where
//! more of its lines than the cache has ways fall into the same set, the same code takes a fifth longer, from one process to
//! the next. What lies in one large page fills the sets one after the other. So such buffers share large pages.

use crate::memory::HUGE_PAGE;
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// The bytes of a block, in large pages of which each comes into being when something in it is written.
pub(crate) const BLOCK: usize = 2 * HUGE_PAGE;
/// Pieces begin at multiples of this.
pub(crate) const GRAIN: usize = 4096;

/// Blocks with pieces in them.
#[derive(Debug)]
pub(crate) struct Arena {
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    start: NonNull<u8>,
    /// Free ranges as offset and bytes, in ascending order, no two of them adjacent.
    free: Vec<(usize, usize)>,
}

// SAFETY: a block's memory belongs to whom it was given; its start is a number only.
unsafe impl Send for Block {}

fn layout_of_block() -> Option<Layout> {
    Layout::from_size_align(BLOCK, HUGE_PAGE).ok()
}

impl Arena {
    pub(crate) const fn new() -> Arena {
        Arena { blocks: Vec::new() }
    }

    /// The start of a piece of at most [`BLOCK`] bytes, of which nothing is known; none if there is no memory.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let bytes = bytes.checked_next_multiple_of(GRAIN).filter(|&bytes| bytes <= BLOCK)?;
        if let Some(start) = self.blocks.iter_mut().find_map(|block| block.take(bytes)) {
            return Some(start);
        }
        let layout = layout_of_block()?;
        // SAFETY: the layout has bytes.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: it is memory of this size, page by page. Advice that the system does not take changes nothing but speed.
        unsafe { libc::madvise(start.as_ptr().cast(), BLOCK, libc::MADV_HUGEPAGE) };
        self.blocks.push(Block { start, free: vec![(0, BLOCK)] });
        self.blocks.last_mut()?.take(bytes)
    }

    /// Takes a piece back. One block stays, for what comes next.
    ///
    /// # Safety
    /// The piece is of this arena, has as many bytes as it was taken with, and nobody uses it any more.
    pub(crate) unsafe fn give_back(&mut self, start: NonNull<u8>, bytes: usize) {
        let bytes = bytes.next_multiple_of(GRAIN);
        let place = |block: &Block| (start.addr().get()).checked_sub(block.start.addr().get());
        let holds = |block: &Block| place(block).is_some_and(|offset| offset < BLOCK);
        let Some(at) = self.blocks.iter().position(holds) else { return };
        if let Some(offset) = place(&self.blocks[at]) {
            self.blocks[at].give_back(offset, bytes);
        }
        if self.blocks[at].free == [(0, BLOCK)]
            && self.blocks.len() > 1
            && let Some(layout) = layout_of_block()
        {
            let block = self.blocks.remove(at);
            // SAFETY: it was allocated with this layout, and no piece of it is used any more.
            unsafe { dealloc(block.start.as_ptr(), layout) };
        }
    }
}

impl Block {
    /// The first piece that is long enough.
    fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let at = self.free.iter().position(|&(_, free)| free >= bytes)?;
        let (offset, free) = self.free[at];
        if free == bytes {
            self.free.remove(at);
        } else {
            self.free[at] = (offset + bytes, free - bytes);
        }
        // SAFETY: what is free lies within the block.
        Some(unsafe { self.start.add(offset) })
    }

    fn give_back(&mut self, offset: usize, bytes: usize) {
        let at = self.free.partition_point(|&(other, _)| other < offset);
        self.free.insert(at, (offset, bytes));
        for first in [at, at.wrapping_sub(1)] {
            if let Some(&[(offset, bytes), (next, more)]) = self.free.get(first..first.wrapping_add(2))
                && offset + bytes == next
            {
                self.free[first].1 += more;
                self.free.remove(first + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, BLOCK, GRAIN};
    use std::ptr::NonNull;

    /// Pieces of all sizes, taken and given back in an order that looks random: none meets another, and in the end all is free.
    #[test]
    fn pieces_do_not_meet() {
        let mut arena = Arena::new();
        let mut held: Vec<(NonNull<u8>, usize)> = Vec::new();
        let mut random = 0x2545_f491_u64;
        for round in 0..4000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (random >> 33) as usize;
            if number % 5 < 3 && round < 3000 {
                let bytes = 1 + number / 5 % (BLOCK / 9);
                let start = arena.take(bytes).expect("there is memory");
                assert!(start.addr().get().is_multiple_of(GRAIN));
                held.push((start, bytes));
                let mut ranges: Vec<_> =
                    held.iter().map(|&(start, bytes)| (start.addr().get(), bytes)).collect();
                ranges.sort_unstable();
                assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            } else if !held.is_empty() {
                let (start, bytes) = held.swap_remove(number % held.len());
                // SAFETY: it was taken with as many bytes, and goes once.
                unsafe { arena.give_back(start, bytes) };
            }
        }
        assert!(held.len() < 1000);
        for (start, bytes) in held {
            // SAFETY: as above.
            unsafe { arena.give_back(start, bytes) };
        }
        assert_eq!(arena.blocks.len(), 1);
        assert_eq!(arena.blocks[0].free, [(0, BLOCK)]);
    }
}
