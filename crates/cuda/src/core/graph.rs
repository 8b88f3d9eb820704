//! Graphs: recorded commands and their execution order.

use crate::attributes::GraphNodeType;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::event::{CudaEvent, EventPosition};
use crate::core::graph_memory::GraphMemory;
use crate::core::launch::CudaLaunch;
use crate::core::memory::{self, AllocationKind, MemoryCopy, MemoryFill};
use crate::core::registry::HandleTable;
use crate::core::stream::call_back;
use crate::cuda::*;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Host function called by a stream, and its user data.
#[derive(Clone, Copy, Debug)]
pub struct HostCall {
    /// The function.
    pub function: extern "C" fn(*mut c_void),
    /// Its argument, as a number.
    pub data: usize,
}

/// Command of a stream or graph node.
#[derive(Clone, Debug)]
pub enum StreamCommand {
    /// Runs a kernel.
    Launch(Box<CudaLaunch>),
    /// Copies memory.
    Copy(Box<MemoryCopy>),
    /// Fills memory.
    Fill(MemoryFill),
    /// Calls the application.
    Host(HostCall),
    /// Records an event.
    Record(Arc<CudaEvent>),
    /// Runs a child graph, copied when the node was added.
    Graph(Arc<Vec<StreamCommand>>),
    /// Allocates memory of a graph.
    Allocate(Arc<GraphMemory>),
    /// Frees memory of a pool or a graph.
    Free(CUdeviceptr),
    /// No operation; orders its successors after its predecessors.
    Empty,
}

impl StreamCommand {
    /// Returns the kind of the command's node.
    pub fn node_type(&self) -> GraphNodeType {
        match self {
            StreamCommand::Launch(_) => GraphNodeType::Kernel,
            StreamCommand::Copy(_) => GraphNodeType::Memcpy,
            StreamCommand::Fill(_) => GraphNodeType::Memset,
            StreamCommand::Host(_) => GraphNodeType::Host,
            StreamCommand::Graph(_) => GraphNodeType::Graph,
            StreamCommand::Empty => GraphNodeType::Empty,
            StreamCommand::Record(_) => GraphNodeType::EventRecord,
            StreamCommand::Allocate(_) => GraphNodeType::MemAlloc,
            StreamCommand::Free(_) => GraphNodeType::MemFree,
        }
    }

    /// Executes the command.
    pub fn run(&self) -> CudaResult<()> {
        // Graphs in graphs, innermost last: they are no deeper than the calls that made them, but a list is no recursion.
        let mut work = vec![std::slice::from_ref(self).iter()];
        while let Some(commands) = work.last_mut() {
            match commands.next() {
                None => _ = work.pop(),
                Some(StreamCommand::Graph(inner)) => work.push(inner.iter()),
                Some(command) => command.run_one()?,
            }
        }
        Ok(())
    }

    fn run_one(&self) -> CudaResult<()> {
        match self {
            StreamCommand::Launch(launch) => launch.run(),
            StreamCommand::Copy(copy) => copy.run(),
            StreamCommand::Fill(fill) => fill.run(),
            StreamCommand::Host(call) => {
                call_back(|| (call.function)(std::ptr::with_exposed_provenance_mut(call.data)));
                Ok(())
            }
            StreamCommand::Record(event) => {
                event.put(EventPosition::Passed(Instant::now()));
                Ok(())
            }
            StreamCommand::Allocate(memory) => memory.begin_use(),
            StreamCommand::Free(start) => memory::free(*start, |kind| {
                matches!(
                    kind,
                    AllocationKind::Pool(_) | AllocationKind::Device | AllocationKind::Graph { .. }
                )
            }),
            StreamCommand::Graph(_) | StreamCommand::Empty => Ok(()),
        }
    }
}

#[derive(Clone, Debug)]
struct GraphNode {
    handle: CudaHandle,
    command: StreamCommand,
    behind: Vec<CudaHandle>,
    is_enabled: bool,
}

/// Graph.
#[derive(Debug)]
pub struct CudaGraph {
    /// Its handle.
    pub handle: CudaHandle,
    nodes: Mutex<Vec<GraphNode>>,
    /// Predecessor lists of captured events.
    marks: Mutex<Vec<Vec<CudaHandle>>>,
    /// Lists returned to the application, valid while the graph exists.
    message: Mutex<Vec<Box<[CudaHandle]>>>,
}

/// Executable graph.
#[derive(Debug)]
pub struct Executable {
    /// Nodes in topological order.
    nodes: Mutex<Vec<GraphNode>>,
}

