//! Compilation of kernels before their first launch.
//!
//! A program's kernels are compiled when they are launched, so kernels that never run cost nothing. A kernel that an application creates
//! will most likely run. In a program that has few it has its usual code when it is created: users measure the first launch, and expect
//! compilation before it. Other threads compile such kernels from the program's build on, and those of other programs from their creation on.
//!
//! Kernels that take images wait for their launch, which knows the formats. So do large ones where threads are few: their compilation
//! takes seconds, and a launch may need other code than the usual one.
//!
//! Decision: credit limits this. Many applications create all kernels of a program and launch few, or launch so few work-items that they
//! need other code. So few codes are compiled before launches use them; two that launches use are credit for another one. Kernels
//! without credit wait until there is some, or for their first launch, which compiles their code itself. Kernels that the application has
//! not created are guesses, and have such a credit of their own: some programs have several kernels, of which an application creates one.

use crate::program::{KernelModule, PreparedKernel, WeakKernel};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Codes for each thread that may be compiled ahead before a launch uses one of them.
const CREDIT_PER_THREAD: usize = 2;
/// Kernels of a program of which an application will launch most. They are credit, too.
const FEW: usize = 8;
/// Instructions from which on a kernel, with what it calls, takes long to compile: nobody waits for one that may never be launched.
const LARGE: usize = 2_000;
/// Threads from which on large kernels are compiled ahead.
const MANY_THREADS: usize = 4;

/// Stage of a kernel before its first launch. Only a kernel that is new is queued, so that it waits once.
#[derive(Default)]
pub(crate) struct LaunchStage {
    stage: AtomicU8,
    /// True if its code was compiled before the application created it.
    is_guess: AtomicBool,
}

impl LaunchStage {
    const NEW: u8 = 0;
    const QUEUED: u8 = 1;
    const LAUNCHED: u8 = 2;

    /// Notes that the kernel waits for its compilation ahead; false if it was queued or launched before.
    fn enqueue(&self) -> bool {
        self.stage.compare_exchange(Self::NEW, Self::QUEUED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Notes that a launch has begun, which knows better than a guess which code it needs.
    pub(crate) fn launch(&self) {
        self.stage.store(Self::LAUNCHED, Ordering::Relaxed);
    }

    pub(crate) fn is_launched(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == Self::LAUNCHED
    }
}

/// A kernel that waits for its compilation.
struct QueuedKernel {
    kernel: WeakKernel,
    /// True if the application has not created it.
    is_guess: bool,
}

#[derive(Default)]
struct CompileQueue {
    kernels: VecDeque<QueuedKernel>,
    /// Number of threads that take kernels from the queue.
    workers: usize,
    /// Threads that use the machine, the caller's among them.
    threads: usize,
    /// Codes compiled ahead that a launch has used.
    used: usize,
    /// Codes compiled ahead that no launch has used so far, those of released programs included.
    unused: usize,
    /// Guesses that were compiled, and created since then.
    right_guesses: usize,
    /// Guesses that were compiled, and not created so far.
    open_guesses: usize,
}

static QUEUE: Mutex<CompileQueue> = Mutex::new(CompileQueue {
    kernels: VecDeque::new(),
    workers: 0,
    threads: 0,
    used: 0,
    unused: 0,
    right_guesses: 0,
    open_guesses: 0,
});

fn queue() -> MutexGuard<'static, CompileQueue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CompileQueue {
    fn has_credit(&self) -> bool {
        self.unused < self.used / 2 + FEW.max(CREDIT_PER_THREAD * self.threads)
    }

    fn may_guess(&self) -> bool {
        self.open_guesses < self.right_guesses / 2 + CREDIT_PER_THREAD * self.threads
    }

    /// Adds a kernel.
    fn add(&mut self, kernel: &PreparedKernel, threads: usize, is_guess: bool) {
        self.threads = threads;
        self.kernels.retain(|it| it.kernel.exists());
        self.kernels.push_back(QueuedKernel { kernel: kernel.downgrade(), is_guess });
    }

    /// Position of a kernel that waits.
    fn position(&self, kernel: &PreparedKernel) -> Option<usize> {
        let kernel = kernel.downgrade();
        self.kernels.iter().position(|it| it.kernel == kernel)
    }

    /// Position of the next kernel, if there is credit for one.
    fn next(&self) -> Option<usize> {
        let may_guess = self.may_guess();
        let next = self.kernels.iter().position(|it| may_guess || !it.is_guess);
        next.filter(|_| self.has_credit())
    }

    /// Takes the next kernel whose program still exists, if there is credit.
    fn take(&mut self) -> Option<PreparedKernel> {
        loop {
            let QueuedKernel { kernel, is_guess } = self.kernels.remove(self.next()?)?;
            if let Some(kernel) = kernel.upgrade() {
                self.unused += 1;
                if is_guess {
                    self.open_guesses += 1;
                    kernel.stage().is_guess.store(true, Ordering::Relaxed);
                }
                return Some(kernel);
            }
        }
    }

    /// Notes that the application has created a kernel. If it was a guess, that is credit for others.
    fn note_creation(&mut self, kernel: &PreparedKernel) {
        if let Some(place) = self.position(kernel) {
            self.kernels[place].is_guess = false;
        }
        if kernel.stage().is_guess.swap(false, Ordering::Relaxed) {
            self.open_guesses -= 1;
            self.right_guesses += 1;
        }
    }

    /// True if another worker would find a kernel. It is counted.
    fn needs_worker(&mut self) -> bool {
        let needs = self.next().is_some() && self.workers + 1 < self.threads;
        self.workers += usize::from(needs);
        needs
    }
}

/// Takes the next kernel; without one the worker ends.
fn next_kernel() -> Option<PreparedKernel> {
    let mut queue = queue();
    let next = queue.take();
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
        compile(&kernel);
    }
}

