//! Workers that stay, and jobs that they share.
//!
//! A job is a range of numbers. Each thread that is to work on it has a part of its own, from which it takes a chunk at a
//! time; when that is done it takes chunks of other parts. So from one launch to the next a thread finds in its cache what
//! it left there, and none waits while there is work. Chunks get smaller towards the end of a part, so that all end at about
//! the same time.
//!
//! A thread that is done looks for the next job for a moment before it sleeps, since to wake a thread takes longer than many launches.

use crate::processors::{ProcessorSet, bind_to};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Workers next to the thread that asks. Dropping the pool ends them.
pub struct Pool {
    shared: Arc<PoolShared>,
    workers: Vec<PoolWorker>,
    is_at_once: bool,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

struct PoolWorker {
    thread: Thread,
    /// State of the worker: `WORKING`, `AWAKE` or `ASLEEP`.
    state: Arc<AtomicU8>,
}

const WORKING: u8 = 0;
/// Looks for a job.
const AWAKE: u8 = 1;
/// Sleeps, or is about to.
const ASLEEP: u8 = 2;

struct PoolShared {
    jobs: Mutex<VecDeque<Arc<PoolJob>>>,
    /// Number of jobs so far.
    version: AtomicU64,
    is_closed: AtomicBool,
    /// Number of processors.
    processors: usize,
    /// True if there is a processor for each thread, so that a thread that spins keeps none from working.
    has_room: bool,
}

/// Division of a job among threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JobShare {
    /// Number of threads that work on it.
    pub(crate) threads: usize,
    /// Chunks are multiples of this, but for the last of a part.
    pub(crate) grain: u64,
    /// True if threads take the next numbers of the whole range, as few as they may: later ones may wait for earlier ones.
    pub(crate) is_ordered: bool,
}

/// The numbers that a thread begins with.
#[repr(align(128))]
struct JobPart {
    next: AtomicU64,
    end: u64,
}

/// A range of numbers, and what is done with each chunk of it.
struct PoolJob {
    parts: Vec<JobPart>,
    grain: u64,
    is_ordered: bool,
    /// Number of elements that are not done yet.
    left: AtomicU64,
    /// For how many nanoseconds threads have worked, all together.
    busy: AtomicU64,
    /// Where threads work on it; none if one does, or if there are fewer processors than threads.
    taken: Option<ProcessorSet>,
    is_done: Mutex<bool>,
    done: Condvar,
    work: Box<dyn Fn(Range<u64>) + Send + Sync>,
}

/// Stack of a worker: private memory of compiled kernels is on it.
const STACK: usize = 64 << 20;
/// For how long a thread that has nothing to do waits awake: about what it takes to wake it.
const PATIENCE: Duration = Duration::from_micros(40);
/// The share of what is left of a part that a thread takes at once, and the most numbers.
const CHUNKS: u64 = 8;
const MOST: u64 = 256;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is guarded is left half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits awake until something holds; false if it does not soon.
fn comes_soon(holds: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..32 {
            if holds() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() >= PATIENCE {
            return false;
        }
    }
}

impl JobPart {
    fn is_open(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.end
    }

    /// The next chunk, if one is left; the smallest one if the range is ordered.
    fn take(&self, grain: u64, is_ordered: bool) -> Option<Range<u64>> {
        let mut first = self.next.load(Ordering::Relaxed);
        while first < self.end {
            let left = self.end - first;
            let some = if is_ordered { 0 } else { (left / CHUNKS).min(MOST) / grain * grain };
            let last = first + some.max(grain).min(left);
            match self.next.compare_exchange_weak(first, last, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(first..last),
                Err(now) => first = now,
            }
        }
        None
    }
}

