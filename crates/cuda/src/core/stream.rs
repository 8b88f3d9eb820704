//! Streams: ordered commands, executed synchronously or captured.
//!
//! A command runs in the call that submits it, so a stream is a lock held while a command runs, which orders the commands
//! of several threads. The legacy stream excludes commands of blocking streams.

use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::event::{CudaEvent, EventPosition};
use crate::core::graph::{CudaGraph, StreamCommand};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use std::cell::{Cell, OnceCell};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Instant;

/// Stream.
#[derive(Debug)]
pub struct CudaStream {
    /// Unique number.
    pub id: u64,
    /// Creation flags.
    pub flags: u32,
    /// Priority, recorded only.
    pub priority: i32,
    /// Owning context.
    pub context: CudaHandle,
    is_legacy: bool,
    running: Mutex<()>,
    capture: Mutex<Option<Capture>>,
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

impl CudaStream {
    fn new(id: u64, flags: u32, priority: i32, is_legacy: bool) -> Arc<CudaStream> {
        let context = context::current_handle();
        let (running, capture) = (Mutex::new(()), Mutex::new(None));
        Arc::new(CudaStream { id, flags, priority, context, is_legacy, running, capture })
    }

    /// Creates a stream.
    pub fn create(flags: u32, priority: i32) -> CudaResult<CudaHandle> {
        ensure(flags & !CU_STREAM_NON_BLOCKING == 0, CUDA_ERROR_INVALID_VALUE)?;
        context::current()?;
        Ok(STREAMS.publish_with(|handle| CudaStream::new(handle, flags, priority.clamp(-5, 0), false)).0)
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

    /// Executes a command, or adds it to the captured graph.
    pub fn submit(&self, command: StreamCommand) -> CudaResult<()> {
        let mut capture = lock(&self.capture);
        if let Some(capture) = capture.as_mut() {
            let graph = CudaGraph::find(capture.graph)?;
            let node = graph.add(command, &capture.last)?;
            capture.last = vec![node];
            return Ok(());
        }
        drop(capture);
        self.run(|| command.run())
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

    /// Waits for all earlier commands.
    pub fn synchronize(&self) -> CudaResult<()> {
        ensure(lock(&self.capture).is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        self.run(|| ());
        Ok(())
    }

    /// Waits for all streams.
    pub fn synchronize_all() {
        drop(RUNNING.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Records an event after all earlier commands.
    pub fn record(&self, event: &Arc<CudaEvent>) -> CudaResult<()> {
        if let Some(capture) = lock(&self.capture).as_ref() {
            let graph = CudaGraph::find(capture.graph)?;
            event.put(EventPosition::Captured(capture.graph, graph.keep(&capture.last)));
            return Ok(());
        }
        self.run(|| event.put(EventPosition::Passed(Instant::now())));
        Ok(())
    }

    /// Makes later commands wait for an event. A captured event joins this stream to the capture; any other is complete.
    pub fn wait_for(&self, event: &CudaEvent) -> CudaResult<()> {
        let EventPosition::Captured(graph, kept) = event.mark() else { return Ok(()) };
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
}
