//! Threads that use LLVM, and their stop at the end of the process.
//!
//! When a process exits, LLVM's tables are destroyed although threads may still compile. To wait for them could take minutes. So the
//! exit stops them: a signal interrupts each, and its handler never returns. A thread stops only where it runs code of LLVM, clang or
//! Heddle; in the C library it may hold the lock of the allocator, which the rest of the exit needs, so it is interrupted again.
//!
//! A table may be destroyed before the exit stops the thread that just made it. A thread that faults then waits for the exit, and is
//! stopped, too; where the process does not exit within half a second, the fault is the program's.
//!
//! The variables of the main thread are destroyed before all tables, by `exit` and by `pthread_exit`. After the latter the process goes
//! on with its other threads, and stopped ones continue.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of threads that are stopped.
const MAX_THREADS: usize = 1024;

/// Registered thread.
struct ThreadSlot {
    /// Number of the thread; 0 if the slot is free.
    thread: AtomicI32,
    is_stopped: AtomicBool,
}

static SLOTS: [ThreadSlot; MAX_THREADS] =
    [const { ThreadSlot { thread: AtomicI32::new(0), is_stopped: AtomicBool::new(false) } }; MAX_THREADS];

/// True while threads that register themselves have to stop.
static IS_STOPPING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True if the thread is registered.
    static IS_REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Registration of the calling thread as one that uses LLVM.
#[derive(Debug)]
pub struct CompilerThread {
    slot: Option<usize>,
    _of_thread: PhantomData<*const ()>,
}

impl CompilerThread {
    /// True if the calling thread is registered, or is at its very end.
    pub fn is_registered() -> bool {
        IS_REGISTERED.try_with(Cell::get).unwrap_or(true)
    }

    /// Registers the calling thread, unless it is registered.
    pub fn enter() -> CompilerThread {
        signals::install_signal_handlers();
        // A thread whose variables are destroyed is about to end the process, or to end.
        let is_known = IS_REGISTERED.try_with(|it| it.replace(true)).unwrap_or(true);
        let free = |slot: &ThreadSlot| {
            slot.thread
                .compare_exchange(0, signals::this_thread(), Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        };
        let slot = if is_known { None } else { SLOTS.iter().position(free) };
        if let Some(slot) = slot
            && IS_STOPPING.load(Ordering::SeqCst)
        {
            signals::stay(&SLOTS[slot]);
        }
        CompilerThread { slot, _of_thread: PhantomData }
    }
}

impl Drop for CompilerThread {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            SLOTS[slot].thread.store(0, Ordering::SeqCst);
            let _ = IS_REGISTERED.try_with(|it| it.set(false));
        }
    }
}

/// Returns the slot of the calling thread.
fn own_slot() -> Option<&'static ThreadSlot> {
    let own = signals::this_thread();
    SLOTS.iter().find(|slot| slot.thread.load(Ordering::SeqCst) == own)
}

/// Ends the registration of the calling thread, which will never use LLVM again.
pub(crate) fn leave() {
    if let Some(slot) = own_slot() {
        slot.thread.store(0, Ordering::SeqCst);
    }
}

/// Waits for another thread; a registered thread need not be stopped meanwhile.
pub(crate) fn while_waiting<T>(wait: impl FnOnce() -> T) -> T {
    let slot = own_slot();
    let set = |is_stopped| slot.inspect(|slot| slot.is_stopped.store(is_stopped, Ordering::SeqCst));
    set(true);
    let result = wait();
    if let Some(slot) = set(false)
        && IS_STOPPING.load(Ordering::SeqCst)
    {
        signals::stay(slot);
    }
    result
}

