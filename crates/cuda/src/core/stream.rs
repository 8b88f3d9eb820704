//! Streams: commands in order, done at once or captured.
//!
//! A command runs in the call that brings it, so a stream is a lock that commands hold while they run: commands of several
//! threads in one stream follow each other. The legacy stream excludes those of streams that wait for it.

use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::event::{CudaEvent, EventPosition};
use crate::core::graph::{CudaGraph, StreamCommand};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use std::cell::{Cell, OnceCell};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Instant;

/// A stream.
#[derive(Debug)]
pub struct CudaStream {
    /// A number that no other stream has.
    pub id: u64,
    /// The flags that it was made with.
    pub flags: u32,
    /// Its priority, which is kept.
    pub priority: i32,
    /// The context that it is of.
    pub context: CudaHandle,
    is_legacy: bool,
    running: Mutex<()>,
    capture: Mutex<Option<Capture>>,
}

/// What a stream that is captured has got to.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The graph that commands go to, by its handle.
    pub graph: CudaHandle,
    /// The nodes that the next command comes behind.
    pub last: Vec<CudaHandle>,
    /// Whether this stream began it.
    is_origin: bool,
}

/// All streams that the application has made.
pub static STREAMS: HandleTable<CudaStream> = HandleTable::new();

/// Held by the legacy stream alone, by streams that wait for it together.
static BLOCKING: RwLock<()> = RwLock::new(());
/// Held by all commands together; what waits for all holds it alone.
static RUNNING: RwLock<()> = RwLock::new(());

thread_local! {
    static OWN: OnceCell<Arc<CudaStream>> = const { OnceCell::new() };
    static IS_IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the thread runs a function of the application for a stream, which calls nothing of the driver's.
pub fn is_in_callback() -> bool {
    IS_IN_CALLBACK.get()
}

/// Runs such a function.
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

    /// A stream of the application's.
    pub fn create(flags: u32, priority: i32) -> CudaResult<CudaHandle> {
        ensure(flags & !CU_STREAM_NON_BLOCKING == 0, CUDA_ERROR_INVALID_VALUE)?;
        context::current()?;
        Ok(STREAMS.publish_with(|handle| CudaStream::new(handle, flags, priority.clamp(-5, 0), false)).0)
    }

    /// The stream of a handle. 0 is the legacy one.
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

    /// Does a command, or adds it to the graph that is captured.
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

    /// Runs something in the order of the stream.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _running = RUNNING.read().unwrap_or_else(PoisonError::into_inner);
        let waits = self.flags & CU_STREAM_NON_BLOCKING == 0;
        let _alone = self.is_legacy.then(|| BLOCKING.write().unwrap_or_else(PoisonError::into_inner));
        let _together =
            (!self.is_legacy && waits).then(|| BLOCKING.read().unwrap_or_else(PoisonError::into_inner));
        let _stream = lock(&self.running);
        work()
    }

    /// Waits until all that was brought before is done.
    pub fn synchronize(&self) -> CudaResult<()> {
        ensure(lock(&self.capture).is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        self.run(|| ());
        Ok(())
    }

    /// Waits for all streams.
    pub fn synchronize_all() {
        drop(RUNNING.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Puts an event behind what was brought before.
    pub fn record(&self, event: &Arc<CudaEvent>) -> CudaResult<()> {
        if let Some(capture) = lock(&self.capture).as_ref() {
            let graph = CudaGraph::find(capture.graph)?;
            event.put(EventPosition::Captured(capture.graph, graph.keep(&capture.last)));
            return Ok(());
        }
        self.run(|| event.put(EventPosition::Passed(Instant::now())));
        Ok(())
    }

    /// Lets what comes wait for an event. What was brought before the event is done, unless it is captured: then this stream
    /// takes part in the capture.
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

    /// Begins to capture, to a graph behind these nodes.
    pub fn begin_capture(&self, graph: CudaHandle, last: Vec<CudaHandle>) -> CudaResult<()> {
        ensure(!self.is_legacy, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)?;
        let mut capture = lock(&self.capture);
        ensure(capture.is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        *capture = Some(Capture { graph, last, is_origin: true });
        Ok(())
    }

    /// Ends the capture of all streams that take part, and gives the graph.
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

    /// What is captured, if something is.
    pub fn capture(&self) -> Option<Capture> {
        lock(&self.capture).clone()
    }

    /// Changes the nodes that the next command comes behind.
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
