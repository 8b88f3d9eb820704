//! Events: positions in streams, and the times they were reached.

use crate::core::deferred::{self, CUDA_ERROR_NOT_READY};
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Event.
#[derive(Debug)]
pub struct CudaEvent {
    /// Its handle.
    pub handle: CudaHandle,
    /// Creation flags.
    pub flags: u32,
    mark: Mutex<EventPosition>,
}

/// Position of a stream whose commands wait.
#[derive(Default, Debug)]
pub struct EventPoint {
    time: OnceLock<Instant>,
}

impl EventPoint {
    /// Returns the time at which the stream reached the position.
    pub fn time(&self) -> Option<Instant> {
        self.time.get().copied()
    }

    /// Notes that the stream is at the position now.
    pub fn reach(&self) {
        // A position is reached once.
        let _ = self.time.set(Instant::now());
    }
}

/// Last recorded position of an event.
#[derive(Clone, Debug)]
pub enum EventPosition {
    /// Nowhere.
    None,
    /// Recorded in a stream, which reached it at this time.
    Passed(Instant),
    /// Recorded in a stream whose commands wait.
    Deferred(Arc<EventPoint>),
    /// Recorded in a capture, after the nodes of this list of the graph.
    Captured(CudaHandle, usize),
}

/// All events.
pub static EVENTS: HandleTable<CudaEvent> = HandleTable::new();

impl CudaEvent {
    /// Creates an event that is not recorded.
    pub fn create(flags: u32) -> CudaResult<CudaHandle> {
        ensure(flags & !7 == 0, CUDA_ERROR_INVALID_VALUE)?;
        // Events of other processes have no times.
        ensure(flags & 4 == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        let event = |handle| Arc::new(CudaEvent { handle, flags, mark: Mutex::new(EventPosition::None) });
        Ok(EVENTS.publish_with(event).0)
    }

    /// Returns the last recorded position.
    pub fn mark(&self) -> EventPosition {
        let mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match &mark {
            EventPosition::Deferred(point) => point.time().map_or(mark, EventPosition::Passed),
            _ => mark,
        }
    }

    /// Sets the position.
    pub fn put(&self, mark: EventPosition) {
        *self.mark.lock().unwrap_or_else(PoisonError::into_inner) = mark;
    }

    /// True unless the event is recorded in a stream that has not reached it.
    pub fn is_reached(&self) -> bool {
        !matches!(self.mark(), EventPosition::Deferred(_))
    }

    /// Returns an error unless the event is complete.
    pub fn ensure_done(&self) -> CudaResult<()> {
        match self.mark() {
            EventPosition::Captured(..) => Err(CudaError(CUDA_ERROR_CAPTURED_EVENT)),
            EventPosition::Deferred(_) => Err(CudaError(CUDA_ERROR_NOT_READY)),
            EventPosition::None | EventPosition::Passed(_) => Ok(()),
        }
    }

    /// Waits until the event is complete.
    pub fn synchronize(&self) -> CudaResult<()> {
        match self.mark() {
            EventPosition::Captured(..) => Err(CudaError(CUDA_ERROR_CAPTURED_EVENT)),
            EventPosition::Deferred(point) => {
                deferred::wait_until(|| point.time().is_some());
                Ok(())
            }
            EventPosition::None | EventPosition::Passed(_) => Ok(()),
        }
    }

    /// Returns the milliseconds between two events.
    pub fn milliseconds_to(&self, end: &CudaEvent) -> CudaResult<f32> {
        let has_times = (self.flags | end.flags) & CU_EVENT_DISABLE_TIMING == 0;
        ensure(has_times, CUDA_ERROR_INVALID_HANDLE)?;
        ensure(self.is_reached() && end.is_reached(), CUDA_ERROR_NOT_READY)?;
        let (EventPosition::Passed(first), EventPosition::Passed(last)) = (self.mark(), end.mark()) else {
            return Err(CudaError(CUDA_ERROR_INVALID_HANDLE));
        };
        let seconds = match last.checked_duration_since(first) {
            Some(time) => time.as_secs_f64(),
            None => -first.duration_since(last).as_secs_f64(),
        };
        Ok((seconds * 1e3) as f32)
    }
}
