//! Command buffers (`cl_khr_command_buffer`).

use super::command_target::CommandTarget;
use super::info::Info;
use super::mutable_command::updatable_fields;
use super::pointer::{ClInput, ClOutput};
use super::transfer::{BufferBox, Triple};
use super::{Enqueuing, image, svm, transfer};
use crate::cl::*;
use crate::core::command_buffer::{ClCommandBuffer, RecordedWork};
use crate::core::context::ClContext;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::kernel::ClKernel;
use crate::core::mutable_command::{ClMutableCommand, DispatchState, MUTABLE_FIELDS};
use crate::core::queue::Queue;
use crate::core::registry::{find, handle_of, publish, references, release, retain};
use std::ffi::c_void;
use std::sync::Arc;

/// Arguments common to every `clCommand…`: the command buffer and the pointer for the sync point.
struct Recorder {
    into: Arc<ClCommandBuffer>,
    sync_point: ClOutput<cl_uint>,
}

impl Recorder {
    /// Checks the command buffer, and that the command has no queue of its own.
    fn of(of: ClHandle, queue: ClHandle, sync_point: ClOutput<cl_uint>) -> ClResult<Recorder> {
        let into = find::<ClCommandBuffer>(of)?;
        ensure(queue.is_null(), CL_INVALID_COMMAND_QUEUE)?;
        ensure(!into.is_final(), CL_INVALID_OPERATION)?;
        Ok(Recorder { into, sync_point })
    }

    /// Checks as well that there is neither a property nor a handle of the command.
    fn new(
        of: ClHandle,
        queue: ClHandle,
        properties: ClInput<u64>,
        mutable: ClOutput<ClHandle>,
        sync_point: ClOutput<cl_uint>,
    ) -> ClResult<Recorder> {
        let recorder = Recorder::of(of, queue, sync_point)?;
        ensure(properties.read().unwrap_or(0) == 0 && mutable.is_null(), CL_INVALID_VALUE)?;
        Ok(recorder)
    }

    /// Checks the sync points that the command waits for: all of them are those of earlier commands.
    fn waits(self, count: cl_uint, points: ClInput<cl_uint>) -> ClResult<Recorder> {
        let points = points.list(count as usize).map_err(|_| ClError(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR))?;
        let known = points.into_iter().all(|point| self.into.has_sync_point(point));
        ensure(known, CL_INVALID_SYNC_POINT_WAIT_LIST_KHR)?;
        Ok(self)
    }
}

impl CommandTarget for Recorder {
    fn context(&self) -> &Arc<ClContext> {
        &self.into.queue.context
    }

    fn add(&self, _command: u32, _blocking: bool, work: RecordedWork) -> ClResult<()> {
        self.sync_point.write(self.into.record(Some(Arc::new(work)))?);
        Ok(())
    }
}

/// Checks the properties of a command buffer.
fn check_properties(properties: &[u64]) -> ClResult<()> {
    for (index, pair) in properties.chunks_exact(2).enumerate() {
        let is_repeated = properties.chunks_exact(2).take(index).any(|before| before[0] == pair[0]);
        let known = match u32::try_from(pair[0]) {
            Ok(CL_COMMAND_BUFFER_FLAGS_KHR) => {
                CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR | CL_COMMAND_BUFFER_MUTABLE_KHR
            }
            Ok(CL_COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS_KHR) => {
                CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR
            }
            _ => return Err(ClError(CL_INVALID_VALUE)),
        };
        ensure(!is_repeated && pair[1] & !known == 0, CL_INVALID_VALUE)?;
    }
    Ok(())
}

makers! {
    fn clCreateCommandBufferKHR(count: cl_uint, queues: ClInput<ClHandle>, list: ClInput<u64>) {
        ensure(count == 1, CL_INVALID_VALUE)?;
        let queue = find::<Queue>(queues.read().ok_or(ClError(CL_INVALID_VALUE))?)?;
        let properties = list.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
        check_properties(&properties)?;
        Ok(publish(Arc::new(ClCommandBuffer::new(queue, properties))))
    }
}

