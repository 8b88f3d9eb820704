//! Nodes of graphs: added, read and changed.

use super::launch::prepare;
use super::module::function;
use super::pointer::{CudaInput, CudaOutput};
use super::stream_memory::{memory_operations, operation_words};
use super::transfer::Copy3d;
use crate::core::command::{CopyDescription, HostCall, KernelCommand, StreamCommand, StreamWait};
use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::event::EVENTS;
use crate::core::graph::{CudaGraph, Executable, NODES};
use crate::core::graph_memory::GraphMemory;
use crate::core::launch::LaunchSize;
use crate::core::launch_attributes::{AttributeValue, LaunchAttributes};
use crate::core::memory::MemoryFill;
use crate::cuda::*;
use std::ffi::c_void;
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
        Ok(StreamCommand::Launch(Box::new(KernelCommand::new(launch, LaunchAttributes::default())?)))
    }

    /// Returns the parameters of a node, which owns those of the kernel.
    fn of(node: CudaHandle) -> CudaResult<CudaKernelParams> {
        let graph = CudaGraph::of_node(node)?;
        let launch = graph.kernel(node)?.launch;
        let LaunchSize { grid, block, shared } = launch.size;
        let each = graph.show_parameters(node)?;
        Ok(CudaKernelParams { function: launch.function.handle, grid, block, shared, each, extra: 0 })
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

    /// Returns the parameters of a fill.
    fn of(fill: &MemoryFill) -> FillParams {
        let MemoryFill { start, pitch, value, size, width, height } = *fill;
        FillParams { start, pitch, value, size: size as u32, width, height }
    }
}

impl HostParams {
    fn command(&self) -> CudaResult<StreamCommand> {
        let function = self.function.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        Ok(StreamCommand::Host(HostCall { function, data: self.data as usize }))
    }
}

/// `CUDA_BATCH_MEM_OP_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BatchParams {
    context: CudaHandle,
    count: u32,
    operations: u64,
    flags: u32,
}

impl BatchParams {
    fn command(&self) -> CudaResult<StreamCommand> {
        memory_operations(CudaInput::at(self.operations), self.count, self.flags)
    }
}

