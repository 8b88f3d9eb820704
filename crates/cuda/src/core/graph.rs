//! Graphs: commands that are kept, and the order in which they run.

use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::event::{CudaEvent, EventPosition};
use crate::core::launch::CudaLaunch;
use crate::core::memory::{self, AllocationKind, Copy, MemoryFill};
use crate::core::registry::HandleTable;
use crate::core::stream::call_back;
use crate::cuda::*;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A function of the application that a stream calls, and what it wants to have back.
#[derive(Clone, Copy, Debug)]
pub struct HostCall {
    /// The function.
    pub function: extern "C" fn(*mut c_void),
    /// Its argument, as a number.
    pub data: usize,
}

/// What a stream or a node does.
#[derive(Clone, Debug)]
pub enum StreamCommand {
    /// Runs a kernel.
    Launch(Box<CudaLaunch>),
    /// Copies memory.
    Copy(Box<Copy>),
    /// Fills memory.
    Fill(MemoryFill),
    /// Calls the application.
    Host(HostCall),
    /// Puts an event where it has come to.
    Record(Arc<CudaEvent>),
    /// Runs a graph as it was when it was put in.
    Graph(Arc<Vec<StreamCommand>>),
    /// Frees memory of a pool.
    Free(CUdeviceptr),
    /// Nothing; what is behind it waits for what is before it.
    Empty,
}

impl StreamCommand {
    /// The number that `cuda.h` has for such a node.
    pub fn node_type(&self) -> u32 {
        match self {
            StreamCommand::Launch(_) => 0,
            StreamCommand::Copy(_) => 1,
            StreamCommand::Fill(_) => 2,
            StreamCommand::Host(_) => 3,
            StreamCommand::Graph(_) => 4,
            StreamCommand::Empty => 5,
            StreamCommand::Record(_) => 7,
            StreamCommand::Free(_) => 11,
        }
    }

