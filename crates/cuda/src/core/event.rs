//! Events: positions in streams, and the times they were reached.

use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Event.
#[derive(Debug)]
pub struct CudaEvent {
    /// Creation flags.
    pub flags: u32,
    mark: Mutex<EventPosition>,
}

/// Last recorded position of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventPosition {
    /// Nowhere.
    None,
    /// Recorded in a stream, which reached it at this time.
    Passed(Instant),
    /// Recorded in a capture, after the nodes of this list of the graph.
    Captured(CudaHandle, usize),
}

/// All events.
pub static EVENTS: HandleTable<CudaEvent> = HandleTable::new();

impl CudaEvent {
    /// Creates an event that is not recorded.
    pub fn new(flags: u32) -> CudaResult<CudaEvent> {
        ensure(flags & !7 == 0, CUDA_ERROR_INVALID_VALUE)?;
        // Events of other processes have no times.
        ensure(flags & 4 == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        Ok(CudaEvent { flags, mark: Mutex::new(EventPosition::None) })
    }

    /// Returns the last recorded position.
    pub fn mark(&self) -> EventPosition {
        *self.mark.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the position.
    pub fn put(&self, mark: EventPosition) {
        *self.mark.lock().unwrap_or_else(PoisonError::into_inner) = mark;
    }

    /// Returns an error unless the event is complete; only captured ones are not.
    pub fn ensure_done(&self) -> CudaResult<()> {
        ensure(!matches!(self.mark(), EventPosition::Captured(..)), CUDA_ERROR_CAPTURED_EVENT)
    }

    /// Returns the milliseconds between two events.
    pub fn milliseconds_to(&self, end: &CudaEvent) -> CudaResult<f32> {
        let has_times = (self.flags | end.flags) & CU_EVENT_DISABLE_TIMING == 0;
        ensure(has_times, CUDA_ERROR_INVALID_HANDLE)?;
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
