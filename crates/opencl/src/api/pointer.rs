//! Pointers that the application hands over.
//!
//! Only C makes values of these types, as arguments of entries. By calling an entry the application promises that a
//! pointer which is not null leads to what the specification says; that is the reason for each piece of unsafe code here.

use crate::cl::{CL_INVALID_VALUE, cl_bool};
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::memory::Address;
use std::ffi::{CStr, c_char, c_void};

/// Where something is read.
#[repr(transparent)]
#[derive(Debug)]
pub struct ClInput<T>(*const T);

/// Where something is written.
#[repr(transparent)]
#[derive(Debug)]
pub struct ClOutput<T>(*mut T);

/// A text that ends in a zero byte.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct ClString(*const c_char);

/// What the application wants to have back with its callback.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct UserData(*mut c_void);

// SAFETY: it is only handed back.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    /// It.
    pub fn get(self) -> *mut c_void {
        self.0
    }
}

impl<T> Clone for ClInput<T> {
    fn clone(&self) -> ClInput<T> {
        *self
    }
}

impl<T> Copy for ClInput<T> {}

impl<T> Clone for ClOutput<T> {
    fn clone(&self) -> ClOutput<T> {
        *self
    }
}

impl<T> Copy for ClOutput<T> {}

impl<T> ClInput<T> {
    /// Whether there is nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address.
    pub fn address(self) -> Address {
        Address::new(self.0)
    }
}

impl<T: Copy> ClInput<T> {
    /// What is there, if something is.
    pub fn read(self) -> Option<T> {
        // SAFETY: the application's promise.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// So many values. There are none exactly where the pointer is null.
    pub fn list(self, count: usize) -> ClResult<Vec<T>> {
        ensure((count == 0) == self.0.is_null(), CL_INVALID_VALUE)?;
        // SAFETY: the application's promise.
        Ok((0..count).map(|index| unsafe { self.0.add(index).read_unaligned() }).collect())
    }

    /// Values up to one that ends the list, with it. Empty if the pointer is null.
    pub fn until(self, ends: impl Fn(&[T]) -> bool) -> Vec<T> {
        let mut list = Vec::new();
        if self.0.is_null() {
            return list;
        }
        while !ends(&list) {
            // SAFETY: the application's promise: the list goes on until it ends.
            list.push(unsafe { self.0.add(list.len()).read_unaligned() });
        }
        list
    }
}

impl<T> ClInput<T> {
    /// Nowhere.
    pub const NONE: ClInput<T> = ClInput(std::ptr::null());

    /// What an answer's place holds already: some answers are written to places that it names.
    pub fn of(place: ClOutput<c_void>) -> ClInput<T> {
        ClInput(place.0.cast())
    }

    /// The same input as of another type.
    pub fn of_input(input: ClInput<c_void>) -> ClInput<T> {
        ClInput(input.0.cast())
    }
}

impl ClInput<c_void> {
    /// So many bytes, if the pointer is not null.
    pub fn bytes(&self, count: usize) -> Option<&[u8]> {
        if self.0.is_null() || count > isize::MAX as usize {
            return None;
        }
        // SAFETY: the application's promise, for as long as the entry runs.
        Some(unsafe { std::slice::from_raw_parts(self.0.cast(), count) })
    }
}

impl<T> ClOutput<T> {
    /// Nowhere.
    pub const NONE: ClOutput<T> = ClOutput(std::ptr::null_mut());

    /// Whether nothing is wanted.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address.
    pub fn address(self) -> Address {
        Address::new(self.0)
    }

    /// Writes, if something is wanted.
    pub fn write(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the application's promise.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Writes the value of this index, if something is wanted.
    pub fn write_at(self, index: usize, value: T) {
        if !self.0.is_null() {
            // SAFETY: the application's promise, for as many as it said.
            unsafe { self.0.add(index).write_unaligned(value) };
        }
    }

    /// Writes bytes, if something is wanted; there is room for them.
    pub fn write_bytes(self, bytes: &[u8]) {
        if !self.0.is_null() {
            // SAFETY: the application's promise, for as many as it said.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast(), bytes.len()) };
        }
    }
}

impl ClString {
    /// The text; none if the pointer is null.
    pub fn get(self) -> Option<String> {
        // SAFETY: the application's promise.
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
    }
}

/// The sources of a program: texts with their lengths, each of which may be 0 or missing for one that ends in a zero.
pub fn sources(count: u32, texts: ClInput<ClString>, lengths: ClInput<usize>) -> ClResult<String> {
    ensure(count != 0 && !texts.is_null(), CL_INVALID_VALUE)?;
    let texts = texts.list(count as usize)?;
    let lengths = if lengths.is_null() { vec![0; texts.len()] } else { lengths.list(texts.len())? };
    let mut source = String::new();
    for (text, length) in texts.into_iter().zip(lengths) {
        ensure(!text.0.is_null(), CL_INVALID_VALUE)?;
        if length == 0 {
            source.push_str(&text.get().unwrap_or_default());
        } else {
            let bytes = ClInput(text.0.cast::<c_void>());
            let bytes = bytes.bytes(length).ok_or(ClError(CL_INVALID_VALUE))?;
            source.push_str(&String::from_utf8_lossy(bytes));
        }
    }
    Ok(source)
}

/// The bytes of binaries.
pub fn binary(bytes: ClInput<c_void>, length: usize) -> Option<Vec<u8>> {
    (length != 0).then(|| bytes.bytes(length))?.map(<[u8]>::to_vec)
}

/// Whether a truth value of the interface is true.
pub fn is_true(value: cl_bool) -> bool {
    value != 0
}