impl PoolJob {
    fn new(
        end: u64,
        share: JobShare,
        taken: Option<ProcessorSet>,
        work: Box<dyn Fn(Range<u64>) + Send + Sync>,
    ) -> PoolJob {
        let parts = if share.is_ordered { 1 } else { share.threads.max(1) };
        let (count, grain) = (parts as u64, share.grain.max(1));
        let each = end.div_ceil(count);
        let each = each.checked_next_multiple_of(grain).unwrap_or(each);
        let start = |number: u64| number.saturating_mul(each).min(end);
        let part = |number| JobPart { next: AtomicU64::new(start(number)), end: start(number + 1) };
        PoolJob {
            parts: (0..count).map(part).collect(),
            grain,
            is_ordered: share.is_ordered,
            left: AtomicU64::new(end),
            busy: AtomicU64::new(0),
            taken,
            is_done: Mutex::new(false),
            done: Condvar::new(),
            work,
        }
    }

    fn is_open(&self) -> bool {
        self.parts.iter().any(JobPart::is_open)
    }

    /// Does chunks until none is left, those of the thread's own part first.
    fn help(&self, number: usize) {
        if let Some(taken) = &self.taken {
            taken.take_own();
        }
        let own = number % self.parts.len();
        let start = Instant::now();
        let mut count = 0;
        for part in self.parts[own..].iter().chain(&self.parts[..own]) {
            while let Some(chunk) = part.take(self.grain, self.is_ordered) {
                count += chunk.end - chunk.start;
                (self.work)(chunk);
            }
        }
        if count == 0 {
            return;
        }
        self.busy.fetch_add(nanoseconds(start.elapsed()), Ordering::Relaxed);
        if self.left.fetch_sub(count, Ordering::AcqRel) == count {
            *lock(&self.is_done) = true;
            self.done.notify_all();
        }
    }

