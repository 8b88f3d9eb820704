//! The threads that execute commands.
//!
//! A command that is ready goes to a thread that has nothing to do, or to a new one. Threads are never joined, so a kernel
//! that does not end holds nobody but its own thread.

use crate::core::event::{Command, execute};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The most threads that execute commands at the same time.
const MOST_THREADS: usize = 64;
/// What kernels keep in private memory lies on the stack.
const STACK: usize = 64 << 20;

#[derive(Debug)]
struct State {
    ready: VecDeque<Arc<Command>>,
    idle: usize,
    threads: usize,
}

static STATE: Mutex<State> = Mutex::new(State { ready: VecDeque::new(), idle: 0, threads: 0 });
static WORK: Condvar = Condvar::new();

/// Has a command executed that waits for nothing more.
pub fn submit(command: Arc<Command>) {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    state.ready.push_back(command);
    if state.ready.len() <= state.idle || state.threads >= MOST_THREADS {
        drop(state);
        WORK.notify_one();
        return;
    }
    state.threads += 1;
    let lone = state.threads == 1;
    drop(state);
    let thread = std::thread::Builder::new().name("heddle-queue".into()).stack_size(STACK).spawn(serve);
    if thread.is_err() {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        state.threads -= 1;
        let command = if lone { state.ready.pop_front() } else { None };
        drop(state);
        // The system gives no thread: the command runs here, as there is nowhere else.
        let mut next = command;
        while let Some(command) = next {
            next = execute(&command);
        }
    }
}

fn serve() {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(command) = state.ready.pop_front() {
            drop(state);
            let mut next = Some(command);
            while let Some(command) = next {
                next = execute(&command);
            }
            state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        state.idle += 1;
        state = WORK.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
    }
}
