//! Child processes for compiled code, whose inputs and outputs are in shared memory, and for LLVM's reader of damaged files: they
//! can neither hang nor corrupt this process.

use crate::jit::JitEntry;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// Zero-initialized, page-aligned memory shared with a child process.
#[derive(Debug)]
pub struct SharedMapping {
    base: *mut u8,
    len: usize,
}

/// Failure of compiled code in a child process.
#[derive(Debug, Error)]
pub enum ChildFailure {
    /// The time limit expired.
    #[error("native code exceeded {} s; `--timeout` sets the limit", .0.as_secs_f64())]
    Late(Duration),
    /// A signal ended the process.
    #[error(
        "native code was ended by signal {signal}{}; run without `--native` to find the reason",
        signal_text(*.signal)
    )]
    Signal {
        /// The signal.
        signal: i32,
    },
    /// The code exited with this status.
    #[error("native code exited with code {0}")]
    Exit(i32),
    /// `fork` or `waitpid` failed.
    #[error("no process for native code: {0}")]
    Process(#[from] io::Error),
}

fn signal_text(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV | libc::SIGBUS => ": access to unmapped memory, or stack overflow",
        libc::SIGFPE => ": division by zero, or quotient overflow",
        libc::SIGILL | libc::SIGTRAP => ": trap",
        libc::SIGABRT => ": abort",
        _ => "",
    }
}

impl SharedMapping {
    /// Maps `len` bytes.
    pub fn new(len: usize) -> io::Result<SharedMapping> {
        let len = len.max(1);
        // SAFETY: new memory, at an address of the system's choice.
        let base = unsafe {
            let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedMapping { base: base.cast(), len })
    }

    /// Returns the address, which is the same in both processes.
    pub fn address(&self) -> u64 {
        self.base as u64
    }

    /// Returns the bytes. No child runs: `call_in_child` returns after it has ended.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for as long as this lives, initialized by the system.
        unsafe { std::slice::from_raw_parts(self.base, self.len) }
    }

    /// Returns the bytes for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: mapped for as long as this lives, initialized by the system, and borrowed by nothing else.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.len) }
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and borrowed by nothing any more.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

impl JitEntry<'_> {
    /// Calls the function in a child process; arguments and results are at these offsets of the memory. Only that
    /// memory changes here.
    pub fn call_in_child(
        &self,
        memory: &mut SharedMapping,
        [arguments, results]: [usize; 2],
        limit: Option<Duration>,
    ) -> Result<(), ChildFailure> {
        assert!(arguments <= memory.len && results <= memory.len, "places lie in the memory");
        let (entry, base) = (self.function(), memory.base);
        // SAFETY: the caller gave places for the function's arguments and results; what it does to the child's copy of our memory is
        // not seen here.
        run_in_child(limit, || unsafe { entry(base.add(arguments), base.add(results)) })
    }
}

/// Runs a function in a child process, whose memory is a copy of this one's, and waits for its end.
pub(crate) fn run_in_child(limit: Option<Duration>, function: impl FnOnce()) -> Result<(), ChildFailure> {
    // SAFETY: the child is a copy of this thread alone, and leaves by `_exit`. A function that waits for another thread's lock is
    // ended by the limit.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(io::Error::last_os_error().into()),
        // SAFETY: as above.
        0 => unsafe {
            prepare_child(limit);
            // A panic does not go on with what the parent does.
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function));
            libc::_exit(if ended.is_ok() { 0 } else { 101 })
        },
        _ => {}
    }
    let mut status = 0;
    // SAFETY: the child is ours; the out-pointer is valid.
    while unsafe { libc::waitpid(child, &mut status, 0) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error.into());
        }
    }
    match (libc::WIFSIGNALED(status), libc::WTERMSIG(status), libc::WEXITSTATUS(status), limit) {
        (true, libc::SIGALRM, _, Some(limit)) => Err(ChildFailure::Late(limit)),
        (true, signal, ..) => Err(ChildFailure::Signal { signal }),
        (false, _, 0, _) => Ok(()),
        (false, _, code, _) => Err(ChildFailure::Exit(code)),
    }
}

/// Resets signal handling so that signals end the child, and sets the time limit.
///
/// # Safety
/// Called in a child process before it does anything else.
unsafe fn prepare_child(limit: Option<Duration>) {
    // SAFETY: calls of the system, each of which reads only what is given here.
    unsafe {
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGALRM]
        {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        if let Some(limit) = limit {
            // A zero timer would mean no limit.
            let limit = limit.max(Duration::from_millis(1));
            let value = libc::timeval {
                tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
                tv_usec: limit.subsec_micros() as libc::suseconds_t,
            };
            let once = libc::timeval { tv_sec: 0, tv_usec: 0 };
            let timer = libc::itimerval { it_interval: once, it_value: value };
            libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
        }
    }
}