/// Returns the wait for an event.
fn wait_for(event: CudaHandle) -> CudaResult<StreamCommand> {
    Ok(StreamCommand::Wait(StreamWait::Event(EVENTS.find(event)?)))
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

fn set(executable: CudaHandle, node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
    Executable::find(executable)?.set_command(node, command)
}

fn set_in_graph(node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
    CudaGraph::of_node(node)?.set_command(node, command)
}

entries! {
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
        add(node, graph, behind, count, params.read()?.command()?)
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
        add(node, graph, behind, count, wait_for(event)?)
    }

    fn cuGraphAddChildGraphNode(node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, child: CudaHandle) {
        let contents = Arc::new(CudaGraph::find(child)?.snapshot()?);
        add(node, graph, behind, count, StreamCommand::Graph(contents))
    }

    fn cuGraphDestroyNode(node: CudaHandle) {
        CudaGraph::of_node(node)?.remove(node)
    }

    fn cuGraphNodeGetType(node: CudaHandle, kind: CudaOutput<u32>) {
        kind.write(CudaGraph::of_node(node)?.command(node)?.node_type())
    }

    fn cuGraphKernelNodeSetParams(node: CudaHandle, params: CudaInput<CudaKernelParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphKernelNodeSetParams_v2(node: CudaHandle, params: CudaInput<CudaKernelParams2>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphMemcpyNodeSetParams(node: CudaHandle, params: CudaInput<Copy3d>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphMemsetNodeSetParams(node: CudaHandle, params: CudaInput<FillParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphHostNodeSetParams(node: CudaHandle, params: CudaInput<HostParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphExecKernelNodeSetParams(executable: CudaHandle, node: CudaHandle, params: CudaInput<CudaKernelParams>) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecKernelNodeSetParams_v2(executable: CudaHandle, node: CudaHandle, params: CudaInput<CudaKernelParams2>) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecMemcpyNodeSetParams(executable: CudaHandle, node: CudaHandle, params: CudaInput<Copy3d>, _context: CudaHandle) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecMemsetNodeSetParams(executable: CudaHandle, node: CudaHandle, params: CudaInput<FillParams>, _context: CudaHandle) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecHostNodeSetParams(executable: CudaHandle, node: CudaHandle, params: CudaInput<HostParams>) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecChildGraphNodeSetParams(executable: CudaHandle, node: CudaHandle, child: CudaHandle) {
        let contents = Arc::new(CudaGraph::find(child)?.snapshot()?);
        set(executable, node, StreamCommand::Graph(contents))
    }

    fn cuGraphExecEventRecordNodeSetEvent(executable: CudaHandle, node: CudaHandle, event: CudaHandle) {
        set(executable, node, StreamCommand::Record(EVENTS.find(event)?))
    }

    fn cuGraphNodeSetEnabled(executable: CudaHandle, node: CudaHandle, is_enabled: u32) {
        NODES.find(node).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        Executable::find(executable)?.enable(node, is_enabled != 0)
    }

    fn cuGraphNodeGetEnabled(executable: CudaHandle, node: CudaHandle, is_enabled: CudaOutput<u32>) {
        is_enabled.write(Executable::find(executable)?.is_enabled(node)?.into())
    }

    fn cuGraphKernelNodeGetParams(node: CudaHandle, params: CudaOutput<CudaKernelParams>) {
        params.write(CudaKernelParams::of(node)?)
    }

    fn cuGraphKernelNodeGetParams_v2(node: CudaHandle, params: CudaOutput<CudaKernelParams2>) {
        let context = context::current_handle();
        params.write(CudaKernelParams2 { old: CudaKernelParams::of(node)?, kernel: 0, context })
    }

    fn cuGraphKernelNodeGetAttribute(node: CudaHandle, id: u32, value: CudaOutput<AttributeValue>) {
        value.write(CudaGraph::of_node(node)?.kernel(node)?.attribute(id)?)
    }

    fn cuGraphKernelNodeSetAttribute(node: CudaHandle, id: u32, value: CudaInput<AttributeValue>) {
        CudaGraph::of_node(node)?.set_attribute(node, id, value.read()?)
    }

    fn cuGraphKernelNodeCopyAttributes(to: CudaHandle, from: CudaHandle) {
        let from = CudaGraph::of_node(from)?.kernel(from)?;
        CudaGraph::of_node(to)?.copy_attributes(to, &from)
    }

    fn cuGraphMemcpyNodeGetParams(node: CudaHandle, params: CudaOutput<CopyDescription>) {
        match CudaGraph::of_node(node)?.command(node)? {
            StreamCommand::Copy(copy) => params.write(copy.description),
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn cuGraphMemsetNodeGetParams(node: CudaHandle, params: CudaOutput<FillParams>) {
        match CudaGraph::of_node(node)?.command(node)? {
            StreamCommand::Fill(fill) => params.write(FillParams::of(&fill)),
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn cuGraphHostNodeGetParams(node: CudaHandle, params: CudaOutput<HostParams>) {
        match CudaGraph::of_node(node)?.command(node)? {
            StreamCommand::Host(HostCall { function, data }) => {
                params.write(HostParams { function: Some(function), data: data as u64 })
            }
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn cuGraphChildGraphNodeGetGraph(node: CudaHandle, graph: CudaOutput<CudaHandle>) {
        graph.ensure()?;
        graph.write(CudaGraph::of_node(node)?.embedded(node)?)
    }

    fn cuGraphEventRecordNodeGetEvent(node: CudaHandle, event: CudaOutput<CudaHandle>) {
        match CudaGraph::of_node(node)?.command(node)? {
            StreamCommand::Record(recorded) => event.write(recorded.handle),
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn cuGraphEventRecordNodeSetEvent(node: CudaHandle, event: CudaHandle) {
        set_in_graph(node, StreamCommand::Record(EVENTS.find(event)?))
    }

    fn cuGraphEventWaitNodeGetEvent(node: CudaHandle, event: CudaOutput<CudaHandle>) {
        match CudaGraph::of_node(node)?.command(node)? {
            StreamCommand::Wait(StreamWait::Event(awaited)) => event.write(awaited.handle),
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn cuGraphEventWaitNodeSetEvent(node: CudaHandle, event: CudaHandle) {
        set_in_graph(node, wait_for(event)?)
    }

    fn cuGraphExecEventWaitNodeSetEvent(executable: CudaHandle, node: CudaHandle, event: CudaHandle) {
        set(executable, node, wait_for(event)?)
    }

    fn cuGraphAddBatchMemOpNode(
        node: CudaOutput<CudaHandle>, graph: CudaHandle, behind: CudaInput<CudaHandle>, count: usize, params: CudaInput<BatchParams>,
    ) {
        add(node, graph, behind, count, params.read()?.command()?)
    }

    fn cuGraphBatchMemOpNodeGetParams(node: CudaHandle, params: CudaOutput<BatchParams>) {
        let graph = CudaGraph::of_node(node)?;
        let words = operation_words(&graph.command(node)?)?;
        let count = words.len() as u32;
        let operations = graph.keep_list(words.concat());
        params.write(BatchParams { context: context::current_handle(), count, operations, flags: 0 })
    }

    fn cuGraphBatchMemOpNodeSetParams(node: CudaHandle, params: CudaInput<BatchParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphExecBatchMemOpNodeSetParams(executable: CudaHandle, node: CudaHandle, params: CudaInput<BatchParams>) {
        set(executable, node, params.read()?.command()?)
    }
}
