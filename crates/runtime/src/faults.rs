//! Recovery from faults of kernels: an access to memory that is not there, a trap, an assertion ends the launch, not the process.
//!
//! Generated code is entered by a trampoline that keeps the callee-saved registers and its stack pointer in a record of the thread:
//!
//! ```text
//!     KernelThread::call ─► heddle_enter_kernel ─► generated code ─► functions of C without state (memcpy, sin)
//!                            ▲ heddle_leave_kernel ◄─ signal handler, `fail`
//! ```
//!
//! The handler of a fault changes the interrupted context: it continues at the end of the trampoline, with the stack pointer of the
//! record. Returning from the handler restores the signal mask, so nothing is left of the signal. The frames in between are
//! those of generated code, which own nothing, and of functions that it calls while the record is armed. Functions of a driver
//! that hold locks or own memory disarm the record ([`outside_kernel`]); a fault in one of them is the process's, as without Heddle.
//! [`fail`] leaves from such a function when nothing is left to drop.
//!
//! Threads that do not run generated code are not affected: their faults go to the handlers that the program had, as do those
//! of its own signals ([`heddle_llvm::install_signal_handlers`]). Handlers are installed by the first launch, and by a later one if the
//! program has replaced them. They find the record by the thread's number, since thread-local variables of a loaded library may be
//! allocated at first use.
//!
//! Threads that run other groups of a failed launch may wait for the group that failed. They are interrupted by SIGURG, which
//! programs ignore by default, until none runs generated code of the launch. A watchdog ends launches in the same way.
//!
//! Requires: x86-64 Linux. Elsewhere kernels are called directly, and a fault ends the process.

use std::cell::RefCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Reason why generated code did not return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelFault {
    /// Access to an address without memory, or that must not be written.
    Access(usize),
    /// Access to an address that is not aligned, or behind the end of a file.
    Bus(usize),
    /// Trap instruction.
    Trap,
    /// Arithmetic exception.
    Arithmetic,
    /// An assertion of the kernel failed.
    Assertion,
    /// Call through an address of no function.
    NoFunction,
    /// Threads of a group wait at a barrier that the others never reach.
    NoArrival,
    /// The launch took longer than `HEDDLE_WATCHDOG` allows.
    Timeout,
    /// Another group of the launch failed.
    Cancelled,
}

impl KernelFault {
    fn number(self) -> (u32, usize) {
        match self {
            KernelFault::Access(address) => (1, address),
            KernelFault::Bus(address) => (2, address),
            KernelFault::Trap => (3, 0),
            KernelFault::Arithmetic => (4, 0),
            KernelFault::Assertion => (5, 0),
            KernelFault::NoFunction => (6, 0),
            KernelFault::Timeout => (7, 0),
            KernelFault::Cancelled => (8, 0),
            KernelFault::NoArrival => (9, 0),
        }
    }

    fn of_number(number: u32, address: usize) -> KernelFault {
        match number {
            1 => KernelFault::Access(address),
            2 => KernelFault::Bus(address),
            4 => KernelFault::Arithmetic,
            5 => KernelFault::Assertion,
            6 => KernelFault::NoFunction,
            7 => KernelFault::Timeout,
            9 => KernelFault::NoArrival,
            8 => KernelFault::Cancelled,
            _ => KernelFault::Trap,
        }
    }
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelFault::Access(0) => {
                f.write_str("illegal access to address 0, or to one beyond user memory")
            }
            KernelFault::Access(address) => write!(f, "illegal access to address {address:#x}"),
            KernelFault::Bus(address) => write!(f, "misaligned access to address {address:#x}"),
            KernelFault::Trap => f.write_str("trap"),
            KernelFault::Arithmetic => f.write_str("arithmetic exception"),
            KernelFault::Assertion => f.write_str("failed assertion"),
            KernelFault::NoFunction => f.write_str("call through an address of no function"),
            KernelFault::NoArrival => f.write_str("wait at a barrier that not enough threads reach"),
            KernelFault::Timeout => f.write_str("timeout"),
            KernelFault::Cancelled => f.write_str("another group failed"),
        }
    }
}

/// State of a thread that runs groups.
#[repr(C)]
struct ThreadRecord {
    /// Number of the thread; 0 if the record is free.
    thread: AtomicI32,
    /// Stack pointer of the trampoline; 0 outside of generated code.
    stack: AtomicUsize,
    /// Number of the launch; 0 between launches.
    launch: AtomicU64,
    fault: AtomicU32,
    address: AtomicUsize,
    is_cancelled: AtomicBool,
}

/// Maximum number of threads that are protected; others run kernels as elsewhere.
const MAX_THREADS: usize = 2048;

