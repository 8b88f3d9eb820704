//! Updates of recorded kernels (`cl_khr_command_buffer_mutable_dispatch`).

use super::info::Info;
use super::kernel::{check_exec_info, set_argument};
use super::pointer::{ClInput, ClOutput};
use crate::cl::*;
use crate::core::command_buffer::{ClCommandBuffer, CommandSlot};
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::mutable_command::{ClMutableCommand, DispatchState, MUTABLE_FIELDS};
use crate::core::registry::{find, handle_of};
use std::ffi::c_void;
use std::sync::Arc;

/// `cl_mutable_dispatch_arg_khr` of the specification.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DispatchArgument {
    index: cl_uint,
    size: usize,
    value: ClInput<c_void>,
}

/// `cl_mutable_dispatch_exec_info_khr` of the specification.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DispatchExecInfo {
    name: cl_uint,
    size: usize,
    value: ClInput<c_void>,
}

/// `cl_mutable_dispatch_config_khr` of the specification.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DispatchConfig {
    command: ClHandle,
    argument_count: cl_uint,
    address_count: cl_uint,
    info_count: cl_uint,
    dims: cl_uint,
    arguments: ClInput<DispatchArgument>,
    addresses: ClInput<DispatchArgument>,
    infos: ClInput<DispatchExecInfo>,
    offset: ClInput<usize>,
    global: ClInput<usize>,
    local: ClInput<usize>,
}

/// Reads the properties of a recorded kernel: the parts that may be changed, if it names them.
pub(super) fn updatable_fields(properties: &[u64]) -> ClResult<Option<u64>> {
    let mut fields = None;
    for (index, pair) in properties.chunks_exact(2).enumerate() {
        let is_repeated = properties.chunks_exact(2).take(index).any(|before| before[0] == pair[0]);
        ensure(!is_repeated, CL_INVALID_VALUE)?;
        let known = match u32::try_from(pair[0]) {
            Ok(CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR) => {
                fields = Some(pair[1]);
                MUTABLE_FIELDS
            }
            Ok(CL_MUTABLE_DISPATCH_ASSERTS_KHR) => CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR,
            _ => return Err(ClError(CL_INVALID_VALUE)),
        };
        ensure(pair[1] & !known == 0, CL_INVALID_VALUE)?;
    }
    Ok(fields)
}

/// Reads one number for each dimension; none for a null pointer. Only a part that may be changed may be given.
fn sizes(list: ClInput<usize>, dims: u32, is_updatable: bool) -> ClResult<Option<Vec<usize>>> {
    ensure(list.is_null() || is_updatable, CL_INVALID_OPERATION)?;
    if list.is_null() { Ok(None) } else { list.list(dims as usize).map(Some) }
}

impl DispatchConfig {
    /// Returns the command's next state.
    fn apply(&self, command: &ClMutableCommand, state: &DispatchState) -> ClResult<DispatchState> {
        let may = |field: u64| command.fields & field != 0;
        let dims = state.range.dims;
        ensure(self.dims == 0 || self.dims == dims, CL_INVALID_OPERATION)?;
        let changes_arguments = self.argument_count != 0 || self.address_count != 0;
        ensure(!changes_arguments || may(CL_MUTABLE_DISPATCH_ARGUMENTS_KHR), CL_INVALID_OPERATION)?;
        ensure(self.info_count == 0 || may(CL_MUTABLE_DISPATCH_EXEC_INFO_KHR), CL_INVALID_OPERATION)?;
        let offset = sizes(self.offset, dims, may(CL_MUTABLE_DISPATCH_GLOBAL_OFFSET_KHR))?;
        let global = sizes(self.global, dims, may(CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR))?;
        let local = sizes(self.local, dims, may(CL_MUTABLE_DISPATCH_LOCAL_SIZE_KHR))?;
        let kernel =
            if changes_arguments { Arc::new(state.kernel.duplicate()) } else { state.kernel.clone() };
        for argument in self.arguments.list(self.argument_count as usize)? {
            set_argument(&kernel, argument.index, argument.size, argument.value)?;
        }
        for argument in self.addresses.list(self.address_count as usize)? {
            kernel.set_address(argument.index, argument.value.address())?;
        }
        for info in self.infos.list(self.info_count as usize)? {
            check_exec_info(info.name, info.size, info.value)?;
        }
        let known = state.range;
        let kept = |of: [usize; 3]| of[..dims as usize].to_vec();
        let range = kernel.range(
            dims,
            Some(&offset.unwrap_or_else(|| kept(known.offset))),
            &global.unwrap_or_else(|| kept(known.global)),
            local.or_else(|| known.local.map(kept)).as_deref(),
        )?;
        let next = DispatchState { kernel, range, device: state.device.clone() };
        ensure(next.is_uniform() == state.is_uniform(), CL_INVALID_OPERATION)?;
        Ok(next)
    }
}

