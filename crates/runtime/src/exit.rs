//! The end of the process.
//!
//! When a process exits, LLVM takes its tables apart although threads may still compile. So a thread that compiles says so, and the
//! exit waits for those that do; one that comes later stays where it is. Compiled code that runs is no matter: it uses nothing of
//! LLVM, and ends with the process.
//!
//! What is registered last is taken apart first, and LLVM registers tables when they are first needed. So the exit begins to wait
//! where the main thread's own variables end, which is before all of them; nothing is compiled in the background from then on.
//! Where another thread ends the process, it waits at the functions of `atexit`. One of them has to be after each table that a
//! compilation has made while that one may still run: it is registered at each step of the first compilations, and of later ones
//! after the first, second, fourth and so on, since hardly any makes a table that those before did not need.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

#[derive(Debug)]
struct ExitState {
    busy: usize,
    /// Number of steps that LLVM has done.
    steps: u64,
    /// After which of them `close` is registered again.
    next_watch: u64,
    /// True if the main thread has ended, most likely by the exit of the process.
    is_main_over: bool,
    /// The thread that exits.
    exiting: Option<libc::pid_t>,
    /// True if the exit has waited for its limit.
    has_waited: bool,
}

static STATE: Mutex<ExitState> = Mutex::new(ExitState {
    busy: 0,
    steps: 0,
    next_watch: 0,
    is_main_over: false,
    exiting: None,
    has_waited: false,
});
static CHANGED: Condvar = Condvar::new();

/// Maximum time that the exit waits.
const PATIENCE: Duration = Duration::from_secs(10);
/// After each of so many first steps `close` is registered.
const WATCHED: u64 = 64;

fn state() -> MutexGuard<'static, ExitState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the process from exiting as long as it exists.
#[derive(Debug)]
pub struct Busy(PhantomData<*const ()>);

thread_local! {
    /// Number of guards of this thread.
    static OWN: Cell<usize> = const { Cell::new(0) };
    static END_OF_MAIN: EndOfMain = const { EndOfMain };
}

/// A variable of the main thread, whose end is that of the process.
struct EndOfMain;

impl Drop for EndOfMain {
    fn drop(&mut self) {
        crate::program::report_all_programs();
        let mut state = state();
        state.is_main_over = true;
        wait(state);
    }
}

/// The number of the calling thread, which may be at its very end.
fn this_thread() -> libc::pid_t {
    // SAFETY: there is nothing that it needs.
    unsafe { libc::gettid() }
}

/// Has the exit wait for those that compile. To be called by threads of the application.
pub fn watch() {
    // SAFETY: there is nothing that it needs.
    if this_thread() == unsafe { libc::getpid() } {
        // At the end of the thread there is nothing left to be registered.
        let _ = END_OF_MAIN.try_with(|_| {});
    }
}

/// Has the exit begin to wait before it takes apart what LLVM has made so far.
fn register(state: &mut ExitState) {
    if state.steps < state.next_watch {
        return;
    }
    state.next_watch = if state.steps < WATCHED { state.steps + 1 } else { state.steps.saturating_mul(2) };
    // SAFETY: the function is there as long as the process, since a library with running threads is not closed. Where
    // there is no room for it, the exit does not wait.
    let _ = unsafe { libc::atexit(close) };
}

/// Says that LLVM has done a step of a compilation, and may have made tables.
pub(crate) fn step() {
    let mut state = state();
    state.steps += 1;
    register(&mut state);
}

/// Says that LLVM is used for what nothing waits for; nothing comes back where the process exits.
pub(crate) fn busy_in_background() -> Option<Busy> {
    let mut state = state();
    if state.is_main_over || state.exiting.is_some() {
        return None;
    }
    let _ = OWN.try_with(|own| own.set(own.get() + 1));
    state.busy += 1;
    Some(Busy(PhantomData))
}

/// Says that LLVM or clang is used until what comes back is dropped, by the thread that says so.
pub fn busy() -> Busy {
    watch();
    // What is waited for may go on, even at the very end of a thread.
    let is_known = OWN.try_with(|own| own.replace(own.get() + 1) > 0).unwrap_or(false);
    let mut state = state();
    while !is_known && state.exiting.is_some_and(|thread| thread != this_thread()) {
        drop(state);
        thread::sleep(PATIENCE);
        state = self::state();
    }
    if state.steps == 0 {
        register(&mut state);
    }
    state.busy += 1;
    Busy(PhantomData)
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = OWN.try_with(|own| own.set(own.get().saturating_sub(1)));
        let mut state = state();
        state.busy -= 1;
        state.steps += 1;
        register(&mut state);
        drop(state);
        CHANGED.notify_all();
    }
}

extern "C" fn close() {
    crate::program::report_all_programs();
    let mut state = state();
    state.exiting = Some(this_thread());
    wait(state);
}

fn wait(state: MutexGuard<'static, ExitState>) {
    let goes_on = |state: &mut ExitState| state.busy > 0 && !state.has_waited;
    let waited = CHANGED.wait_timeout_while(state, PATIENCE, goes_on);
    let (mut state, time) = waited.unwrap_or_else(PoisonError::into_inner);
    state.has_waited |= time.timed_out();
}
