//! Graphs: commands that are kept, and the order in which they run.

use crate::core::error::{Answer, Error, ensure};
use crate::core::event::{Event, Mark};
use crate::core::launch::Launch;
use crate::core::memory::{self, Copy, Fill, Kind};
use crate::core::registry::Table;
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
pub enum Command {
    /// Runs a kernel.
    Launch(Box<Launch>),
    /// Copies memory.
    Copy(Box<Copy>),
    /// Fills memory.
    Fill(Fill),
    /// Calls the application.
    Host(HostCall),
    /// Puts an event where it has come to.
    Record(Arc<Event>),
    /// Runs a graph as it was when it was put in.
    Graph(Arc<Vec<Command>>),
    /// Frees memory of a pool.
    Free(CUdeviceptr),
    /// Nothing; what is behind it waits for what is before it.
    Empty,
}

impl Command {
    /// The number that `cuda.h` has for such a node.
    pub fn node_type(&self) -> u32 {
        match self {
            Command::Launch(_) => 0,
            Command::Copy(_) => 1,
            Command::Fill(_) => 2,
            Command::Host(_) => 3,
            Command::Graph(_) => 4,
            Command::Empty => 5,
            Command::Record(_) => 7,
            Command::Free(_) => 11,
        }
    }

    /// Does it.
    pub fn run(&self) -> Answer<()> {
        // Graphs in graphs, innermost last: they are no deeper than the calls that made them, but a list is no recursion.
        let mut work = vec![std::slice::from_ref(self).iter()];
        while let Some(commands) = work.last_mut() {
            match commands.next() {
                None => _ = work.pop(),
                Some(Command::Graph(inner)) => work.push(inner.iter()),
                Some(command) => command.run_one()?,
            }
        }
        Ok(())
    }

    fn run_one(&self) -> Answer<()> {
        match self {
            Command::Launch(launch) => launch.run(),
            Command::Copy(copy) => copy.run(),
            Command::Fill(fill) => fill.run(),
            Command::Host(call) => {
                call_back(|| (call.function)(std::ptr::with_exposed_provenance_mut(call.data)));
                Ok(())
            }
            Command::Record(event) => {
                event.put(Mark::Passed(Instant::now()));
                Ok(())
            }
            Command::Free(start) => memory::free(*start, |kind| matches!(kind, Kind::Pool(_) | Kind::Device)),
            Command::Graph(_) | Command::Empty => Ok(()),
        }
    }
}

#[derive(Clone, Debug)]
struct Node {
    handle: Handle,
    command: Command,
    behind: Vec<Handle>,
    is_enabled: bool,
}

/// A graph.
#[derive(Debug)]
pub struct Graph {
    /// Its handle.
    pub handle: Handle,
    nodes: Mutex<Vec<Node>>,
    /// What events of captures stand behind.
    marks: Mutex<Vec<Vec<Handle>>>,
    /// Lists that the application reads as long as the graph is there.
    told: Mutex<Vec<Box<[Handle]>>>,
}

/// A graph that can be launched.
#[derive(Debug)]
pub struct Executable {
    /// Each node's handle and what it does, in an order in which they can run.
    nodes: Mutex<Vec<Node>>,
}

