//! The C interface: one function for each entry of the specification.
//!
//! Pointers arrive as [`ClInput`], [`ClOutput`] and `ClString`, which only a C caller creates. The call promises that each
//! non-null pointer is valid as the specification requires, so entries need no unsafe code. Handles are numbers until
//! `core::registry` looks them up.
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
pub mod image;
pub mod sampler;
pub mod svm;
pub mod usm;
pub mod unified_svm;
pub mod program;
pub mod kernel;
pub mod event;
pub mod enqueue;
mod command_target;
pub mod command_buffer;
pub mod mutable_command;
pub mod transfer;
pub mod refused;
pub mod dispatch;

use crate::cl::*;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::event::{ClEvent, CommandWork};
use crate::core::queue::{CommandOrder, CommandRequest, CommandThreads, Queue};
use crate::core::registry::{find, publish};
use pointer::{ClInput, ClOutput};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs an entry and returns its error code. A panic in the driver becomes an error code, too.
fn answer(body: impl FnOnce() -> ClResult<()>) -> cl_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => CL_SUCCESS,
        Ok(Err(ClError(code))) => code,
        Err(_) => CL_OUT_OF_RESOURCES,
    }
}

/// New object of an entry, with its code: some objects are made even if a step fails.
trait MadeObject {
    /// Returns the handle and the code.
    fn parts(self) -> (ClHandle, cl_int);
}

impl MadeObject for ClHandle {
    fn parts(self) -> (ClHandle, cl_int) {
        (self, CL_SUCCESS)
    }
}

impl MadeObject for (ClHandle, cl_int) {
    fn parts(self) -> (ClHandle, cl_int) {
        self
    }
}

/// Runs an entry that creates an object. On failure returns null and writes the error code.
fn made<T: MadeObject>(code: ClOutput<cl_int>, body: impl FnOnce() -> ClResult<T>) -> ClHandle {
    let made = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(ClError(CL_OUT_OF_RESOURCES)));
    match made.map(T::parts) {
        Ok((handle, status)) => {
            code.write(status);
            handle
        }
        Err(ClError(error)) => {
            code.write(error);
            std::ptr::null_mut()
        }
    }
}

/// Looks up the events of a wait list.
fn wait_list(count: cl_uint, list: ClInput<ClHandle>) -> ClResult<Vec<Arc<ClEvent>>> {
    let handles = list.list(count as usize).map_err(|_| ClError(CL_INVALID_EVENT_WAIT_LIST))?;
    let event = |&handle: &ClHandle| find::<ClEvent>(handle).map_err(|_| ClError(CL_INVALID_EVENT_WAIT_LIST));
    handles.iter().map(event).collect()
}

/// Arguments common to every `clEnqueue…`: the queue, the wait list and the event pointer.
struct Enqueuing {
    queue: Arc<Queue>,
    waits: Vec<Arc<ClEvent>>,
    event: ClOutput<ClHandle>,
}

impl Enqueuing {
    fn new(
        queue: ClHandle,
        count: cl_uint,
        list: ClInput<ClHandle>,
        event: ClOutput<ClHandle>,
    ) -> ClResult<Enqueuing> {
        let queue = find::<Queue>(queue)?;
        let waits = wait_list(count, list)?;
        ensure(waits.iter().all(|event| Arc::ptr_eq(&event.context, &queue.context)), CL_INVALID_CONTEXT)?;
        Ok(Enqueuing { queue, waits, event })
    }

    fn ordered(&self, command: u32, order: CommandOrder, blocking: bool, work: CommandWork) -> ClResult<()> {
        self.request(
            &CommandRequest {
                command,
                wait_list: &self.waits,
                order,
                blocking,
                doer: CommandThreads::Executor,
            },
            work,
        )
    }

    fn request(&self, request: &CommandRequest<'_>, work: CommandWork) -> ClResult<()> {
        let event = self.queue.enqueue(request, work)?;
        if !self.event.is_null() {
            self.event.write(publish(event));
        }
        Ok(())
    }

    fn command(&self, command: u32, blocking: bool, work: CommandWork) -> ClResult<()> {
        self.ordered(command, CommandOrder::Queue, blocking, work)
    }
}
