//! Memory that kernels may see as vectors.

use crate::argument::Element;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Two cache lines: what the largest type of OpenCL C is aligned by.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct AlignedChunk([u8; 128]);

/// A slice of its own whose elements are aligned as OpenCL C wants them: `float4` by 16 bytes, where `[f32; 4]` is by 4.
pub struct Buffer<T> {
    lines: Vec<AlignedChunk>,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    /// So many elements, all bits of them zero.
    pub fn zeroed(len: usize) -> Buffer<T> {
        let bytes =
            len.checked_mul(size_of::<T>()).expect("a buffer has fewer bytes than there are addresses");
        Buffer { lines: vec![AlignedChunk([0; 128]); bytes.div_ceil(128)], len, elements: PhantomData }
    }

    /// A copy of these elements.
    pub fn from_slice(elements: &[T]) -> Buffer<T> {
        let mut buffer = Buffer::zeroed(elements.len());
        buffer.copy_from_slice(elements);
        buffer
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: there are as many elements in the lines, aligned by more than any element is; all bits mean something in
        // each, and lines begin with zeros.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and nothing else has the buffer.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

impl<T: Element> Clone for Buffer<T> {
    fn clone(&self) -> Buffer<T> {
        Buffer { lines: self.lines.clone(), len: self.len, elements: PhantomData }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
