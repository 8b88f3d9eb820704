//! Workers that stay, and jobs that they share: each takes the next chunk until none is left.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Workers beside the thread that asks. Dropping the pool ends them.
pub struct Pool {
    shared: Arc<Shared>,
    threads: usize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("threads", &self.threads).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// There is a job, or the end has come.
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Arc<Job>>,
    is_closed: bool,
}

/// A range of numbers, and what is done with each chunk of it.
struct Job {
    next: AtomicU64,
    end: u64,
    chunk: u64,
    /// Numbers that are not done yet.
    left: Mutex<u64>,
    done: Condvar,
    work: Box<dyn Fn(std::ops::Range<u64>) + Send + Sync>,
}

/// What compiled kernels keep in private memory lies on the stack.
const STACK: usize = 64 << 20;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is guarded is left half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    /// Does chunks until none is left.
    fn help(&self) {
        loop {
            let first = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if first >= self.end {
                return;
            }
            let last = first.saturating_add(self.chunk).min(self.end);
            (self.work)(first..last);
            let mut left = lock(&self.left);
            *left -= last - first;
            if *left == 0 {
                self.done.notify_all();
            }
        }
    }
}

impl Pool {
    /// So many threads in all, the one that asks among them; at least that one.
    pub fn new(threads: usize) -> Pool {
        let shared = Arc::new(Shared::default());
        let mut running = 1;
        for number in 1..threads {
            let shared = Arc::clone(&shared);
            let worker = thread::Builder::new().name(format!("heddle-{number}")).stack_size(STACK);
            // Where the system has no more threads, those that there are do the work.
            running += usize::from(worker.spawn(move || serve(&shared)).is_ok());
        }
        Pool { shared, threads: running }
    }

    /// The pool of the process: `HEDDLE_THREADS` threads, or as many as the machine runs at once.
    pub fn of_process() -> &'static Pool {
        static POOL: LazyLock<Pool> = LazyLock::new(|| {
            let asked = std::env::var("HEDDLE_THREADS").ok().and_then(|text| text.trim().parse().ok());
            let threads = asked.filter(|&threads| threads > 0);
            Pool::new(threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)))
        });
        &POOL
    }

    /// How many threads work on a job.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Does the work for all numbers below `end`, in chunks of at most this size, and comes back when all is done.
    pub(crate) fn run(
        &self,
        end: u64,
        chunk: u64,
        work: impl Fn(std::ops::Range<u64>) + Send + Sync + 'static,
    ) {
        if end == 0 {
            return;
        }
        let chunk = chunk.max(1);
        if self.threads == 1 || end <= chunk {
            return work(0..end);
        }
        let job = Arc::new(Job {
            next: AtomicU64::new(0),
            end,
            chunk,
            left: Mutex::new(end),
            done: Condvar::new(),
            work: Box::new(work),
        });
        lock(&self.shared.queue).jobs.push_back(Arc::clone(&job));
        self.shared.wake.notify_all();
        job.help();
        let mut left = lock(&job.left);
        while *left > 0 {
            left = job.done.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
        drop(left);
        lock(&self.shared.queue).jobs.retain(|other| !Arc::ptr_eq(other, &job));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.shared.queue).is_closed = true;
        self.shared.wake.notify_all();
    }
}

/// What a worker does as long as there is the pool.
fn serve(shared: &Shared) {
    let mut queue = lock(&shared.queue);
    loop {
        if let Some(job) = queue.jobs.front().map(Arc::clone) {
            drop(queue);
            job.help();
            queue = lock(&shared.queue);
            // No chunk is left to take.
            queue.jobs.retain(|other| !Arc::ptr_eq(other, &job));
        } else if queue.is_closed {
            return;
        } else {
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
