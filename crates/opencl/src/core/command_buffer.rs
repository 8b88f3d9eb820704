//! Command buffers: commands that are recorded once and executed many times.
//!
//! Commands run one after the other as they were recorded, which is an order that all sync points and both kinds of queues
//! allow. Each kernel has all threads of the pool.

use crate::cl::*;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::queue::Queue;
use crate::core::registry::ObjectHandle;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Work of a command that may be executed several times, also at once.
pub type RecordedWork = Box<dyn Fn() -> Result<(), i32> + Send + Sync>;

/// Command buffer.
pub struct ClCommandBuffer {
    handle: ObjectHandle<ClCommandBuffer>,
    /// Queue that it is recorded for.
    pub queue: Arc<Queue>,
    /// Creation properties, with the terminating zero.
    pub properties: Vec<u64>,
    recorded: Mutex<Vec<RecordedWork>>,
    /// All commands, once the recording has ended.
    commands: OnceLock<Vec<RecordedWork>>,
}

crate::object!(ClCommandBuffer, CL_INVALID_COMMAND_BUFFER_KHR);

impl fmt::Debug for ClCommandBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommandBuffer({:?})", self.handle)
    }
}

impl ClCommandBuffer {
    /// Creates an empty command buffer.
    pub fn new(queue: Arc<Queue>, properties: Vec<u64>) -> ClCommandBuffer {
        let (recorded, commands) = (Mutex::default(), OnceLock::new());
        ClCommandBuffer { handle: ObjectHandle::default(), queue, properties, recorded, commands }
    }

    /// True once the recording has ended.
    pub fn is_executable(&self) -> bool {
        self.commands.get().is_some()
    }

    /// True for the sync point of a recorded command.
    pub fn has_sync_point(&self, point: u32) -> bool {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        (1..=recorded.len()).contains(&(point as usize))
    }

    /// Records a command and returns its sync point.
    pub fn record(&self, work: RecordedWork) -> ClResult<u32> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        ensure(!self.is_executable(), CL_INVALID_OPERATION)?;
        let point = u32::try_from(recorded.len() + 1).map_err(|_| ClError(CL_OUT_OF_RESOURCES))?;
        recorded.push(work);
        Ok(point)
    }

    /// Ends the recording.
    pub fn finalize(&self) -> ClResult<()> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        ensure(!self.is_executable(), CL_INVALID_OPERATION)?;
        self.commands.set(std::mem::take(&mut *recorded)).map_err(|_| ClError(CL_INVALID_OPERATION))
    }

    /// Executes all commands up to the first that fails. The error is its code.
    pub fn run(&self) -> Result<(), i32> {
        self.commands.get().into_iter().flatten().try_for_each(|work| work())
    }
}
