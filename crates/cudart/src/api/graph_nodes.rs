//! Nodes of graphs and their parameters.
//!
//! The runtime's structures differ from the driver's where a kernel is a function of the host, and where a copy counts texels.

use super::copies::{Copy3, Params3, place_in};
use super::{read, write};
use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::{CudartResult, done};
use crate::program::{host_of, kernel};
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
    ready()?;
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

/// Place of a new node: where its handle is written, its graph, and its predecessors.
type NewNode = (*mut DriverHandle, DriverHandle, *const DriverHandle, usize);

/// Adds a node that copies.
///
/// # Safety
/// The lists and memory of the host are there.
unsafe fn add_copy((node, graph, before, count): NewNode, params: &Params3) -> CudartResult<()> {
    let context = context()?;
    let copy = params.of_driver()?;
    // SAFETY: the caller's promise.
    done(unsafe {
        driver::cuGraphAddMemcpyNode(node, graph, before, count, std::ptr::from_ref(&copy).cast(), context)
    })
}

/// Replaces the copy of a node.
///
/// # Safety
/// Memory of the host is there.
unsafe fn set_copy(node: DriverHandle, params: &Params3) -> CudartResult<()> {
    ready()?;
    let copy = params.of_driver()?;
    // SAFETY: the caller's promise.
    done(unsafe { driver::cuGraphMemcpyNodeSetParams(node, std::ptr::from_ref(&copy).cast()) })
}

/// Replaces the copy of a node of an executable graph.
///
/// # Safety
/// Memory of the host is there.
unsafe fn set_copy_of(executable: DriverHandle, node: DriverHandle, params: &Params3) -> CudartResult<()> {
    let context = context()?;
    let copy = params.of_driver()?;
    // SAFETY: the caller's promise.
    done(unsafe {
        driver::cuGraphExecMemcpyNodeSetParams(executable, node, std::ptr::from_ref(&copy).cast(), context)
    })
}

entries! {
    fn cudaGraphAddKernelNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const CudartKernelParams,
    ) {
        let params = of_driver(params)?;
        // SAFETY: the caller's promise.
        done(unsafe {
            driver::cuGraphAddKernelNode_v2(node, graph, before, count, std::ptr::from_ref(&params).cast())
        })
    }

    fn cudaGraphKernelNodeGetParams(node: DriverHandle, params: *mut CudartKernelParams) {
        ready()?;
        let (null, dim) = (std::ptr::null(), Dim3 { x: 0, y: 0, z: 0 });
        let mut of_driver = DriverKernelParams {
            function: 0, grid: dim, block: dim, shared: 0, each: null, extra: null, kernel: 0, context: 0,
        };
        // SAFETY: the place is there; the driver looks the handle up.
        done(unsafe { driver::cuGraphKernelNodeGetParams_v2(node, (&raw mut of_driver).cast()) })?;
        let DriverKernelParams { function, grid, block, shared, each, extra, kernel, .. } = of_driver;
        let host = host_of(if function == 0 { kernel } else { function });
        // SAFETY: the caller's promise.
        unsafe { write(params, CudartKernelParams { host, grid, block, shared, each, extra }) }
    }

    fn cudaGraphMemcpyNodeGetParams(node: DriverHandle, params: *mut Params3) {
        ready()?;
        let mut copy = Copy3::default();
        // SAFETY: the place is there; the driver looks the handle up.
        done(unsafe { driver::cuGraphMemcpyNodeGetParams(node, (&raw mut copy).cast()) })?;
        // SAFETY: the caller's promise.
        unsafe { write(params, Params3::of_copy(&copy)?) }
    }

    fn cudaGraphKernelNodeSetParams(node: DriverHandle, params: *const CudartKernelParams) {
        let params = of_driver(params)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuGraphKernelNodeSetParams_v2(node, std::ptr::from_ref(&params).cast()) })
    }

    fn cudaGraphExecKernelNodeSetParams(executable: DriverHandle, node: DriverHandle, params: *const CudartKernelParams) {
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
        unsafe { add_copy((node, graph, before, count), &read(params)?) }
    }

    fn cudaGraphAddMemcpyNode1D(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, to: Ptr, from: Ptr, bytes: usize,
        kind: i32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { add_copy((node, graph, before, count), &Params3::of_line(to, from, bytes, kind)) }
    }

    fn cudaGraphAddMemcpyNodeToSymbol(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, symbol: usize, from: Ptr,
        bytes: usize, offset: usize, kind: i32,
    ) {
        let copy = Params3::of_line(place_in(symbol, offset, bytes)?, from, bytes, kind);
        // SAFETY: the caller's promise.
        unsafe { add_copy((node, graph, before, count), &copy) }
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, to: Ptr, symbol: usize,
        bytes: usize, offset: usize, kind: i32,
    ) {
        let copy = Params3::of_line(to, place_in(symbol, offset, bytes)?, bytes, kind);
        // SAFETY: the caller's promise.
        unsafe { add_copy((node, graph, before, count), &copy) }
    }

    fn cudaGraphMemcpyNodeSetParams(node: DriverHandle, params: *const Params3) {
        // SAFETY: the caller's promise.
        unsafe { set_copy(node, &read(params)?) }
    }

    fn cudaGraphMemcpyNodeSetParams1D(node: DriverHandle, to: Ptr, from: Ptr, bytes: usize, kind: i32) {
        // SAFETY: the caller's promise.
        unsafe { set_copy(node, &Params3::of_line(to, from, bytes, kind)) }
    }

    fn cudaGraphMemcpyNodeSetParamsToSymbol(
        node: DriverHandle, symbol: usize, from: Ptr, bytes: usize, offset: usize, kind: i32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { set_copy(node, &Params3::of_line(place_in(symbol, offset, bytes)?, from, bytes, kind)) }
    }

    fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        node: DriverHandle, to: Ptr, symbol: usize, bytes: usize, offset: usize, kind: i32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { set_copy(node, &Params3::of_line(to, place_in(symbol, offset, bytes)?, bytes, kind)) }
    }

    fn cudaGraphExecMemcpyNodeSetParams(executable: DriverHandle, node: DriverHandle, params: *const Params3) {
        // SAFETY: the caller's promise.
        unsafe { set_copy_of(executable, node, &read(params)?) }
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(
        executable: DriverHandle, node: DriverHandle, to: Ptr, from: Ptr, bytes: usize, kind: i32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { set_copy_of(executable, node, &Params3::of_line(to, from, bytes, kind)) }
    }

    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        executable: DriverHandle, node: DriverHandle, symbol: usize, from: Ptr, bytes: usize, offset: usize, kind: i32,
    ) {
        let copy = Params3::of_line(place_in(symbol, offset, bytes)?, from, bytes, kind);
        // SAFETY: the caller's promise.
        unsafe { set_copy_of(executable, node, &copy) }
    }

    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        executable: DriverHandle, node: DriverHandle, to: Ptr, symbol: usize, bytes: usize, offset: usize, kind: i32,
    ) {
        let copy = Params3::of_line(to, place_in(symbol, offset, bytes)?, bytes, kind);
        // SAFETY: the caller's promise.
        unsafe { set_copy_of(executable, node, &copy) }
    }

    fn cudaGraphAddMemsetNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const c_void,
    ) {
        // SAFETY: the caller's promise; both interfaces have the same structure.
        done(unsafe { driver::cuGraphAddMemsetNode(node, graph, before, count, params, context()?) })
    }

    fn cudaGraphExecMemsetNodeSetParams(executable: DriverHandle, node: DriverHandle, params: *const c_void) {
        // SAFETY: the caller's promise; both interfaces have the same structure.
        done(unsafe { driver::cuGraphExecMemsetNodeSetParams(executable, node, params, context()?) })
    }
}

