//! Streams: ordered commands, executed synchronously, captured, or deferred.
//!
//! A command runs in the call that submits it, so a stream is a lock held while a command runs, which orders the commands
//! of several threads. The legacy stream excludes commands of blocking streams. Commands after a wait that is not met are queued
//! ([`deferred`]), also those of other streams that come after them.

use crate::core::command::{StreamCommand, StreamWait};
use crate::core::context;
use crate::core::deferred::{self, CUDA_ERROR_NOT_READY, DeferredQueue};
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::event::{CudaEvent, EventPoint, EventPosition};
use crate::core::graph::CudaGraph;
use crate::core::launch_attributes::{AttributeHolder, AttributeValue, LaunchAttributes, PRIORITY};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use std::cell::{Cell, OnceCell};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// Stream.
#[derive(Debug)]
pub struct CudaStream {
    /// Unique number.
    pub id: u64,
    /// Creation flags.
    pub flags: u32,
    /// Owning context.
    pub context: CudaHandle,
    is_legacy: bool,
    /// Attributes, the priority among them; recorded only.
    attributes: Mutex<LaunchAttributes>,
    running: Mutex<()>,
    capture: Mutex<Option<Capture>>,
    deferred: DeferredQueue,
}

/// Number of commands of a stream's queue.
#[derive(Clone, Debug)]
pub struct StreamPoint {
    stream: Arc<CudaStream>,
    count: u64,
}

impl StreamPoint {
    /// True if these commands have run.
    pub fn is_reached(&self) -> bool {
        self.stream.deferred.has_finished(self.count)
    }
}

/// State of a capture on a stream.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Handle of the captured graph.
    pub graph: CudaHandle,
    /// Predecessors of the next command.
    pub last: Vec<CudaHandle>,
    /// True if this stream began the capture.
    is_origin: bool,
}

/// Greatest priority of a stream; the least is 0.
pub const GREATEST_PRIORITY: i32 = -5;

/// All streams created by the application.
pub static STREAMS: HandleTable<CudaStream> = HandleTable::new();

/// Held exclusively by the legacy stream, shared by blocking streams.
static BLOCKING: RwLock<()> = RwLock::new(());
/// Held shared by commands, exclusively by waits for all streams.
static RUNNING: RwLock<()> = RwLock::new(());