entries! {
    fn clFinalizeCommandBufferKHR(of: ClHandle) {
        find::<ClCommandBuffer>(of)?.finalize()
    }

    fn clRetainCommandBufferKHR(of: ClHandle) {
        retain::<ClCommandBuffer>(of)
    }

    fn clReleaseCommandBufferKHR(of: ClHandle) {
        release::<ClCommandBuffer>(of).map(|_| ())
    }

    fn clEnqueueCommandBufferKHR(
        count: cl_uint, queues: ClInput<ClHandle>, of: ClHandle, waits: cl_uint, list: ClInput<ClHandle>,
        event: ClOutput<ClHandle>,
    ) {
        let buffer = find::<ClCommandBuffer>(of)?;
        let commands = buffer.commands().ok_or(ClError(CL_INVALID_OPERATION))?;
        ensure(queues.is_null() == (count == 0) && count <= 1, CL_INVALID_VALUE)?;
        let queue = queues.read().unwrap_or_else(|| handle_of(&*buffer.queue));
        let into = Enqueuing::new(queue, waits, list, event)?;
        ensure(Arc::ptr_eq(into.context(), &buffer.queue.context), CL_INVALID_CONTEXT)?;
        // Its kernels have the threads of the device that they were recorded for.
        ensure(Arc::ptr_eq(&into.queue.device, &buffer.queue.device), CL_INCOMPATIBLE_COMMAND_QUEUE_KHR)?;
        into.command(CL_COMMAND_COMMAND_BUFFER_KHR, false, Box::new(move || commands.run()))
    }

    fn clGetCommandBufferInfoKHR(
        of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>,
    ) {
        let buffer = find::<ClCommandBuffer>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_COMMAND_BUFFER_NUM_QUEUES_KHR => info.value(1u32),
            CL_COMMAND_BUFFER_QUEUES_KHR => info.value(handle_of(&*buffer.queue)),
            CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR => info.value(references(&*buffer)),
            CL_COMMAND_BUFFER_STATE_KHR => info.value(match (buffer.is_final(), buffer.commands()) {
                (false, _) => CL_COMMAND_BUFFER_STATE_RECORDING_KHR,
                (true, None) => CL_COMMAND_BUFFER_STATE_FINALIZED_KHR,
                (true, Some(_)) => CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR,
            }),
            CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR => info.list(&buffer.properties),
            CL_COMMAND_BUFFER_CONTEXT_KHR => info.value(handle_of(&*buffer.queue.context)),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clCommandBarrierWithWaitListKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, count: cl_uint, points: ClInput<cl_uint>,
        sync_point: ClOutput<cl_uint>, mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        into.add(CL_COMMAND_BARRIER, false, Box::new(|| Ok(())))
    }

    fn clCommandNDRangeKernelKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, kernel: ClHandle, dims: cl_uint, offset: ClInput<usize>,
        global: ClInput<usize>, local: ClInput<usize>, count: cl_uint, points: ClInput<cl_uint>,
        sync_point: ClOutput<cl_uint>, mutable: ClOutput<ClHandle>,
    ) {
        let Recorder { into, sync_point } = Recorder::of(of, queue, sync_point)?.waits(count, points)?;
        let properties = properties.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
        let fields = updatable_fields(&properties)?;
        let kernel = find::<ClKernel>(kernel)?;
        ensure(Arc::ptr_eq(&kernel.program.context, &into.queue.context), CL_INVALID_CONTEXT)?;
        let range = super::enqueue::range(&kernel, dims, offset, global, local)?;
        // Later changes of the kernel do not concern the command.
        let device = into.queue.device.clone();
        let state = DispatchState { kernel: Arc::new(kernel.duplicate()), range, device };
        let work = state.work()?;
        let may_come = into.is_mutable() && fields.unwrap_or(0) & CL_MUTABLE_DISPATCH_ARGUMENTS_KHR != 0;
        ensure(work.is_some() || may_come, CL_INVALID_KERNEL_ARGS)?;
        let point = into.record(work)?;
        if !mutable.is_null() {
            let fields = fields.unwrap_or(MUTABLE_FIELDS);
            let command = Arc::new(ClMutableCommand::new(&into, point, properties, fields, kernel, state));
            mutable.write(publish(command.clone()));
            // The command lives as long as the buffer.
            release::<ClMutableCommand>(handle_of(&*command))?;
            into.keep(command);
        }
        sync_point.write(point);
        Ok(())
    }

    fn clCommandCopyBufferKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, source: ClHandle, target: ClHandle, from: usize, to: usize,
        size: usize, count: cl_uint, points: ClInput<cl_uint>, sync_point: ClOutput<cl_uint>, mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        transfer::copy_buffer(&into, (source, from), (target, to), size)
    }

    fn clCommandCopyBufferRectKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, source: ClHandle, target: ClHandle, from: ClInput<Triple>,
        to: ClInput<Triple>, size: ClInput<Triple>, from_row: usize, from_slice: usize, to_row: usize, to_slice: usize,
        count: cl_uint, points: ClInput<cl_uint>, sync_point: ClOutput<cl_uint>, mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        let from = BufferBox { buffer: source, origin: from, pitches: [from_row, from_slice] };
        let to = BufferBox { buffer: target, origin: to, pitches: [to_row, to_slice] };
        transfer::copy_buffer_box(&into, &from, &to, size)
    }

    fn clCommandFillBufferKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, target: ClHandle, pattern: ClInput<c_void>, pattern_size: usize,
        offset: usize, size: usize, count: cl_uint, points: ClInput<cl_uint>, sync_point: ClOutput<cl_uint>,
        mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        transfer::fill_buffer(&into, target, (pattern, pattern_size), offset, size)
    }

    fn clCommandFillImageKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, target: ClHandle, color: ClInput<c_void>,
        origin: ClInput<Triple>, region: ClInput<Triple>, count: cl_uint, points: ClInput<cl_uint>,
        sync_point: ClOutput<cl_uint>, mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        image::fill_image(&into, target, color, (origin, region))
    }

    fn clCommandCopyImageKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, source: ClHandle, target: ClHandle, from: ClInput<Triple>,
        to: ClInput<Triple>, region: ClInput<Triple>, count: cl_uint, points: ClInput<cl_uint>,
        sync_point: ClOutput<cl_uint>, mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        image::copy_image(&into, (source, from), (target, to), region)
    }

    fn clCommandCopyImageToBufferKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, source: ClHandle, target: ClHandle, from: ClInput<Triple>,
        region: ClInput<Triple>, to: usize, count: cl_uint, points: ClInput<cl_uint>, sync_point: ClOutput<cl_uint>,
        mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        image::copy_image_to_buffer(&into, (source, from), (target, to), region)
    }

    fn clCommandCopyBufferToImageKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, source: ClHandle, target: ClHandle, from: usize,
        to: ClInput<Triple>, region: ClInput<Triple>, count: cl_uint, points: ClInput<cl_uint>,
        sync_point: ClOutput<cl_uint>, mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        image::copy_buffer_to_image(&into, (source, from), (target, to), region)
    }

    fn clCommandSVMMemcpyKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, to: ClOutput<c_void>, from: ClInput<c_void>, size: usize,
        count: cl_uint, points: ClInput<cl_uint>, sync_point: ClOutput<cl_uint>, mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        svm::copy(&into, CL_COMMAND_SVM_MEMCPY, false, to, from, size)
    }

    fn clCommandSVMMemFillKHR(
        of: ClHandle, queue: ClHandle, properties: ClInput<u64>, to: ClOutput<c_void>, pattern: ClInput<c_void>,
        pattern_size: usize, size: usize, count: cl_uint, points: ClInput<cl_uint>, sync_point: ClOutput<cl_uint>,
        mutable: ClOutput<ClHandle>,
    ) {
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        svm::fill(&into, CL_COMMAND_SVM_MEMFILL, to, pattern, pattern_size, size)
    }
}
