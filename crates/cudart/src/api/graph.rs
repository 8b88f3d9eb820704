//! Graphs.

use super::copies::Params3;
use super::read;
use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::{CudartResult, done};
use crate::program::kernel;
use crate::state::{Dim3, ready};
use std::ffi::c_void;

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CudartKernelParams {
    host: usize,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    each: *const Ptr,
    extra: *const Ptr,
}

/// The driver's layout of these parameters.
#[repr(C)]
struct DriverKernelParams {
    function: DriverHandle,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    each: *const Ptr,
    extra: *const Ptr,
    kernel: DriverHandle,
    context: DriverHandle,
}

fn of_driver(params: *const CudartKernelParams) -> CudartResult<DriverKernelParams> {
    // SAFETY: the caller's promise.
    let CudartKernelParams { host, grid, block, shared, each, extra } = unsafe { read(params) }?;
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

fn context() -> CudartResult<DriverHandle> {
    ready()?;
    let mut context = 0;
    // SAFETY: the place is there.
    done(unsafe { driver::cuCtxGetCurrent(&mut context) })?;
    Ok(context)
}

entries! {
    fn cudaGraphInstantiate(executable: *mut DriverHandle, graph: DriverHandle, flags: u64) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuGraphInstantiateWithFlags(executable, graph, flags) })
    }

    fn cudaGraphAddKernelNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const CudartKernelParams,
    ) {
        ready()?;
        let params = of_driver(params)?;
        // SAFETY: the caller's promise.
        done(unsafe {
            driver::cuGraphAddKernelNode_v2(node, graph, before, count, std::ptr::from_ref(&params).cast())
        })
    }

    fn cudaGraphExecKernelNodeSetParams(executable: DriverHandle, node: DriverHandle, params: *const CudartKernelParams) {
        ready()?;
        let params = of_driver(params)?;
        // SAFETY: the caller's promise.
        done(unsafe {
            driver::cuGraphExecKernelNodeSetParams_v2(executable, node, std::ptr::from_ref(&params).cast())
        })
    }

    fn cudaGraphAddMemcpyNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const Params3,
    ) {
        // SAFETY: the caller's promise.
        let copy = unsafe { read(params) }?.of_driver()?;
        // SAFETY: as above.
        done(unsafe {
            driver::cuGraphAddMemcpyNode(node, graph, before, count, std::ptr::from_ref(&copy).cast(), context()?)
        })
    }

    fn cudaGraphAddMemcpyNode1D(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, to: Ptr, from: Ptr, bytes: usize,
        kind: i32,
    ) {
        let copy = Params3::of_line(to, from, bytes, kind).of_driver()?;
        // SAFETY: the caller's promise.
        done(unsafe {
            driver::cuGraphAddMemcpyNode(node, graph, before, count, std::ptr::from_ref(&copy).cast(), context()?)
        })
    }

    fn cudaGraphAddMemsetNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const c_void,
    ) {
        // SAFETY: the caller's promise; both interfaces have the same structure.
        done(unsafe { driver::cuGraphAddMemsetNode(node, graph, before, count, params, context()?) })
    }
}

forward! {
    fn cudaGraphCreate(graph: *mut DriverHandle, flags: u32) => cuGraphCreate;
    fn cudaGraphDestroy(graph: DriverHandle) => cuGraphDestroy;
    fn cudaGraphClone(clone: *mut DriverHandle, graph: DriverHandle) => cuGraphClone;
    fn cudaGraphInstantiateWithFlags(
        executable: *mut DriverHandle, graph: DriverHandle, flags: u64,
    ) => cuGraphInstantiateWithFlags;
    fn cudaGraphLaunch | cudaGraphLaunch_ptsz in stream (executable: DriverHandle, stream: DriverHandle) => cuGraphLaunch;
    fn cudaGraphUpload | cudaGraphUpload_ptsz in stream (executable: DriverHandle, stream: DriverHandle) => cuGraphUpload;
    fn cudaGraphExecDestroy(executable: DriverHandle) => cuGraphExecDestroy;
    fn cudaGraphExecUpdate(executable: DriverHandle, graph: DriverHandle, result: Ptr) => cuGraphExecUpdate_v2;
    fn cudaGraphGetNodes(graph: DriverHandle, nodes: *mut DriverHandle, count: *mut usize) => cuGraphGetNodes;
    fn cudaGraphGetRootNodes(graph: DriverHandle, nodes: *mut DriverHandle, count: *mut usize) => cuGraphGetRootNodes;
    fn cudaGraphNodeGetType(node: DriverHandle, kind: *mut i32) => cuGraphNodeGetType;
    fn cudaGraphDestroyNode(node: DriverHandle) => cuGraphDestroyNode;
    fn cudaGraphAddEmptyNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize,
    ) => cuGraphAddEmptyNode;
    fn cudaGraphAddChildGraphNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, child: DriverHandle,
    ) => cuGraphAddChildGraphNode;
    fn cudaGraphAddHostNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const c_void,
    ) => cuGraphAddHostNode;
    fn cudaGraphAddMemAllocNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: Ptr,
    ) => cuGraphAddMemAllocNode;
    fn cudaGraphAddMemFreeNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, start: Ptr,
    ) => cuGraphAddMemFreeNode;
    fn cudaGraphMemAllocNodeGetParams(node: DriverHandle, params: Ptr) => cuGraphMemAllocNodeGetParams;
    fn cudaGraphMemFreeNodeGetParams(node: DriverHandle, start: Ptr) => cuGraphMemFreeNodeGetParams;
    fn cudaGraphAddEventRecordNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, event: DriverHandle,
    ) => cuGraphAddEventRecordNode;
    fn cudaGraphAddEventWaitNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, event: DriverHandle,
    ) => cuGraphAddEventWaitNode;
    fn cudaGraphMemsetNodeSetParams(node: DriverHandle, params: *const c_void) => cuGraphMemsetNodeSetParams;
    fn cudaGraphNodeSetEnabled(executable: DriverHandle, node: DriverHandle, is_enabled: u32) => cuGraphNodeSetEnabled;
    fn cudaGraphNodeGetEnabled(executable: DriverHandle, node: DriverHandle, is_enabled: *mut u32) => cuGraphNodeGetEnabled;
    fn cudaDeviceGetGraphMemAttribute(device: i32, number: i32, value: Ptr) => cuDeviceGetGraphMemAttribute;
    fn cudaDeviceSetGraphMemAttribute(device: i32, number: i32, value: Ptr) => cuDeviceSetGraphMemAttribute;
    fn cudaDeviceGraphMemTrim(device: i32) => cuDeviceGraphMemTrim;
}
