//! Results of `clGet…Info` queries.

use crate::api::pointer::ClOutput;
use crate::cl::CL_INVALID_VALUE;
use crate::core::error::{ClResult, ensure};
use std::ffi::{CStr, c_void};

/// Type without padding, whose bytes can be copied out.
pub trait Plain: Copy {}

impl Plain for i32 {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for usize {}
impl Plain for isize {}
impl Plain for *mut c_void {}

/// Output buffer of a `clGet…Info` query.
#[derive(Debug)]
pub struct Info {
    size: usize,
    value: ClOutput<c_void>,
    needed: ClOutput<usize>,
}

impl Info {
    /// Output buffer of `size` bytes and the pointer for the required size.
    pub fn new(size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) -> Info {
        Info { size, value, needed }
    }

    /// Writes bytes.
    pub fn bytes(&self, bytes: &[u8]) -> ClResult<()> {
        ensure(self.value.is_null() || self.size >= bytes.len(), CL_INVALID_VALUE)?;
        self.value.write_bytes(bytes);
        self.needed.write(bytes.len());
        Ok(())
    }

    /// Writes a value.
    pub fn value<T: Plain>(&self, value: T) -> ClResult<()> {
        self.list(&[value])
    }

    /// Writes a list of values.
    pub fn list<T: Plain>(&self, values: &[T]) -> ClResult<()> {
        // SAFETY: the values have no padding, so all of their bytes may be read.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) };
        self.bytes(bytes)
    }

    /// Writes a boolean.
    pub fn truth(&self, value: bool) -> ClResult<()> {
        self.value(u32::from(value))
    }

    /// Writes a string with its terminating zero.
    pub fn text(&self, text: &str) -> ClResult<()> {
        let mut bytes = text.replace('\0', " ").into_bytes();
        bytes.push(0);
        self.bytes(&bytes)
    }

    /// Writes the addresses of strings that live as long as the process.
    pub fn strings(&self, texts: &[&'static CStr]) -> ClResult<()> {
        let addresses: Vec<*mut c_void> = texts.iter().map(|text| text.as_ptr().cast_mut().cast()).collect();
        self.list(&addresses)
    }

    /// Writes `cl_name_version` records: a version and 64 bytes of name each.
    pub fn versions<'a>(&self, names: impl IntoIterator<Item = (&'a str, u32)>) -> ClResult<()> {
        let mut bytes = Vec::new();
        for (name, version) in names {
            let mut text = [0; 64];
            let length = name.len().min(63);
            text[..length].copy_from_slice(&name.as_bytes()[..length]);
            bytes.extend(version.to_le_bytes());
            bytes.extend(text);
        }
        self.bytes(&bytes)
    }

    /// Returns size, value and required-size pointers, for a result that is a list of output pointers.
    pub fn places(&self) -> (usize, ClOutput<c_void>, ClOutput<usize>) {
        (self.size, self.value, self.needed)
    }
}
