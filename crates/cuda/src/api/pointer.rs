//! Pointers passed by the application.
//!
//! Only a C caller creates values of these types, as arguments of entries. The call promises that each non-null pointer
//! is valid as `cuda.h` requires; every unsafe block here relies on that.

use crate::core::error::{CudaError, CudaResult};
use crate::core::image::{self, PtxText};
use crate::cuda::CUDA_ERROR_INVALID_VALUE;
use std::ffi::{CStr, c_char, c_void};

/// Input pointer.
#[repr(transparent)]
#[derive(Debug)]
pub struct CudaInput<T>(*const T);

/// Output pointer.
#[repr(transparent)]
#[derive(Debug)]
pub struct CudaOutput<T>(*mut T);

/// Zero-terminated string.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct CudaString(*const c_char);

impl<T> Clone for CudaInput<T> {
    fn clone(&self) -> CudaInput<T> {
        *self
    }
}

impl<T> Copy for CudaInput<T> {}

impl<T> Clone for CudaOutput<T> {
    fn clone(&self) -> CudaOutput<T> {
        *self
    }
}

impl<T> Copy for CudaOutput<T> {}

const NULL: CudaError = CudaError(CUDA_ERROR_INVALID_VALUE);

impl<T> CudaInput<T> {
    /// True if the pointer is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the address as a number.
    pub fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// Input pointer from an address passed as a number.
    pub fn at(address: u64) -> CudaInput<T> {
        CudaInput(std::ptr::with_exposed_provenance(address as usize))
    }
}

impl<T: Copy> CudaInput<T> {
    /// Reads the value; a null pointer is an error.
    pub fn read(self) -> CudaResult<T> {
        // SAFETY: the application's promise.
        if self.0.is_null() { Err(NULL) } else { Ok(unsafe { self.0.read_unaligned() }) }
    }

    /// Reads `count` values; none for a null pointer.
    pub fn list(self, count: usize) -> CudaResult<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(NULL);
        }
        // SAFETY: the application's promise.
        Ok((0..count).map(|index| unsafe { self.0.add(index).read_unaligned() }).collect())
    }
}

impl CudaInput<c_void> {
    /// Returns `count` bytes of a non-null pointer.
    pub fn bytes(&self, count: usize) -> CudaResult<&[u8]> {
        if self.0.is_null() || count > isize::MAX as usize {
            return Err(NULL);
        }
        // SAFETY: the application's promise, for as long as the entry runs.
        Ok(unsafe { std::slice::from_raw_parts(self.0.cast(), count) })
    }

    /// Extracts the PTX of an image that encodes its own length.
    pub fn image(self) -> CudaResult<PtxText> {
        if self.0.is_null() {
            return Err(NULL);
        }
        // SAFETY: the application's promise.
        Ok(unsafe { image::ptx_at(self.0.cast()) })
    }
}

impl<T> CudaOutput<T> {
    /// True if the pointer is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the address as a number.
    pub fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// Output pointer from an address passed as a number.
    pub fn at(address: u64) -> CudaOutput<T> {
        CudaOutput(std::ptr::with_exposed_provenance_mut(address as usize))
    }

    /// Returns the same pointer as an input.
    pub fn as_input(self) -> CudaInput<T> {
        CudaInput(self.0)
    }

    /// Returns an error for a null pointer.
    pub fn ensure(self) -> CudaResult<()> {
        if self.0.is_null() { Err(NULL) } else { Ok(()) }
    }

    /// Writes the value; a null pointer is an error.
    pub fn write(self, value: T) -> CudaResult<()> {
        self.ensure()?;
        self.write_if(value);
        Ok(())
    }

    /// Writes the value unless the pointer is null.
    pub fn write_if(self, value: T) {
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
}

impl CudaOutput<c_char> {
    /// Writes a zero-terminated string, truncated to the buffer.
    pub fn write_text(self, text: &[u8], room: usize) -> CudaResult<()> {
        self.ensure()?;
        if room == 0 {
            return Err(NULL);
        }
        let fits = text.len().min(room - 1);
        // SAFETY: the application's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.0.cast(), fits);
            self.0.add(fits).write(0);
        }
        Ok(())
    }
}

impl CudaString {
    /// Returns the string; a null pointer is an error.
    pub fn get(self) -> CudaResult<String> {
        if self.0.is_null() {
            return Err(NULL);
        }
        // SAFETY: the application's promise.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
    }
}
