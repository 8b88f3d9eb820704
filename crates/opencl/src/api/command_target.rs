//! Destinations of commands: queues, and command buffers that record them.

use super::Enqueuing;
use crate::cl::*;
use crate::core::buffer::ClBuffer;
use crate::core::command_buffer::RecordedWork;
use crate::core::context::ClContext;
use crate::core::device::BASE_ALIGN;
use crate::core::error::{ClResult, ensure};
use crate::core::registry::find;
use std::sync::Arc;

/// Destination of a command.
pub(super) trait CommandTarget {
    /// Returns the context of the destination.
    fn context(&self) -> &Arc<ClContext>;

    /// Adds a command of a kind (`CL_COMMAND_…`) that may be executed several times.
    fn add(&self, command: u32, blocking: bool, work: RecordedWork) -> ClResult<()>;

    /// Returns a memory object of the context.
    fn memory(&self, handle: ClHandle) -> ClResult<Arc<ClBuffer>> {
        let memory = find::<ClBuffer>(handle)?;
        ensure(Arc::ptr_eq(&memory.context, self.context()), CL_INVALID_CONTEXT)?;
        Ok(memory)
    }

    /// Returns a buffer of the context.
    fn buffer(&self, handle: ClHandle) -> ClResult<Arc<ClBuffer>> {
        let buffer = self.memory(handle)?;
        ensure(buffer.image.is_none(), CL_INVALID_MEM_OBJECT)?;
        ensure(buffer.origin.is_multiple_of(BASE_ALIGN), CL_MISALIGNED_SUB_BUFFER_OFFSET)?;
        Ok(buffer)
    }
}

impl CommandTarget for Enqueuing {
    fn context(&self) -> &Arc<ClContext> {
        &self.queue.context
    }

    fn add(&self, command: u32, blocking: bool, work: RecordedWork) -> ClResult<()> {
        self.command(command, blocking, Box::new(work))
    }
}
