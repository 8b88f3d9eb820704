//! Graphs: made node by node or captured, and launched.

use super::launch::prepare;
use super::module::function;
use super::pointer::{In, Out};
use super::transfer::Copy3d;
use crate::core::context;
use crate::core::error::{Answer, Error, ensure};
use crate::core::event::EVENTS;
use crate::core::graph::{Command, EXECUTABLES, Executable, Graph, HostCall, NODES};
use crate::core::launch::Size;
use crate::core::memory::Fill;
use crate::core::stream::Stream;
use crate::cuda::*;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// `CUDA_KERNEL_NODE_PARAMS`; the newer form has two more fields, of which the first is a kernel instead of a function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelParams {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    each: u64,
    extra: u64,
}

/// The newer form.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelParams2 {
    old: KernelParams,
    kernel: Handle,
    context: Handle,
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

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostParams {
    function: Option<extern "C" fn(*mut c_void)>,
    data: u64,
}

impl KernelParams {
    fn command(&self) -> Answer<Command> {
        let size = Size { grid: self.grid, block: self.block, shared: self.shared };
        let launch = prepare(function(self.function)?, size, In::at(self.each), In::at(self.extra))?;
        Ok(Command::Launch(Box::new(launch)))
    }
}

impl KernelParams2 {
    fn command(&self) -> Answer<Command> {
        let function = if self.old.function == 0 { self.kernel } else { self.old.function };
        KernelParams { function, ..self.old }.command()
    }
}

impl FillParams {
    fn command(&self) -> Answer<Command> {
        let fill = Fill {
            start: self.start,
            pitch: self.pitch,
            value: self.value,
            size: self.size as usize,
            width: self.width,
            height: self.height,
        };
        fill.check()?;
        Ok(Command::Fill(fill))
    }
}

impl HostParams {
    fn command(&self) -> Answer<Command> {
        let function = self.function.ok_or(Error(CUDA_ERROR_INVALID_VALUE))?;
        Ok(Command::Host(HostCall { function, data: self.data as usize }))
    }
}

fn copy(copy: In<Copy3d>) -> Answer<Command> {
    let copy = copy.read()?.copy()?;
    copy.check()?;
    Ok(Command::Copy(Box::new(copy)))
}

fn add(node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize, command: Command) -> Answer<()> {
    node.ensure()?;
    node.write(Graph::find(graph)?.add(command, &behind.list(count)?)?)
}

/// Writes a list, or only how long it is; what there is more room for is null.
fn tell(list: &[Handle], places: Out<Handle>, count: Out<usize>) -> Answer<()> {
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

fn edges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) -> Answer<()> {
    let edges = Graph::find(graph)?.edges();
    let (first, last): (Vec<Handle>, Vec<Handle>) = edges.into_iter().unzip();
    ensure(from.is_null() == to.is_null(), CUDA_ERROR_INVALID_VALUE)?;
    if !from.is_null() {
        let room = count.as_input().read()?;
        for index in 0..room {
            from.write_at(index, first.get(index).copied().unwrap_or(0));
        }
    }
    tell(&last, to, count)
}

fn neighbours(node: Handle, are_before: bool) -> Answer<Vec<Handle>> {
    let edges = Graph::of_node(node)?.edges();
    let of = |(from, to): (Handle, Handle)| match are_before {
        true => (to == node).then_some(from),
        false => (from == node).then_some(to),
    };
    Ok(edges.into_iter().filter_map(of).collect())
}

fn instantiate(executable: Out<Handle>, graph: Handle) -> Answer<()> {
    context::current()?;
    executable.ensure()?;
    executable.write(Graph::find(graph)?.instantiate()?)
}

fn set(executable: Handle, node: Handle, command: Command) -> Answer<()> {
    Executable::find(executable)?.set_command(node, command)
}

fn set_in_graph(node: Handle, command: Command) -> Answer<()> {
    Graph::of_node(node)?.set_command(node, command)
}

