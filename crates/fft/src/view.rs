//! Sequences in memory, and scratch memory.

use std::cell::RefCell;

/// Some sequences of complex numbers, or of pairs of real numbers. Distances are in real numbers.
#[derive(Clone, Copy, Debug)]
pub struct SequencesView<R> {
    /// The first real part.
    pub pointer: *mut R,
    /// From one element of a sequence to the next.
    pub element: isize,
    /// From one sequence to the next.
    pub lane: isize,
    /// From a real part to the imaginary part; without one, imaginary parts are zero and not stored.
    pub imaginary: Option<isize>,
}

// SAFETY: whoever makes views promises that threads write different elements.
unsafe impl<R> Send for SequencesView<R> {}
// SAFETY: as above.
unsafe impl<R> Sync for SequencesView<R> {}

impl<R: Copy> SequencesView<R> {
    /// Returns sequences of complex numbers.
    pub fn complex(pointer: *mut R, element: isize, lane: isize) -> Self {
        SequencesView { pointer, element: 2 * element, lane: 2 * lane, imaginary: Some(1) }
    }

    /// Returns sequences of real numbers, two of which are one complex number.
    pub fn real_pairs(pointer: *mut R, element: isize, lane: isize) -> Self {
        SequencesView { pointer, element: 2 * element, lane, imaginary: Some(element) }
    }

    /// Returns sequences of real numbers.
    pub fn real(pointer: *mut R, element: isize, lane: isize) -> Self {
        SequencesView { pointer, element, lane, imaginary: None }
    }

    /// Returns the sequences from one on.
    pub fn from(self, lane: usize) -> Self {
        self.offset(lane as isize * self.lane)
    }

    /// Returns the view with another start.
    pub fn offset(self, distance: isize) -> Self {
        SequencesView { pointer: self.pointer.wrapping_offset(distance), ..self }
    }

    /// Returns the address of an element.
    #[inline(always)]
    pub fn at(&self, element: usize, lane: usize) -> *mut R {
        self.pointer.wrapping_offset(element as isize * self.element + lane as isize * self.lane)
    }
}

/// Line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct ScratchLine(#[allow(dead_code)] [u64; 8]);

/// Bytes of a piece that a thread keeps for its next call.
const KEPT: usize = 16 << 20;

/// Calls a function with room for some numbers, whose values are unspecified.
pub fn with_scratch<R, T>(count: usize, call: impl FnOnce(*mut R) -> T) -> T {
    thread_local! {
        /// Free memory: as many pieces as calls were in each other.
        static FREE: RefCell<Vec<Vec<ScratchLine>>> = const { RefCell::new(Vec::new()) };
    }
    let lines = (count * size_of::<R>()).div_ceil(size_of::<ScratchLine>());
    let mut scratch = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
    if scratch.len() < lines {
        scratch.resize(lines, ScratchLine([0; 8]));
    }
    let result = call(scratch.as_mut_ptr().cast());
    if scratch.len() * size_of::<ScratchLine>() <= KEPT {
        FREE.with_borrow_mut(|free| free.push(scratch));
    }
    result
}
