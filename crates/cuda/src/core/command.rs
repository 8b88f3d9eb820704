//! Commands of streams and of nodes of graphs.

use crate::attributes::GraphNodeType;
use crate::core::error::{CudaError, CudaResult};
use crate::core::event::{CudaEvent, EventPoint, EventPosition};
use crate::core::graph::GraphSnapshot;
use crate::core::graph_memory::GraphMemory;
use crate::core::launch::CudaLaunch;
use crate::core::launch_attributes::{AttributeHolder, AttributeValue, LaunchAttributes};
use crate::core::memory::{self, AllocationKind, CopySide, MemoryCopy, MemoryFill};
use crate::core::memory_operation::{ValueWait, ValueWrite};
use crate::core::stream::{StreamPoint, call_back};
use crate::cuda::*;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

/// Number of the node type that waits for an event (`CU_GRAPH_NODE_TYPE_WAIT_EVENT`).
const WAIT_EVENT_NODE: u32 = 6;
/// Number of the node type that waits for values and writes them (`CU_GRAPH_NODE_TYPE_BATCH_MEM_OP`).
const MEMORY_OPERATIONS_NODE: u32 = 12;

/// Host function called by a stream, and its user data.
#[derive(Clone, Copy, Debug)]
pub struct HostCall {
    /// The function.
    pub function: extern "C" fn(*mut c_void),
    /// Its argument, as a number.
    pub data: usize,
}

impl HostCall {
    /// Calls the function, which must not call the driver.
    pub fn call(&self) {
        call_back(|| (self.function)(std::ptr::with_exposed_provenance_mut(self.data)));
    }
}

/// Function that a stream calls with its handle and an error code.
#[derive(Clone, Copy, Debug)]
pub struct StreamCallback {
    /// The function.
    pub function: extern "C" fn(CudaHandle, CUresult, *mut c_void),
    /// The stream's handle.
    pub stream: CudaHandle,
    /// Its last argument, as a number.
    pub data: usize,
}

/// Launch with its attributes.
#[derive(Clone, Debug)]
pub struct KernelCommand {
    /// The launch.
    pub launch: CudaLaunch,
    attributes: LaunchAttributes,
}

impl KernelCommand {
    /// Launch with attributes. A cooperative launch that does not fit is an error.
    pub fn new(launch: CudaLaunch, attributes: LaunchAttributes) -> CudaResult<KernelCommand> {
        let launch = if attributes.is_cooperative() { launch.cooperative()? } else { launch };
        Ok(KernelCommand { launch, attributes })
    }

    /// Returns an attribute of the node that has the launch.
    pub fn attribute(&self, id: u32) -> CudaResult<AttributeValue> {
        self.attributes.get(AttributeHolder::KernelNode, id)
    }

    /// Returns the launch with one more attribute.
    pub fn with_attribute(&self, id: u32, value: AttributeValue) -> CudaResult<KernelCommand> {
        let mut attributes = self.attributes.clone();
        attributes.set(AttributeHolder::KernelNode, id, value)?;
        self.with_attributes(attributes)
    }

    /// Returns the launch with the attributes of another one.
    pub fn with_attributes_of(&self, other: &KernelCommand) -> CudaResult<KernelCommand> {
        self.with_attributes(other.attributes.clone())
    }

    fn with_attributes(&self, attributes: LaunchAttributes) -> CudaResult<KernelCommand> {
        let CudaLaunch { function, size, params, .. } = &self.launch;
        KernelCommand::new(CudaLaunch::new(Arc::clone(function), *size, params.clone())?, attributes)
    }
}

/// `CUDA_MEMCPY3D` in words of 64 bits.
pub type CopyDescription = [u64; 25];

/// Copy as the application described it.
#[derive(Clone, Debug)]
pub struct CopyCommand {
    /// The copy.
    pub copy: MemoryCopy,
    /// Its description.
    pub description: CopyDescription,
    /// Contents of the source, if the application may change that before the copy runs.
    _staged: Option<Arc<[u8]>>,
}

impl CopyCommand {
    /// Copy with its description.
    pub fn new(copy: MemoryCopy, description: CopyDescription) -> CopyCommand {
        CopyCommand { copy, description, _staged: None }
    }

