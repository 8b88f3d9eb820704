//! Command queues.

use super::info::Info;
use super::pointer::{In, Out};
use crate::cl::*;
use crate::core::context::Context;
use crate::core::device::{Device, device};
use crate::core::error::{Answer, Error, ensure};
use crate::core::queue::{Doer, Order, Queue, Request};
use crate::core::registry::{find, handle_of, publish, references, release, retain};
use std::ffi::c_void;
use std::sync::Arc;

const HOST_QUEUE: u64 = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
const DEVICE_QUEUE: u64 = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;

makers! {
    fn clCreateCommandQueue(context: Handle, of: Handle, flags: u64) {
        let context = find::<Context>(context)?;
        find::<Device>(of)?;
        ensure(flags & !HOST_QUEUE == 0, CL_INVALID_VALUE)?;
        Ok(publish(Arc::new(Queue::new(&context, flags, Vec::new()))))
    }

    fn clCreateCommandQueueWithProperties(context: Handle, of: Handle, list: In<u64>) {
        let context = find::<Context>(context)?;
        find::<Device>(of)?;
        let properties = list.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
        let mut flags = 0;
        for pair in properties.chunks_exact(2) {
            match pair[0] {
                CL_QUEUE_PROPERTIES_NAME => flags = pair[1],
                CL_QUEUE_SIZE_NAME => return Err(Error(CL_INVALID_QUEUE_PROPERTIES)),
                _ => return Err(Error(CL_INVALID_VALUE)),
            }
        }
        ensure(flags & !(HOST_QUEUE | DEVICE_QUEUE) == 0, CL_INVALID_VALUE)?;
        ensure(flags & DEVICE_QUEUE == 0, CL_INVALID_QUEUE_PROPERTIES)?;
        Ok(publish(Arc::new(Queue::new(&context, flags, properties))))
    }
}

const CL_QUEUE_PROPERTIES_NAME: u64 = CL_QUEUE_PROPERTIES as u64;
const CL_QUEUE_SIZE_NAME: u64 = CL_QUEUE_SIZE as u64;

entries! {
    fn clRetainCommandQueue(of: Handle) {
        retain::<Queue>(of)
    }

    fn clReleaseCommandQueue(of: Handle) {
        release::<Queue>(of).map(|_| ())
    }

    fn clGetCommandQueueInfo(of: Handle, name: cl_uint, size: usize, value: Out<c_void>, needed: Out<usize>) {
        let queue = find::<Queue>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_QUEUE_CONTEXT => info.value(handle_of(&*queue.context)),
            CL_QUEUE_DEVICE => info.value(handle_of(&**device())),
            CL_QUEUE_REFERENCE_COUNT => info.value(references(&*queue)),
            CL_QUEUE_PROPERTIES => info.value(queue.flags),
            CL_QUEUE_PROPERTIES_ARRAY => info.list(&queue.properties),
            CL_QUEUE_DEVICE_DEFAULT => info.value(std::ptr::null_mut::<c_void>()),
            // Its size is asked of a queue of the device only.
            CL_QUEUE_SIZE => Err(Error(CL_INVALID_COMMAND_QUEUE)),
            _ => Err(Error(CL_INVALID_VALUE)),
        }
    }

    fn clFlush(of: Handle) {
        // Commands are submitted when they are enqueued.
        find::<Queue>(of).map(|_| ())
    }

    fn clFinish(of: Handle) {
        find::<Queue>(of)?.finish();
        Ok(())
    }

    fn clEnqueueMarkerWithWaitList(queue: Handle, count: cl_uint, list: In<Handle>, event: Out<Handle>) {
        let into = super::Enqueuing::new(queue, count, list, event)?;
        into.ordered(CL_COMMAND_MARKER, Order::Behind, false, Box::new(|| Ok(())))
    }

    fn clEnqueueBarrierWithWaitList(queue: Handle, count: cl_uint, list: In<Handle>, event: Out<Handle>) {
        let into = super::Enqueuing::new(queue, count, list, event)?;
        into.ordered(CL_COMMAND_BARRIER, Order::Barrier, false, Box::new(|| Ok(())))
    }

    fn clEnqueueMarker(queue: Handle, event: Out<Handle>) {
        let queue = find::<Queue>(queue)?;
        ensure(!event.is_null(), CL_INVALID_VALUE)?;
        let request =
            Request { command: CL_COMMAND_MARKER, wait_list: &[], order: Order::Behind, blocking: false, doer: Doer::Executor };
        event.write(publish(queue.enqueue(&request, Box::new(|| Ok(())))?));
        Ok(())
    }

    fn clEnqueueBarrier(queue: Handle) {
        let queue = find::<Queue>(queue)?;
        let request =
            Request { command: CL_COMMAND_BARRIER, wait_list: &[], order: Order::Barrier, blocking: false, doer: Doer::Executor };
        queue.enqueue(&request, Box::new(|| Ok(()))).map(|_| ())
    }

    fn clEnqueueWaitForEvents(queue: Handle, count: cl_uint, list: In<Handle>) {
        let queue = find::<Queue>(queue)?;
        let events = list.list(count as usize)?;
        ensure(!events.is_empty(), CL_INVALID_VALUE)?;
        let waits: Answer<Vec<_>> = events.into_iter().map(find).collect();
        let request =
            Request { command: CL_COMMAND_BARRIER, wait_list: &waits?, order: Order::Barrier, blocking: false, doer: Doer::Executor };
        queue.enqueue(&request, Box::new(|| Ok(()))).map(|_| ())
    }
}
