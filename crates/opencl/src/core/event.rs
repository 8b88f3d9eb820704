//! Events: command status and waiting commands.
//!
//! Invariant: the status only decreases. The thread that makes it final releases the waiting commands, without recursion
//! however long the chain of commands is.

use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::executor;
use crate::core::queue::{CommandThreads, Queue};
use crate::core::registry::ObjectHandle;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Body of a command; a negative status on failure.
pub type CommandWork = Box<dyn FnOnce() -> Result<(), i32> + Send>;
/// Callback for an event that reaches a status.
pub type EventCallback = Box<dyn FnOnce(&Arc<ClEvent>, i32) + Send>;

/// Incomplete command.
pub struct ClCommand {
    /// Event that carries the command's status.
    pub event: Arc<ClEvent>,
    /// Threads that may execute the command.
    pub doer: CommandThreads,
    /// Number of unfinished events in its way, plus one held by the enqueueing call.
    pub missing: AtomicUsize,
    /// True if an event of its wait list failed.
    pub failed: AtomicBool,
    /// Body of the command, until it runs.
    pub work: Mutex<Option<CommandWork>>,
}

impl fmt::Debug for ClCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({:?})", self.event)
    }
}

/// Command that waits for an event.
#[derive(Debug)]
struct Waiter {
    command: Arc<ClCommand>,
    /// True if the event is in the command's wait list, so its failure propagates. False for queue order only.
    listed: bool,
}

#[derive(Default)]
struct EventState {
    status: i32,
    /// Times of queueing, submission, start and end in nanoseconds.
    times: [u64; 4],
    waiters: Vec<Waiter>,
    callbacks: Vec<(i32, EventCallback)>,
}

/// Waiters and callbacks of an event with a final status.
struct SettledEvent {
    waiters: Vec<Waiter>,
    callbacks: Vec<(i32, EventCallback)>,
}

/// Event: the status of a command.
pub struct ClEvent {
    pub(crate) handle: ObjectHandle<ClEvent>,
    /// Owning context.
    pub context: Arc<ClContext>,
    /// Queue of its command; none for a user event.
    pub queue: Option<Arc<Queue>>,
    /// Command kind (`CL_COMMAND_…`).
    pub command: u32,
    /// Sequence number in the queue.
    pub number: u64,
    state: Mutex<EventState>,
    changed: Condvar,
}

crate::object!(ClEvent, CL_INVALID_EVENT);

impl fmt::Debug for ClEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?}, status {})", self.handle, self.status())
    }
}

/// Returns nanoseconds since the first call.
pub fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    // 0 stands for "not yet".
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

