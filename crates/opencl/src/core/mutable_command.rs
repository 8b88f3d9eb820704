//! Recorded kernels that the application may change (`cl_khr_command_buffer_mutable_dispatch`).

use crate::cl::*;
use crate::core::command_buffer::{ClCommandBuffer, CommandSlot};
use crate::core::device::Device;
use crate::core::error::{ClError, ClResult};
use crate::core::kernel::ClKernel;
use crate::core::launch::ClNdRange;
use crate::core::registry::ObjectHandle;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Parts of a command that may be changed.
pub const MUTABLE_FIELDS: u64 = CL_MUTABLE_DISPATCH_GLOBAL_OFFSET_KHR
    | CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR
    | CL_MUTABLE_DISPATCH_LOCAL_SIZE_KHR
    | CL_MUTABLE_DISPATCH_ARGUMENTS_KHR
    | CL_MUTABLE_DISPATCH_EXEC_INFO_KHR;

/// Kernel of a command with its arguments, and its index space.
#[derive(Clone, Debug)]
pub struct DispatchState {
    /// Kernel that only this command has.
    pub kernel: Arc<ClKernel>,
    /// Index space.
    pub range: ClNdRange,
    /// Device that runs it.
    pub device: Arc<Device>,
}

impl DispatchState {
    /// Returns the work of the command; none if arguments are missing.
    pub fn work(&self) -> ClResult<CommandSlot> {
        match self.kernel.launch(self.range, &self.device) {
            Ok(launch) => {
                launch.prepare()?;
                Ok(Some(Arc::new(Box::new(move || launch.run()))))
            }
            Err(ClError(CL_INVALID_KERNEL_ARGS)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if all work-groups have the same size.
    pub fn is_uniform(&self) -> bool {
        let range = &self.range;
        range.local.is_none_or(|local| (0..3).all(|way| range.global[way].is_multiple_of(local[way])))
    }
}

/// Recorded kernel that the application has a handle of. The command buffer owns it.
pub struct ClMutableCommand {
    handle: ObjectHandle<ClMutableCommand>,
    /// Command buffer that it is part of.
    pub buffer: Weak<ClCommandBuffer>,
    /// Its sync point.
    pub point: u32,
    /// Properties with their terminator; empty if there were none.
    pub properties: Vec<u64>,
    /// Parts that may be changed.
    pub fields: u64,
    /// Kernel that was recorded.
    pub kernel: Arc<ClKernel>,
    state: Mutex<DispatchState>,
}

crate::object!(ClMutableCommand, CL_INVALID_MUTABLE_COMMAND_KHR);

impl fmt::Debug for ClMutableCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MutableCommand({:?})", self.handle)
    }
}

impl ClMutableCommand {
    /// Creates the command of a sync point.
    pub fn new(
        buffer: &Arc<ClCommandBuffer>,
        point: u32,
        properties: Vec<u64>,
        fields: u64,
        kernel: Arc<ClKernel>,
        state: DispatchState,
    ) -> ClMutableCommand {
        let (handle, buffer, state) = (ObjectHandle::default(), Arc::downgrade(buffer), Mutex::new(state));
        ClMutableCommand { handle, buffer, point, properties, fields, kernel, state }
    }

    /// Returns what the command runs.
    pub fn state(&self) -> DispatchState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes what the command runs.
    pub fn set_state(&self, state: DispatchState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
