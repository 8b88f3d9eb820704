//! Events: marks in streams, and when they were passed.

use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// An event.
#[derive(Debug)]
pub struct CudaEvent {
    /// The flags that it was made with.
    pub flags: u32,
    mark: Mutex<EventPosition>,
}

/// Where an event was put last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventPosition {
    /// Nowhere.
    None,
    /// In a stream, which came to it then.
    Passed(Instant),
    /// In a stream that is captured: behind so many commands of that capture.
    Captured(CudaHandle, usize),
}

/// All events.
pub static EVENTS: HandleTable<CudaEvent> = HandleTable::new();

impl CudaEvent {
    /// An event that is nowhere yet.
    pub fn new(flags: u32) -> CudaResult<CudaEvent> {
        ensure(flags & !7 == 0, CUDA_ERROR_INVALID_VALUE)?;
        // Events of other processes have no times.
        ensure(flags & 4 == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        Ok(CudaEvent { flags, mark: Mutex::new(EventPosition::None) })
    }

    /// Where it was put last.
    pub fn mark(&self) -> EventPosition {
        *self.mark.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts it somewhere.
    pub fn put(&self, mark: EventPosition) {
        *self.mark.lock().unwrap_or_else(PoisonError::into_inner) = mark;
    }

    /// Whether what is before it is done; it is, unless it is captured.
    pub fn ensure_done(&self) -> CudaResult<()> {
        ensure(!matches!(self.mark(), EventPosition::Captured(..)), CUDA_ERROR_CAPTURED_EVENT)
    }

    /// The milliseconds from one event to another one.
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