/// All graphs.
pub static GRAPHS: HandleTable<CudaGraph> = HandleTable::new();
/// All graphs that can be launched.
pub static EXECUTABLES: HandleTable<Executable> = HandleTable::new();
/// Graph of each node.
pub static NODES: HandleTable<CudaHandle> = HandleTable::new();

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CudaGraph {
    /// Creates an empty graph.
    pub fn create() -> CudaHandle {
        let make = |handle| {
            Arc::new(CudaGraph {
                handle,
                nodes: Mutex::default(),
                marks: Mutex::default(),
                message: Mutex::default(),
            })
        };
        GRAPHS.publish_with(make).0
    }

    /// Looks up the graph of a handle.
    pub fn find(handle: CudaHandle) -> CudaResult<Arc<CudaGraph>> {
        GRAPHS.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Returns the graph of a node.
    pub fn of_node(node: CudaHandle) -> CudaResult<Arc<CudaGraph>> {
        CudaGraph::find(*NODES.find(node).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?)
    }

    /// Destroys a graph and its nodes.
    pub fn destroy(handle: CudaHandle) -> CudaResult<()> {
        let graph = GRAPHS.remove(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        for node in lock(&graph.nodes).iter() {
            // Nodes of a live graph have handles.
            let _ = NODES.remove(node.handle);
        }
        Ok(())
    }

    /// Adds a node after the given predecessors.
    pub fn add(&self, command: StreamCommand, behind: &[CudaHandle]) -> CudaResult<CudaHandle> {
        let mut nodes = lock(&self.nodes);
        self.ensure_own(behind)?;
        let handle = NODES.publish(Arc::new(self.handle));
        nodes.push(GraphNode { handle, command, behind: behind.to_vec(), is_enabled: true });
        Ok(handle)
    }

    fn ensure_own(&self, nodes: &[CudaHandle]) -> CudaResult<()> {
        let is_own = |&node: &CudaHandle| NODES.find(node).is_ok_and(|graph| *graph == self.handle);
        ensure(nodes.iter().all(is_own), CUDA_ERROR_INVALID_VALUE)
    }

    /// Stores a predecessor list for an event.
    pub fn keep(&self, nodes: &[CudaHandle]) -> usize {
        let mut marks = lock(&self.marks);
        marks.push(nodes.to_vec());
        marks.len() - 1
    }

    /// Returns a stored predecessor list.
    pub fn kept(&self, mark: usize) -> Vec<CudaHandle> {
        lock(&self.marks).get(mark).cloned().unwrap_or_default()
    }

    /// Stores a list for the application and returns its address.
    pub fn keep_node_list(&self, nodes: Vec<CudaHandle>) -> u64 {
        let list = nodes.into_boxed_slice();
        let address = list.as_ptr().expose_provenance() as u64;
        lock(&self.message).push(list);
        address
    }

    /// Adds or removes edges, pair by pair.
    pub fn depend(&self, from: &[CudaHandle], to: &[CudaHandle], adds: bool) -> CudaResult<()> {
        let mut nodes = lock(&self.nodes);
        self.ensure_own(from)?;
        self.ensure_own(to)?;
        let places: FxHashMap<CudaHandle, usize> =
            nodes.iter().enumerate().map(|(place, node)| (node.handle, place)).collect();
        for (&from, to) in from.iter().zip(to) {
            let place = places.get(to).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
            let behind = &mut nodes[*place].behind;
            ensure(behind.contains(&from) != adds, CUDA_ERROR_INVALID_VALUE)?;
            if adds {
                behind.push(from);
            } else {
                behind.retain(|&other| other != from);
            }
        }
        Ok(())
    }

    /// Removes a node.
    pub fn remove(&self, node: CudaHandle) -> CudaResult<()> {
        NODES.remove(node).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let mut nodes = lock(&self.nodes);
        nodes.retain(|other| other.handle != node);
        nodes.iter_mut().for_each(|other| other.behind.retain(|&before| before != node));
        Ok(())
    }

    /// Returns the nodes in insertion order, or only the roots.
    pub fn nodes(&self, roots_only: bool) -> Vec<CudaHandle> {
        let nodes = lock(&self.nodes);
        nodes.iter().filter(|node| !roots_only || node.behind.is_empty()).map(|node| node.handle).collect()
    }

    /// Returns the edges as (from, to).
    pub fn edges(&self) -> Vec<(CudaHandle, CudaHandle)> {
        let nodes = lock(&self.nodes);
        nodes.iter().flat_map(|node| node.behind.iter().map(|&before| (before, node.handle))).collect()
    }

    /// Returns a node's command.
    pub fn command(&self, node: CudaHandle) -> CudaResult<StreamCommand> {
        let nodes = lock(&self.nodes);
        let found = nodes.iter().find(|other| other.handle == node);
        found.map(|node| node.command.clone()).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Replaces a node's command by one of the same type.
    pub fn set_command(&self, node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
        set_command(&mut lock(&self.nodes), node, command)
    }

    /// True if each node of `from` reaches one of `to`.
    pub fn leads_to(&self, from: &[CudaHandle], to: &[CudaHandle]) -> bool {
        let nodes = lock(&self.nodes);
        let behind: FxHashMap<CudaHandle, &[CudaHandle]> =
            nodes.iter().map(|node| (node.handle, &*node.behind)).collect();
        let mut seen: rustc_hash::FxHashSet<CudaHandle> = rustc_hash::FxHashSet::default();
        let mut work = to.to_vec();
        while let Some(node) = work.pop() {
            if seen.insert(node) {
                work.extend(behind.get(&node).copied().unwrap_or_default());
            }
        }
        from.iter().all(|node| seen.contains(node))
    }

    /// Clones the graph.
    pub fn copy(&self) -> CudaResult<CudaHandle> {
        let copy = CudaGraph::find(CudaGraph::create())?;
        let mut became: FxHashMap<CudaHandle, CudaHandle> = FxHashMap::default();
        for node in self.sorted()? {
            let behind: Vec<CudaHandle> =
                node.behind.iter().filter_map(|old| became.get(old).copied()).collect();
            became.insert(node.handle, copy.add(node.command, &behind)?);
        }
        Ok(copy.handle)
    }

    /// Returns the commands in execution order.
    pub fn commands(&self) -> CudaResult<Vec<StreamCommand>> {
        Ok(self.sorted()?.into_iter().map(|node| node.command).collect())
    }

    /// Sorts the nodes topologically; a cycle is an error.
    fn sorted(&self) -> CudaResult<Vec<GraphNode>> {
        let nodes = lock(&self.nodes);
        let places: FxHashMap<CudaHandle, usize> =
            nodes.iter().enumerate().map(|(place, node)| (node.handle, place)).collect();
        let mut waits: Vec<usize> = vec![0; nodes.len()];
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (place, node) in nodes.iter().enumerate() {
            for before in node.behind.iter().filter_map(|before| places.get(before)) {
                waits[place] += 1;
                next[*before].push(place);
            }
        }
        let mut ready: VecDeque<usize> = (0..nodes.len()).filter(|&place| waits[place] == 0).collect();
        let mut sorted = Vec::with_capacity(nodes.len());
        while let Some(place) = ready.pop_front() {
            sorted.push(nodes[place].clone());
            for &after in &next[place] {
                waits[after] -= 1;
                if waits[after] == 0 {
                    ready.push_back(after);
                }
            }
        }
        ensure(sorted.len() == nodes.len(), CUDA_ERROR_INVALID_VALUE)?;
        Ok(sorted)
    }

    /// Instantiates the graph in its current state.
    pub fn instantiate(&self) -> CudaResult<CudaHandle> {
        let nodes = Mutex::new(self.sorted()?);
        Ok(EXECUTABLES.publish(Arc::new(Executable { nodes })))
    }
}

fn set_command(nodes: &mut [GraphNode], node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
    let found = nodes.iter_mut().find(|other| other.handle == node);
    let node = found.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
    ensure(node.command.node_type() == command.node_type(), CUDA_ERROR_INVALID_VALUE)?;
    node.command = command;
    Ok(())
}

impl Executable {
    /// Looks up the executable graph of a handle.
    pub fn find(handle: CudaHandle) -> CudaResult<Arc<Executable>> {
        EXECUTABLES.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Runs all nodes.
    pub fn run(&self) -> CudaResult<()> {
        let nodes = lock(&self.nodes).clone();
        nodes.iter().filter(|node| node.is_enabled).try_for_each(|node| node.command.run())
    }

    /// Returns the commands in execution order.
    pub fn commands(&self) -> Vec<StreamCommand> {
        lock(&self.nodes).iter().filter(|node| node.is_enabled).map(|node| node.command.clone()).collect()
    }

    /// Returns a node's command.
    pub fn command(&self, node: CudaHandle) -> CudaResult<StreamCommand> {
        let nodes = lock(&self.nodes);
        let found = nodes.iter().find(|other| other.handle == node);
        found.map(|node| node.command.clone()).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Replaces a node's command by one of the same type.
    pub fn set_command(&self, node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
        set_command(&mut lock(&self.nodes), node, command)
    }

    /// True if a node is enabled.
    pub fn is_enabled(&self, node: CudaHandle) -> CudaResult<bool> {
        let nodes = lock(&self.nodes);
        let found = nodes.iter().find(|other| other.handle == node);
        found.map(|node| node.is_enabled).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Enables or disables a node.
    pub fn enable(&self, node: CudaHandle, is_enabled: bool) -> CudaResult<()> {
        let mut nodes = lock(&self.nodes);
        let found = nodes.iter_mut().find(|other| other.handle == node);
        found.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?.is_enabled = is_enabled;
        Ok(())
    }

    /// Updates the commands from a graph with the same topology.
    pub fn update(&self, graph: &CudaGraph) -> CudaResult<()> {
        let fresh = graph.sorted()?;
        let mut nodes = lock(&self.nodes);
        let alike = fresh.len() == nodes.len()
            && fresh.iter().zip(&*nodes).all(|(a, b)| {
                a.command.node_type() == b.command.node_type() && a.behind.len() == b.behind.len()
            });
        ensure(alike, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)?;
        for (node, fresh) in nodes.iter_mut().zip(fresh) {
            node.command = fresh.command;
        }
        Ok(())
    }
}
