//! Many small problems of one size, shared among threads.

use crate::gemm::{THREAD_WORK, thread_count};

/// Function that several threads call.
struct Shared<'a, F>(&'a F);

// SAFETY: `for_each`'s caller promises that calls do not disturb each other.
unsafe impl<F> Send for Shared<'_, F> {}

/// Calls a function for each of some items, each of which takes about as many multiplications: on several threads if that is worth it.
///
/// # Safety
/// Calls for different items may run at once.
pub unsafe fn for_each(count: usize, work: usize, of: impl Fn(usize)) {
    let total = work.saturating_mul(count);
    // Large items use threads themselves.
    let threads = if work >= THREAD_WORK { 1 } else { thread_count().min(total / THREAD_WORK).min(count) };
    if threads <= 1 {
        return (0..count).for_each(of);
    }
    std::thread::scope(|scope| {
        for thread in 1..threads {
            let items = count * thread / threads..count * (thread + 1) / threads;
            let (shared, own) = (Shared(&of), items.clone());
            let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                let Shared(of) = { shared };
                items.for_each(of);
            });
            // Without another thread, this one does the work.
            if started.is_err() {
                own.for_each(&of);
            }
        }
        (0..count / threads).for_each(&of);
    });
}
