//! Objects of the application that graphs keep alive.

use super::pointer::{CudaInput, CudaOutput};
use crate::core::command::HostCall;
use crate::core::context;
use crate::core::error::{CudaError, ensure};
use crate::core::graph::CudaGraph;
use crate::core::user_object::UserObject;
use crate::cuda::*;
use std::ffi::c_void;

/// The flag that objects are created with: no call waits for their destructors.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// Flag of graphs that take references over from the application.
const MOVE: u32 = 1;

entries! {
    fn cuUserObjectCreate(
        object: CudaOutput<CudaHandle>, data: CudaInput<c_void>, destructor: Option<extern "C" fn(*mut c_void)>, references: u32,
        flags: u32,
    ) {
        context::ensure_initialized()?;
        object.ensure()?;
        ensure(flags == NO_DESTRUCTOR_SYNC, CUDA_ERROR_INVALID_VALUE)?;
        let function = destructor.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let destructor = HostCall { function, data: data.address() as usize };
        object.write(UserObject::create(destructor, references)?)
    }

    fn cuUserObjectRetain(object: CudaHandle, count: u32) {
        UserObject::retain(object, count)
    }

    fn cuUserObjectRelease(object: CudaHandle, count: u32) {
        UserObject::release(object, count)
    }

    fn cuGraphRetainUserObject(graph: CudaHandle, object: CudaHandle, count: u32, flags: u32) {
        ensure(flags & !MOVE == 0, CUDA_ERROR_INVALID_VALUE)?;
        CudaGraph::find(graph)?.retain(object, count, flags == MOVE)
    }

    fn cuGraphReleaseUserObject(graph: CudaHandle, object: CudaHandle, count: u32) {
        CudaGraph::find(graph)?.release(object, count)
    }
}