entries! {
    fn clUpdateMutableCommandsKHR(
        of: ClHandle, count: cl_uint, types: ClInput<cl_uint>, configs: ClInput<ClInput<c_void>>,
    ) {
        let buffer = find::<ClCommandBuffer>(of)?;
        ensure(buffer.is_final() && buffer.is_mutable(), CL_INVALID_OPERATION)?;
        let types = types.list(count as usize)?;
        let configs = configs.list(count as usize)?;
        ensure(types.into_iter().all(|ty| ty == CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR), CL_INVALID_VALUE)?;
        let mut updates: Vec<(Arc<ClMutableCommand>, DispatchState, CommandSlot)> = Vec::new();
        for config in configs {
            let config = ClInput::<DispatchConfig>::of_input(config).read().ok_or(ClError(CL_INVALID_VALUE))?;
            let command = find::<ClMutableCommand>(config.command)?;
            ensure(std::ptr::eq(command.buffer.as_ptr(), &*buffer), CL_INVALID_MUTABLE_COMMAND_KHR)?;
            let before = updates.iter().rev().find(|(earlier, ..)| Arc::ptr_eq(earlier, &command));
            let before = before.map_or_else(|| command.state(), |(_, state, _)| state.clone());
            let state = config.apply(&command, &before)?;
            let work = state.work()?;
            updates.push((command, state, work));
        }
        // Nothing can fail from here on: all updates are made, or none.
        buffer.replace(updates.into_iter().map(|(command, state, work)| {
            command.set_state(state);
            (command.point, work)
        }));
        Ok(())
    }

    fn clGetMutableCommandInfoKHR(
        of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>,
    ) {
        let command = find::<ClMutableCommand>(of)?;
        let buffer = command.buffer.upgrade().ok_or(ClError(CL_INVALID_MUTABLE_COMMAND_KHR))?;
        let range = command.state().range;
        let dims = range.dims as usize;
        let info = Info::new(size, value, needed);
        match name {
            CL_MUTABLE_COMMAND_COMMAND_QUEUE_KHR => info.value(handle_of(&*buffer.queue)),
            CL_MUTABLE_COMMAND_COMMAND_BUFFER_KHR => info.value(handle_of(&*buffer)),
            CL_MUTABLE_COMMAND_COMMAND_TYPE_KHR => info.value(CL_COMMAND_NDRANGE_KERNEL),
            CL_MUTABLE_COMMAND_PROPERTIES_ARRAY_KHR => info.list(&command.properties),
            CL_MUTABLE_DISPATCH_KERNEL_KHR => info.value(handle_of(&*command.kernel)),
            CL_MUTABLE_DISPATCH_DIMENSIONS_KHR => info.value(range.dims),
            CL_MUTABLE_DISPATCH_GLOBAL_WORK_OFFSET_KHR => info.list(&range.offset[..dims]),
            CL_MUTABLE_DISPATCH_GLOBAL_WORK_SIZE_KHR => info.list(&range.global[..dims]),
            CL_MUTABLE_DISPATCH_LOCAL_WORK_SIZE_KHR => info.list(&range.local.unwrap_or_default()[..dims]),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }
}
