//! Command buffers (`cl_khr_command_buffer`).

use super::command_target::CommandTarget;
use super::info::Info;
use super::pointer::{ClInput, ClOutput};
use super::transfer::{BufferBox, Triple};
use super::{Enqueuing, image, svm, transfer};
use crate::cl::*;
use crate::core::command_buffer::{ClCommandBuffer, RecordedWork};
use crate::core::context::ClContext;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::kernel::ClKernel;
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
    /// Checks the command buffer, and that there is neither a queue of its own nor a property nor a mutable command.
    fn new(
        of: ClHandle,
        queue: ClHandle,
        properties: ClInput<u64>,
        mutable: ClOutput<ClHandle>,
        sync_point: ClOutput<cl_uint>,
    ) -> ClResult<Recorder> {
        let into = find::<ClCommandBuffer>(of)?;
        ensure(queue.is_null(), CL_INVALID_COMMAND_QUEUE)?;
        ensure(!into.is_executable(), CL_INVALID_OPERATION)?;
        ensure(properties.read().unwrap_or(0) == 0 && mutable.is_null(), CL_INVALID_VALUE)?;
        Ok(Recorder { into, sync_point })
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
        self.sync_point.write(self.into.record(work)?);
        Ok(())
    }
}

/// Checks the properties of a command buffer.
fn check_properties(properties: &[u64]) -> ClResult<()> {
    let mut flags = None;
    for pair in properties.chunks_exact(2) {
        ensure(pair[0] == u64::from(CL_COMMAND_BUFFER_FLAGS_KHR) && flags.is_none(), CL_INVALID_VALUE)?;
        ensure(
            pair[1] & !(CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR | CL_COMMAND_BUFFER_MUTABLE_KHR) == 0,
            CL_INVALID_VALUE,
        )?;
        flags = Some(pair[1]);
    }
    ensure(flags.unwrap_or(0) & CL_COMMAND_BUFFER_MUTABLE_KHR == 0, CL_INVALID_PROPERTY)
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
        ensure(buffer.is_executable(), CL_INVALID_OPERATION)?;
        ensure(queues.is_null() == (count == 0) && count <= 1, CL_INVALID_VALUE)?;
        let queue = queues.read().unwrap_or_else(|| handle_of(&*buffer.queue));
        let into = Enqueuing::new(queue, waits, list, event)?;
        ensure(Arc::ptr_eq(into.context(), &buffer.queue.context), CL_INVALID_CONTEXT)?;
        into.command(CL_COMMAND_COMMAND_BUFFER_KHR, false, Box::new(move || buffer.run()))
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
            CL_COMMAND_BUFFER_STATE_KHR => info.value(match buffer.is_executable() {
                false => CL_COMMAND_BUFFER_STATE_RECORDING_KHR,
                true => CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR,
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
        let into = Recorder::new(of, queue, properties, mutable, sync_point)?.waits(count, points)?;
        let kernel = find::<ClKernel>(kernel)?;
        ensure(Arc::ptr_eq(&kernel.program.context, into.context()), CL_INVALID_CONTEXT)?;
        let launch = super::enqueue::launch(&kernel, dims, offset, global, local)?;
        launch.prepare()?;
        into.add(CL_COMMAND_NDRANGE_KERNEL, false, Box::new(move || launch.run()))
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
