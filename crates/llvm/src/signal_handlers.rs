//! Handlers of the signals that compiled code and LLVM raise. A process has one set of them.
//!
//! Kernels that fault ([`set_kernel_hook`]) and compilations that the exit stops (`compiler_threads`) use the same signals. One
//! handler calls the hooks of both, and then does what the program had wanted. Two sets of handlers would each know the other one as
//! the program's, and call each other in a circle.
//!
//! Handlers are installed before the first compilation and by launches, and again if the program has replaced them.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Signal that interrupts threads; programs ignore it by default.
pub(crate) const INTERRUPTION: c_int = libc::SIGURG;

/// Signals with a handler.
const SIGNALS: [c_int; 6] =
    [INTERRUPTION, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

/// Action of the program for each signal.
static PREVIOUS: [AtomicPtr<libc::sigaction>; SIGNALS.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; SIGNALS.len()];

/// Signal that has interrupted the calling thread.
pub struct Interruption<'a> {
    /// Number of the signal.
    pub signal: c_int,
    /// True if an instruction raised it; false if it was sent.
    pub is_of_code: bool,
    /// Address that an access failed at.
    pub address: usize,
    /// Registers of the thread, which go back into it when the handler returns.
    pub context: &'a mut libc::ucontext_t,
}

impl fmt::Debug for Interruption<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Interruption");
        fields.field("signal", &self.signal).field("is_of_code", &self.is_of_code);
        fields.field("address", &self.address).finish_non_exhaustive()
    }
}

/// Function that a handler calls: true if the signal was the hook's. It does only what signal handlers may do.
pub type SignalHook = fn(&mut Interruption<'_>) -> bool;

static KERNEL_HOOK: OnceLock<SignalHook> = OnceLock::new();

/// Sets the function that recognizes faults of kernels. It is called first.
pub fn set_kernel_hook(hook: SignalHook) {
    KERNEL_HOOK.get_or_init(|| hook);
}

/// The number of the calling thread.
pub(crate) fn this_thread() -> i32 {
    // SAFETY: there is nothing that it needs.
    unsafe { libc::gettid() }
}

/// Interrupts a thread of this process by SIGURG; false if there is no such thread.
pub fn interrupt_thread(thread: i32) -> bool {
    // SAFETY: numbers; one that is no thread any more is an error, and the signal is ignored where it has no handler.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, INTERRUPTION) == 0 }
}

fn action_of(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: an action that is all zeros.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: it only asks.
    (unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) } == 0).then_some(action)
}

/// Installs the handlers where the program has others.
pub fn install_signal_handlers() {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
    let foreign = |signal| action_of(signal).filter(|action| action.sa_sigaction != handler as usize);
    if !SIGNALS.into_iter().any(|signal| foreign(signal).is_some()) {
        return;
    }
    let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    for (previous, signal) in PREVIOUS.iter().zip(SIGNALS) {
        let Some(known) = foreign(signal) else { continue };
        // The handler may read it at any time from now on, so it is never freed.
        previous.store(Box::into_raw(Box::new(known)), Ordering::Release);
        // SAFETY: an action that is all zeros.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        // SAFETY: the handler only does what may be done in handlers, and chains to the program's.
        unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    }
}

/// Handler of all signals.
///
/// # Safety
/// The system calls it, with information and context.
unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the thread's own variable, which the code around the signal may be about to read.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the system's information; it has an address for signals that code raises.
    let (is_of_code, address) = unsafe { ((*info).si_code > 0, (*info).si_addr() as usize) };
    // SAFETY: the system's context of this thread.
    let registers = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let mut interruption = Interruption { signal, is_of_code, address, context: registers };
    let is_ours = KERNEL_HOOK.get().is_some_and(|hook| hook(&mut interruption))
        || crate::compiler_threads::on_signal(&mut interruption);
    if !is_ours {
        // SAFETY: as the system called this handler.
        unsafe { chain(signal, is_of_code, info, context) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Does what the program wants for a signal that is none of Heddle's.
///
/// # Safety
/// As for [`handle`].
unsafe fn chain(signal: c_int, is_of_code: bool, info: *mut libc::siginfo_t, context: *mut c_void) {
    /// Thread, context and frame of the last call of a handler of the program. A handler that chains back to this one comes
    /// with the same context and a deeper frame.
    static CHAINED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
    let index = SIGNALS.iter().position(|&known| known == signal).unwrap_or(0);
    let previous = PREVIOUS[index].load(Ordering::Acquire);
    // SAFETY: it is none, or an action that is never freed.
    let previous = unsafe { previous.as_ref() };
    let (handler, flags) = previous.map_or((libc::SIG_DFL, 0), |it| (it.sa_sigaction, it.sa_flags));
    let here = [this_thread() as usize, context.addr(), std::ptr::from_ref(&signal).addr()];
    let last = [0, 1, 2].map(|at: usize| CHAINED[at].load(Ordering::Relaxed));
    let is_again = here[..2] == last[..2] && here[2] < last[2];
    match handler {
        libc::SIG_DFL | libc::SIG_IGN if signal == INTERRUPTION => {}
        libc::SIG_IGN if !is_of_code => {}
        _ if is_again && signal == INTERRUPTION => {}
        handler if handler != libc::SIG_DFL && handler != libc::SIG_IGN && !is_again => {
            CHAINED.iter().zip(here).for_each(|(to, here)| to.store(here, Ordering::Relaxed));
            // SAFETY: the program installed it as a handler of this type.
            unsafe {
                if flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
            CHAINED[0].store(0, Ordering::Relaxed);
        }
        _ => {
            // SAFETY: an action that is all zeros is the default one. The instruction faults again behind the handler, and a
            // signal that was sent is sent again.
            unsafe {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &default, std::ptr::null_mut());
                if !is_of_code {
                    libc::syscall(libc::SYS_tgkill, libc::getpid(), this_thread(), signal);
                }
            }
        }
    }
}
