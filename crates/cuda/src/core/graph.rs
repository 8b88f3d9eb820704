//! Graphs: recorded commands and their execution order.

use crate::core::command::{KernelCommand, StreamCommand};
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::launch_attributes::AttributeValue;
use crate::core::registry::HandleTable;
use crate::core::user_object::UserReferences;
use crate::cuda::*;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Node of a graph.
#[derive(Clone, Debug)]
struct GraphNode {
    handle: CudaHandle,
    command: StreamCommand,
    behind: Vec<CudaHandle>,
    is_enabled: bool,
    /// Node of which this one is a copy in a clone; 0 if there is none.
    original: CudaHandle,
    /// Graph by which the application reads a child graph node, once it has requested it; 0 before.
    embedded: CudaHandle,
    /// Parameters shown to the application.
    shown: Option<Arc<ShownParameters>>,
}

/// Parameters of a kernel node as the application reads them.
#[derive(Debug)]
struct ShownParameters {
    /// The buffer, aligned for each parameter.
    _buffer: Vec<u128>,
    /// Addresses of the parameters.
    each: Vec<u64>,
}

impl ShownParameters {
    fn of(kernel: &KernelCommand) -> ShownParameters {
        let launch = &kernel.launch;
        let mut buffer = vec![0u128; launch.params.len().div_ceil(16)];
        for (word, bytes) in buffer.iter_mut().zip(launch.params.chunks(16)) {
            let mut all = [0; 16];
            all[..bytes.len()].copy_from_slice(bytes);
            *word = u128::from_ne_bytes(all);
        }
        let start = buffer.as_ptr().expose_provenance() as u64;
        let each = launch.function.layout().params.iter().map(|param| start + param.offset).collect();
        ShownParameters { _buffer: buffer, each }
    }
}

/// Contents of a graph at a time, in execution order.
#[derive(Clone, Debug)]
pub struct GraphSnapshot {
    nodes: Vec<GraphNode>,
    /// Objects that the contents need.
    references: UserReferences,
    waits: bool,
}

impl GraphSnapshot {
    fn new(nodes: Vec<GraphNode>, references: UserReferences) -> GraphSnapshot {
        let waits = nodes.iter().any(|node| node.command.waits());
        GraphSnapshot { nodes, references, waits }
    }

    /// Returns the commands of enabled nodes in execution order.
    pub fn commands(&self) -> impl Iterator<Item = &StreamCommand> {
        self.nodes.iter().filter(|node| node.is_enabled).map(|node| &node.command)
    }

    /// Returns the nodes in execution order: handles, commands, and handles of predecessors.
    pub fn nodes(&self) -> impl Iterator<Item = (CudaHandle, &StreamCommand, &[CudaHandle])> {
        self.nodes.iter().map(|node| (node.handle, &node.command, &*node.behind))
    }

    /// True if a command waits.
    pub fn waits(&self) -> bool {
        self.waits
    }
}

/// Graph.
#[derive(Debug)]
pub struct CudaGraph {
    /// Its handle.
    pub handle: CudaHandle,
    /// True for the graph of a child graph node, which its node destroys.
    is_embedded: bool,
    nodes: Mutex<Vec<GraphNode>>,
    references: Mutex<UserReferences>,
    /// Predecessor lists of captured events.
    marks: Mutex<Vec<Vec<CudaHandle>>>,
    /// Lists returned to the application, valid while the graph exists.
    message: Mutex<Vec<Box<[u64]>>>,
}

/// Executable graph.
#[derive(Debug)]
pub struct Executable {
    /// Flags that it was instantiated with.
    pub flags: u64,
    /// Contents, shared with launches that have not ended.
    contents: Mutex<Arc<GraphSnapshot>>,
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

fn node_of(nodes: &[GraphNode], handle: CudaHandle) -> CudaResult<&GraphNode> {
    nodes.iter().find(|node| node.handle == handle).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
}

fn node_of_mut(nodes: &mut [GraphNode], handle: CudaHandle) -> CudaResult<&mut GraphNode> {
    nodes.iter_mut().find(|node| node.handle == handle).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
}

/// Destroys the graphs of child graph nodes, and those in them.
fn destroy_embedded(nodes: &[GraphNode]) {
    let mut work: Vec<CudaHandle> = nodes.iter().map(|node| node.embedded).collect();
    while let Some(handle) = work.pop() {
        let Ok(graph) = GRAPHS.remove(handle) else { continue };
        for node in lock(&graph.nodes).iter() {
            // Nodes of a live graph have handles.
            let _ = NODES.remove(node.handle);
            work.push(node.embedded);
        }
    }
}

impl CudaGraph {
    /// Creates an empty graph.
    pub fn create() -> CudaHandle {
        CudaGraph::publish(false).handle
    }

