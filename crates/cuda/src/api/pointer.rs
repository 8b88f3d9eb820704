//! Pointers passed by the application. A null pointer is `CUDA_ERROR_INVALID_VALUE` where the entry needs one.

use crate::core::error::{CudaError, CudaResult};
use crate::core::image::{self, PtxText};
use crate::cuda::CUDA_ERROR_INVALID_VALUE;
use std::ffi::{c_char, c_void};

heddle_runtime::caller_pointers!(CudaInput, CudaOutput, CudaString);

const NULL: CudaError = CudaError(CUDA_ERROR_INVALID_VALUE);

impl<T> CudaInput<T> {
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
        self.value().ok_or(NULL)
    }

    /// Reads `count` values; a null pointer to some is an error.
    pub fn list(self, count: usize) -> CudaResult<Vec<T>> {
        self.values(count).ok_or(NULL)
    }
}

impl CudaInput<c_void> {
    /// Returns `count` bytes of a non-null pointer.
    pub fn bytes(&self, count: usize) -> CudaResult<&[u8]> {
        self.slice(count).ok_or(NULL)
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
        if self.is_null() { Err(NULL) } else { Ok(()) }
    }

    /// Writes the value; a null pointer is an error.
    pub fn write(self, value: T) -> CudaResult<()> {
        self.ensure()?;
        self.write_if(value);
        Ok(())
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
        self.write_bytes(&text[..fits]);
        self.write_at(fits, 0);
        Ok(())
    }
}

impl CudaString {
    /// Returns the string; a null pointer is an error.
    pub fn get(self) -> CudaResult<String> {
        self.text().ok_or(NULL)
    }
}