/// Time that the process takes at most to stop threads; most stop within microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Stops all other threads that use LLVM. Those that cannot be stopped for long go on.
pub fn stop_compiler_threads() {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    IS_STOPPING.store(true, Ordering::SeqCst);
    if SLOTS.iter().any(|slot| slot.thread.load(Ordering::SeqCst) != 0) {
        signals::stop_all(*FIRST.get_or_init(Instant::now) + PATIENCE);
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod signals {
    use super::{IS_STOPPING, SLOTS, ThreadSlot, own_slot};
    use crate::signal_handlers::{INTERRUPTION, Interruption, interrupt_thread};
    pub(super) use crate::signal_handlers::{install_signal_handlers, this_thread};
    use std::ffi::{CStr, c_int, c_void};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    /// Code in which a thread may stop: start and end of each segment.
    static RANGES: [[AtomicUsize; 2]; 16] = [const { [const { AtomicUsize::new(0) }; 2] }; 16];

    /// Adds the code of a loaded library if it is LLVM, clang or the library of this function.
    ///
    /// # Safety
    /// The system's linker calls it with a description.
    unsafe extern "C" fn add_ranges(info: *mut libc::dl_phdr_info, _size: usize, next: *mut c_void) -> c_int {
        // SAFETY: the linker's description; the counter is that of `find_ranges`.
        let (info, next) = unsafe { (&*info, &mut *next.cast::<usize>()) };
        let name = match info.dlpi_name.is_null() {
            true => c"",
            // SAFETY: the linker's name of the library.
            false => unsafe { CStr::from_ptr(info.dlpi_name) },
        };
        let name = name.to_bytes();
        let has = |part: &[u8]| name.windows(part.len()).any(|it| it == part);
        // SAFETY: the linker's table, of so many entries.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let code = headers.iter().filter(|it| it.p_type == libc::PT_LOAD && it.p_flags & libc::PF_X != 0);
        let code: Vec<[usize; 2]> = code
            .map(|it| {
                let start = info.dlpi_addr as usize + it.p_vaddr as usize;
                [start, start + it.p_memsz as usize]
            })
            .collect();
        let own = this_thread as fn() -> i32 as usize;
        let is_own = code.iter().any(|&[start, end]| (start..end).contains(&own));
        if is_own || has(b"libLLVM") || has(b"libclang") {
            for range in code {
                let Some(to) = RANGES.get(*next) else { break };
                to.iter().zip(range).for_each(|(to, at)| to.store(at, Ordering::Relaxed));
                *next += 1;
            }
        }
        0
    }

    fn find_ranges() {
        let mut next = 0usize;
        // SAFETY: the function and its counter live during the call.
        unsafe { libc::dl_iterate_phdr(Some(add_ranges), std::ptr::from_mut(&mut next).cast()) };
    }

    #[cfg(target_arch = "x86_64")]
    fn program_counter(context: &libc::ucontext_t) -> usize {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
    }

    #[cfg(target_arch = "aarch64")]
    fn program_counter(context: &libc::ucontext_t) -> usize {
        context.uc_mcontext.pc as usize
    }

    /// True if the main thread has ended while others go on. Calls only what signal handlers may call.
    fn has_main_ended() -> bool {
        let mut text = [0u8; 512];
        // SAFETY: a path that ends in zero, and memory of the stated size.
        let read = unsafe {
            let file = libc::open(c"/proc/self/stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if file < 0 {
                return false;
            }
            let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
            libc::close(file);
            read
        };
        let text = &text[..usize::try_from(read).unwrap_or(0)];
        // The state follows the name, which is in parentheses.
        let end = text.iter().rposition(|&byte| byte == b')');
        end.and_then(|end| text.get(end + 2)) == Some(&b'Z')
    }

    /// Stays here until the process ends, or its main thread without it. Calls only what signal handlers may call.
    pub(super) fn stay(slot: &ThreadSlot) {
        slot.is_stopped.store(true, Ordering::SeqCst);
        let time = libc::timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        while !has_main_ended() {
            // SAFETY: a time, and nothing to return.
            unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
        }
        IS_STOPPING.store(false, Ordering::SeqCst);
        slot.is_stopped.store(false, Ordering::SeqCst);
    }

    /// Time that a thread whose compilation faults waits for the exit of the process, which may have destroyed a table that
    /// it uses and is about to stop it.
    const EXIT_DELAY: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    const EXIT_DELAYS: usize = 50;

    /// Has a thread that uses LLVM stay where it is, if it has to stop. Part of a signal handler.
    pub(crate) fn on_signal(interruption: &mut Interruption<'_>) -> bool {
        let Some(slot) = own_slot() else { return false };
        if interruption.signal != INTERRUPTION {
            for _ in 0..EXIT_DELAYS {
                if IS_STOPPING.load(Ordering::SeqCst) {
                    break;
                }
                // SAFETY: a time, and nothing to return.
                unsafe { libc::nanosleep(&EXIT_DELAY, std::ptr::null_mut()) };
            }
        }
        if !IS_STOPPING.load(Ordering::SeqCst) {
            return false;
        }
        let at = program_counter(interruption.context);
        let can_stop = RANGES
            .iter()
            .any(|[start, end]| (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&at));
        if can_stop || interruption.signal != INTERRUPTION {
            stay(slot);
        }
        true
    }

    /// True if a thread has stopped, or is none any more.
    fn interrupt(slot: &ThreadSlot) -> bool {
        let thread = slot.thread.load(Ordering::SeqCst);
        if thread == 0 || thread == this_thread() || slot.is_stopped.load(Ordering::SeqCst) {
            return true;
        }
        !interrupt_thread(thread)
    }

    pub(super) fn stop_all(end: Instant) {
        find_ranges();
        install_signal_handlers();
        let mut pause = Duration::from_micros(20);
        // Each thread is interrupted, also those after one that has not stopped.
        while SLOTS.iter().filter(|slot| !interrupt(slot)).count() > 0 && Instant::now() < end {
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(1));
        }
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use signals::on_signal;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod signals {
    use super::ThreadSlot;
    use std::time::Instant;

    pub(super) fn this_thread() -> i32 {
        1
    }

    pub(super) fn install_signal_handlers() {}

    pub(super) fn stay(_: &ThreadSlot) {
        loop {
            std::thread::park();
        }
    }

    pub(super) fn stop_all(_: Instant) {}
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::{CompilerThread, stop_compiler_threads};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitStatus};
    use std::time::Duration;

    /// Variable that has the test below be the process that exits or does not.
    const ROLE_VARIABLE: &str = "HEDDLE_TEST_ROLE";

    /// Runs the calling test again in a process of its own, as this role.
    fn run_as(role: &str) -> ExitStatus {
        let mut test = Command::new(std::env::current_exe().expect("the test has a path"));
        test.args(["--exact", "compiler_threads::tests::compilations_that_fault_wait_for_the_exit"]);
        test.env(ROLE_VARIABLE, role).output().expect("the test starts").status
    }

    #[test]
    fn compilations_that_fault_wait_for_the_exit() {
        let Ok(role) = std::env::var(ROLE_VARIABLE) else {
            assert_eq!(run_as("exits").code(), Some(7));
            assert_eq!(run_as("goes on").signal(), Some(libc::SIGSEGV));
            assert_eq!(run_as("aborts").code(), Some(7));
            return;
        };
        std::thread::spawn(move || {
            let _registered = CompilerThread::enter();
            match role.as_str() {
                "aborts" => std::process::abort(),
                // SAFETY: none: the access faults, as one to a destroyed table does.
                _ => unsafe { std::ptr::null_mut::<u8>().wrapping_add(64).write_volatile(1) },
            }
        });
        // The exit destroys tables, and comes to its own function a little later.
        std::thread::sleep(Duration::from_millis(100));
        if std::env::var(ROLE_VARIABLE).is_ok_and(|role| role == "goes on") {
            std::thread::sleep(Duration::from_secs(20));
        }
        stop_compiler_threads();
        std::process::exit(7);
    }
}