static RECORDS: [ThreadRecord; MAX_THREADS] = [const {
    ThreadRecord {
        thread: AtomicI32::new(0),
        stack: AtomicUsize::new(0),
        launch: AtomicU64::new(0),
        fault: AtomicU32::new(0),
        address: AtomicUsize::new(0),
        is_cancelled: AtomicBool::new(false),
    }
}; MAX_THREADS];

/// Size of the stack for signal handlers, for faults at the end of the thread's own.
const SIGNAL_STACK: usize = 64 << 10;

/// Record and signal stack of a thread, given back when it ends.
#[derive(Default)]
struct OwnedRecord {
    record: Option<&'static ThreadRecord>,
    stack: Option<Box<[MaybeUninit<u8>]>>,
}

thread_local! {
    static OWN: RefCell<OwnedRecord> = RefCell::default();
}

impl Drop for OwnedRecord {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            record.thread.store(0, Ordering::Release);
        }
        if self.stack.is_some() {
            // SAFETY: a stack that is all zeros.
            let mut nothing: libc::stack_t = unsafe { std::mem::zeroed() };
            nothing.ss_flags = libc::SS_DISABLE;
            // SAFETY: no handler runs on this thread, so its stack is not in use.
            unsafe { libc::sigaltstack(&nothing, std::ptr::null_mut()) };
        }
    }
}

fn this_thread() -> i32 {
    // SAFETY: there is nothing that it needs.
    unsafe { libc::gettid() }
}

/// Returns the record of the calling thread, if it has one.
fn own_record() -> Option<&'static ThreadRecord> {
    OWN.try_with(|own| own.try_borrow().ok().and_then(|own| own.record)).ok().flatten()
}

/// Gives the thread a stack for signal handlers, unless it has one.
fn signal_stack() -> Option<Box<[MaybeUninit<u8>]>> {
    // SAFETY: a stack that is all zeros.
    let mut known: libc::stack_t = unsafe { std::mem::zeroed() };
    // SAFETY: it only asks.
    let has_answer = unsafe { libc::sigaltstack(std::ptr::null(), &mut known) } == 0;
    if !has_answer || known.ss_flags & libc::SS_DISABLE == 0 {
        return None;
    }
    // Its pages come into being when a handler writes them.
    let mut memory = Box::new_uninit_slice(SIGNAL_STACK);
    // SAFETY: a stack that is all zeros.
    let mut stack: libc::stack_t = unsafe { std::mem::zeroed() };
    stack.ss_sp = memory.as_mut_ptr().cast();
    stack.ss_size = SIGNAL_STACK;
    // SAFETY: the memory stays until the thread ends, which takes the stack away first.
    (unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) } == 0).then_some(memory)
}

/// Part of a launch on the calling thread.
pub(crate) struct KernelThread {
    record: Option<&'static ThreadRecord>,
    /// Launch whose kernel launches this one.
    outer: u64,
}

/// Returns a number for a launch.
pub(crate) fn new_launch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static NEXT_CHECK: AtomicU64 = AtomicU64::new(0);
    let now = coarse_milliseconds();
    if now >= NEXT_CHECK.load(Ordering::Relaxed) {
        signals::install();
        NEXT_CHECK.store(now + HANDLER_CHECK, Ordering::Relaxed);
    }
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Milliseconds after which launches look again whether the program has replaced the handlers; a look costs as much as a launch.
const HANDLER_CHECK: u64 = 5;

/// Monotonic time in milliseconds, exact to the tick of the system.
fn coarse_milliseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// In a child of `fork`, the calling thread has a new number, and there are no others.
extern "C" fn take_over_after_fork() {
    let own = own_record();
    for record in &RECORDS {
        let is_own = own.is_some_and(|own| std::ptr::eq(own, record));
        record.thread.store(if is_own { this_thread() } else { 0 }, Ordering::Relaxed);
    }
}

/// Registers [`take_over_after_fork`] once.
fn watch_forks() {
    static WATCH: Once = Once::new();
    // SAFETY: the function stays while the library does, and does only what may be done in a child.
    WATCH.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(take_over_after_fork));
    });
}

