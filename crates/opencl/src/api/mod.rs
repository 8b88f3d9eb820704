//! The C interface: one function for each entry of the specification.
//!
//! Pointers of the application come as [`In`], [`Out`] and `Text`, which only C makes, by calling an entry: that call is
//! the promise that a pointer which is not null leads to what the specification says. So entries need no unsafe code of
//! their own. Handles are numbers until `core::registry` has found them.
#![allow(non_snake_case)]

pub mod pointer;
pub mod info;
#[macro_use]
mod entry;
pub mod platform;
pub mod device;
pub mod context;
pub mod queue;
pub mod memory;
pub mod svm;
pub mod program;
pub mod kernel;
pub mod event;
pub mod enqueue;
pub mod transfer;
pub mod refused;
pub mod dispatch;

use crate::cl::*;
use crate::core::error::{Answer, Error, ensure};
use crate::core::event::{Event, Work};
use crate::core::queue::{Doer, Order, Queue, Request};
use crate::core::registry::{find, publish};
use pointer::{In, Out};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What an entry returns that gives a code. A mistake of the driver's own becomes one as well.
fn answer(body: impl FnOnce() -> Answer<()>) -> cl_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => CL_SUCCESS,
        Ok(Err(Error(code))) => code,
        Err(_) => CL_OUT_OF_RESOURCES,
    }
}

/// What an entry returns that makes something: null, and a code beside it, if it cannot.
fn made(code: Out<cl_int>, body: impl FnOnce() -> Answer<Handle>) -> Handle {
    let made = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Error(CL_OUT_OF_RESOURCES)));
    match made {
        Ok(handle) => {
            code.write(CL_SUCCESS);
            handle
        }
        Err(Error(error)) => {
            code.write(error);
            std::ptr::null_mut()
        }
    }
}

/// The events of a wait list.
fn wait_list(count: cl_uint, list: In<Handle>) -> Answer<Vec<Arc<Event>>> {
    let handles = list.list(count as usize).map_err(|_| Error(CL_INVALID_EVENT_WAIT_LIST))?;
    let event = |&handle: &Handle| find::<Event>(handle).map_err(|_| Error(CL_INVALID_EVENT_WAIT_LIST));
    handles.iter().map(event).collect()
}

/// Where a command goes, and what goes with it, as every `clEnqueue…` is told.
struct Enqueuing {
    queue: Arc<Queue>,
    waits: Vec<Arc<Event>>,
    event: Out<Handle>,
}

impl Enqueuing {
    fn new(queue: Handle, count: cl_uint, list: In<Handle>, event: Out<Handle>) -> Answer<Enqueuing> {
        let queue = find::<Queue>(queue)?;
        let waits = wait_list(count, list)?;
        ensure(waits.iter().all(|event| Arc::ptr_eq(&event.context, &queue.context)), CL_INVALID_CONTEXT)?;
        Ok(Enqueuing { queue, waits, event })
    }

    fn ordered(&self, command: u32, order: Order, blocking: bool, work: Work) -> Answer<()> {
        self.request(
            &Request { command, wait_list: &self.waits, order, blocking, doer: Doer::Executor },
            work,
        )
    }

    fn request(&self, request: &Request<'_>, work: Work) -> Answer<()> {
        let event = self.queue.enqueue(request, work)?;
        if !self.event.is_null() {
            self.event.write(publish(event));
        }
        Ok(())
    }

    fn command(&self, command: u32, blocking: bool, work: Work) -> Answer<()> {
        self.ordered(command, Order::Queue, blocking, work)
    }
}
