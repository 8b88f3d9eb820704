//! Pointers passed by the application.

use crate::cl::{CL_INVALID_VALUE, cl_bool};
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::memory::Address;
use std::ffi::c_void;

heddle_runtime::caller_pointers!(ClInput, ClOutput, ClString);

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

impl<T> ClInput<T> {
    /// Returns the address.
    pub fn address(self) -> Address {
        Address::new(self.0)
    }
}

impl<T: Copy> ClInput<T> {
    /// Reads the value; none for a null pointer.
    pub fn read(self) -> Option<T> {
        self.value()
    }

    /// Reads `count` values; an error unless the pointer is null exactly when `count` is 0.
    pub fn list(self, count: usize) -> ClResult<Vec<T>> {
        ensure((count == 0) == self.is_null(), CL_INVALID_VALUE)?;
        self.values(count).ok_or(ClError(CL_INVALID_VALUE))
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
        self.slice(count)
    }
}

impl<T> ClOutput<T> {
    /// Null pointer.
    pub const NONE: ClOutput<T> = ClOutput(std::ptr::null_mut());

    /// Returns the address.
    pub fn address(self) -> Address {
        Address::new(self.0)
    }

    /// Writes the value unless the pointer is null.
    pub fn write(self, value: T) {
        self.write_if(value);
    }
}

impl ClString {
    /// Returns the string; none for a null pointer.
    pub fn get(self) -> Option<String> {
        self.text()
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