    /// Does it.
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
            StreamCommand::Free(start) => {
                memory::free(*start, |kind| matches!(kind, AllocationKind::Pool(_) | AllocationKind::Device))
            }
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

/// A graph.
#[derive(Debug)]
pub struct CudaGraph {
    /// Its handle.
    pub handle: CudaHandle,
    nodes: Mutex<Vec<GraphNode>>,
    /// What events of captures stand behind.
    marks: Mutex<Vec<Vec<CudaHandle>>>,
    /// Lists that the application reads as long as the graph is there.
    told: Mutex<Vec<Box<[CudaHandle]>>>,
}

/// A graph that can be launched.
#[derive(Debug)]
pub struct Executable {
    /// Each node's handle and what it does, in an order in which they can run.
    nodes: Mutex<Vec<GraphNode>>,
}

/// All graphs.
pub static GRAPHS: HandleTable<CudaGraph> = HandleTable::new();
/// All graphs that can be launched.
pub static EXECUTABLES: HandleTable<Executable> = HandleTable::new();
/// For each node the graph that it is in.
pub static NODES: HandleTable<CudaHandle> = HandleTable::new();

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CudaGraph {
    /// An empty graph.
    pub fn create() -> CudaHandle {
        let make = |handle| {
            Arc::new(CudaGraph {
                handle,
                nodes: Mutex::default(),
                marks: Mutex::default(),
                told: Mutex::default(),
            })
        };
        GRAPHS.publish_with(make).0
    }

    /// The graph of a handle.
    pub fn find(handle: CudaHandle) -> CudaResult<Arc<CudaGraph>> {
        GRAPHS.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// The graph that a node is in.
    pub fn of_node(node: CudaHandle) -> CudaResult<Arc<CudaGraph>> {
        CudaGraph::find(*NODES.find(node).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?)
    }

    /// Takes a graph away, with its nodes.
    pub fn destroy(handle: CudaHandle) -> CudaResult<()> {
        let graph = GRAPHS.remove(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        for node in lock(&graph.nodes).iter() {
            // Nodes of a graph that is there have handles.
            let _ = NODES.remove(node.handle);
        }
        Ok(())
    }

    /// Adds a node behind others.
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

    /// Keeps a list of nodes for an event.
    pub fn keep(&self, nodes: &[CudaHandle]) -> usize {
        let mut marks = lock(&self.marks);
        marks.push(nodes.to_vec());
        marks.len() - 1
    }

    /// Such a list.
    pub fn kept(&self, mark: usize) -> Vec<CudaHandle> {
        lock(&self.marks).get(mark).cloned().unwrap_or_default()
    }

    /// Keeps a list for the application, and gives its address.
    pub fn keep_told(&self, nodes: Vec<CudaHandle>) -> u64 {
        let list = nodes.into_boxed_slice();
        let address = list.as_ptr().expose_provenance() as u64;
        lock(&self.told).push(list);
        address
    }

    /// Puts nodes behind others, pair by pair.
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

    /// Takes a node out.
    pub fn remove(&self, node: CudaHandle) -> CudaResult<()> {
        NODES.remove(node).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let mut nodes = lock(&self.nodes);
        nodes.retain(|other| other.handle != node);
        nodes.iter_mut().for_each(|other| other.behind.retain(|&before| before != node));
        Ok(())
    }

    /// Its nodes in the order in which they were added, or those that stand behind no other one.
    pub fn nodes(&self, roots_only: bool) -> Vec<CudaHandle> {
        let nodes = lock(&self.nodes);
        nodes.iter().filter(|node| !roots_only || node.behind.is_empty()).map(|node| node.handle).collect()
    }

    /// Its edges, from and to.
    pub fn edges(&self) -> Vec<(CudaHandle, CudaHandle)> {
        let nodes = lock(&self.nodes);
        nodes.iter().flat_map(|node| node.behind.iter().map(|&before| (before, node.handle))).collect()
    }

    /// What a node does.
    pub fn command(&self, node: CudaHandle) -> CudaResult<StreamCommand> {
        let nodes = lock(&self.nodes);
        let found = nodes.iter().find(|other| other.handle == node);
        found.map(|node| node.command.clone()).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Gives a node something else of the same kind to do.
    pub fn set_command(&self, node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
        set_command(&mut lock(&self.nodes), node, command)
    }

    /// Whether each of these nodes leads to one of those.
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

    /// A graph with copies of its nodes.
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

    /// What it does as a list.
    pub fn commands(&self) -> CudaResult<Vec<StreamCommand>> {
        Ok(self.sorted()?.into_iter().map(|node| node.command).collect())
    }

    /// Its nodes in an order in which they can run; an error if they wait for each other.
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

    /// Makes it launchable as it is now.
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
    /// The one of a handle.
    pub fn find(handle: CudaHandle) -> CudaResult<Arc<Executable>> {
        EXECUTABLES.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Runs all of it.
    pub fn run(&self) -> CudaResult<()> {
        let nodes = lock(&self.nodes).clone();
        nodes.iter().filter(|node| node.is_enabled).try_for_each(|node| node.command.run())
    }

    /// What it does as a list.
    pub fn commands(&self) -> Vec<StreamCommand> {
        lock(&self.nodes).iter().filter(|node| node.is_enabled).map(|node| node.command.clone()).collect()
    }

    /// What a node does.
    pub fn command(&self, node: CudaHandle) -> CudaResult<StreamCommand> {
        let nodes = lock(&self.nodes);
        let found = nodes.iter().find(|other| other.handle == node);
        found.map(|node| node.command.clone()).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Gives a node something else of the same kind to do.
    pub fn set_command(&self, node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
        set_command(&mut lock(&self.nodes), node, command)
    }

    /// Whether a node runs.
    pub fn is_enabled(&self, node: CudaHandle) -> CudaResult<bool> {
        let nodes = lock(&self.nodes);
        let found = nodes.iter().find(|other| other.handle == node);
        found.map(|node| node.is_enabled).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Lets a node run or not.
    pub fn enable(&self, node: CudaHandle, is_enabled: bool) -> CudaResult<()> {
        let mut nodes = lock(&self.nodes);
        let found = nodes.iter_mut().find(|other| other.handle == node);
        found.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?.is_enabled = is_enabled;
        Ok(())
    }

    /// Takes over what the nodes of a graph of the same form do.
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
