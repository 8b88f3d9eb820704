//! Command queues.

use super::device::device_among;
use super::info::Info;
use super::pointer::{ClInput, ClOutput};
use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::queue::{CommandOrder, CommandRequest, CommandThreads, Queue};
use crate::core::registry::{find, handle_of, publish, references, release, retain};
use std::ffi::c_void;

const HOST_QUEUE: u64 = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
const DEVICE_QUEUE: u64 = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;

makers! {
    fn clCreateCommandQueue(context: ClHandle, of: ClHandle, flags: u64) {
        let context = find::<ClContext>(context)?;
        let device = device_among(&context.devices, of)?;
        ensure(flags & !HOST_QUEUE == 0, CL_INVALID_VALUE)?;
        Ok(publish(Queue::new(&context, device, flags, Vec::new())))
    }

    fn clCreateCommandQueueWithProperties(context: ClHandle, of: ClHandle, list: ClInput<u64>) {
        let context = find::<ClContext>(context)?;
        let device = device_among(&context.devices, of)?;
        let properties = list.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
        let mut flags = 0;
        for pair in properties.chunks_exact(2) {
            match pair[0] {
                CL_QUEUE_PROPERTIES_NAME => flags = pair[1],
                // A hint: commands run in the order in which they become ready.
                CL_QUEUE_PRIORITY_NAME => {
                    let priorities = [CL_QUEUE_PRIORITY_HIGH_KHR, CL_QUEUE_PRIORITY_MED_KHR, CL_QUEUE_PRIORITY_LOW_KHR];
                    ensure(priorities.contains(&pair[1]), CL_INVALID_VALUE)?;
                }
                CL_QUEUE_SIZE_NAME => return Err(ClError(CL_INVALID_QUEUE_PROPERTIES)),
                _ => return Err(ClError(CL_INVALID_VALUE)),
            }
        }
        ensure(flags & !(HOST_QUEUE | DEVICE_QUEUE) == 0, CL_INVALID_VALUE)?;
        ensure(flags & DEVICE_QUEUE == 0, CL_INVALID_QUEUE_PROPERTIES)?;
        Ok(publish(Queue::new(&context, device, flags, properties)))
    }
}

const CL_QUEUE_PROPERTIES_NAME: u64 = CL_QUEUE_PROPERTIES as u64;
const CL_QUEUE_PRIORITY_NAME: u64 = CL_QUEUE_PRIORITY_KHR as u64;
const CL_QUEUE_SIZE_NAME: u64 = CL_QUEUE_SIZE as u64;

entries! {
    fn clRetainCommandQueue(of: ClHandle) {
        retain::<Queue>(of)
    }

    fn clReleaseCommandQueue(of: ClHandle) {
        release::<Queue>(of).map(|_| ())
    }

    fn clGetCommandQueueInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let queue = find::<Queue>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_QUEUE_CONTEXT => info.value(handle_of(&*queue.context)),
            CL_QUEUE_DEVICE => info.value(handle_of(&*queue.device)),
            CL_QUEUE_REFERENCE_COUNT => info.value(references(&*queue)),
            CL_QUEUE_PROPERTIES => info.value(queue.flags),
            CL_QUEUE_PROPERTIES_ARRAY => info.list(&queue.properties),
            CL_QUEUE_DEVICE_DEFAULT => info.value(std::ptr::null_mut::<c_void>()),
            // Only on-device queues have a size.
            CL_QUEUE_SIZE => Err(ClError(CL_INVALID_COMMAND_QUEUE)),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clFlush(of: ClHandle) {
        // Commands are submitted when they are enqueued.
        find::<Queue>(of).map(|_| ())
    }

    fn clFinish(of: ClHandle) {
        find::<Queue>(of)?.finish();
        Ok(())
    }

    fn clEnqueueMarkerWithWaitList(queue: ClHandle, count: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>) {
        let into = super::Enqueuing::new(queue, count, list, event)?;
        into.ordered(CL_COMMAND_MARKER, CommandOrder::Behind, false, Box::new(|| Ok(())))
    }

    fn clEnqueueBarrierWithWaitList(queue: ClHandle, count: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>) {
        let into = super::Enqueuing::new(queue, count, list, event)?;
        into.ordered(CL_COMMAND_BARRIER, CommandOrder::Barrier, false, Box::new(|| Ok(())))
    }

    fn clEnqueueMarker(queue: ClHandle, event: ClOutput<ClHandle>) {
        let queue = find::<Queue>(queue)?;
        ensure(!event.is_null(), CL_INVALID_VALUE)?;
        let request =
            CommandRequest { command: CL_COMMAND_MARKER, wait_list: &[], order: CommandOrder::Behind, blocking: false, doer: CommandThreads::Executor };
        event.write(publish(queue.enqueue(&request, Box::new(|| Ok(())))?));
        Ok(())
    }

    fn clEnqueueBarrier(queue: ClHandle) {
        let queue = find::<Queue>(queue)?;
        let request =
            CommandRequest { command: CL_COMMAND_BARRIER, wait_list: &[], order: CommandOrder::Barrier, blocking: false, doer: CommandThreads::Executor };
        queue.enqueue(&request, Box::new(|| Ok(()))).map(|_| ())
    }

    fn clEnqueueWaitForEvents(queue: ClHandle, count: cl_uint, list: ClInput<ClHandle>) {
        let queue = find::<Queue>(queue)?;
        let events = list.list(count as usize)?;
        ensure(!events.is_empty(), CL_INVALID_VALUE)?;
        let waits: ClResult<Vec<_>> = events.into_iter().map(find).collect();
        let request =
            CommandRequest { command: CL_COMMAND_BARRIER, wait_list: &waits?, order: CommandOrder::Barrier, blocking: false, doer: CommandThreads::Executor };
        queue.enqueue(&request, Box::new(|| Ok(()))).map(|_| ())
    }
}