impl ClEvent {
    /// Creates the event of a command just queued.
    pub fn of_command(queue: &Arc<Queue>, command: u32, number: u64) -> ClEvent {
        let state = EventState { status: CL_QUEUED, times: [now(), 0, 0, 0], ..EventState::default() };
        ClEvent {
            handle: ObjectHandle::default(),
            context: queue.context.clone(),
            queue: Some(queue.clone()),
            command,
            number,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Creates a user event.
    pub fn of_user(context: &Arc<ClContext>) -> ClEvent {
        ClEvent {
            handle: ObjectHandle::default(),
            context: context.clone(),
            queue: None,
            command: CL_COMMAND_USER,
            number: 0,
            state: Mutex::new(EventState { status: CL_SUBMITTED, ..EventState::default() }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, EventState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the status: queued, submitted, running, complete, or a negative error.
    pub fn status(&self) -> i32 {
        self.state().status
    }

    /// Returns the times of queueing, submission, start and end of a finished command.
    pub fn times(&self) -> Option<[u64; 4]> {
        let state = self.state();
        (state.status == CL_COMPLETE).then_some(state.times)
    }

    /// Waits until the event is complete or failed and returns its status.
    pub fn wait(&self) -> i32 {
        if let Some(queue) = &self.queue {
            executor::help(queue, || self.status() <= CL_COMPLETE);
        }
        let mut state = self.state();
        while state.status > CL_COMPLETE {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.status
    }

    /// Makes a command wait for the event; false if the event is final. `listed`: a failure propagates to the command.
    pub fn add_waiter(&self, command: &Arc<ClCommand>, listed: bool) -> bool {
        let mut state = self.state();
        if state.status <= CL_COMPLETE {
            if state.status < 0 && listed {
                command.failed.store(true, Ordering::Release);
            }
            return false;
        }
        state.waiters.push(Waiter { command: command.clone(), listed });
        true
    }

    /// Registers a callback for a status; calls it immediately if the status is already reached.
    pub fn add_callback(self: &Arc<ClEvent>, at: i32, callback: EventCallback) {
        let status = {
            let mut state = self.state();
            if state.status > at {
                state.callbacks.push((at, callback));
                return;
            }
            state.status
        };
        callback(self, if status < 0 { status } else { at });
    }

    /// Marks the command as submitted or running.
    pub fn progress(self: &Arc<ClEvent>, status: i32) {
        let mut due = Vec::new();
        {
            let mut state = self.state();
            if status >= state.status {
                return;
            }
            state.status = status;
            let time = if status == CL_SUBMITTED { 1 } else { 2 };
            state.times[time] = now();
            let mut index = 0;
            while index < state.callbacks.len() {
                if state.callbacks[index].0 >= status {
                    due.push(state.callbacks.remove(index));
                } else {
                    index += 1;
                }
            }
        }
        for (at, callback) in due {
            callback(self, at);
        }
    }

    /// Sets the status of a user event, once.
    pub fn set_user_status(self: &Arc<ClEvent>, status: i32) -> ClResult<()> {
        ensure(self.command == CL_COMMAND_USER, CL_INVALID_EVENT)?;
        ensure(status <= CL_COMPLETE, CL_INVALID_VALUE)?;
        if finish(self.clone(), status) { Ok(()) } else { Err(ClError(CL_INVALID_OPERATION)) }
    }

    /// Makes the status final and returns the waiters; none if it was final before.
    fn settle(&self, status: i32) -> Option<SettledEvent> {
        let mut state = self.state();
        if state.status <= CL_COMPLETE {
            return None;
        }
        state.status = status;
        let time = now();
        // A command that failed before its start started when it failed.
        for at in &mut state.times[1..] {
            if *at == 0 {
                *at = time;
            }
        }
        state.times[3] = time;
        let (waiters, callbacks) = (std::mem::take(&mut state.waiters), std::mem::take(&mut state.callbacks));
        Some(SettledEvent { waiters, callbacks })
    }
}

/// Releases the waiters of a final event and returns the commands that fail with it. Leaves the first ready command in
/// `next`, if there is one.
fn hand_on(
    waiters: Vec<Waiter>,
    status: i32,
    failing: &mut Vec<Arc<ClCommand>>,
    mut next: Option<&mut Option<Arc<ClCommand>>>,
) {
    for Waiter { command, listed } in waiters {
        if status < 0 && listed {
            command.failed.store(true, Ordering::Release);
        }
        if command.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            if command.failed.load(Ordering::Acquire) {
                failing.push(command);
            } else {
                match &mut next {
                    Some(next) if next.is_none() => **next = Some(command),
                    _ => executor::submit(command),
                }
            }
        }
    }
}

fn finish_all(mut failing: Vec<Arc<ClCommand>>) {
    while let Some(command) = failing.pop() {
        drop(command.work.lock().unwrap_or_else(PoisonError::into_inner).take());
        finish_one(&command.event, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, &mut failing, None);
    }
}

fn finish_one(
    event: &Arc<ClEvent>,
    status: i32,
    failing: &mut Vec<Arc<ClCommand>>,
    next: Option<&mut Option<Arc<ClCommand>>>,
) -> bool {
    let Some(SettledEvent { waiters, callbacks }) = event.settle(status) else { return false };
    // Callbacks may take long: no command waits for this thread meanwhile.
    let next = next.filter(|_| callbacks.is_empty());
    if let Some(queue) = &event.queue {
        queue.forget(event.number);
    }
    event.changed.notify_all();
    hand_on(waiters, status, failing, next);
    for (at, callback) in callbacks {
        callback(event, if status < 0 { status } else { at });
    }
    true
}

/// Makes an event's status final and releases the waiting commands; false if it was final before.
pub fn finish(event: Arc<ClEvent>, status: i32) -> bool {
    let mut failing = Vec::new();
    let settled = finish_one(&event, status, &mut failing, None);
    finish_all(failing);
    settled
}

/// Executes a ready command. Returns a command that became ready, for the same thread: this saves waking a thread for
/// each command of a queue.
#[must_use]
pub fn execute(command: &Arc<ClCommand>) -> Option<Arc<ClCommand>> {
    let failed = command.failed.load(Ordering::Acquire);
    let work = command.work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let status = match work {
        _ if failed => CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
        None => CL_COMPLETE,
        Some(work) => {
            command.event.progress(CL_RUNNING);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            match done {
                Ok(Ok(())) => CL_COMPLETE,
                Ok(Err(status)) => status,
                Err(_) => CL_OUT_OF_RESOURCES,
            }
        }
    };
    let (mut failing, mut next) = (Vec::new(), None);
    finish_one(&command.event, status, &mut failing, Some(&mut next));
    finish_all(failing);
    next
}

impl Drop for ClEvent {
    fn drop(&mut self) {
        // A user event dropped before it was set can never be set.
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let waiters = std::mem::take(&mut state.waiters);
        if !waiters.is_empty() {
            let mut failing = Vec::new();
            hand_on(waiters, CL_INVALID_EVENT, &mut failing, None);
            finish_all(failing);
        }
    }
}
