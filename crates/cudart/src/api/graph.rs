//! Graphs: made, changed, launched. Their nodes: [`graph_nodes`](super::graph_nodes).

use super::{edges_and_next, pointer_at};
use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::done;
use crate::state::ready;
use std::ffi::{c_char, c_void};

entries! {
    fn cudaGraphInstantiate(executable: *mut DriverHandle, graph: DriverHandle, flags: u64) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuGraphInstantiateWithFlags(executable, graph, flags) })
    }

    fn cudaGraphInstantiateWithParams | cudaGraphInstantiateWithParams_ptsz (
        executable: *mut DriverHandle, graph: DriverHandle, params: Ptr,
    ) {
        ready()?;
        // SAFETY: the caller's promise; both interfaces have the same structure.
        done(unsafe { driver::cuGraphInstantiateWithParams(executable, graph, params) })
    }

    fn cudaGraphAddDependencies(
        graph: DriverHandle, from: *const DriverHandle, to: *const DriverHandle, at_edges: usize, after: usize,
    ) {
        ready()?;
        let (edges, count) = edges_and_next(at_edges, after);
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuGraphAddDependencies_v2(graph, from, to, edges, count) })
    }

    fn cudaGraphRemoveDependencies(
        graph: DriverHandle, from: *const DriverHandle, to: *const DriverHandle, at_edges: usize, after: usize,
    ) {
        ready()?;
        let (edges, count) = edges_and_next(at_edges, after);
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuGraphRemoveDependencies_v2(graph, from, to, edges, count) })
    }

    fn cudaGraphGetEdges(
        graph: DriverHandle, from: *mut DriverHandle, to: *mut DriverHandle, at_edges: usize, after: usize,
    ) {
        ready()?;
        let (edges, count) = edges_and_next(at_edges, after);
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuGraphGetEdges_v2(graph, from, to, edges, pointer_at(count)) })
    }

    fn cudaGraphNodeGetDependencies(node: DriverHandle, nodes: *mut DriverHandle, at_edges: usize, after: usize) {
        ready()?;
        let (edges, count) = edges_and_next(at_edges, after);
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuGraphNodeGetDependencies_v2(node, nodes, edges, pointer_at(count)) })
    }

    fn cudaGraphNodeGetDependentNodes(node: DriverHandle, nodes: *mut DriverHandle, at_edges: usize, after: usize) {
        ready()?;
        let (edges, count) = edges_and_next(at_edges, after);
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuGraphNodeGetDependentNodes_v2(node, nodes, edges, pointer_at(count)) })
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
    fn cudaGraphExecGetFlags(executable: DriverHandle, flags: *mut u64) => cuGraphExecGetFlags;
    fn cudaGraphGetNodes(graph: DriverHandle, nodes: *mut DriverHandle, count: *mut usize) => cuGraphGetNodes;
    fn cudaGraphGetRootNodes(graph: DriverHandle, nodes: *mut DriverHandle, count: *mut usize) => cuGraphGetRootNodes;
    fn cudaGraphAddDependencies_v2(
        graph: DriverHandle, from: *const DriverHandle, to: *const DriverHandle, edges: *const c_void, count: usize,
    ) => cuGraphAddDependencies_v2;
    fn cudaGraphRemoveDependencies_v2(
        graph: DriverHandle, from: *const DriverHandle, to: *const DriverHandle, edges: *const c_void, count: usize,
    ) => cuGraphRemoveDependencies_v2;
    fn cudaGraphGetEdges_v2(
        graph: DriverHandle, from: *mut DriverHandle, to: *mut DriverHandle, edges: Ptr, count: *mut usize,
    ) => cuGraphGetEdges_v2;
    fn cudaGraphNodeGetDependencies_v2(
        node: DriverHandle, nodes: *mut DriverHandle, edges: Ptr, count: *mut usize,
    ) => cuGraphNodeGetDependencies_v2;
    fn cudaGraphNodeGetDependentNodes_v2(
        node: DriverHandle, nodes: *mut DriverHandle, edges: Ptr, count: *mut usize,
    ) => cuGraphNodeGetDependentNodes_v2;
    fn cudaGraphNodeFindInClone(
        node: *mut DriverHandle, original: DriverHandle, clone: DriverHandle,
    ) => cuGraphNodeFindInClone;
    fn cudaGraphDebugDotPrint(graph: DriverHandle, path: *const c_char, flags: u32) => cuGraphDebugDotPrint;
    fn cudaUserObjectCreate(
        object: *mut DriverHandle, data: Ptr, destructor: Ptr, references: u32, flags: u32,
    ) => cuUserObjectCreate;
    fn cudaUserObjectRetain(object: DriverHandle, count: u32) => cuUserObjectRetain;
    fn cudaUserObjectRelease(object: DriverHandle, count: u32) => cuUserObjectRelease;
    fn cudaGraphRetainUserObject(
        graph: DriverHandle, object: DriverHandle, count: u32, flags: u32,
    ) => cuGraphRetainUserObject;
    fn cudaGraphReleaseUserObject(graph: DriverHandle, object: DriverHandle, count: u32) => cuGraphReleaseUserObject;
    fn cudaDeviceGetGraphMemAttribute(device: i32, number: i32, value: Ptr) => cuDeviceGetGraphMemAttribute;
    fn cudaDeviceSetGraphMemAttribute(device: i32, number: i32, value: Ptr) => cuDeviceSetGraphMemAttribute;
    fn cudaDeviceGraphMemTrim(device: i32) => cuDeviceGraphMemTrim;
}