forward! {
    fn cudaGraphNodeGetType(node: DriverHandle, kind: *mut i32) => cuGraphNodeGetType;
    fn cudaGraphDestroyNode(node: DriverHandle) => cuGraphDestroyNode;
    fn cudaGraphAddEmptyNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize,
    ) => cuGraphAddEmptyNode;
    fn cudaGraphAddChildGraphNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, child: DriverHandle,
    ) => cuGraphAddChildGraphNode;
    fn cudaGraphChildGraphNodeGetGraph(node: DriverHandle, graph: *mut DriverHandle) => cuGraphChildGraphNodeGetGraph;
    fn cudaGraphExecChildGraphNodeSetParams(
        executable: DriverHandle, node: DriverHandle, child: DriverHandle,
    ) => cuGraphExecChildGraphNodeSetParams;
    fn cudaGraphAddHostNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const c_void,
    ) => cuGraphAddHostNode;
    fn cudaGraphHostNodeGetParams(node: DriverHandle, params: Ptr) => cuGraphHostNodeGetParams;
    fn cudaGraphHostNodeSetParams(node: DriverHandle, params: *const c_void) => cuGraphHostNodeSetParams;
    fn cudaGraphExecHostNodeSetParams(
        executable: DriverHandle, node: DriverHandle, params: *const c_void,
    ) => cuGraphExecHostNodeSetParams;
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
    fn cudaGraphEventRecordNodeGetEvent(node: DriverHandle, event: *mut DriverHandle) => cuGraphEventRecordNodeGetEvent;
    fn cudaGraphEventRecordNodeSetEvent(node: DriverHandle, event: DriverHandle) => cuGraphEventRecordNodeSetEvent;
    fn cudaGraphExecEventRecordNodeSetEvent(
        executable: DriverHandle, node: DriverHandle, event: DriverHandle,
    ) => cuGraphExecEventRecordNodeSetEvent;
    fn cudaGraphAddEventWaitNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, event: DriverHandle,
    ) => cuGraphAddEventWaitNode;
    fn cudaGraphEventWaitNodeGetEvent(node: DriverHandle, event: *mut DriverHandle) => cuGraphEventWaitNodeGetEvent;
    fn cudaGraphEventWaitNodeSetEvent(node: DriverHandle, event: DriverHandle) => cuGraphEventWaitNodeSetEvent;
    fn cudaGraphExecEventWaitNodeSetEvent(
        executable: DriverHandle, node: DriverHandle, event: DriverHandle,
    ) => cuGraphExecEventWaitNodeSetEvent;
    fn cudaGraphKernelNodeGetAttribute(node: DriverHandle, id: u32, value: Ptr) => cuGraphKernelNodeGetAttribute;
    fn cudaGraphKernelNodeSetAttribute(
        node: DriverHandle, id: u32, value: *const c_void,
    ) => cuGraphKernelNodeSetAttribute;
    fn cudaGraphKernelNodeCopyAttributes(to: DriverHandle, from: DriverHandle) => cuGraphKernelNodeCopyAttributes;
    fn cudaGraphMemsetNodeGetParams(node: DriverHandle, params: Ptr) => cuGraphMemsetNodeGetParams;
    fn cudaGraphMemsetNodeSetParams(node: DriverHandle, params: *const c_void) => cuGraphMemsetNodeSetParams;
    fn cudaGraphNodeSetEnabled(executable: DriverHandle, node: DriverHandle, is_enabled: u32) => cuGraphNodeSetEnabled;
    fn cudaGraphNodeGetEnabled(executable: DriverHandle, node: DriverHandle, is_enabled: *mut u32) => cuGraphNodeGetEnabled;
}