thread_local! {
    static OWN: OnceCell<Arc<CudaStream>> = const { OnceCell::new() };
    static IS_IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if the thread runs a host function of a stream, which must not call the driver.
pub fn is_in_callback() -> bool {
    IS_IN_CALLBACK.get()
}

/// Runs a host function of a stream.
pub fn call_back(function: impl FnOnce()) {
    let before = IS_IN_CALLBACK.replace(true);
    function();
    IS_IN_CALLBACK.set(before);
}

fn priority_value(priority: i32) -> AttributeValue {
    let mut value = [0; 16];
    value[0] = priority.clamp(GREATEST_PRIORITY, 0) as u32;
    value
}

impl CudaStream {
    fn new(id: u64, flags: u32, priority: i32, is_legacy: bool) -> Arc<CudaStream> {
        let mut attributes = LaunchAttributes::default();
        // A stream has this attribute, with any value.
        let _ = attributes.set(AttributeHolder::Stream, PRIORITY, priority_value(priority));
        Arc::new(CudaStream {
            id,
            flags,
            context: context::current_handle(),
            is_legacy,
            attributes: Mutex::new(attributes),
            running: Mutex::default(),
            capture: Mutex::default(),
            deferred: DeferredQueue::default(),
        })
    }

    /// Creates a stream.
    pub fn create(flags: u32, priority: i32) -> CudaResult<CudaHandle> {
        ensure(flags & !CU_STREAM_NON_BLOCKING == 0, CUDA_ERROR_INVALID_VALUE)?;
        context::current()?;
        Ok(STREAMS.publish_with(|handle| CudaStream::new(handle, flags, priority, false)).0)
    }

    /// Looks up the stream of a handle; 0 is the legacy stream.
    pub fn find(handle: CudaHandle) -> CudaResult<Arc<CudaStream>> {
        static LEGACY: OnceLock<Arc<CudaStream>> = OnceLock::new();
        context::current()?;
        match handle {
            0 | CU_STREAM_LEGACY => {
                Ok(Arc::clone(LEGACY.get_or_init(|| CudaStream::new(CU_STREAM_LEGACY, 0, 0, true))))
            }
            CU_STREAM_PER_THREAD => Ok(OWN.with(|own| {
                Arc::clone(own.get_or_init(|| CudaStream::new(CU_STREAM_PER_THREAD, 0, 0, false)))
            })),
            _ => STREAMS.find(handle),
        }
    }

    /// Executes a command, adds it to the captured graph, or queues it after commands that wait.
    pub fn submit(self: &Arc<CudaStream>, command: StreamCommand) -> CudaResult<()> {
        let mut capture = lock(&self.capture);
        if let Some(capture) = capture.as_mut() {
            let graph = CudaGraph::find(capture.graph)?;
            let node = graph.add(command, &capture.last)?;
            capture.last = vec![node];
            return Ok(());
        }
        drop(capture);
        match self.waits_for() {
            None if command.is_ready() => self.run(|| command.run()),
            before => self.defer(before.unwrap_or_default(), command),
        }
    }

    /// Executes a command and waits for its end.
    pub fn submit_and_wait(self: &Arc<CudaStream>, command: StreamCommand) -> CudaResult<()> {
        self.submit(command)?;
        self.deferred.wait();
        self.deferred.take_failure()
    }

    /// Returns the commands of other streams that the next command waits for; none if it waits for no earlier command.
    fn waits_for(&self) -> Option<Vec<StreamPoint>> {
        let waiting = deferred::waiting_streams();
        let is_blocking = |stream: &CudaStream| stream.flags & CU_STREAM_NON_BLOCKING == 0;
        // The legacy stream and blocking streams wait for each other.
        let comes_before =
            |other: &CudaStream| other.is_legacy != self.is_legacy && is_blocking(other) && is_blocking(self);
        let points: Vec<StreamPoint> = waiting
            .iter()
            .filter(|stream| comes_before(stream))
            .map(|stream| StreamPoint { stream: Arc::clone(stream), count: stream.deferred.accepted() })
            .filter(|point| !point.is_reached())
            .collect();
        (!points.is_empty() || !waiting.is_empty() && !self.deferred.is_empty()).then_some(points)
    }

    /// Queues a command, after commands of other streams.
    fn defer(self: &Arc<CudaStream>, before: Vec<StreamPoint>, mut command: StreamCommand) -> CudaResult<()> {
        let mut is_awaited = false;
        if let StreamCommand::Copy(copy) = &mut command {
            copy.stage()?;
            is_awaited = copy.writes_pageable();
        }
        if !before.is_empty() {
            self.deferred.push(self, StreamCommand::Wait(StreamWait::Streams(before)))?;
        }
        self.deferred.push(self, command)?;
        if is_awaited {
            self.deferred.wait();
        }
        Ok(())
    }

    /// Returns the queue of commands that wait.
    pub fn deferred(&self) -> &DeferredQueue {
        &self.deferred
    }

    /// Runs a closure in stream order.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _running = RUNNING.read().unwrap_or_else(PoisonError::into_inner);
        let waits = self.flags & CU_STREAM_NON_BLOCKING == 0;
        let _alone = self.is_legacy.then(|| BLOCKING.write().unwrap_or_else(PoisonError::into_inner));
        let _together =
            (!self.is_legacy && waits).then(|| BLOCKING.read().unwrap_or_else(PoisonError::into_inner));
        let _stream = lock(&self.running);
        work()
    }

    /// Returns an error unless all earlier commands have ended.
    pub fn query(&self) -> CudaResult<()> {
        ensure(lock(&self.capture).is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        ensure(
            self.waits_for().is_none_or(|_| !self.is_legacy && self.deferred.is_empty()),
            CUDA_ERROR_NOT_READY,
        )?;
        self.deferred.take_failure()
    }

    /// Waits for all earlier commands.
    pub fn synchronize(&self) -> CudaResult<()> {
        ensure(lock(&self.capture).is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        if self.is_legacy {
            for point in self.waits_for().into_iter().flatten() {
                deferred::wait_until(|| point.is_reached());
            }
        }
        self.deferred.wait();
        self.run(|| ());
        self.deferred.take_failure()
    }

    /// Waits for all streams.
    pub fn synchronize_all() {
        deferred::waiting_streams().iter().for_each(|stream| stream.deferred.wait());
        drop(RUNNING.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Records an event after all earlier commands. `is_external` makes a node of it in a capture.
    pub fn record(self: &Arc<CudaStream>, event: &Arc<CudaEvent>, is_external: bool) -> CudaResult<()> {
        let capture = lock(&self.capture);
        if let (Some(capture), false) = (capture.as_ref(), is_external) {
            let graph = CudaGraph::find(capture.graph)?;
            event.put(EventPosition::Captured(capture.graph, graph.keep(&capture.last)));
            return Ok(());
        }
        let is_captured = capture.is_some();
        drop(capture);
        match self.waits_for() {
            Some(before) if !is_captured => {
                let point = Arc::new(EventPoint::default());
                event.put(EventPosition::Deferred(Arc::clone(&point)));
                self.defer(before, StreamCommand::Reach(point))
            }
            _ => self.submit(StreamCommand::Record(Arc::clone(event))),
        }
    }

    /// Makes later commands wait for an event. A captured event joins this stream to the capture; `is_external` makes a node of the wait in
    /// a capture.
    pub fn wait_for(self: &Arc<CudaStream>, event: &Arc<CudaEvent>, is_external: bool) -> CudaResult<()> {
        let (graph, kept) = match event.mark() {
            EventPosition::Captured(graph, kept) => (graph, kept),
            mark => {
                return match (self.capture(), mark) {
                    (Some(_), _) if is_external => {
                        self.submit(StreamCommand::Wait(StreamWait::Event(Arc::clone(event))))
                    }
                    (None, EventPosition::Deferred(point)) => {
                        self.submit(StreamCommand::Wait(StreamWait::Point(point)))
                    }
                    _ => Ok(()),
                };
            }
        };
        let nodes = CudaGraph::find(graph)?.kept(kept);
        let mut capture = lock(&self.capture);
        match capture.as_mut() {
            Some(own) => {
                ensure(own.graph == graph, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
                for node in nodes {
                    if !own.last.contains(&node) {
                        own.last.push(node);
                    }
                }
            }
            None => *capture = Some(Capture { graph, last: nodes, is_origin: false }),
        }
        Ok(())
    }

    /// Begins a capture into a graph, after these nodes.
    pub fn begin_capture(&self, graph: CudaHandle, last: Vec<CudaHandle>) -> CudaResult<()> {
        ensure(!self.is_legacy, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)?;
        let mut capture = lock(&self.capture);
        ensure(capture.is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        *capture = Some(Capture { graph, last, is_origin: true });
        Ok(())
    }

    /// Ends the capture on all joined streams and returns the graph.
    pub fn end_capture(&self) -> CudaResult<CudaHandle> {
        let capture = lock(&self.capture).take();
        let capture = capture.ok_or(CudaError(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED))?;
        ensure(capture.is_origin, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)?;
        let is_joined = |last: &[CudaHandle]| last.iter().all(|node| capture.last.contains(node));
        let mut all_joined = true;
        STREAMS.each(|stream| {
            if std::ptr::eq(stream, self) {
                return;
            }
            let mut other = lock(&stream.capture);
            if other.as_ref().is_some_and(|other| other.graph == capture.graph) {
                all_joined &= other.take().is_some_and(|other| {
                    is_joined(&other.last)
                        || CudaGraph::find(capture.graph)
                            .is_ok_and(|graph| graph.leads_to(&other.last, &capture.last))
                });
            }
        });
        ensure(all_joined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED)?;
        Ok(capture.graph)
    }

    /// Returns the capture, if any.
    pub fn capture(&self) -> Option<Capture> {
        lock(&self.capture).clone()
    }

    /// Sets or extends the predecessors of the next command.
    pub fn set_last(&self, nodes: &[CudaHandle], adds: bool) -> CudaResult<()> {
        let mut capture = lock(&self.capture);
        let capture = capture.as_mut().ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        if !adds {
            capture.last.clear();
        }
        capture.last.extend(nodes.iter().copied().filter(|node| !nodes.is_empty() && *node != 0));
        capture.last.dedup();
        Ok(())
    }

    /// Returns an attribute.
    pub fn attribute(&self, id: u32) -> CudaResult<AttributeValue> {
        lock(&self.attributes).get(AttributeHolder::Stream, id)
    }

    /// Sets an attribute.
    pub fn set_attribute(&self, id: u32, value: AttributeValue) -> CudaResult<()> {
        let value = if id == PRIORITY { priority_value(value[0] as i32) } else { value };
        lock(&self.attributes).set(AttributeHolder::Stream, id, value)
    }

    /// Sets all attributes to those of another stream.
    pub fn copy_attributes(&self, from: &CudaStream) {
        let attributes = lock(&from.attributes).clone();
        *lock(&self.attributes) = attributes;
    }

    /// Returns the priority.
    pub fn priority(&self) -> i32 {
        lock(&self.attributes).value(PRIORITY).map_or(0, |value| value[0] as i32)
    }
}
