//! Placement of threads on processors.
//!
//! The threads of a job should run at the same time. The system wakes a thread on its last processor or on that of its waker, and takes
//! milliseconds to separate two threads that share a processor; the job may be done by then. A thread that finds another thread of
//! its job on its processor therefore moves to a free one. It is not bound to that processor: other programs may need it more.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The processors that threads of a job began on.
#[derive(Debug)]
pub(crate) struct ProcessorSet {
    words: Vec<AtomicU64>,
}

impl ProcessorSet {
    /// None of so many.
    pub(crate) fn new(processors: usize) -> ProcessorSet {
        ProcessorSet { words: (0..processors.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Takes a processor; false if another thread has.
    fn take(&self, processor: usize) -> bool {
        let bit = 1 << (processor % 64);
        self.words.get(processor / 64).is_none_or(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }

    fn has(&self, processor: usize) -> bool {
        let bit = 1 << (processor % 64);
        self.words.get(processor / 64).is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Takes the processor of this thread, or, if another thread has, moves to one that none has.
    pub(crate) fn take_own(&self) {
        if current().is_none_or(|own| self.take(own)) {
            return;
        }
        leave(|processor| self.has(processor));
        if let Some(own) = current() {
            self.take(own);
        }
    }
}

/// The processor that this thread runs on.
#[cfg(target_os = "linux")]
fn current() -> Option<usize> {
    // SAFETY: it takes nothing.
    let processor = unsafe { libc::sched_getcpu() };
    usize::try_from(processor).ok()
}

/// Moves this thread to one of the processors that it may run on and that is none of these, if there is one.
#[cfg(target_os = "linux")]
fn leave(is_taken: impl Fn(usize) -> bool) {
    const SIZE: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: the sets have the stated size, and zero is the empty one; `CPU_SET` and `CPU_ISSET` get numbers below their
    // size.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, SIZE, &mut all) != 0 {
            return;
        }
        let mut free: libc::cpu_set_t = std::mem::zeroed();
        for processor in (0..8 * SIZE).filter(|&it| libc::CPU_ISSET(it, &all) && !is_taken(it)) {
            libc::CPU_SET(processor, &mut free);
        }
        // The set of none is refused, and nothing changes.
        if libc::sched_setaffinity(0, SIZE, &free) == 0 {
            libc::sched_setaffinity(0, SIZE, &all);
        }
    }
}

/// The processors that this thread may run on, in order; empty if the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn allowed_processors() -> Vec<usize> {
    const SIZE: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: the set has the stated size; `CPU_ISSET` gets numbers below it.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, SIZE, &mut all) != 0 {
            return Vec::new();
        }
        (0..8 * SIZE).filter(|&it| libc::CPU_ISSET(it, &all)).collect()
    }
}

/// Binds this thread to processors. If the system refuses, the thread stays where it was.
#[cfg(target_os = "linux")]
pub(crate) fn bind_to(processors: &[usize]) {
    const SIZE: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: the set has the stated size, and zero is the empty one; `CPU_SET` gets numbers below its size.
    unsafe {
        let mut own: libc::cpu_set_t = std::mem::zeroed();
        for &processor in processors.iter().filter(|&&it| it < 8 * SIZE) {
            libc::CPU_SET(processor, &mut own);
        }
        libc::sched_setaffinity(0, SIZE, &own);
    }
}

/// Processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is a variable of this function.
    match unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } {
        0 => Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32),
        _ => Duration::ZERO,
    }
}

/// Gives this thread, and those that it starts, only the processor time that no other thread wants.
#[cfg(target_os = "linux")]
pub(crate) fn lower_priority() {
    // SAFETY: the parameter is a variable of this function; zero is its only value for this policy. The second call takes numbers.
    unsafe {
        let param: libc::sched_param = std::mem::zeroed();
        if libc::sched_setscheduler(0, libc::SCHED_IDLE, &param) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, libc::gettid() as libc::id_t, 19);
        }
    }
}

/// True if a processor is idle while `threads` threads of this process work. The load is read at most every 50 ms, since each
/// launch calls this: the count of processors alone reads the control groups and takes 28 µs.
#[cfg(target_os = "linux")]
pub(crate) fn has_idle(threads: usize) -> bool {
    static LAST: Mutex<Option<(Instant, SystemLoad)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let load = recent_load(&mut last, SystemLoad::read);
    threads < load.processors && load.running < load.processors
}

/// Returns the last load, read anew if it is older than 50 ms.
#[cfg(target_os = "linux")]
fn recent_load(last: &mut Option<(Instant, SystemLoad)>, read: impl FnOnce() -> SystemLoad) -> SystemLoad {
    match *last {
        Some((time, load)) if time.elapsed() <= Duration::from_millis(50) => load,
        _ => last.insert((Instant::now(), read())).1,
    }
}

/// Processors that this process may use, and threads that run on the machine.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy)]
struct SystemLoad {
    processors: usize,
    running: usize,
}

#[cfg(target_os = "linux")]
impl SystemLoad {
    fn read() -> SystemLoad {
        // The fourth word is the number of running threads, a slash, and the number of all.
        let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let word = text.split(' ').nth(3).and_then(|word| word.split('/').next());
        let running = word.and_then(|word| word.parse().ok()).unwrap_or(usize::MAX);
        SystemLoad { processors: std::thread::available_parallelism().map_or(1, usize::from), running }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allowed_processors() -> Vec<usize> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn bind_to(_: &[usize]) {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn lower_priority() {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn has_idle(threads: usize) -> bool {
    threads < std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(not(target_os = "linux"))]
fn current() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
fn leave(_: impl Fn(usize) -> bool) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_bound_thread_stays_on_its_processors() {
        for own in allowed_processors() {
            let bound = std::thread::spawn(move || {
                bind_to(&[own]);
                (allowed_processors(), current())
            });
            assert_eq!(bound.join().expect("the thread ends"), (vec![own], Some(own)));
        }
    }

    #[test]
    fn a_processor_is_taken_once() {
        let taken = ProcessorSet::new(65);
        assert!(!taken.has(64) && taken.take(64) && taken.has(64) && !taken.take(64));
        assert!(taken.take(0) && !taken.has(1));
        // More than there are is no error.
        assert!(taken.take(1000) && !taken.has(1000));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_load_is_not_read_at_each_launch() {
        let (mut last, mut reads) = (None, 0);
        let start = Instant::now();
        for _ in 0..10_000 {
            recent_load(&mut last, || {
                reads += 1;
                SystemLoad { processors: 2, running: 1 }
            });
        }
        assert!(reads >= 1 && reads <= 1 + start.elapsed().as_millis() / 50);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_goes_where_no_other_is() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let leaves = |_| {
            let own = current().expect("the system tells");
            leave(|processor| processor == own);
            current() != Some(own)
        };
        // The system may have moved it back at once, but not each time.
        assert!(processors == 1 || (0..100).any(leaves));
    }
}
