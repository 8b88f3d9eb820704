//! Command queues.
//!
//! A queue keeps incomplete commands by number. In an in-order queue each command waits for its predecessor; in an
//! out-of-order one it waits for the last barrier and for its wait list.

use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::device::Device;
use crate::core::error::{ClResult, ensure};
use crate::core::event::{ClCommand, ClEvent, CommandWork, execute};
use crate::core::executor;
use crate::core::registry::ObjectHandle;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

#[derive(Default)]
struct QueueState {
    next: u64,
    /// Incomplete commands by number.
    outstanding: BTreeMap<u64, Arc<ClEvent>>,
    /// Number of the last barrier.
    barrier: Option<u64>,
    /// Last barrier that waits for all earlier commands; a command that waits for it need not wait for those.
    full_barrier: u64,
}

/// Command queue.
pub struct Queue {
    pub(crate) handle: ObjectHandle<Queue>,
    /// Owning context.
    pub context: Arc<ClContext>,
    /// Device that runs its kernels.
    pub device: Arc<Device>,
    /// Flags: out-of-order execution, profiling.
    pub flags: u64,
    /// Creation properties, with the terminating zero.
    pub properties: Vec<u64>,
    state: Mutex<QueueState>,
    changed: Condvar,
}

crate::object!(Queue, CL_INVALID_COMMAND_QUEUE);

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({:?})", self.handle)
    }
}

/// Commands of the queue that a command waits for, besides its wait list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandOrder {
    /// Commands that the queue's order requires.
    Queue,
    /// All earlier commands.
    Behind,
    /// All earlier commands; later ones wait for this one.
    Barrier,
}

/// Parameters of an enqueued command.
pub struct CommandRequest<'a> {
    /// Command kind (`CL_COMMAND_…`).
    pub command: u32,
    /// Wait list.
    pub wait_list: &'a [Arc<ClEvent>],
    /// Order relative to other commands.
    pub order: CommandOrder,
    /// True if the caller waits for completion.
    pub blocking: bool,
    /// Threads that may execute the command.
    pub doer: CommandThreads,
}

/// Threads that may execute a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandThreads {
    /// Executor threads.
    Executor,
    /// Also an application thread that waits for it.
    Waiter,
    /// Also the enqueueing thread, immediately.
    Caller,
}

impl fmt::Debug for CommandRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({:#x}, {:?})", self.command, self.order)
    }
}

impl Queue {
    /// Creates a queue.
    pub fn new(
        context: &Arc<ClContext>,
        device: Arc<Device>,
        flags: u64,
        properties: Vec<u64>,
    ) -> Arc<Queue> {
        let queue = Arc::new(Queue {
            handle: ObjectHandle::default(),
            context: context.clone(),
            device,
            flags,
            properties,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        context.add_queue(&queue);
        // The first launch finds the threads there.
        queue.device.pool();
        executor::start();
        queue
    }

    fn is_in_order(&self) -> bool {
        self.flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0
    }

    /// Enqueues a command, waits for it if it is blocking, and returns its event.
    pub fn enqueue(
        self: &Arc<Queue>,
        request: &CommandRequest<'_>,
        work: CommandWork,
    ) -> ClResult<Arc<ClEvent>> {
        let same = |event: &Arc<ClEvent>| Arc::ptr_eq(&event.context, &self.context);
        ensure(request.wait_list.iter().all(same), CL_INVALID_CONTEXT)?;
        let (event, before) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let before: Vec<Arc<ClEvent>> = if self.is_in_order() {
                state.outstanding.values().next_back().cloned().into_iter().collect()
            } else {
                let barrier = state.barrier.and_then(|number| state.outstanding.get(&number));
                match request.order {
                    CommandOrder::Queue => barrier.cloned().into_iter().collect(),
                    // With a wait list it waits for that alone.
                    CommandOrder::Behind | CommandOrder::Barrier if !request.wait_list.is_empty() => {
                        barrier.cloned().into_iter().collect()
                    }
                    CommandOrder::Behind | CommandOrder::Barrier => state
                        .outstanding
                        .range(state.full_barrier..)
                        .map(|(_, event)| event.clone())
                        .collect(),
                }
            };
            let number = state.next;
            state.next += 1;
            let event = Arc::new(ClEvent::of_command(self, request.command, number));
            state.outstanding.insert(number, event.clone());
            if request.order == CommandOrder::Barrier {
                state.barrier = Some(number);
                if request.wait_list.is_empty() {
                    state.full_barrier = number;
                }
            }
            (event, before)
        };
        let command = Arc::new(ClCommand {
            event: event.clone(),
            doer: request.doer,
            missing: AtomicUsize::new(1 + before.len() + request.wait_list.len()),
            failed: AtomicBool::new(false),
            work: Mutex::new(Some(work)),
        });
        event.progress(CL_SUBMITTED);
        let waits = |event: &Arc<ClEvent>, listed: bool| {
            if !event.add_waiter(&command, listed) {
                command.missing.fetch_sub(1, Ordering::AcqRel);
            }
        };
        before.iter().for_each(|event| waits(event, false));
        request.wait_list.iter().for_each(|event| waits(event, true));
        if command.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            // A waiting thread executes the command itself, which saves a thread switch.
            if request.blocking || request.doer == CommandThreads::Caller {
                execute(&command).into_iter().for_each(executor::submit);
            } else {
                executor::submit(command);
            }
        }
        if request.blocking {
            let status = event.wait();
            ensure(status >= 0, if status < 0 { status } else { CL_OUT_OF_RESOURCES })?;
        }
        Ok(event)
    }

    /// Removes a completed command.
    pub fn forget(&self, number: u64) {
        let event = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.barrier == Some(number) {
                state.barrier = None;
            }
            state.outstanding.remove(&number)
        };
        self.changed.notify_all();
        drop(event);
    }

    /// Executes a command on this thread without an event, unless it has to wait. The command must not call the
    /// application, whose other commands wait meanwhile.
    pub fn at_once<T>(&self, wait_list: &[Arc<ClEvent>], work: impl FnOnce() -> T) -> Option<T> {
        if wait_list.iter().any(|event| event.status() != CL_COMPLETE) {
            return None;
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let done = state.outstanding.is_empty().then(work);
        drop(state);
        done
    }

    /// Waits until all commands that were enqueued are complete.
    pub fn finish(&self) {
        let last = self.state.lock().unwrap_or_else(PoisonError::into_inner).next;
        executor::help(self, || false);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.outstanding.keys().next().is_some_and(|&number| number < last) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
