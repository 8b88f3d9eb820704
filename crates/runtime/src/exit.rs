//! The end of the process.
//!
//! When a process exits, LLVM takes its tables apart although threads may still compile. So who compiles says so, and the
//! exit waits for those who do; who comes later stays where it is. Compiled code that runs is no matter: it uses nothing of
//! LLVM, and ends with the process.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

#[derive(Debug)]
struct State {
    busy: usize,
    is_watched: bool,
    /// The thread that exits.
    exiting: Option<ThreadId>,
}

static STATE: Mutex<State> = Mutex::new(State { busy: 0, is_watched: false, exiting: None });
static CHANGED: Condvar = Condvar::new();

/// How long the exit waits.
const PATIENCE: Duration = Duration::from_secs(10);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As long as there is one, the process does not exit.
#[derive(Debug)]
pub struct Busy(PhantomData<*const ()>);

thread_local! {
    /// How many there are of this thread.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// Says that LLVM or clang is used until what comes back is dropped, by the thread that says so.
pub fn busy() -> Busy {
    // Whoever is waited for may go on, even at the very end of a thread.
    let is_known = OWN.try_with(|own| own.replace(own.get() + 1) > 0).unwrap_or(false);
    let mut state = state();
    while !is_known && state.exiting.is_some_and(|thread| thread != thread::current().id()) {
        drop(state);
        thread::park();
        state = self::state();
    }
    if !state.is_watched {
        // SAFETY: the function is there as long as the process, since a library with running threads is not closed.
        state.is_watched = unsafe { libc::atexit(close) } == 0;
    }
    state.busy += 1;
    Busy(PhantomData)
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = OWN.try_with(|own| own.set(own.get().saturating_sub(1)));
        state().busy -= 1;
        CHANGED.notify_all();
    }
}

extern "C" fn close() {
    let mut state = state();
    state.exiting = Some(thread::current().id());
    let waited = CHANGED.wait_timeout_while(state, PATIENCE, |state| state.busy > 0);
    drop(waited.unwrap_or_else(PoisonError::into_inner));
}
