//! The threads that execute commands.
//!
//! A command that is ready goes to the thread that has had nothing to do for the shortest time, whose caches still know the
//! last one, or to a new thread. Threads are never joined, so a kernel that does not end holds nothing but its own thread.
//! A thread of the application that waits does what it can itself: it is awake.

use crate::core::event::{ClCommand, execute};
use crate::core::queue::{CommandThreads, Queue};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// The most threads that execute commands at the same time.
const MOST_THREADS: usize = 64;
/// What kernels keep in private memory lies on the stack.
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

/// Has a command executed that waits for nothing more.
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
    let lone = state.threads == 1;
    drop(state);
    let thread = thread::Builder::new().name("heddle-queue".into()).stack_size(STACK).spawn(serve);
    if thread.is_err() {
        let mut state = lock();
        state.threads -= 1;
        let command = if lone { state.ready.pop_front() } else { None };
        drop(state);
        // The system gives no thread: the command runs here, as there is nowhere else.
        run(command);
    }
}

/// Does commands of a queue that are ready and that a thread which waits may do, until something holds or none is left.
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
        // It is still there if it was not called.
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
