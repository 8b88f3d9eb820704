//! Graphs: made node by node or captured, and launched.

use super::launch::prepare;
use super::module::function;
use super::pointer::{CudaInput, CudaOutput};
use super::transfer::Copy3d;
use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::event::EVENTS;
use crate::core::graph::{CudaGraph, EXECUTABLES, Executable, HostCall, NODES, StreamCommand};
use crate::core::graph_memory::GraphMemory;
use crate::core::launch::LaunchSize;
use crate::core::memory::MemoryFill;
use crate::core::stream::CudaStream;
use crate::cuda::*;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// `CUDA_KERNEL_NODE_PARAMS`; the newer form has two more fields, of which the first is a kernel instead of a function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CudaKernelParams {
    function: CudaHandle,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    each: u64,
    extra: u64,
}

/// The newer form.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CudaKernelParams2 {
    old: CudaKernelParams,
    kernel: CudaHandle,
    context: CudaHandle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FillParams {
    start: CUdeviceptr,
    pitch: usize,
    value: u32,
    size: u32,
    width: usize,
    height: usize,
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AllocationParams {
    kind: u32,
    handles: u32,
    location: [i32; 2],
    /// Other properties of the pool, and who else accesses the memory: there is one device.
    more: [u64; 11],
    bytes: usize,
    start: CUdeviceptr,
}

impl AllocationParams {
    /// Returns the parameters of a node.
    fn of(memory: &GraphMemory) -> AllocationParams {
        let (bytes, start) = (memory.bytes, memory.start);
        AllocationParams { kind: 1, handles: 0, location: [1, 0], more: [0; 11], bytes, start }
    }
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostParams {
    function: Option<extern "C" fn(*mut c_void)>,
    data: u64,
}

impl CudaKernelParams {
    fn command(&self) -> CudaResult<StreamCommand> {
        let size = LaunchSize { grid: self.grid, block: self.block, shared: self.shared };
        let launch =
            prepare(function(self.function)?, size, CudaInput::at(self.each), CudaInput::at(self.extra))?;
        Ok(StreamCommand::Launch(Box::new(launch)))
    }
}

impl CudaKernelParams2 {
    fn command(&self) -> CudaResult<StreamCommand> {
        let function = if self.old.function == 0 { self.kernel } else { self.old.function };
        CudaKernelParams { function, ..self.old }.command()
    }
}

impl FillParams {
    fn command(&self) -> CudaResult<StreamCommand> {
        let fill = MemoryFill {
            start: self.start,
            pitch: self.pitch,
            value: self.value,
            size: self.size as usize,
            width: self.width,
            height: self.height,
        };
        fill.check()?;
        Ok(StreamCommand::Fill(fill))
    }
}

impl HostParams {
    fn command(&self) -> CudaResult<StreamCommand> {
        let function = self.function.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        Ok(StreamCommand::Host(HostCall { function, data: self.data as usize }))
    }
}

fn copy(copy: CudaInput<Copy3d>) -> CudaResult<StreamCommand> {
    let copy = copy.read()?.copy()?;
    copy.check()?;
    Ok(StreamCommand::Copy(Box::new(copy)))
}

fn add(
    node: CudaOutput<CudaHandle>,
    graph: CudaHandle,
    behind: CudaInput<CudaHandle>,
    count: usize,
    command: StreamCommand,
) -> CudaResult<()> {
    node.ensure()?;
    node.write(CudaGraph::find(graph)?.add(command, &behind.list(count)?)?)
}

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

fn neighbours(node: CudaHandle, are_before: bool) -> CudaResult<Vec<CudaHandle>> {
    let edges = CudaGraph::of_node(node)?.edges();
    let of = |(from, to): (CudaHandle, CudaHandle)| match are_before {
        true => (to == node).then_some(from),
        false => (from == node).then_some(to),
    };
    Ok(edges.into_iter().filter_map(of).collect())
}

fn instantiate(executable: CudaOutput<CudaHandle>, graph: CudaHandle) -> CudaResult<()> {
    context::current()?;
    executable.ensure()?;
    executable.write(CudaGraph::find(graph)?.instantiate()?)
}

fn set(executable: CudaHandle, node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
    Executable::find(executable)?.set_command(node, command)
}

fn set_in_graph(node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
    CudaGraph::of_node(node)?.set_command(node, command)
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

    fn cuGraphAddKernelNode(
        node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, params: CudaInput<CudaKernelParams>,
    ) {
        add(node, graph, behind, count, params.read()?.command()?)
    }

    fn cuGraphAddKernelNode_v2(
        node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, params: CudaInput<CudaKernelParams2>,
    ) {
        add(node, graph, behind, count, params.read()?.command()?)
    }

    fn cuGraphAddMemcpyNode(
        node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, params: CudaInput<Copy3d>, _context: CudaHandle,
    ) {
        add(node, graph, behind, count, copy(params)?)
    }

    fn cuGraphAddMemsetNode(
        node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, params: CudaInput<FillParams>, _context: CudaHandle,
    ) {
        add(node, graph, behind, count, params.read()?.command()?)
    }

    fn cuGraphAddHostNode(
        node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, params: CudaInput<HostParams>,
    ) {
        add(node, graph, behind, count, params.read()?.command()?)
    }

    fn cuGraphAddEmptyNode(node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize) {
        add(node, graph, behind, count, StreamCommand::Empty)
    }

    fn cuGraphAddMemAllocNode(
        node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, params: CudaOutput<AllocationParams>,
    ) {
        context::current()?;
        let wanted = params.as_input().read()?;
        let is_of_device = wanted.kind == 1 && wanted.location[0] == 1;
        ensure(is_of_device && wanted.bytes > 0, CUDA_ERROR_INVALID_VALUE)?;
        // No other process can open it.
        ensure(wanted.handles == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        let memory = Arc::new(GraphMemory::reserve(wanted.bytes)?);
        add(node, graph, behind, count, StreamCommand::Allocate(Arc::clone(&memory)))?;
        params.write(AllocationParams { start: memory.start, ..wanted })
    }

    fn cuGraphAddMemFreeNode(
        node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, start: CUdeviceptr,
    ) {
        ensure(start != 0, CUDA_ERROR_INVALID_VALUE)?;
        add(node, graph, behind, count, StreamCommand::Free(start))
    }

    fn cuGraphMemAllocNodeGetParams(node: CudaHandle, params: CudaOutput<AllocationParams>) {
        match CudaGraph::of_node(node)?.command(node)? {
            StreamCommand::Allocate(memory) => params.write(AllocationParams::of(&memory)),
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn cuGraphMemFreeNodeGetParams(node: CudaHandle, start: CudaOutput<CUdeviceptr>) {
        match CudaGraph::of_node(node)?.command(node)? {
            StreamCommand::Free(freed) => start.write(freed),
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn cuGraphAddEventRecordNode(
        node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, event: CudaHandle,
    ) {
        add(node, graph, behind, count, StreamCommand::Record(EVENTS.find(event)?))
    }

    fn cuGraphAddEventWaitNode(node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, event: CudaHandle) {
        // An event's predecessors are complete when a graph runs.
        EVENTS.find(event)?;
        add(node, graph, behind, count, StreamCommand::Empty)
    }

    fn cuGraphAddChildGraphNode(node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, child: CudaHandle) {
        let commands = Arc::new(CudaGraph::find(child)?.commands()?);
        add(node, graph, behind, count, StreamCommand::Graph(commands))
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

    fn cuGraphDestroyNode(node: CudaHandle) {
        CudaGraph::of_node(node)?.remove(node)
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
        graph: CudaHandle, from: CudaOutput<CudaHandle>, to: CudaOutput<CudaHandle>, data: CudaOutput<[u8; 8]>, count: CudaOutput<usize>,
    ) {
        edges(graph, from, to, count)?;
        let message = if from.is_null() { 0 } else { count.as_input().read()? };
        (0..message).for_each(|index| data.write_at(index, [0; 8]));
        Ok(())
    }

    fn cuGraphNodeGetDependencies(node: CudaHandle, nodes: CudaOutput<CudaHandle>, count: CudaOutput<usize>) {
        tell(&neighbours(node, true)?, nodes, count)
    }

    fn cuGraphNodeGetDependentNodes(node: CudaHandle, nodes: CudaOutput<CudaHandle>, count: CudaOutput<usize>) {
        tell(&neighbours(node, false)?, nodes, count)
    }

    fn cuGraphNodeGetType(node: CudaHandle, kind: CudaOutput<u32>) {
        kind.write(CudaGraph::of_node(node)?.command(node)?.node_type() as u32)
    }

    fn cuGraphKernelNodeSetParams(node: CudaHandle, params: CudaInput<CudaKernelParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphKernelNodeSetParams_v2(node: CudaHandle, params: CudaInput<CudaKernelParams2>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphMemcpyNodeSetParams(node: CudaHandle, params: CudaInput<Copy3d>) {
        set_in_graph(node, copy(params)?)
    }

    fn cuGraphMemsetNodeSetParams(node: CudaHandle, params: CudaInput<FillParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphHostNodeSetParams(node: CudaHandle, params: CudaInput<HostParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphInstantiate(
        executable: CudaOutput<CudaHandle>, graph: CudaHandle, node: CudaOutput<CudaHandle>, _log: CudaOutput<c_char>, _room: usize,
    ) {
        node.write_if(0);
        instantiate(executable, graph)
    }

    fn cuGraphInstantiate_v2(
        executable: CudaOutput<CudaHandle>, graph: CudaHandle, node: CudaOutput<CudaHandle>, _log: CudaOutput<c_char>, _room: usize,
    ) {
        node.write_if(0);
        instantiate(executable, graph)
    }

    fn cuGraphInstantiateWithFlags(executable: CudaOutput<CudaHandle>, graph: CudaHandle, flags: u64) {
        // The flags change nothing: freed memory, priorities and device launches have no effect here.
        ensure(flags & !15 == 0, CUDA_ERROR_INVALID_VALUE)?;
        ensure(flags & 4 == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        instantiate(executable, graph)
    }

    fn cuGraphInstantiateWithParams | cuGraphInstantiateWithParams_ptsz (
        executable: CudaOutput<CudaHandle>, graph: CudaHandle, params: CudaOutput<[u64; 4]>,
    ) {
        let [flags, stream, _, _] = params.as_input().read()?;
        ensure(flags & !15 == 0, CUDA_ERROR_INVALID_VALUE)?;
        ensure(flags & 4 == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        instantiate(executable, graph)?;
        params.write([flags, stream, 0, 0])
    }

    fn cuGraphExecDestroy(executable: CudaHandle) {
        EXECUTABLES.remove(executable).map(|_| ()).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    fn cuGraphExecGetFlags(executable: CudaHandle, flags: CudaOutput<u64>) {
        Executable::find(executable)?;
        flags.write(0)
    }

    fn cuGraphExecKernelNodeSetParams(executable: CudaHandle, node: CudaHandle, params: CudaInput<CudaKernelParams>) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecKernelNodeSetParams_v2(executable: CudaHandle, node: CudaHandle, params: CudaInput<CudaKernelParams2>) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecMemcpyNodeSetParams(executable: CudaHandle, node: CudaHandle, params: CudaInput<Copy3d>, _context: CudaHandle) {
        set(executable, node, copy(params)?)
    }

    fn cuGraphExecMemsetNodeSetParams(executable: CudaHandle, node: CudaHandle, params: CudaInput<FillParams>, _context: CudaHandle) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecHostNodeSetParams(executable: CudaHandle, node: CudaHandle, params: CudaInput<HostParams>) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecChildGraphNodeSetParams(executable: CudaHandle, node: CudaHandle, child: CudaHandle) {
        let commands = Arc::new(CudaGraph::find(child)?.commands()?);
        set(executable, node, StreamCommand::Graph(commands))
    }

    fn cuGraphExecEventRecordNodeSetEvent(executable: CudaHandle, node: CudaHandle, event: CudaHandle) {
        set(executable, node, StreamCommand::Record(EVENTS.find(event)?))
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

    fn cuGraphNodeSetEnabled(executable: CudaHandle, node: CudaHandle, is_enabled: u32) {
        NODES.find(node).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        Executable::find(executable)?.enable(node, is_enabled != 0)
    }

    fn cuGraphNodeGetEnabled(executable: CudaHandle, node: CudaHandle, is_enabled: CudaOutput<u32>) {
        is_enabled.write(Executable::find(executable)?.is_enabled(node)?.into())
    }

    fn cuGraphUpload | cuGraphUpload_ptsz (executable: CudaHandle, stream: CudaHandle) {
        Executable::find(executable)?;
        CudaStream::find(stream).map(|_| ())
    }

    fn cuGraphLaunch | cuGraphLaunch_ptsz (executable: CudaHandle, stream: CudaHandle) {
        let executable = Executable::find(executable)?;
        let commands = Arc::new(executable.commands());
        CudaStream::find(stream)?.submit(StreamCommand::Graph(commands))
    }
}