    fn publish(is_embedded: bool) -> Arc<CudaGraph> {
        let make = |handle| {
            Arc::new(CudaGraph {
                handle,
                is_embedded,
                nodes: Mutex::default(),
                references: Mutex::default(),
                marks: Mutex::default(),
                message: Mutex::default(),
            })
        };
        GRAPHS.publish_with(make).1
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
        ensure(!CudaGraph::find(handle)?.is_embedded, CUDA_ERROR_INVALID_VALUE)?;
        let graph = GRAPHS.remove(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let nodes = lock(&graph.nodes);
        for node in nodes.iter() {
            // Nodes of a live graph have handles.
            let _ = NODES.remove(node.handle);
        }
        destroy_embedded(&nodes);
        Ok(())
    }

    /// Adds a node after the given predecessors.
    pub fn add(&self, command: StreamCommand, behind: &[CudaHandle]) -> CudaResult<CudaHandle> {
        let uses_memory = matches!(command, StreamCommand::Allocate(_) | StreamCommand::Free(_));
        ensure(!self.is_embedded || !uses_memory, CUDA_ERROR_INVALID_VALUE)?;
        let mut nodes = lock(&self.nodes);
        self.ensure_own(behind)?;
        Ok(self.insert(&mut nodes, command, behind.to_vec(), 0))
    }

    fn insert(
        &self,
        nodes: &mut Vec<GraphNode>,
        command: StreamCommand,
        behind: Vec<CudaHandle>,
        original: CudaHandle,
    ) -> CudaHandle {
        let handle = NODES.publish(Arc::new(self.handle));
        nodes.push(GraphNode {
            handle,
            command,
            behind,
            is_enabled: true,
            original,
            embedded: 0,
            shown: None,
        });
        handle
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
    pub fn keep_list(&self, list: Vec<u64>) -> u64 {
        let list = list.into_boxed_slice();
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
        let (removed, left): (Vec<GraphNode>, Vec<GraphNode>) =
            nodes.drain(..).partition(|other| other.handle == node);
        *nodes = left;
        nodes.iter_mut().for_each(|other| other.behind.retain(|&before| before != node));
        destroy_embedded(&removed);
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
        Ok(node_of(&lock(&self.nodes), node)?.command.clone())
    }

    /// Replaces a node's command by one of the same type.
    pub fn set_command(&self, node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
        set_command(&mut lock(&self.nodes), node, command)
    }

    /// Returns the launch of a kernel node.
    pub fn kernel(&self, node: CudaHandle) -> CudaResult<Box<KernelCommand>> {
        match self.command(node)? {
            StreamCommand::Launch(kernel) => Ok(kernel),
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    /// Sets an attribute of a kernel node.
    pub fn set_attribute(&self, node: CudaHandle, id: u32, value: AttributeValue) -> CudaResult<()> {
        let kernel = self.kernel(node)?.with_attribute(id, value)?;
        self.replace_kernel(node, kernel)
    }

    /// Sets the attributes of a kernel node to those of another launch.
    pub fn copy_attributes(&self, node: CudaHandle, from: &KernelCommand) -> CudaResult<()> {
        let kernel = self.kernel(node)?.with_attributes_of(from)?;
        self.replace_kernel(node, kernel)
    }

    fn replace_kernel(&self, node: CudaHandle, kernel: KernelCommand) -> CudaResult<()> {
        node_of_mut(&mut lock(&self.nodes), node)?.command = StreamCommand::Launch(Box::new(kernel));
        Ok(())
    }

    /// Returns the address of a list with the addresses of a kernel node's parameters, valid until the node changes; 0 if it has none.
    pub fn show_parameters(&self, node: CudaHandle) -> CudaResult<u64> {
        let mut nodes = lock(&self.nodes);
        let node = node_of_mut(&mut nodes, node)?;
        let StreamCommand::Launch(kernel) = &node.command else {
            return Err(CudaError(CUDA_ERROR_INVALID_VALUE));
        };
        let shown = node.shown.get_or_insert_with(|| Arc::new(ShownParameters::of(kernel)));
        Ok(if shown.each.is_empty() { 0 } else { shown.each.as_ptr().expose_provenance() as u64 })
    }

    /// Returns the graph of a child graph node, whose changes are changes of the node.
    pub fn embedded(&self, node: CudaHandle) -> CudaResult<CudaHandle> {
        let mut nodes = lock(&self.nodes);
        let node = node_of_mut(&mut nodes, node)?;
        let StreamCommand::Graph(snapshot) = &node.command else {
            return Err(CudaError(CUDA_ERROR_INVALID_VALUE));
        };
        if node.embedded == 0 {
            let graph = CudaGraph::publish(true);
            graph.fill(snapshot);
            node.embedded = graph.handle;
        }
        Ok(node.embedded)
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
        let snapshot = self.snapshot()?;
        let copy = CudaGraph::publish(false);
        copy.fill(&snapshot);
        Ok(copy.handle)
    }

    /// Makes copies of nodes the nodes of an empty graph.
    fn fill(&self, snapshot: &GraphSnapshot) {
        let mut became: FxHashMap<CudaHandle, CudaHandle> = FxHashMap::default();
        let mut nodes = lock(&self.nodes);
        for node in &snapshot.nodes {
            let behind = node.behind.iter().filter_map(|old| became.get(old).copied()).collect();
            let handle = self.insert(&mut nodes, node.command.clone(), behind, node.handle);
            became.insert(node.handle, handle);
        }
        *lock(&self.references) = snapshot.references.clone();
    }

    /// Returns the copy of a node of the graph that this one is a clone of.
    pub fn copy_of(&self, original: CudaHandle) -> CudaResult<CudaHandle> {
        NODES.find(original).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let nodes = lock(&self.nodes);
        let copy = nodes.iter().find(|node| node.original == original);
        copy.map(|node| node.handle).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Adds references to an object of the application; `moves` takes them over from it.
    pub fn retain(&self, object: CudaHandle, count: u32, moves: bool) -> CudaResult<()> {
        lock(&self.references).retain(object, count, moves)
    }

    /// Gives up references to an object of the application.
    pub fn release(&self, object: CudaHandle, count: u32) -> CudaResult<()> {
        let released = lock(&self.references).release(object, count)?;
        // Destructors run without the lock.
        drop(released);
        Ok(())
    }

    /// Returns the contents in execution order; a cycle is an error.
    pub fn snapshot(&self) -> CudaResult<GraphSnapshot> {
        Ok(GraphSnapshot::new(self.sorted()?, lock(&self.references).clone()))
    }

    /// Sorts the nodes topologically; a cycle is an error. Child graph nodes have the contents of their graphs.
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
            let mut node = GraphNode { embedded: 0, shown: None, ..nodes[place].clone() };
            if nodes[place].embedded != 0 {
                // No deeper than the application has requested graphs of nodes.
                let inner = CudaGraph::find(nodes[place].embedded)?.snapshot()?;
                node.command = StreamCommand::Graph(Arc::new(inner));
            }
            sorted.push(node);
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
    pub fn instantiate(&self, flags: u64) -> CudaResult<CudaHandle> {
        let contents = Mutex::new(Arc::new(self.snapshot()?));
        Ok(EXECUTABLES.publish(Arc::new(Executable { flags, contents })))
    }
}

/// Replaces a command by one of the same type. A launch keeps its attributes.
fn set_command(nodes: &mut [GraphNode], node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
    let node = node_of_mut(nodes, node)?;
    ensure(node.command.node_type() == command.node_type(), CUDA_ERROR_INVALID_VALUE)?;
    node.command = match (&node.command, command) {
        (StreamCommand::Launch(old), StreamCommand::Launch(new)) => {
            StreamCommand::Launch(Box::new(new.with_attributes_of(old)?))
        }
        (_, command) => command,
    };
    node.shown = None;
    Ok(())
}

impl Executable {
    /// Looks up the executable graph of a handle.
    pub fn find(handle: CudaHandle) -> CudaResult<Arc<Executable>> {
        EXECUTABLES.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Returns the contents.
    pub fn snapshot(&self) -> Arc<GraphSnapshot> {
        Arc::clone(&lock(&self.contents))
    }

    /// Replaces a node's command by one of the same type.
    pub fn set_command(&self, node: CudaHandle, command: StreamCommand) -> CudaResult<()> {
        let mut contents = lock(&self.contents);
        let contents = Arc::make_mut(&mut contents);
        set_command(&mut contents.nodes, node, command)?;
        contents.waits = contents.nodes.iter().any(|node| node.command.waits());
        Ok(())
    }

    /// True if a node is enabled.
    pub fn is_enabled(&self, node: CudaHandle) -> CudaResult<bool> {
        Ok(node_of(&lock(&self.contents).nodes, node)?.is_enabled)
    }

    /// Enables or disables a node.
    pub fn enable(&self, node: CudaHandle, is_enabled: bool) -> CudaResult<()> {
        let mut contents = lock(&self.contents);
        node_of_mut(&mut Arc::make_mut(&mut contents).nodes, node)?.is_enabled = is_enabled;
        Ok(())
    }

    /// Updates the commands from a graph with the same topology.
    pub fn update(&self, graph: &CudaGraph) -> CudaResult<()> {
        let GraphSnapshot { nodes: fresh, references, .. } = graph.snapshot()?;
        let mut contents = lock(&self.contents);
        let alike = fresh.len() == contents.nodes.len()
            && fresh.iter().zip(&contents.nodes).all(|(a, b)| {
                a.command.node_type() == b.command.node_type() && a.behind.len() == b.behind.len()
            });
        ensure(alike, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)?;
        let mut nodes = contents.nodes.clone();
        for (node, fresh) in nodes.iter_mut().zip(fresh) {
            node.command = fresh.command;
        }
        let before = std::mem::replace(&mut *contents, Arc::new(GraphSnapshot::new(nodes, references)));
        drop(contents);
        drop(before);
        Ok(())
    }
}
