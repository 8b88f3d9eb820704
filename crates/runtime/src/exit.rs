//! The end of the process.
//!
//! When a process exits, LLVM's tables are destroyed although threads may still compile. So a thread that compiles registers itself, and
//! the exit stops those that do ([`heddle_llvm::stop_compiler_threads`]); one that comes later stays where it is. Compiled code that
//! runs is no matter: it uses nothing of LLVM, and ends with the process.
//!
//! Functions of `atexit` run in reverse order, and LLVM registers destructors of tables when they are first needed. So threads are stopped
//! where the main thread's own variables end, which is before all of them; nothing is compiled in the background from then on.
//! Where another thread ends the process, they are stopped by a function of `atexit`. It is registered first where a program finds the
//! device, before anything is compiled. One has to be after each table that a compilation has made while it may still run: a small
//! compilation before the first one makes those of code generation ([`heddle_llvm::make_lazy_tables`]), and the function is registered
//! at each step of the first compilations, and of later ones after the first, second, fourth and so on, since hardly any makes a table
//! that those before did not need.

use heddle_llvm::{CompilerThread, make_lazy_tables, stop_compiler_threads};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

// The state has no lock: a thread that is stopped might hold it.

/// Number of steps that LLVM has done.
static STEPS: AtomicU64 = AtomicU64::new(0);
/// Number of steps after which `close` is registered again.
static NEXT_WATCH: AtomicU64 = AtomicU64::new(0);
/// True if the main thread has ended, most likely by the exit of the process.
static IS_MAIN_OVER: AtomicBool = AtomicBool::new(false);
/// Number of the thread that exits; 0 before.
static EXITING: AtomicI32 = AtomicI32::new(0);

/// After each of so many first steps `close` is registered.
const WATCHED: u64 = 64;

/// Use of LLVM or clang by a thread, which the exit of the process stops.
#[derive(Debug)]
pub struct Busy {
    _registered: CompilerThread,
}

thread_local! {
    static END_OF_MAIN: EndOfMain = const { EndOfMain };
}

/// A variable of the main thread, whose end is that of the process.
struct EndOfMain;

impl Drop for EndOfMain {
    fn drop(&mut self) {
        crate::program::report_all_programs();
        IS_MAIN_OVER.store(true, Ordering::SeqCst);
        stop_compiler_threads();
    }
}

/// The number of the calling thread, which may be at its very end.
fn this_thread() -> libc::pid_t {
    // SAFETY: there is nothing that it needs.
    unsafe { libc::gettid() }
}

/// Has the exit stop threads that compile. To be called by threads of the application, first before any thread may compile: where
/// the process exits while the first compilation begins, it is too late for a function of `atexit`.
pub fn watch() {
    static FIRST: Once = Once::new();
    FIRST.call_once(register_close);
    // SAFETY: there is nothing that it needs.
    if this_thread() == unsafe { libc::getpid() } {
        // At the end of the thread there is nothing left to be registered.
        let _ = END_OF_MAIN.try_with(|_| {});
    }
}

/// Has the exit stop threads before it destroys what LLVM has made in these steps.
fn register(steps: u64) {
    let next = NEXT_WATCH.load(Ordering::Relaxed);
    if steps < next {
        return;
    }
    let later = if steps < WATCHED { steps + 1 } else { steps.saturating_mul(2) };
    if NEXT_WATCH.compare_exchange(next, later, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        register_close();
    }
}

/// Registers `close`, which is called before what is registered already.
fn register_close() {
    // SAFETY: the function is there as long as the process, since a library with running threads is not closed. Where
    // there is no room for it, threads are not stopped.
    let _ = unsafe { libc::atexit(close) };
}

/// Notes that LLVM has done a step of a compilation, and may have made tables.
pub(crate) fn step() {
    register(STEPS.fetch_add(1, Ordering::Relaxed) + 1);
}

/// Makes LLVM's tables for code generation, once in a process, so that the exit stops threads before it destroys these.
pub(crate) fn make_tables() {
    make_lazy_tables(step);
}

/// Registers the use of LLVM by a thread that nothing waits for; none where the process exits.
pub(crate) fn busy_in_background() -> Option<Busy> {
    (!is_over()).then(|| Busy { _registered: CompilerThread::enter() })
}

/// True if nothing is compiled in the background any more.
pub(crate) fn is_over() -> bool {
    IS_MAIN_OVER.load(Ordering::SeqCst) || EXITING.load(Ordering::SeqCst) != 0
}

/// Registers the use of LLVM or clang by the calling thread, until the result is dropped.
pub fn busy() -> Busy {
    watch();
    // A use within another one goes on, and so does one of the thread that exits.
    if !CompilerThread::is_registered() {
        while ![0, this_thread()].contains(&EXITING.load(Ordering::SeqCst)) {
            thread::park_timeout(Duration::from_secs(1));
        }
    }
    Busy { _registered: CompilerThread::enter() }
}

impl Drop for Busy {
    fn drop(&mut self) {
        step();
    }
}

extern "C" fn close() {
    crate::program::report_all_programs();
    EXITING.store(this_thread(), Ordering::SeqCst);
    stop_compiler_threads();
}