/// Starts a worker, which has been counted.
fn start_worker() {
    if thread::Builder::new().name("heddle-compiler".into()).spawn(work).is_err() {
        // Launches compile what is left.
        let mut queue = queue();
        queue.workers -= 1;
        queue.kernels.clear();
    }
}

/// Changes the queue, and starts a worker if there is a kernel for it now.
fn update_queue(change: impl FnOnce(&mut CompileQueue)) {
    let mut queue = queue();
    change(&mut queue);
    let needs_worker = queue.needs_worker();
    drop(queue);
    if needs_worker {
        start_worker();
    }
}

/// Counts the first use of code that was compiled ahead.
pub(crate) fn add_use() {
    update_queue(|queue| {
        queue.unused -= 1;
        queue.used += 1;
    });
}

/// Compiles a kernel, which has been counted as unused.
fn compile(kernel: &PreparedKernel) {
    if !kernel.compile_unlaunched() {
        queue().unused -= 1;
    }
}

impl KernelModule {
    /// True if an application will launch most of its kernels.
    fn has_few_kernels(&self) -> bool {
        self.kernels().len() <= FEW
    }

    /// Has other threads compile its kernels, if it has few. The last one comes first: applications mostly create kernels in their order,
    /// and compile the first one themselves. So many threads use the machine, the caller's among them.
    pub fn compile_ahead(&self, threads: usize) {
        if self.has_few_kernels() {
            let kernels = (0..self.kernels().len()).map(|number| self.numbered(number).usual_form());
            kernels.rev().for_each(|kernel| kernel.compile_ahead(threads, true));
        }
    }
}

impl PreparedKernel {
    /// Has another thread compile the code of usual launches, unless the cache has it. A guess is a kernel that the application has not created.
    fn compile_ahead(&self, threads: usize, is_guess: bool) {
        if self.info().takes_images || self.load_usual() || threads <= 1 {
            return;
        }
        if threads < MANY_THREADS && self.is_large() || !self.stage().enqueue() {
            return;
        }
        update_queue(|queue| queue.add(self, threads, is_guess));
    }

    /// Has the code of usual launches when it returns: loaded, compiled here, or by the thread that has begun with it. A kernel of a
    /// program that has many, or a large one, is compiled on other threads meanwhile, and without credit it waits for some.
    pub fn compile_before_launch(&self, threads: usize) {
        self.usual_form().compile_form(threads);
    }

    fn is_large(&self) -> bool {
        self.reached_instructions() > LARGE
    }

    fn compile_form(&self, threads: usize) {
        if self.info().takes_images {
            return;
        }
        if !self.program().has_few_kernels() || self.is_large() {
            update_queue(|queue| queue.note_creation(self));
            return self.compile_ahead(threads, false);
        }
        if self.load_usual() {
            return update_queue(|queue| queue.note_creation(self));
        }
        let is_new = self.stage().enqueue();
        let mut queue = queue();
        if is_new {
            queue.add(self, threads, false);
        }
        queue.note_creation(self);
        match queue.position(self) {
            Some(_) if !queue.has_credit() => {}
            Some(place) => {
                queue.kernels.remove(place);
                queue.unused += 1;
                drop(queue);
                compile(self);
            }
            None => {
                drop(queue);
                // Another thread has begun, or there was a launch.
                self.compile_unlaunched();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_queued_once_and_only_before_its_launch() {
        let stage = LaunchStage::default();
        assert!(stage.enqueue());
        assert!(!stage.enqueue());
        let stage = LaunchStage::default();
        stage.launch();
        assert!(!stage.enqueue() && stage.is_launched());
    }

    #[test]
    fn two_uses_are_credit_for_another_compilation() {
        let mut queue = CompileQueue { threads: 6, ..CompileQueue::default() };
        assert!(queue.has_credit());
        queue.unused = 12;
        assert!(!queue.has_credit());
        (queue.used, queue.unused) = (2, 12);
        assert!(queue.has_credit());
        (queue.used, queue.unused) = (3, 13);
        assert!(!queue.has_credit());
        (queue.threads, queue.unused) = (1, FEW);
        assert!(queue.has_credit());
        queue.unused += 1;
        assert!(!queue.has_credit());
    }
    #[test]
    fn two_right_guesses_are_credit_for_another_one() {
        let mut queue = CompileQueue { threads: 2, ..CompileQueue::default() };
        queue.open_guesses = 3;
        assert!(queue.may_guess());
        queue.open_guesses = 4;
        assert!(!queue.may_guess());
        queue.right_guesses = 1;
        assert!(!queue.may_guess());
        queue.right_guesses = 2;
        assert!(queue.may_guess());
    }
}