    /// Comes back when all numbers are done.
    fn wait(&self, has_room: bool) {
        let is_over = || self.left.load(Ordering::Acquire) == 0;
        if is_over() || has_room && comes_soon(is_over) {
            return;
        }
        let mut is_done = lock(&self.is_done);
        while !*is_done {
            is_done = self.done.wait(is_done).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Pool {
    /// So many threads in all, the one that asks among them; at least that one.
    pub fn new(threads: usize) -> Pool {
        Pool::on_processors(threads, &[])
    }

    /// Pool whose workers are bound to these processors; not bound if there are none. The thread that asks is never bound.
    pub fn on_processors(threads: usize, own: &[usize]) -> Pool {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(PoolShared {
            jobs: Mutex::default(),
            version: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            processors,
            has_room: threads <= processors,
        });
        let start = |number| {
            let (shared, state) = (Arc::clone(&shared), Arc::new(AtomicU8::new(WORKING)));
            let places = own.to_vec();
            let worker = thread::Builder::new().name(format!("heddle-{number}")).stack_size(STACK);
            let seen = Arc::clone(&state);
            let serve = move || {
                if !places.is_empty() {
                    bind_to(&places);
                }
                serve(&shared, number, &seen);
            };
            // Where the system has no more threads, those that there are do the work.
            let started = worker.spawn(serve).ok()?;
            Some(PoolWorker { thread: started.thread().clone(), state })
        };
        let workers = (1..threads).filter_map(start).collect();
        Pool { shared, workers, is_at_once: false }
    }

    /// Pool for jobs whose elements may wait for each other: each runs on a thread of its own.
    pub fn at_once(threads: usize) -> Pool {
        let mut pool = Pool::new(threads);
        pool.is_at_once = true;
        pool
    }

    /// The pool of the process, of [`threads`](crate::environment::threads).
    pub fn of_process() -> &'static Pool {
        static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::new(crate::environment::threads()));
        &POOL
    }

    /// Number of threads that work on a job.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// True if elements of a job may wait for each other.
    pub(crate) fn is_at_once(&self) -> bool {
        self.is_at_once
    }

    /// Does the work for all numbers below `end`, and comes back when all is done. Tells for how long threads have worked, all
    /// together.
    pub(crate) fn run(
        &self,
        end: u64,
        share: JobShare,
        work: impl Fn(Range<u64>) + Send + Sync + 'static,
    ) -> Duration {
        let share = JobShare { threads: share.threads.min(self.threads()), ..share };
        let apart = share.threads > 1 && self.shared.has_room;
        let taken = apart.then(|| ProcessorSet::new(self.shared.processors));
        let job = Arc::new(PoolJob::new(end, share, taken, Box::new(work)));
        if share.threads > 1 {
            lock(&self.shared.jobs).push_back(Arc::clone(&job));
            self.shared.version.fetch_add(1, Ordering::SeqCst);
            self.wake(share.threads - 1);
        }
        job.help(0);
        if share.threads > 1 {
            job.wait(self.shared.has_room);
            lock(&self.shared.jobs).retain(|other| !Arc::ptr_eq(other, &job));
        }
        Duration::from_nanos(job.busy.load(Ordering::Relaxed))
    }

    /// Has so many workers take the job, the first that have none. One that is awake sees it.
    fn wake(&self, count: usize) {
        let state = |worker: &PoolWorker| worker.state.load(Ordering::SeqCst);
        let free = self.workers.iter().map(|worker| (worker, state(worker))).filter(|(_, it)| *it != WORKING);
        for (worker, _) in free.take(count).filter(|(_, it)| *it == ASLEEP) {
            worker.thread.unpark();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        self.workers.iter().for_each(|worker| worker.thread.unpark());
    }
}

/// Loop of a worker until the pool ends.
fn serve(shared: &PoolShared, number: usize, state: &AtomicU8) {
    let mut has_worked = false;
    loop {
        let seen = shared.version.load(Ordering::SeqCst);
        let has_changed =
            || shared.version.load(Ordering::SeqCst) != seen || shared.is_closed.load(Ordering::SeqCst);
        let job = {
            let mut jobs = lock(&shared.jobs);
            // Nothing is left to take of the others.
            jobs.retain(|job| job.is_open());
            jobs.front().map(Arc::clone)
        };
        if let Some(job) = job {
            state.store(WORKING, Ordering::SeqCst);
            job.help(number);
            state.store(AWAKE, Ordering::SeqCst);
            has_worked = true;
        } else if shared.is_closed.load(Ordering::SeqCst) {
            return;
        } else if !(std::mem::take(&mut has_worked) && shared.has_room && comes_soon(has_changed)) {
            // The thread that brings a job changes the version before it looks which threads sleep.
            state.store(ASLEEP, Ordering::SeqCst);
            if !has_changed() {
                thread::park();
            }
            state.store(AWAKE, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::thread::ThreadId;

    /// Chunks of a range in the order in which one thread takes them.
    fn chunks(end: u64, share: JobShare) -> Vec<Range<u64>> {
        let job = PoolJob::new(end, share, None, Box::new(|_| {}));
        job.parts
            .iter()
            .flat_map(|part| std::iter::from_fn(|| part.take(job.grain, job.is_ordered)))
            .collect()
    }

    #[test]
    fn chunks_cover_the_range_and_get_smaller() {
        for (end, threads, grain) in [(0, 3, 1), (1, 4, 1), (100, 3, 7), (4099, 2, 1), (70_000, 5, 24)] {
            let chunks = chunks(end, JobShare { threads, grain, is_ordered: false });
            let mut next = 0;
            for chunk in &chunks {
                assert_eq!(chunk.start, next);
                next = chunk.end;
            }
            assert_eq!(next, end);
            assert!(chunks.iter().all(|it| it.end - it.start <= MOST.max(grain)));
        }
        let of_one = chunks(64, JobShare { threads: 1, grain: 1, is_ordered: false });
        let sizes: Vec<u64> = of_one.iter().map(|it| it.end - it.start).collect();
        assert!(sizes.is_sorted_by(|one, next| one >= next), "{sizes:?}");
        assert_eq!((sizes[0], sizes[sizes.len() - 1]), (8, 1));
        // The largest numbers that there are do not overflow.
        let part = JobPart { next: AtomicU64::new(u64::MAX - 3), end: u64::MAX };
        assert_eq!(part.take(100, false), Some(u64::MAX - 3..u64::MAX));
        assert_eq!(
            PoolJob::new(
                u64::MAX,
                JobShare { threads: 3, grain: 1 << 40, is_ordered: false },
                None,
                Box::new(|_| {})
            )
            .parts
            .len(),
            3
        );
    }

    #[test]
    fn an_ordered_range_is_taken_from_its_start_by_all_threads() {
        let share = JobShare { threads: 4, grain: 3, is_ordered: true };
        assert_eq!(chunks(10, share), [0..3, 3..6, 6..9, 9..10]);
        // Each number waits for the one before: with a part for each thread this would not end in time on one processor.
        let pool = Pool::new(4);
        let done = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&done);
        pool.run(1000, JobShare { threads: 4, grain: 1, is_ordered: true }, move |chunk| {
            for number in chunk {
                while own.load(Ordering::Acquire) != number {
                    thread::yield_now();
                }
                own.store(number + 1, Ordering::Release);
            }
        });
        assert_eq!(done.load(Ordering::Acquire), 1000);
    }

    /// Returns the threads and their ranges, where none ends its first range before all parts are being worked on.
    fn who_did(pool: &Pool, end: u64, threads: usize) -> Vec<(ThreadId, Range<u64>)> {
        let seen = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let reported = Arc::clone(&seen);
        pool.run(end, JobShare { threads, grain: 1, is_ordered: false }, move |chunk| {
            let mut seen = lock(&reported.0);
            seen.push((thread::current().id(), chunk));
            reported.1.notify_all();
            while seen.iter().map(|(id, _)| id).collect::<HashSet<_>>().len() < threads {
                seen = reported.1.wait(seen).unwrap_or_else(PoisonError::into_inner);
            }
        });
        lock(&seen.0).clone()
    }

    #[test]
    fn all_threads_work_each_from_the_start_of_its_part() {
        for (end, threads) in [(4, 4), (1000, 4), (1001, 2), (3, 3)] {
            let pool = Pool::new(threads);
            for _ in 0..10 {
                // With fewer threads this would not end.
                let done = who_did(&pool, end, threads);
                let mut numbers: Vec<u64> = done.iter().flat_map(|(_, chunk)| chunk.clone()).collect();
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..end));
                let each = end.div_ceil(threads as u64);
                let mut starts: Vec<u64> = done[..threads].iter().map(|(_, chunk)| chunk.start).collect();
                starts.sort_unstable();
                assert!(starts.into_iter().eq((0..threads as u64).map(|part| part * each)));
            }
        }
    }

    #[test]
    fn a_job_has_no_more_threads_than_its_pool() {
        for threads in 1..4 {
            let pool = Pool::on_processors(threads, &[0]);
            assert_eq!(pool.threads(), threads);
            let seen = Arc::new(Mutex::new(HashSet::new()));
            for _ in 0..20 {
                let own = Arc::clone(&seen);
                // A share of eight threads, more than the pool has.
                pool.run(1000, JobShare { threads: 8, grain: 1, is_ordered: false }, move |_| {
                    lock(&own).insert(thread::current().id());
                });
            }
            let seen = lock(&seen);
            assert!((1..=threads).contains(&seen.len()), "{seen:?}");
            assert!(threads > 1 || seen.contains(&thread::current().id()), "{seen:?}");
        }
    }

    #[test]
    fn a_job_for_one_thread_stays_with_who_asks() {
        let pool = Pool::new(3);
        for _ in 0..20 {
            let done = who_did(&pool, 1000, 1);
            assert!(done.iter().all(|(id, _)| *id == thread::current().id()));
        }
    }

    #[test]
    fn jobs_of_several_threads_are_all_done() {
        let pool = Pool::new(3);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for end in 1..60 {
                        let sum = Arc::new(AtomicU64::new(0));
                        let own = Arc::clone(&sum);
                        pool.run(end, JobShare { threads: 3, grain: 2, is_ordered: false }, move |chunk| {
                            own.fetch_add(chunk.sum(), Ordering::Relaxed);
                        });
                        assert_eq!(sum.load(Ordering::Relaxed), end * (end - 1) / 2);
                    }
                });
            }
        });
    }
}
