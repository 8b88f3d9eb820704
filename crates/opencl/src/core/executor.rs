//! The threads that execute commands.
//!
//! A ready command runs on the most recently idle thread, whose caches are warm, or on a new one. Threads are never
//! joined, so a kernel that does not end blocks its own thread only. A waiting application thread executes commands
//! itself, which saves a wakeup.

use crate::core::event::{ClCommand, execute};
use crate::core::queue::{CommandThreads, Queue};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// Maximum number of executor threads.
const MOST_THREADS: usize = 64;
/// Stack size of a thread in bytes: private memory of kernels lies there.
const STACK: usize = 64 << 20;

#[derive(Debug)]
struct ExecutorState {
    ready: VecDeque<Arc<ClCommand>>,
    idle: Vec<Thread>,
    threads: usize,
}

static STATE: Mutex<ExecutorState> =
    Mutex::new(ExecutorState { ready: VecDeque::new(), idle: Vec::new(), threads: 0 });

fn lock() -> MutexGuard<'static, ExecutorState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Submits a ready command to the threads.
pub fn submit(command: Arc<ClCommand>) {
    let mut state = lock();
    state.ready.push_back(command);
    if let Some(thread) = state.idle.pop() {
        drop(state);
        thread.unpark();
        return;
    }
    if state.threads >= MOST_THREADS {
        return;
    }
    state.threads += 1;
    drop(state);
    if !start_thread() {
        let mut state = lock();
        // Without any thread, the command runs on this one.
        let command = if state.threads == 0 { state.ready.pop_front() } else { None };
        drop(state);
        run(command);
    }
}

/// Starts a thread if there is none.
pub fn start() {
    let mut state = lock();
    if state.threads == 0 {
        state.threads = 1;
        drop(state);
        start_thread();
    }
}

/// Starts a thread that has been counted; false if the system refuses it.
fn start_thread() -> bool {
    let thread = thread::Builder::new().name("heddle-queue".into()).stack_size(STACK).spawn(serve);
    if thread.is_err() {
        lock().threads -= 1;
    }
    thread.is_ok()
}

/// Executes ready commands of a queue that a waiting thread may run, until `is_over` or none is left.
pub fn help(queue: &Queue, is_over: impl Fn() -> bool) {
    let may_do = |command: &Arc<ClCommand>| {
        let own = command.event.queue.as_deref().is_some_and(|own| std::ptr::eq(own, queue));
        own && command.doer != CommandThreads::Executor
    };
    let mut next = {
        let mut state = lock();
        let place = state.ready.iter().position(may_do);
        place.and_then(|place| state.ready.remove(place))
    };
    while let Some(command) = next {
        if is_over() || !may_do(&command) {
            return submit(command);
        }
        next = execute(&command);
    }
}

fn run(mut next: Option<Arc<ClCommand>>) {
    while let Some(command) = next {
        next = execute(&command);
    }
}

fn serve() {
    let own = thread::current();
    loop {
        let mut state = lock();
        // A spurious wakeup leaves the thread in the list.
        state.idle.retain(|thread| thread.id() != own.id());
        let command = state.ready.pop_front();
        if command.is_none() {
            state.idle.push(own.clone());
        }
        drop(state);
        match command {
            Some(command) => run(Some(command)),
            None => thread::park(),
        }
    }
}