    /// True if the copy writes host memory that the driver does not know. Its caller waits for it.
    pub fn writes_pageable(&self) -> bool {
        memory::find(self.copy.to.start).is_none()
    }

    /// Reads host memory that the driver does not know: its owner may change it when the call has returned.
    pub fn stage(&mut self) -> CudaResult<()> {
        if memory::find(self.copy.from.start).is_some() || self.copy.is_empty() {
            return Ok(());
        }
        let MemoryCopy { from, width, height, depth, .. } = self.copy;
        let slice = width.checked_mul(height).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let bytes = slice.checked_mul(depth).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let mut staged = Vec::new();
        staged.try_reserve_exact(bytes).map_err(|_| CudaError(CUDA_ERROR_OUT_OF_MEMORY))?;
        staged.resize(bytes, 0u8);
        let start = staged.as_mut_ptr().expose_provenance() as u64;
        let dense = CopySide { pitch: width, slice, ..CopySide::host(start) };
        MemoryCopy { to: dense, from, width, height, depth }.run()?;
        let staged: Arc<[u8]> = staged.into();
        let start = staged.as_ptr().expose_provenance() as u64;
        self.copy.from = CopySide { start, ..dense };
        self._staged = Some(staged);
        Ok(())
    }
}

/// Condition that a stream waits for.
#[derive(Clone, Debug)]
pub enum StreamWait {
    /// The last record of an event when the wait begins.
    Event(Arc<CudaEvent>),
    /// A record of an event.
    Point(Arc<EventPoint>),
    /// Earlier commands of other streams.
    Streams(Vec<StreamPoint>),
    /// A value in memory.
    Value(ValueWait),
}

impl StreamWait {
    /// True if the condition is met. A value whose memory is gone is not waited for.
    pub fn is_met(&self) -> bool {
        match self {
            StreamWait::Event(event) => event.is_reached(),
            StreamWait::Point(point) => point.time().is_some(),
            StreamWait::Streams(points) => points.iter().all(StreamPoint::is_reached),
            StreamWait::Value(value) => value.is_met().unwrap_or(true),
        }
    }
}

/// Command of a stream or graph node.
#[derive(Clone, Debug)]
pub enum StreamCommand {
    /// Runs a kernel.
    Launch(Box<KernelCommand>),
    /// Copies memory.
    Copy(Box<CopyCommand>),
    /// Fills memory.
    Fill(MemoryFill),
    /// Calls the application.
    Host(HostCall),
    /// Calls the application with the stream's handle.
    Callback(StreamCallback),
    /// Records an event.
    Record(Arc<CudaEvent>),
    /// Marks a position that an event has recorded.
    Reach(Arc<EventPoint>),
    /// Waits.
    Wait(StreamWait),
    /// Writes a value.
    Write(ValueWrite),
    /// Waits for values and writes them, in order.
    MemoryOperations(Arc<[StreamCommand]>),
    /// Runs a graph, copied when the node was added.
    Graph(Arc<GraphSnapshot>),
    /// Allocates memory of a graph.
    Allocate(Arc<GraphMemory>),
    /// Frees memory of a pool or a graph.
    Free(CUdeviceptr),
    /// No operation; orders its successors after its predecessors.
    Empty,
}

/// Commands within a command that are left to visit.
type CommandIterator<'a> = Box<dyn Iterator<Item = &'a StreamCommand> + 'a>;

impl StreamCommand {
    /// Returns the number of the type of the command's node (`CUgraphNodeType`).
    pub fn node_type(&self) -> u32 {
        let known = match self {
            StreamCommand::Launch(_) => GraphNodeType::Kernel,
            StreamCommand::Copy(_) => GraphNodeType::Memcpy,
            StreamCommand::Fill(_) => GraphNodeType::Memset,
            StreamCommand::Host(_) | StreamCommand::Callback(_) => GraphNodeType::Host,
            StreamCommand::Graph(_) => GraphNodeType::Graph,
            StreamCommand::Record(_) => GraphNodeType::EventRecord,
            StreamCommand::Allocate(_) => GraphNodeType::MemAlloc,
            StreamCommand::Free(_) => GraphNodeType::MemFree,
            StreamCommand::Wait(StreamWait::Event(_)) => return WAIT_EVENT_NODE,
            StreamCommand::Wait(StreamWait::Value(_))
            | StreamCommand::Write(_)
            | StreamCommand::MemoryOperations(_) => return MEMORY_OPERATIONS_NODE,
            StreamCommand::Empty | StreamCommand::Reach(_) | StreamCommand::Wait(_) => GraphNodeType::Empty,
        };
        known as u32
    }

