//! Raw memory of buffers, and copies between it and the application's.
//!
//! Invariant: a block lives as long as its `ClMemory`. OpenCL leaves synchronization of accesses to the application, so
//! accesses use raw pointers and nothing here creates references to the contents.

use heddle_runtime::memory::{Contents, allocate, free, layout_of};
use heddle_runtime::transfer;
use std::alloc::Layout;
use std::fmt;
use std::ptr::NonNull;

/// An address in the process: of a buffer, of shared virtual memory, or of the application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(*mut u8);

// SAFETY: an address is a number until it is accessed, which only unsafe functions do.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

impl Address {
    /// The address that a pointer holds.
    pub fn new<T>(pointer: *const T) -> Address {
        Address(pointer.cast_mut().cast())
    }

    /// Returns the address as a pointer.
    pub fn pointer(self) -> *mut u8 {
        self.0
    }

    /// Returns the address as a number.
    pub fn number(self) -> usize {
        self.0.addr()
    }

    /// Returns the address `bytes` higher.
    pub fn plus(self, bytes: usize) -> Address {
        Address(self.0.wrapping_add(bytes))
    }

    /// Returns the address `bytes` lower.
    pub fn minus(self, bytes: usize) -> Address {
        Address(self.0.wrapping_sub(bytes))
    }

    /// Copies bytes; the two pieces may overlap.
    ///
    /// # Safety
    /// Both ranges are mapped memory of at least `bytes` bytes.
    pub unsafe fn copy_from(self, from: Address, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { transfer::copy(from.0, self.0, bytes) }
    }

    /// Returns a copy of the bytes.
    ///
    /// # Safety
    /// The range is mapped memory of at least `bytes` bytes.
    pub unsafe fn read(self, bytes: usize) -> Vec<u8> {
        let mut copy = vec![0; bytes];
        // SAFETY: the caller's promise; the copy is as long.
        unsafe { std::ptr::copy_nonoverlapping(self.0.cast_const(), copy.as_mut_ptr(), bytes) };
        copy
    }

    /// Repeats a pattern over bytes.
    ///
    /// # Safety
    /// The range is mapped memory of at least `bytes` bytes.
    pub unsafe fn fill(self, pattern: &[u8], bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { transfer::fill(self.0, pattern, bytes) }
    }
}

/// The shape of a box of bytes in a linear piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rows {
    /// The offset of its first byte.
    pub start: usize,
    /// Bytes from row to row.
    pub row_pitch: usize,
    /// Bytes from slice to slice.
    pub slice_pitch: usize,
}

impl Rows {
    /// Computes the shape from an origin and pitches; a pitch of 0 follows from the region. None if they do not fit.
    pub fn new(origin: [usize; 3], region: [usize; 3], row_pitch: usize, slice_pitch: usize) -> Option<Rows> {
        let row_pitch = if row_pitch == 0 { region[0] } else { row_pitch };
        let slice = region[1].checked_mul(row_pitch)?;
        let slice_pitch = if slice_pitch == 0 { slice } else { slice_pitch };
        if row_pitch < region[0] || slice_pitch < slice || !slice_pitch.is_multiple_of(row_pitch) {
            return None;
        }
        let start = origin[2]
            .checked_mul(slice_pitch)?
            .checked_add(origin[1].checked_mul(row_pitch)?)?
            .checked_add(origin[0])?;
        Some(Rows { start, row_pitch, slice_pitch })
    }

    /// Returns the offset after the last byte of a region.
    pub fn end(&self, region: [usize; 3]) -> Option<usize> {
        let slices = (region[2].checked_sub(1)?).checked_mul(self.slice_pitch)?;
        let rows = (region[1].checked_sub(1)?).checked_mul(self.row_pitch)?;
        self.start.checked_add(slices)?.checked_add(rows)?.checked_add(region[0])
    }

    fn row(&self, slice: usize, row: usize) -> usize {
        self.start.wrapping_add(slice * self.slice_pitch).wrapping_add(row * self.row_pitch)
    }

    /// True if two boxes of the same memory share a byte.
    pub fn overlaps(&self, other: &Rows, region: [usize; 3]) -> bool {
        let (Some(end), Some(other_end)) = (self.end(region), other.end(region)) else { return true };
        if end <= other.start || other_end <= self.start {
            return false;
        }
        if (self.row_pitch, self.slice_pitch) != (other.row_pitch, other.slice_pitch) {
            return true;
        }
        // With equal pitches they overlap if their distance is less than the region along each dimension.
        let place = |rows: &Rows| {
            let in_slice = rows.start % rows.slice_pitch.max(1);
            [
                in_slice % rows.row_pitch.max(1),
                in_slice / rows.row_pitch.max(1),
                rows.start / rows.slice_pitch.max(1),
            ]
        };
        let (here, there) = (place(self), place(other));
        // A row that crosses its pitch continues in the next row: then only the ranges are compared.
        let wraps = |at: [usize; 3]| {
            at[0] + region[0] > self.row_pitch || (at[1] + region[1]) * self.row_pitch > self.slice_pitch
        };
        wraps(here) || wraps(there) || (0..3).all(|way| here[way].abs_diff(there[way]) < region[way])
    }
}

/// Repeats a pattern over the rows of a box of bytes.
///
/// # Safety
/// The box is memory of this process.
pub unsafe fn fill_box(to: Address, rows: Rows, pattern: &[u8], region: [usize; 3]) {
    for slice in 0..region[2] {
        for row in 0..region[1] {
            // SAFETY: the caller's promise; a row of the box.
            unsafe { to.plus(rows.row(slice, row)).fill(pattern, region[0]) };
        }
    }
}

/// Copies a box of bytes.
///
/// # Safety
/// Both boxes are memory of this process.
pub unsafe fn copy_box(to: Address, to_rows: Rows, from: Address, from_rows: Rows, region: [usize; 3]) {
    for slice in 0..region[2] {
        for row in 0..region[1] {
            let (to, from) = (to.plus(to_rows.row(slice, row)), from.plus(from_rows.row(slice, row)));
            // SAFETY: the caller's promise; a row of each box.
            unsafe { to.copy_from(from, region[0]) };
        }
    }
}

/// Owned or borrowed block of memory.
#[derive(Debug)]
pub struct ClMemory {
    base: Address,
    layout: Option<Layout>,
}

impl ClMemory {
    /// Allocates zeroed memory; none if it is exhausted.
    pub fn allocate(bytes: usize, align: usize) -> Option<ClMemory> {
        let layout = layout_of(bytes, align)?;
        let base = allocate(layout, Contents::Zeros)?;
        Some(ClMemory { base: Address::new(base.as_ptr()), layout: Some(layout) })
    }

    /// Borrows the application's memory, which outlives this object.
    pub fn of_host(base: Address) -> ClMemory {
        ClMemory { base, layout: None }
    }

    /// Returns the address of the first byte.
    pub fn base(&self) -> Address {
        self.base
    }
}

impl Drop for ClMemory {
    fn drop(&mut self) {
        if let (Some(layout), Some(start)) = (self.layout, NonNull::new(self.base.pointer())) {
            // SAFETY: allocated with this layout, and freed once.
            unsafe { free(start, layout) };
        }
    }
}
