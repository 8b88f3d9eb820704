//! Compilation of kernels before their first launch, on other processors.
//!
//! A program's kernels are compiled when they are launched, so kernels that never run cost nothing. A kernel that an application creates
//! will most likely run, so its usual code is compiled meanwhile if there are other processors. A launch that comes first compiles
//! its code itself, and one that comes during the compilation waits for it.

use crate::program::PreparedKernel;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

#[derive(Default)]
struct CompileQueue {
    kernels: VecDeque<PreparedKernel>,
    /// Number of threads that take kernels from the queue.
    workers: usize,
}

static QUEUE: Mutex<CompileQueue> = Mutex::new(CompileQueue { kernels: VecDeque::new(), workers: 0 });

fn queue() -> MutexGuard<'static, CompileQueue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the next kernel; without one the worker ends.
fn next_kernel() -> Option<PreparedKernel> {
    let mut queue = queue();
    let next = queue.kernels.pop_front();
    if next.is_none() {
        queue.workers -= 1;
    }
    next
}

/// Compiles the kernels of the queue.
fn work() {
    while let Some(kernel) = next_kernel() {
        while crate::exit::is_over() {
            // To drop code would use LLVM.
            thread::park();
        }
        // A launch reports why there is no code.
        let _ = kernel.compile_usual();
    }
}

impl PreparedKernel {
    /// Loads the code of usual launches from the cache, or compiles it on another thread. So many threads use the machine, the caller's
    /// among them.
    pub fn compile_ahead(&self, threads: usize) {
        if self.load_usual() || threads <= 1 {
            return;
        }
        let mut queue = queue();
        queue.kernels.push_back(self.clone());
        if queue.workers + 1 >= threads {
            return;
        }
        queue.workers += 1;
        drop(queue);
        if thread::Builder::new().name("heddle-compiler".into()).spawn(work).is_err() {
            // Launches compile what is left.
            let mut queue = self::queue();
            queue.workers -= 1;
            queue.kernels.clear();
        }
    }
}