impl KernelThread {
    /// Prepares the calling thread for generated code of a launch.
    pub(crate) fn enter(launch: u64) -> KernelThread {
        let record = OWN.try_with(|own| {
            let mut own = own.try_borrow_mut().ok()?;
            if own.record.is_none() {
                watch_forks();
                let free = |record: &&ThreadRecord| {
                    let thread = &record.thread;
                    thread.compare_exchange(0, this_thread(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
                };
                own.record = RECORDS.iter().find(free);
                own.stack = signal_stack();
            }
            own.record
        });
        let record = record.ok().flatten();
        let outer = record.map_or(0, |record| {
            record.is_cancelled.store(false, Ordering::Relaxed);
            record.launch.swap(launch, Ordering::AcqRel)
        });
        KernelThread { record, outer }
    }

    /// Calls an entry of generated code. Returns why it did not return by itself.
    ///
    /// # Safety
    /// The slots are those that the entry wants, and the kernel keeps its promises but for faults.
    pub(crate) unsafe fn call(
        &self,
        entry: extern "C" fn(*const u8, *mut u8),
        slots: *const u8,
    ) -> Option<KernelFault> {
        let Some(record) = self.record else {
            entry(slots, std::ptr::null_mut());
            return None;
        };
        let outer = record.stack.load(Ordering::Relaxed);
        // SAFETY: the caller's promise; the record lives as long as the process.
        let has_left = unsafe { signals::enter(entry, slots, record.stack.as_ptr()) };
        record.stack.store(outer, Ordering::Relaxed);
        has_left.then(|| {
            let (fault, address) =
                (record.fault.load(Ordering::Relaxed), record.address.load(Ordering::Relaxed));
            KernelFault::of_number(fault, address)
        })
    }
}

impl Drop for KernelThread {
    fn drop(&mut self) {
        if let Some(record) = self.record {
            record.launch.store(self.outer, Ordering::Release);
        }
    }
}

/// Ends the generated code that called a function of a driver, with this fault. Nothing of the calling frames is dropped. Outside
/// of generated code the process is aborted.
pub fn fail(fault: KernelFault) -> ! {
    if let Some(record) = own_record() {
        let stack = record.stack.load(Ordering::Relaxed);
        if stack != 0 {
            let (number, address) = fault.number();
            record.fault.store(number, Ordering::Relaxed);
            record.address.store(address, Ordering::Relaxed);
            // SAFETY: the stack pointer is that of a trampoline further up on this thread's stack, which is armed.
            unsafe { signals::leave(stack) }
        }
    }
    std::process::abort();
}

/// Runs a function that a kernel calls and that owns memory or holds locks: a fault in it is one of the process.
pub fn outside_kernel<T>(work: impl FnOnce() -> T) -> T {
    struct Rearm(&'static ThreadRecord, usize);
    impl Drop for Rearm {
        fn drop(&mut self) {
            self.0.stack.store(self.1, Ordering::Relaxed);
        }
    }
    let _rearm = own_record().map(|record| Rearm(record, record.stack.swap(0, Ordering::Relaxed)));
    work()
}

/// Interrupts all other threads that run generated code of a launch, until none does.
pub(crate) fn cancel(launch: u64) {
    let own = this_thread();
    loop {
        let mut is_left = false;
        for record in RECORDS.iter().filter(|record| record.launch.load(Ordering::Acquire) == launch) {
            let thread = record.thread.load(Ordering::Acquire);
            if thread == 0 || thread == own {
                continue;
            }
            is_left = true;
            record.is_cancelled.store(true, Ordering::Release);
            if record.stack.load(Ordering::Acquire) != 0 {
                signals::interrupt(thread);
            }
        }
        if !is_left {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Ends a launch after a time.
pub(crate) struct Watchdog {
    is_over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Calls `bark` after this time, unless the watchdog is dropped before.
    pub(crate) fn new(time: Duration, bark: impl FnOnce() + Send + 'static) -> Watchdog {
        let is_over = Arc::new((Mutex::new(false), Condvar::new()));
        let message = Arc::clone(&is_over);
        let watch = move || {
            let end = Instant::now() + time;
            let mut is_over = message.0.lock().unwrap_or_else(PoisonError::into_inner);
            while !*is_over {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    drop(is_over);
                    bark();
                    return;
                }
                is_over = message.1.wait_timeout(is_over, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        };
        let thread = std::thread::Builder::new().name("heddle-watchdog".into()).spawn(watch).ok();
        Watchdog { is_over, thread }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        *self.is_over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.is_over.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A watchdog that panicked has nothing left to do.
            let _ = thread.join();
        }
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod signals {
    use super::{KernelFault, RECORDS, ThreadRecord, this_thread};
    use heddle_llvm::Interruption;
    use std::ffi::c_int;
    use std::sync::atomic::Ordering;

    // The record's stack pointer is stored when all registers are saved, and cleared when the code has returned. The words at
    // the stack pointer: control words of the floating-point units, and the address in the record.
    std::arch::global_asm!(
        ".hidden heddle_enter_kernel",
        ".globl heddle_enter_kernel",
        "heddle_enter_kernel:",
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 24",
        "stmxcsr dword ptr [rsp]",
        "fnstcw word ptr [rsp + 4]",
        "mov qword ptr [rsp + 8], rdx",
        "mov qword ptr [rdx], rsp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "xor esi, esi",
        "call rax",
        "mov rdx, qword ptr [rsp + 8]",
        "mov qword ptr [rdx], 0",
        "xor eax, eax",
        "jmp 2f",
        ".hidden heddle_leave_kernel",
        ".globl heddle_leave_kernel",
        "heddle_leave_kernel:",
        "cld",
        "ldmxcsr dword ptr [rsp]",
        "fldcw word ptr [rsp + 4]",
        "mov rdx, qword ptr [rsp + 8]",
        "mov qword ptr [rdx], 0",
        "mov eax, 1",
        "2:",
        "add rsp, 24",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    );

    // SAFETY: as the assembly above defines them.
    unsafe extern "C" {
        fn heddle_enter_kernel(
            entry: extern "C" fn(*const u8, *mut u8),
            slots: *const u8,
            stack: *mut usize,
        ) -> u32;
        fn heddle_leave_kernel();
    }

    /// Calls an entry; true if it was left by a fault.
    ///
    /// # Safety
    /// As for [`super::KernelThread::call`]; the word is that of the thread's record.
    pub(super) unsafe fn enter(
        entry: extern "C" fn(*const u8, *mut u8),
        slots: *const u8,
        stack: *mut usize,
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe { heddle_enter_kernel(entry, slots, stack) != 0 }
    }

    /// Continues at the end of a trampoline.
    ///
    /// # Safety
    /// The stack pointer is that of a trampoline of this thread that has not ended, and the frames below own nothing.
    pub(super) unsafe fn leave(stack: usize) -> ! {
        // SAFETY: the caller's promise.
        unsafe {
            std::arch::asm!(
                "mov rsp, {stack}",
                "jmp {leave}",
                stack = in(reg) stack,
                leave = sym heddle_leave_kernel,
                options(noreturn),
            )
        }
    }

    /// Installs the handlers of signals where the program has others.
    pub(super) fn install() {
        heddle_llvm::set_kernel_hook(on_signal);
        heddle_llvm::install_signal_handlers();
    }

    /// Interrupts a thread.
    pub(super) fn interrupt(thread: i32) {
        heddle_llvm::interrupt_thread(thread);
    }

    fn fault_of(signal: c_int, address: usize) -> KernelFault {
        match signal {
            libc::SIGSEGV => KernelFault::Access(address),
            libc::SIGBUS => KernelFault::Bus(address),
            libc::SIGFPE => KernelFault::Arithmetic,
            libc::SIGURG => KernelFault::Cancelled,
            _ => KernelFault::Trap,
        }
    }

    /// Returns the record of the calling thread if it runs generated code that the signal ends.
    fn interrupted(signal: c_int, is_of_code: bool) -> Option<&'static ThreadRecord> {
        let thread = this_thread();
        let record = RECORDS.iter().find(|record| record.thread.load(Ordering::Acquire) == thread)?;
        let ends = match signal {
            libc::SIGURG => record.is_cancelled.swap(false, Ordering::AcqRel),
            _ => is_of_code,
        };
        (ends && record.stack.load(Ordering::Acquire) != 0).then_some(record)
    }

    /// Ends the kernel that a signal has interrupted: the thread continues at the end of its trampoline.
    fn on_signal(interruption: &mut Interruption<'_>) -> bool {
        let Some(record) = interrupted(interruption.signal, interruption.is_of_code) else { return false };
        let (fault, address) = fault_of(interruption.signal, interruption.address).number();
        record.fault.store(fault, Ordering::Relaxed);
        record.address.store(address, Ordering::Relaxed);
        let leave: unsafe extern "C" fn() = heddle_leave_kernel;
        let registers = &mut interruption.context.uc_mcontext.gregs;
        registers[libc::REG_RSP as usize] = record.stack.load(Ordering::Relaxed) as i64;
        registers[libc::REG_RIP as usize] = leave as usize as i64;
        true
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod signals {
    /// Calls an entry, which is not left otherwise.
    ///
    /// # Safety
    /// As for [`super::KernelThread::call`].
    pub(super) unsafe fn enter(
        entry: extern "C" fn(*const u8, *mut u8),
        slots: *const u8,
        _stack: *mut usize,
    ) -> bool {
        entry(slots, std::ptr::null_mut());
        false
    }

    /// Aborts: no trampoline is armed.
    ///
    /// # Safety
    /// There is nothing to promise.
    pub(super) unsafe fn leave(_stack: usize) -> ! {
        std::process::abort()
    }

    pub(super) fn install() {}

    pub(super) fn interrupt(_thread: i32) {}
}
