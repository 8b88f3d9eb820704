//! Command buffers: commands that are recorded once and executed many times.
//!
//! Commands run one after the other as they were recorded, which is an order that all sync points and both kinds of queues
//! allow. Each kernel has all threads of its queue's device. An execution keeps the list of commands that it was enqueued with:
//! updates replace the list, so that they never change executions that are pending.

use crate::cl::*;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::mutable_command::ClMutableCommand;
use crate::core::queue::Queue;
use crate::core::registry::ObjectHandle;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Work of a command that may be executed several times, also at once.
pub type RecordedWork = Box<dyn Fn() -> Result<(), i32> + Send + Sync>;

/// Work of a recorded command; none while arguments of its kernel are missing.
pub type CommandSlot = Option<Arc<RecordedWork>>;

/// Commands of one execution.
#[derive(Clone, Default)]
pub struct CommandList(Arc<Vec<CommandSlot>>);

impl fmt::Debug for CommandList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommandList({})", self.0.len())
    }
}

impl CommandList {
    /// Executes all commands up to the first that fails. The error is its code.
    pub fn run(&self) -> Result<(), i32> {
        self.0.iter().flatten().try_for_each(|work| work())
    }
}

#[derive(Default)]
struct Recording {
    list: CommandList,
    is_final: bool,
    /// Commands that the application has handles of.
    mutable: Vec<Arc<ClMutableCommand>>,
}

/// Command buffer.
pub struct ClCommandBuffer {
    handle: ObjectHandle<ClCommandBuffer>,
    /// Queue that it is recorded for.
    pub queue: Arc<Queue>,
    /// Creation properties, with the terminating zero.
    pub properties: Vec<u64>,
    recording: Mutex<Recording>,
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
        ClCommandBuffer { handle: ObjectHandle::default(), queue, properties, recording: Mutex::default() }
    }

    fn recording(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if commands may be updated.
    pub fn is_mutable(&self) -> bool {
        let mut flags =
            self.properties.chunks_exact(2).filter(|pair| pair[0] == u64::from(CL_COMMAND_BUFFER_FLAGS_KHR));
        flags.any(|pair| pair[1] & CL_COMMAND_BUFFER_MUTABLE_KHR != 0)
    }

    /// True once the recording has ended.
    pub fn is_final(&self) -> bool {
        self.recording().is_final
    }

    /// True for the sync point of a recorded command.
    pub fn has_sync_point(&self, point: u32) -> bool {
        (1..=self.recording().list.0.len()).contains(&(point as usize))
    }

    /// Records a command and returns its sync point.
    pub fn record(&self, work: CommandSlot) -> ClResult<u32> {
        let mut recording = self.recording();
        ensure(!recording.is_final, CL_INVALID_OPERATION)?;
        let commands = Arc::make_mut(&mut recording.list.0);
        let point = u32::try_from(commands.len() + 1).map_err(|_| ClError(CL_OUT_OF_RESOURCES))?;
        commands.push(work);
        Ok(point)
    }

    /// Keeps a command that the application has a handle of.
    pub fn keep(&self, command: Arc<ClMutableCommand>) {
        self.recording().mutable.push(command);
    }

    /// Replaces commands, by their sync points.
    pub fn replace(&self, updates: impl IntoIterator<Item = (u32, CommandSlot)>) {
        let mut recording = self.recording();
        let commands = Arc::make_mut(&mut recording.list.0);
        for (point, work) in updates {
            if let Some(slot) = commands.get_mut((point as usize).wrapping_sub(1)) {
                *slot = work;
            }
        }
    }

    /// Ends the recording.
    pub fn finalize(&self) -> ClResult<()> {
        let mut recording = self.recording();
        ensure(!recording.is_final, CL_INVALID_OPERATION)?;
        recording.is_final = true;
        Ok(())
    }

    /// Returns the commands to execute; none during the recording, or while arguments are missing.
    pub fn commands(&self) -> Option<CommandList> {
        let recording = self.recording();
        let is_complete = recording.is_final && recording.list.0.iter().all(Option::is_some);
        is_complete.then(|| recording.list.clone())
    }
}