    /// True if the command runs without waiting.
    pub fn is_ready(&self) -> bool {
        match self {
            StreamCommand::Wait(wait) => wait.is_met(),
            // An earlier command in it may change the value of a later wait.
            StreamCommand::MemoryOperations(_) => false,
            StreamCommand::Graph(graph) => !graph.waits() || self.has_met_events_only(),
            _ => true,
        }
    }

    fn has_met_events_only(&self) -> bool {
        let of_events = |leaf: &StreamCommand| match leaf {
            StreamCommand::Wait(wait @ StreamWait::Event(_)) if wait.is_met() => Ok(()),
            StreamCommand::Wait(_) => Err(CudaError(CUDA_ERROR_NOT_SUPPORTED)),
            _ => Ok(()),
        };
        self.each_leaf(of_events).is_ok()
    }

    /// True if the command waits, or has a command that does.
    pub fn waits(&self) -> bool {
        match self {
            StreamCommand::Wait(_) | StreamCommand::MemoryOperations(_) => true,
            StreamCommand::Graph(graph) => graph.waits(),
            _ => false,
        }
    }

    /// Visits the commands that have no others in them, in order, until one fails.
    pub fn each_leaf(&self, mut visit: impl FnMut(&StreamCommand) -> CudaResult<()>) -> CudaResult<()> {
        // Graphs in graphs, innermost last: they are no deeper than the calls that made them, but a list is no recursion.
        let mut work: Vec<CommandIterator<'_>> = vec![Box::new(std::iter::once(self))];
        while let Some(commands) = work.last_mut() {
            match commands.next() {
                None => _ = work.pop(),
                Some(StreamCommand::Graph(inner)) => work.push(Box::new(inner.commands())),
                Some(StreamCommand::MemoryOperations(inner)) => work.push(Box::new(inner.iter())),
                Some(command) => visit(command)?,
            }
        }
        Ok(())
    }

    /// Executes the command, whose waits are met.
    pub fn run(&self) -> CudaResult<()> {
        match self {
            StreamCommand::Graph(_) | StreamCommand::MemoryOperations(_) => {
                self.each_leaf(StreamCommand::run_leaf)
            }
            command => command.run_leaf(),
        }
    }

    fn run_leaf(&self) -> CudaResult<()> {
        match self {
            StreamCommand::Launch(kernel) => kernel.launch.run(),
            StreamCommand::Copy(copy) => copy.copy.run(),
            StreamCommand::Fill(fill) => fill.run(),
            StreamCommand::Host(call) => {
                call.call();
                Ok(())
            }
            StreamCommand::Callback(StreamCallback { function, stream, data }) => {
                let data = std::ptr::with_exposed_provenance_mut(*data);
                call_back(|| function(*stream, CUDA_SUCCESS, data));
                Ok(())
            }
            StreamCommand::Record(event) => {
                event.put(EventPosition::Passed(Instant::now()));
                Ok(())
            }
            StreamCommand::Reach(point) => {
                point.reach();
                Ok(())
            }
            StreamCommand::Wait(StreamWait::Value(value)) => value.is_met().map(|_| ()),
            StreamCommand::Write(write) => write.run(),
            StreamCommand::Allocate(memory) => memory.begin_use(),
            StreamCommand::Free(start) => memory::free(*start, |kind| {
                matches!(
                    kind,
                    AllocationKind::Pool(_) | AllocationKind::Device | AllocationKind::Graph { .. }
                )
            }),
            StreamCommand::Wait(_)
            | StreamCommand::MemoryOperations(_)
            | StreamCommand::Graph(_)
            | StreamCommand::Empty => Ok(()),
        }
    }
}
