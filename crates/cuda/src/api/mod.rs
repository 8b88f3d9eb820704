//! The C interface: one function for each entry of `cuda.h`.
//!
//! Pointers arrive as `CudaInput`, `CudaOutput` and `CudaString`, which only a C caller creates. The call promises that each
//! non-null pointer is valid as `cuda.h` requires, so entries need no unsafe code. Handles are numbers until `core` looks
//! them up.
#![allow(non_snake_case)]

pub mod pointer;
#[macro_use]
mod entry;
pub mod device;
pub mod context;
pub mod memory;
pub mod virtual_memory;
pub mod texture;
pub mod transfer;
pub mod module;
pub mod launch;
pub mod stream;
pub mod stream_memory;
pub mod graph;
pub mod graph_nodes;
pub mod user_object;
pub mod lookup;
pub mod refused;
pub mod ocelot;

use crate::core::error::{CudaError, CudaResult};
use crate::core::stream::is_in_callback;
use crate::cuda::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs an entry and returns its error code. A panic in the driver becomes an error code, too.
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
