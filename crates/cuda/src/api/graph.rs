//! Graphs: made node by node or captured, changed, and launched. Their nodes: [`graph_nodes`](super::graph_nodes).

use super::pointer::{CudaInput, CudaOutput, CudaString};
use crate::core::command::StreamCommand;
use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::graph::{CudaGraph, EXECUTABLES, Executable};
use crate::core::graph_dot::dot;
use crate::core::stream::CudaStream;
use crate::cuda::*;
use std::ffi::{c_char, c_void};

/// Code of files that cannot be written.
const CUDA_ERROR_OPERATING_SYSTEM: CUresult = 304;

/// `CUgraphEdgeData`.
type EdgeData = [u8; 8];

/// Writes a list, or only its length; surplus output slots become null.
fn tell(list: &[CudaHandle], places: CudaOutput<CudaHandle>, count: CudaOutput<usize>) -> CudaResult<()> {
    count.ensure()?;
    if places.is_null() {
        return count.write(list.len());
    }
    let room = count.as_input().read()?;
    for index in 0..room {
        places.write_at(index, list.get(index).copied().unwrap_or(0));
    }
    count.write(list.len().min(room))
}

fn edges(
    graph: CudaHandle,
    from: CudaOutput<CudaHandle>,
    to: CudaOutput<CudaHandle>,
    count: CudaOutput<usize>,
) -> CudaResult<()> {
    let edges = CudaGraph::find(graph)?.edges();
    let (first, last): (Vec<CudaHandle>, Vec<CudaHandle>) = edges.into_iter().unzip();
    ensure(from.is_null() == to.is_null(), CUDA_ERROR_INVALID_VALUE)?;
    if !from.is_null() {
        let room = count.as_input().read()?;
        for index in 0..room {
            from.write_at(index, first.get(index).copied().unwrap_or(0));
        }
    }
    tell(&last, to, count)
}

/// Writes the data of the edges that were written: each one orders whole nodes.
fn write_edge_data(
    nodes: CudaOutput<CudaHandle>,
    data: CudaOutput<EdgeData>,
    count: CudaOutput<usize>,
) -> CudaResult<()> {
    let written = if nodes.is_null() { 0 } else { count.as_input().read()? };
    (0..written).for_each(|index| data.write_at(index, [0; 8]));
    Ok(())
}

fn neighbours(node: CudaHandle, are_before: bool) -> CudaResult<Vec<CudaHandle>> {
    let edges = CudaGraph::of_node(node)?.edges();
    let of = |(from, to): (CudaHandle, CudaHandle)| match are_before {
        true => (to == node).then_some(from),
        false => (from == node).then_some(to),
    };
    Ok(edges.into_iter().filter_map(of).collect())
}

fn instantiate(executable: CudaOutput<CudaHandle>, graph: CudaHandle, flags: u64) -> CudaResult<()> {
    context::current()?;
    executable.ensure()?;
    executable.write(CudaGraph::find(graph)?.instantiate(flags)?)
}