/// All graphs.
pub static GRAPHS: Table<Graph> = Table::new();
/// All graphs that can be launched.
pub static EXECUTABLES: Table<Executable> = Table::new();
/// For each node the graph that it is in.
pub static NODES: Table<Handle> = Table::new();

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Graph {
    /// An empty graph.
    pub fn create() -> Handle {
        let make = |handle| {
            Arc::new(Graph {
                handle,
                nodes: Mutex::default(),
                marks: Mutex::default(),
                told: Mutex::default(),
            })
        };
        GRAPHS.publish_with(make).0
    }

    /// The graph of a handle.
    pub fn find(handle: Handle) -> Answer<Arc<Graph>> {
        GRAPHS.find(handle).map_err(|_| Error(CUDA_ERROR_INVALID_VALUE))
    }

    /// The graph that a node is in.
    pub fn of_node(node: Handle) -> Answer<Arc<Graph>> {
        Graph::find(*NODES.find(node).map_err(|_| Error(CUDA_ERROR_INVALID_VALUE))?)
    }

    /// Takes a graph away, with its nodes.
    pub fn destroy(handle: Handle) -> Answer<()> {
        let graph = GRAPHS.remove(handle).map_err(|_| Error(CUDA_ERROR_INVALID_VALUE))?;
        for node in lock(&graph.nodes).iter() {
            // Nodes of a graph that is there have handles.
            let _ = NODES.remove(node.handle);
        }
        Ok(())
    }

    /// Adds a node behind others.
    pub fn add(&self, command: Command, behind: &[Handle]) -> Answer<Handle> {
        let mut nodes = lock(&self.nodes);
        self.ensure_own(behind)?;
        let handle = NODES.publish(Arc::new(self.handle));
        nodes.push(Node { handle, command, behind: behind.to_vec(), is_enabled: true });
        Ok(handle)
    }

    fn ensure_own(&self, nodes: &[Handle]) -> Answer<()> {
        let is_own = |&node: &Handle| NODES.find(node).is_ok_and(|graph| *graph == self.handle);
        ensure(nodes.iter().all(is_own), CUDA_ERROR_INVALID_VALUE)
    }

    /// Keeps a list of nodes for an event.
    pub fn keep(&self, nodes: &[Handle]) -> usize {
        let mut marks = lock(&self.marks);
        marks.push(nodes.to_vec());
        marks.len() - 1
    }

    /// Such a list.
    pub fn kept(&self, mark: usize) -> Vec<Handle> {
        lock(&self.marks).get(mark).cloned().unwrap_or_default()
    }

    /// Keeps a list for the application, and gives its address.
    pub fn keep_told(&self, nodes: Vec<Handle>) -> u64 {
        let list = nodes.into_boxed_slice();
        let address = list.as_ptr().expose_provenance() as u64;
        lock(&self.told).push(list);
        address
    }

    /// Puts nodes behind others, pair by pair.
    pub fn depend(&self, from: &[Handle], to: &[Handle], adds: bool) -> Answer<()> {
        let mut nodes = lock(&self.nodes);
        self.ensure_own(from)?;
        self.ensure_own(to)?;
        let places: FxHashMap<Handle, usize> =
            nodes.iter().enumerate().map(|(place, node)| (node.handle, place)).collect();
        for (&from, to) in from.iter().zip(to) {
            let place = places.get(to).ok_or(Error(CUDA_ERROR_INVALID_VALUE))?;
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
    pub fn remove(&self, node: Handle) -> Answer<()> {
        NODES.remove(node).map_err(|_| Error(CUDA_ERROR_INVALID_VALUE))?;
        let mut nodes = lock(&self.nodes);
        nodes.retain(|other| other.handle != node);
        nodes.iter_mut().for_each(|other| other.behind.retain(|&before| before != node));
        Ok(())
    }

    /// Its nodes in the order in which they were added, or those that stand behind no other one.
    pub fn nodes(&self, roots_only: bool) -> Vec<Handle> {
        let nodes = lock(&self.nodes);
        nodes.iter().filter(|node| !roots_only || node.behind.is_empty()).map(|node| node.handle).collect()
    }

    /// Its edges, from and to.
    pub fn edges(&self) -> Vec<(Handle, Handle)> {
        let nodes = lock(&self.nodes);
        nodes.iter().flat_map(|node| node.behind.iter().map(|&before| (before, node.handle))).collect()
    }

    /// What a node does.
    pub fn command(&self, node: Handle) -> Answer<Command> {
        let nodes = lock(&self.nodes);
        let found = nodes.iter().find(|other| other.handle == node);
        found.map(|node| node.command.clone()).ok_or(Error(CUDA_ERROR_INVALID_VALUE))
    }

    /// Gives a node something else of the same kind to do.
    pub fn set_command(&self, node: Handle, command: Command) -> Answer<()> {
        set_command(&mut lock(&self.nodes), node, command)
    }

    /// Whether each of these nodes leads to one of those.
    pub fn leads_to(&self, from: &[Handle], to: &[Handle]) -> bool {
        let nodes = lock(&self.nodes);
        let behind: FxHashMap<Handle, &[Handle]> =
            nodes.iter().map(|node| (node.handle, &*node.behind)).collect();
        let mut seen: rustc_hash::FxHashSet<Handle> = rustc_hash::FxHashSet::default();
        let mut work = to.to_vec();
        while let Some(node) = work.pop() {
            if seen.insert(node) {
                work.extend(behind.get(&node).copied().unwrap_or_default());
            }
        }
        from.iter().all(|node| seen.contains(node))
    }

    /// A graph with copies of its nodes.
    pub fn copy(&self) -> Answer<Handle> {
        let copy = Graph::find(Graph::create())?;
        let mut became: FxHashMap<Handle, Handle> = FxHashMap::default();
        for node in self.sorted()? {
            let behind: Vec<Handle> = node.behind.iter().filter_map(|old| became.get(old).copied()).collect();
            became.insert(node.handle, copy.add(node.command, &behind)?);
        }
        Ok(copy.handle)
    }

    /// What it does as a list.
    pub fn commands(&self) -> Answer<Vec<Command>> {
        Ok(self.sorted()?.into_iter().map(|node| node.command).collect())
    }

    /// Its nodes in an order in which they can run; an error if they wait for each other.
    fn sorted(&self) -> Answer<Vec<Node>> {
        let nodes = lock(&self.nodes);
        let places: FxHashMap<Handle, usize> =
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
    pub fn instantiate(&self) -> Answer<Handle> {
        let nodes = Mutex::new(self.sorted()?);
        Ok(EXECUTABLES.publish(Arc::new(Executable { nodes })))
    }
}

fn set_command(nodes: &mut [Node], node: Handle, command: Command) -> Answer<()> {
    let found = nodes.iter_mut().find(|other| other.handle == node);
    let node = found.ok_or(Error(CUDA_ERROR_INVALID_VALUE))?;
    ensure(node.command.node_type() == command.node_type(), CUDA_ERROR_INVALID_VALUE)?;
    node.command = command;
    Ok(())
}

impl Executable {
    /// The one of a handle.
    pub fn find(handle: Handle) -> Answer<Arc<Executable>> {
        EXECUTABLES.find(handle).map_err(|_| Error(CUDA_ERROR_INVALID_VALUE))
    }

    /// Runs all of it.
    pub fn run(&self) -> Answer<()> {
        let nodes = lock(&self.nodes).clone();
        nodes.iter().filter(|node| node.is_enabled).try_for_each(|node| node.command.run())
    }

    /// What it does as a list.
    pub fn commands(&self) -> Vec<Command> {
        lock(&self.nodes).iter().filter(|node| node.is_enabled).map(|node| node.command.clone()).collect()
    }

    /// What a node does.
    pub fn command(&self, node: Handle) -> Answer<Command> {
        let nodes = lock(&self.nodes);
        let found = nodes.iter().find(|other| other.handle == node);
        found.map(|node| node.command.clone()).ok_or(Error(CUDA_ERROR_INVALID_VALUE))
    }

    /// Gives a node something else of the same kind to do.
    pub fn set_command(&self, node: Handle, command: Command) -> Answer<()> {
        set_command(&mut lock(&self.nodes), node, command)
    }

    /// Whether a node runs.
    pub fn is_enabled(&self, node: Handle) -> Answer<bool> {
        let nodes = lock(&self.nodes);
        let found = nodes.iter().find(|other| other.handle == node);
        found.map(|node| node.is_enabled).ok_or(Error(CUDA_ERROR_INVALID_VALUE))
    }

    /// Lets a node run or not.
    pub fn enable(&self, node: Handle, is_enabled: bool) -> Answer<()> {
        let mut nodes = lock(&self.nodes);
        let found = nodes.iter_mut().find(|other| other.handle == node);
        found.ok_or(Error(CUDA_ERROR_INVALID_VALUE))?.is_enabled = is_enabled;
        Ok(())
    }

    /// Takes over what the nodes of a graph of the same form do.
    pub fn update(&self, graph: &Graph) -> Answer<()> {
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
