//! Pointers passed by the application.
//!
//! Only a C caller creates values of these types, as arguments of entries. The call promises that each non-null pointer
//! is valid as the specification requires; every unsafe block here relies on that.

use crate::cl::{CL_INVALID_VALUE, cl_bool};
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::memory::Address;
use std::ffi::{CStr, c_char, c_void};

/// Input pointer.
#[repr(transparent)]
#[derive(Debug)]
pub struct ClInput<T>(*const T);

/// Output pointer.
#[repr(transparent)]
#[derive(Debug)]
pub struct ClOutput<T>(*mut T);

/// Zero-terminated string.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct ClString(*const c_char);

/// User data that the driver passes back to a callback.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct UserData(*mut c_void);

// SAFETY: it is only handed back.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    /// Returns the pointer.
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
    /// True if the pointer is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the address.
    pub fn address(self) -> Address {
        Address::new(self.0)
    }
}

impl<T: Copy> ClInput<T> {
    /// Reads the value; none for a null pointer.
    pub fn read(self) -> Option<T> {
        // SAFETY: the application's promise.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// Reads `count` values; an error unless the pointer is null exactly when `count` is 0.
    pub fn list(self, count: usize) -> ClResult<Vec<T>> {
        ensure((count == 0) == self.0.is_null(), CL_INVALID_VALUE)?;
        // SAFETY: the application's promise.
        Ok((0..count).map(|index| unsafe { self.0.add(index).read_unaligned() }).collect())
    }

    /// Reads values up to and including the terminator. Empty for a null pointer.
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
    /// Null pointer.
    pub const NONE: ClInput<T> = ClInput(std::ptr::null());

    /// Reads the current contents of an output buffer: some queries find further output pointers there.
    pub fn of(place: ClOutput<c_void>) -> ClInput<T> {
        ClInput(place.0.cast())
    }

    /// Casts the input to another element type.
    pub fn of_input(input: ClInput<c_void>) -> ClInput<T> {
        ClInput(input.0.cast())
    }
}

impl ClInput<c_void> {
    /// Returns `count` bytes; none for a null pointer.
    pub fn bytes(&self, count: usize) -> Option<&[u8]> {
        if self.0.is_null() || count > isize::MAX as usize {
            return None;
        }
        // SAFETY: the application's promise, for as long as the entry runs.
        Some(unsafe { std::slice::from_raw_parts(self.0.cast(), count) })
    }
}

impl<T> ClOutput<T> {
    /// Null pointer.
    pub const NONE: ClOutput<T> = ClOutput(std::ptr::null_mut());

    /// True if the pointer is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the address.
    pub fn address(self) -> Address {
        Address::new(self.0)
    }

    /// Writes the value unless the pointer is null.
    pub fn write(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the application's promise.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Writes the value at an index unless the pointer is null.
    pub fn write_at(self, index: usize, value: T) {
        if !self.0.is_null() {
            // SAFETY: the application's promise, for the stated number of elements.
            unsafe { self.0.add(index).write_unaligned(value) };
        }
    }

    /// Writes bytes unless the pointer is null; the buffer is large enough.
    pub fn write_bytes(self, bytes: &[u8]) {
        if !self.0.is_null() {
            // SAFETY: the application's promise, for the stated number of elements.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast(), bytes.len()) };
        }
    }
}

impl ClString {
    /// Returns the string; none for a null pointer.
    pub fn get(self) -> Option<String> {
        // SAFETY: the application's promise.
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
    }
}

/// Joins the sources of a program. A length of 0 or a missing one means a zero-terminated string.
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

/// Reads the bytes of a binary.
pub fn binary(bytes: ClInput<c_void>, length: usize) -> Option<Vec<u8>> {
    (length != 0).then(|| bytes.bytes(length))?.map(<[u8]>::to_vec)
}

/// True for a nonzero `cl_bool`.
pub fn is_true(value: cl_bool) -> bool {
    value != 0
}
