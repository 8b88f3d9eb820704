//! The C interface: one function for each entry of `cuda.h`.
//!
//! Pointers of the application come as `CudaInput`, `CudaOutput` and `CudaString`, which only C makes, by calling an entry: that call is the
//! promise that a pointer which is not null leads to what the interface says. So entries need no unsafe code of their own.
//! Handles are numbers until `core` has found them.
#![allow(non_snake_case)]

pub mod pointer;
#[macro_use]
mod entry;
pub mod device;
pub mod context;
pub mod memory;
pub mod transfer;
pub mod module;
pub mod launch;
pub mod stream;
pub mod graph;
pub mod lookup;
pub mod refused;
pub mod ocelot;

use crate::core::error::{CudaError, CudaResult};
use crate::core::stream::is_in_callback;
use crate::cuda::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What an entry answers. A mistake of the driver's own becomes a code as well.
fn answer(body: impl FnOnce() -> CudaResult<()>) -> CUresult {
    if is_in_callback() {
        return CUDA_ERROR_NOT_PERMITTED;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => CUDA_SUCCESS,
        Ok(Err(CudaError(code))) => code,
        Err(_) => CUDA_ERROR_UNKNOWN,
    }
}