entries! {
    fn cuGraphCreate(graph: CudaOutput<CudaHandle>, flags: u32) {
        context::ensure_initialized()?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        graph.ensure()?;
        graph.write(CudaGraph::create())
    }

    fn cuGraphDestroy(graph: CudaHandle) {
        CudaGraph::destroy(graph)
    }

    fn cuGraphClone(copy: CudaOutput<CudaHandle>, graph: CudaHandle) {
        copy.ensure()?;
        copy.write(CudaGraph::find(graph)?.copy()?)
    }

    fn cuGraphAddDependencies(graph: CudaHandle, from: CudaInput<CudaHandle>, to: CudaInput<CudaHandle>, count: usize) {
        CudaGraph::find(graph)?.depend(&from.list(count)?, &to.list(count)?, true)
    }

    fn cuGraphAddDependencies_v2(
        graph: CudaHandle, from: CudaInput<CudaHandle>, to: CudaInput<CudaHandle>, _edges: CudaInput<c_void>, count: usize,
    ) {
        CudaGraph::find(graph)?.depend(&from.list(count)?, &to.list(count)?, true)
    }

    fn cuGraphRemoveDependencies(graph: CudaHandle, from: CudaInput<CudaHandle>, to: CudaInput<CudaHandle>, count: usize) {
        CudaGraph::find(graph)?.depend(&from.list(count)?, &to.list(count)?, false)
    }

    fn cuGraphRemoveDependencies_v2(
        graph: CudaHandle, from: CudaInput<CudaHandle>, to: CudaInput<CudaHandle>, _edges: CudaInput<c_void>, count: usize,
    ) {
        CudaGraph::find(graph)?.depend(&from.list(count)?, &to.list(count)?, false)
    }

    fn cuGraphGetNodes(graph: CudaHandle, nodes: CudaOutput<CudaHandle>, count: CudaOutput<usize>) {
        tell(&CudaGraph::find(graph)?.nodes(false), nodes, count)
    }

    fn cuGraphGetRootNodes(graph: CudaHandle, nodes: CudaOutput<CudaHandle>, count: CudaOutput<usize>) {
        tell(&CudaGraph::find(graph)?.nodes(true), nodes, count)
    }

    fn cuGraphGetEdges(graph: CudaHandle, from: CudaOutput<CudaHandle>, to: CudaOutput<CudaHandle>, count: CudaOutput<usize>) {
        edges(graph, from, to, count)
    }

    fn cuGraphGetEdges_v2(
        graph: CudaHandle, from: CudaOutput<CudaHandle>, to: CudaOutput<CudaHandle>, data: CudaOutput<EdgeData>, count: CudaOutput<usize>,
    ) {
        edges(graph, from, to, count)?;
        write_edge_data(from, data, count)
    }

    fn cuGraphNodeGetDependencies(node: CudaHandle, nodes: CudaOutput<CudaHandle>, count: CudaOutput<usize>) {
        tell(&neighbours(node, true)?, nodes, count)
    }

    fn cuGraphNodeGetDependentNodes(node: CudaHandle, nodes: CudaOutput<CudaHandle>, count: CudaOutput<usize>) {
        tell(&neighbours(node, false)?, nodes, count)
    }

    fn cuGraphNodeGetDependencies_v2(
        node: CudaHandle, nodes: CudaOutput<CudaHandle>, data: CudaOutput<EdgeData>, count: CudaOutput<usize>,
    ) {
        tell(&neighbours(node, true)?, nodes, count)?;
        write_edge_data(nodes, data, count)
    }

    fn cuGraphNodeGetDependentNodes_v2(
        node: CudaHandle, nodes: CudaOutput<CudaHandle>, data: CudaOutput<EdgeData>, count: CudaOutput<usize>,
    ) {
        tell(&neighbours(node, false)?, nodes, count)?;
        write_edge_data(nodes, data, count)
    }

    fn cuGraphInstantiate(
        executable: CudaOutput<CudaHandle>, graph: CudaHandle, node: CudaOutput<CudaHandle>, _log: CudaOutput<c_char>, _room: usize,
    ) {
        node.write_if(0);
        instantiate(executable, graph, 0)
    }

    fn cuGraphInstantiate_v2(
        executable: CudaOutput<CudaHandle>, graph: CudaHandle, node: CudaOutput<CudaHandle>, _log: CudaOutput<c_char>, _room: usize,
    ) {
        node.write_if(0);
        instantiate(executable, graph, 0)
    }

    fn cuGraphInstantiateWithFlags(executable: CudaOutput<CudaHandle>, graph: CudaHandle, flags: u64) {
        // The flags change nothing: freed memory, priorities and device launches have no effect here.
        ensure(flags & !15 == 0, CUDA_ERROR_INVALID_VALUE)?;
        ensure(flags & 4 == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        instantiate(executable, graph, flags)
    }

    fn cuGraphInstantiateWithParams | cuGraphInstantiateWithParams_ptsz (
        executable: CudaOutput<CudaHandle>, graph: CudaHandle, params: CudaOutput<[u64; 4]>,
    ) {
        let [flags, stream, _, _] = params.as_input().read()?;
        ensure(flags & !15 == 0, CUDA_ERROR_INVALID_VALUE)?;
        ensure(flags & 4 == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        instantiate(executable, graph, flags)?;
        params.write([flags, stream, 0, 0])
    }

    fn cuGraphExecDestroy(executable: CudaHandle) {
        EXECUTABLES.remove(executable).map(|_| ()).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    fn cuGraphExecGetFlags(executable: CudaHandle, flags: CudaOutput<u64>) {
        flags.write(Executable::find(executable)?.flags)
    }

    fn cuGraphExecUpdate(executable: CudaHandle, graph: CudaHandle, node: CudaOutput<CudaHandle>, result: CudaOutput<u32>) {
        let done = Executable::find(executable)?.update(&*CudaGraph::find(graph)?);
        node.write_if(0);
        result.write_if(done.is_err().into());
        done
    }

    fn cuGraphExecUpdate_v2(executable: CudaHandle, graph: CudaHandle, message: CudaOutput<[u64; 3]>) {
        let done = Executable::find(executable)?.update(&*CudaGraph::find(graph)?);
        message.write_if([done.is_err().into(), 0, 0]);
        done
    }

    fn cuGraphUpload | cuGraphUpload_ptsz (executable: CudaHandle, stream: CudaHandle) {
        Executable::find(executable)?;
        CudaStream::find(stream).map(|_| ())
    }

    fn cuGraphLaunch | cuGraphLaunch_ptsz (executable: CudaHandle, stream: CudaHandle) {
        let contents = Executable::find(executable)?.snapshot();
        CudaStream::find(stream)?.submit(StreamCommand::Graph(contents))
    }

    fn cuGraphNodeFindInClone(node: CudaOutput<CudaHandle>, original: CudaHandle, clone: CudaHandle) {
        node.ensure()?;
        node.write(CudaGraph::find(clone)?.copy_of(original)?)
    }

    fn cuGraphDebugDotPrint(graph: CudaHandle, path: CudaString, flags: u32) {
        let text = dot(&*CudaGraph::find(graph)?, flags)?;
        std::fs::write(path.get()?, text).map_err(|_| CudaError(CUDA_ERROR_OPERATING_SYSTEM))
    }
}
