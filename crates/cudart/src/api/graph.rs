//! Graphs.

use super::copies::Params3;
use super::read;
use crate::driver::{self, Handle, Ptr};
use crate::errors::{Answer, done};
use crate::program::kernel;
use crate::state::{Dim3, ready};
use std::ffi::c_void;

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelParams {
    host: usize,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    each: *const Ptr,
    extra: *const Ptr,
}

/// The same as the driver takes it.
#[repr(C)]
struct DriverKernelParams {
    function: Handle,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    each: *const Ptr,
    extra: *const Ptr,
    kernel: Handle,
    context: Handle,
}

fn of_driver(params: *const KernelParams) -> Answer<DriverKernelParams> {
    // SAFETY: the caller's promise.
    let KernelParams { host, grid, block, shared, each, extra } = unsafe { read(params) }?;
    Ok(DriverKernelParams {
        function: kernel(host)?,
        grid,
        block,
        shared,
        each,
        extra,
        kernel: 0,
        context: 0,
    })
}

fn context() -> Answer<Handle> {
    ready()?;
    let mut context = 0;
    // SAFETY: the place is there.
    done(unsafe { driver::cuCtxGetCurrent(&mut context) })?;
    Ok(context)
}

entries! {
    fn cudaGraphInstantiate(executable: *mut Handle, graph: Handle, flags: u64) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuGraphInstantiateWithFlags(executable, graph, flags) })
    }

    fn cudaGraphAddKernelNode(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, params: *const KernelParams,
    ) {
        ready()?;
        let params = of_driver(params)?;
        // SAFETY: the caller's promise.
        done(unsafe {
            driver::cuGraphAddKernelNode_v2(node, graph, before, count, std::ptr::from_ref(&params).cast())
        })
    }

    fn cudaGraphExecKernelNodeSetParams(executable: Handle, node: Handle, params: *const KernelParams) {
        ready()?;
        let params = of_driver(params)?;
        // SAFETY: the caller's promise.
        done(unsafe {
            driver::cuGraphExecKernelNodeSetParams_v2(executable, node, std::ptr::from_ref(&params).cast())
        })
    }

    fn cudaGraphAddMemcpyNode(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, params: *const Params3,
    ) {
        // SAFETY: the caller's promise.
        let copy = unsafe { read(params) }?.of_driver()?;
        // SAFETY: as above.
        done(unsafe {
            driver::cuGraphAddMemcpyNode(node, graph, before, count, std::ptr::from_ref(&copy).cast(), context()?)
        })
    }

    fn cudaGraphAddMemcpyNode1D(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, to: Ptr, from: Ptr, bytes: usize,
        kind: i32,
    ) {
        let copy = Params3::of_line(to, from, bytes, kind).of_driver()?;
        // SAFETY: the caller's promise.
        done(unsafe {
            driver::cuGraphAddMemcpyNode(node, graph, before, count, std::ptr::from_ref(&copy).cast(), context()?)
        })
    }

    fn cudaGraphAddMemsetNode(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, params: *const c_void,
    ) {
        // SAFETY: the caller's promise; both interfaces have the same structure.
        done(unsafe { driver::cuGraphAddMemsetNode(node, graph, before, count, params, context()?) })
    }
}

forward! {
    fn cudaGraphCreate(graph: *mut Handle, flags: u32) => cuGraphCreate;
    fn cudaGraphDestroy(graph: Handle) => cuGraphDestroy;
    fn cudaGraphClone(clone: *mut Handle, graph: Handle) => cuGraphClone;
    fn cudaGraphInstantiateWithFlags(
        executable: *mut Handle, graph: Handle, flags: u64,
    ) => cuGraphInstantiateWithFlags;
    fn cudaGraphLaunch | cudaGraphLaunch_ptsz in stream (executable: Handle, stream: Handle) => cuGraphLaunch;
    fn cudaGraphUpload | cudaGraphUpload_ptsz in stream (executable: Handle, stream: Handle) => cuGraphUpload;
    fn cudaGraphExecDestroy(executable: Handle) => cuGraphExecDestroy;
    fn cudaGraphExecUpdate(executable: Handle, graph: Handle, result: Ptr) => cuGraphExecUpdate_v2;
    fn cudaGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) => cuGraphGetNodes;
    fn cudaGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) => cuGraphGetRootNodes;
    fn cudaGraphNodeGetType(node: Handle, kind: *mut i32) => cuGraphNodeGetType;
    fn cudaGraphDestroyNode(node: Handle) => cuGraphDestroyNode;
    fn cudaGraphAddEmptyNode(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize,
    ) => cuGraphAddEmptyNode;
    fn cudaGraphAddChildGraphNode(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, child: Handle,
    ) => cuGraphAddChildGraphNode;
    fn cudaGraphAddHostNode(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, params: *const c_void,
    ) => cuGraphAddHostNode;
}