entries! {
    fn cuGraphCreate(graph: Out<Handle>, flags: u32) {
        context::ensure_initialized()?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        graph.ensure()?;
        graph.write(Graph::create())
    }

    fn cuGraphDestroy(graph: Handle) {
        Graph::destroy(graph)
    }

    fn cuGraphClone(copy: Out<Handle>, graph: Handle) {
        copy.ensure()?;
        copy.write(Graph::find(graph)?.copy()?)
    }

    fn cuGraphAddKernelNode(
        node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize, params: In<KernelParams>,
    ) {
        add(node, graph, behind, count, params.read()?.command()?)
    }

    fn cuGraphAddKernelNode_v2(
        node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize, params: In<KernelParams2>,
    ) {
        add(node, graph, behind, count, params.read()?.command()?)
    }

    fn cuGraphAddMemcpyNode(
        node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize, params: In<Copy3d>, _context: Handle,
    ) {
        add(node, graph, behind, count, copy(params)?)
    }

    fn cuGraphAddMemsetNode(
        node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize, params: In<FillParams>, _context: Handle,
    ) {
        add(node, graph, behind, count, params.read()?.command()?)
    }

    fn cuGraphAddHostNode(
        node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize, params: In<HostParams>,
    ) {
        add(node, graph, behind, count, params.read()?.command()?)
    }

    fn cuGraphAddEmptyNode(node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize) {
        add(node, graph, behind, count, Command::Empty)
    }

    fn cuGraphAddEventRecordNode(
        node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize, event: Handle,
    ) {
        add(node, graph, behind, count, Command::Record(EVENTS.find(event)?))
    }

    fn cuGraphAddEventWaitNode(node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize, event: Handle) {
        // What an event stands behind is done when a graph runs.
        EVENTS.find(event)?;
        add(node, graph, behind, count, Command::Empty)
    }

    fn cuGraphAddChildGraphNode(node: Out<Handle>, graph: Handle, behind: In<Handle>, count: usize, child: Handle) {
        let commands = Arc::new(Graph::find(child)?.commands()?);
        add(node, graph, behind, count, Command::Graph(commands))
    }

    fn cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        Graph::find(graph)?.depend(&from.list(count)?, &to.list(count)?, true)
    }

    fn cuGraphAddDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _edges: In<c_void>, count: usize,
    ) {
        Graph::find(graph)?.depend(&from.list(count)?, &to.list(count)?, true)
    }

    fn cuGraphRemoveDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        Graph::find(graph)?.depend(&from.list(count)?, &to.list(count)?, false)
    }

    fn cuGraphRemoveDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _edges: In<c_void>, count: usize,
    ) {
        Graph::find(graph)?.depend(&from.list(count)?, &to.list(count)?, false)
    }

    fn cuGraphDestroyNode(node: Handle) {
        Graph::of_node(node)?.remove(node)
    }

    fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        tell(&Graph::find(graph)?.nodes(false), nodes, count)
    }

    fn cuGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        tell(&Graph::find(graph)?.nodes(true), nodes, count)
    }

    fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        edges(graph, from, to, count)
    }

    fn cuGraphGetEdges_v2(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, data: Out<[u8; 8]>, count: Out<usize>,
    ) {
        edges(graph, from, to, count)?;
        let told = if from.is_null() { 0 } else { count.as_input().read()? };
        (0..told).for_each(|index| data.write_at(index, [0; 8]));
        Ok(())
    }

    fn cuGraphNodeGetDependencies(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        tell(&neighbours(node, true)?, nodes, count)
    }

    fn cuGraphNodeGetDependentNodes(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        tell(&neighbours(node, false)?, nodes, count)
    }

    fn cuGraphNodeGetType(node: Handle, kind: Out<u32>) {
        kind.write(Graph::of_node(node)?.command(node)?.node_type())
    }

    fn cuGraphKernelNodeSetParams(node: Handle, params: In<KernelParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphKernelNodeSetParams_v2(node: Handle, params: In<KernelParams2>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphMemcpyNodeSetParams(node: Handle, params: In<Copy3d>) {
        set_in_graph(node, copy(params)?)
    }

    fn cuGraphMemsetNodeSetParams(node: Handle, params: In<FillParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphHostNodeSetParams(node: Handle, params: In<HostParams>) {
        set_in_graph(node, params.read()?.command()?)
    }

    fn cuGraphInstantiate(
        executable: Out<Handle>, graph: Handle, node: Out<Handle>, _log: Out<c_char>, _room: usize,
    ) {
        node.write_if(0);
        instantiate(executable, graph)
    }

    fn cuGraphInstantiate_v2(
        executable: Out<Handle>, graph: Handle, node: Out<Handle>, _log: Out<c_char>, _room: usize,
    ) {
        node.write_if(0);
        instantiate(executable, graph)
    }

    fn cuGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, flags: u64) {
        // Memory is freed when it is launched, priorities are kept nowhere; a device cannot launch by itself.
        ensure(flags & !15 == 0, CUDA_ERROR_INVALID_VALUE)?;
        ensure(flags & 4 == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        instantiate(executable, graph)
    }

    fn cuGraphInstantiateWithParams | cuGraphInstantiateWithParams_ptsz (
        executable: Out<Handle>, graph: Handle, params: Out<[u64; 4]>,
    ) {
        let [flags, stream, _, _] = params.as_input().read()?;
        ensure(flags & !15 == 0, CUDA_ERROR_INVALID_VALUE)?;
        ensure(flags & 4 == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        instantiate(executable, graph)?;
        params.write([flags, stream, 0, 0])
    }

    fn cuGraphExecDestroy(executable: Handle) {
        EXECUTABLES.remove(executable).map(|_| ()).map_err(|_| Error(CUDA_ERROR_INVALID_VALUE))
    }

    fn cuGraphExecGetFlags(executable: Handle, flags: Out<u64>) {
        Executable::find(executable)?;
        flags.write(0)
    }

    fn cuGraphExecKernelNodeSetParams(executable: Handle, node: Handle, params: In<KernelParams>) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecKernelNodeSetParams_v2(executable: Handle, node: Handle, params: In<KernelParams2>) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, params: In<Copy3d>, _context: Handle) {
        set(executable, node, copy(params)?)
    }

    fn cuGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, params: In<FillParams>, _context: Handle) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecHostNodeSetParams(executable: Handle, node: Handle, params: In<HostParams>) {
        set(executable, node, params.read()?.command()?)
    }

    fn cuGraphExecChildGraphNodeSetParams(executable: Handle, node: Handle, child: Handle) {
        let commands = Arc::new(Graph::find(child)?.commands()?);
        set(executable, node, Command::Graph(commands))
    }

    fn cuGraphExecEventRecordNodeSetEvent(executable: Handle, node: Handle, event: Handle) {
        set(executable, node, Command::Record(EVENTS.find(event)?))
    }

    fn cuGraphExecUpdate(executable: Handle, graph: Handle, node: Out<Handle>, result: Out<u32>) {
        let done = Executable::find(executable)?.update(&*Graph::find(graph)?);
        node.write_if(0);
        result.write_if(done.is_err().into());
        done
    }

    fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, told: Out<[u64; 3]>) {
        let done = Executable::find(executable)?.update(&*Graph::find(graph)?);
        told.write_if([done.is_err().into(), 0, 0]);
        done
    }

    fn cuGraphNodeSetEnabled(executable: Handle, node: Handle, is_enabled: u32) {
        NODES.find(node).map_err(|_| Error(CUDA_ERROR_INVALID_VALUE))?;
        Executable::find(executable)?.enable(node, is_enabled != 0)
    }

    fn cuGraphNodeGetEnabled(executable: Handle, node: Handle, is_enabled: Out<u32>) {
        is_enabled.write(Executable::find(executable)?.is_enabled(node)?.into())
    }

    fn cuGraphUpload | cuGraphUpload_ptsz (executable: Handle, stream: Handle) {
        Executable::find(executable)?;
        Stream::find(stream).map(|_| ())
    }

    fn cuGraphLaunch | cuGraphLaunch_ptsz (executable: Handle, stream: Handle) {
        let executable = Executable::find(executable)?;
        let commands = Arc::new(executable.commands());
        Stream::find(stream)?.submit(Command::Graph(commands))
    }
}
