//! Events: how far a command is, and what waits for it.
//!
//! Invariant: the status only falls. The thread that makes it final hands on the commands that waited; nothing recurses, however
//! long a chain of commands is.

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

/// What a command does; a negative status if it fails.
pub type CommandWork = Box<dyn FnOnce() -> Result<(), i32> + Send>;
/// What is called when an event gets to a status.
pub type EventCallback = Box<dyn FnOnce(&Arc<ClEvent>, i32) + Send>;

/// A command that is not complete.
pub struct ClCommand {
    /// What tells how far it is.
    pub event: Arc<ClEvent>,
    /// Which threads may do it.
    pub doer: CommandThreads,
    /// How many events it waits for, and one for the call that enqueues it.
    pub missing: AtomicUsize,
    /// Whether an event of its wait list failed.
    pub failed: AtomicBool,
    /// What it does, until it is done.
    pub work: Mutex<Option<CommandWork>>,
}

impl fmt::Debug for ClCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({:?})", self.event)
    }
}

/// What waits for an event.
#[derive(Debug)]
struct Waiter {
    command: Arc<ClCommand>,
    /// Whether the event is in its wait list, so that it fails with it. Else it only comes behind it.
    listed: bool,
}

#[derive(Default)]
struct EventState {
    status: i32,
    /// When it was queued, submitted, started, done, in nanoseconds.
    times: [u64; 4],
    waiters: Vec<Waiter>,
    callbacks: Vec<(i32, EventCallback)>,
}

/// What is to be done when an event is settled.
struct SettledEvent {
    waiters: Vec<Waiter>,
    callbacks: Vec<(i32, EventCallback)>,
}

/// How far a command is.
pub struct ClEvent {
    pub(crate) handle: ObjectHandle<ClEvent>,
    /// Where it belongs.
    pub context: Arc<ClContext>,
    /// The queue of its command; none of a user event.
    pub queue: Option<Arc<Queue>>,
    /// What kind of command it is of.
    pub command: u32,
    /// Its place in the queue.
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

/// Nanoseconds since the driver was first asked for the time.
pub fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    // No time is 0, which stands for none.
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

impl ClEvent {
    /// The event of a command that was just queued.
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

    /// An event whose status the application sets.
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

    /// Its status: queued, submitted, running, complete, or a negative error.
    pub fn status(&self) -> i32 {
        self.state().status
    }

    /// When its command was queued, submitted, started, done, once it is done.
    pub fn times(&self) -> Option<[u64; 4]> {
        let state = self.state();
        (state.status == CL_COMPLETE).then_some(state.times)
    }

    /// Waits until it is complete or failed, and gives its status.
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

    /// Has a command wait for it; false if it does not need to. `listed` is whether the command fails with it.
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

    /// Has something called at a status, at once if it is that far.
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

    /// Says that its command is submitted or running.
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

    /// Makes the status final, and takes out what waited; none if it was final before.
    fn settle(&self, status: i32) -> Option<SettledEvent> {
        let mut state = self.state();
        if state.status <= CL_COMPLETE {
            return None;
        }
        state.status = status;
        let time = now();
        // A command that failed before it began began when it failed.
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

/// Hands on what waited for an event with a final status; gives the commands that fail with it. The first that is ready stays in
/// `next`, if that is there.
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
    // The application's functions may take their time: nothing waits for this thread then.
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

/// Makes an event's status final, and hands on the commands that waited for it; false if it was final before.
pub fn finish(event: Arc<ClEvent>, status: i32) -> bool {
    let mut failing = Vec::new();
    let settled = finish_one(&event, status, &mut failing, None);
    finish_all(failing);
    settled
}

/// Does what a command does, once nothing is missing. Gives a command that is ready now, for the same thread: that saves
/// waking another one for each command of a queue.
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
        // A user event that ends before it was set: nothing will ever set it.
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let waiters = std::mem::take(&mut state.waiters);
        if !waiters.is_empty() {
            let mut failing = Vec::new();
            hand_on(waiters, CL_INVALID_EVENT, &mut failing, None);
            finish_all(failing);
        }
    }
}
