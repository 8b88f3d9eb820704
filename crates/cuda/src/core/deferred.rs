//! Commands of streams that wait: queued by the calls that submit them, and run in order by a thread for each such stream.
//!
//! A stream has a queue from a wait that is not met until all commands of the queue have run. Everywhere else a command runs in its call.
//! Invariant: the streams in `WAITING` are those whose queue has a thread that runs it.

use crate::core::command::StreamCommand;
use crate::core::context;
use crate::core::error::{CudaError, CudaResult};
use crate::core::stream::CudaStream;
use crate::cuda::*;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Code of queries of what has not ended.
pub const CUDA_ERROR_NOT_READY: CUresult = 600;

/// Polls without sleeping, before the pauses begin.
const QUICK_POLLS: u32 = 64;
/// First and longest pause between polls.
const PAUSES: [Duration; 2] = [Duration::from_micros(20), Duration::from_micros(500)];

/// Command in a queue.
#[derive(Debug)]
struct DeferredCommand {
    command: StreamCommand,
    /// Context of the thread that submitted it.
    context: CudaHandle,
    /// True once the context has ended: nothing is run or waited for any more.
    is_abandoned: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct DeferredState {
    commands: VecDeque<DeferredCommand>,
    /// Context and flag of the command that runs or waits.
    running: Option<(CudaHandle, Arc<AtomicBool>)>,
    accepted: u64,
    finished: u64,
    has_thread: bool,
    failure: Option<CudaError>,
}

/// Queue of a stream.
#[derive(Debug, Default)]
pub struct DeferredQueue {
    state: Mutex<DeferredState>,
    progress: Condvar,
}

/// Streams whose queue has a thread, and their number.
static WAITING: Mutex<Vec<Arc<CudaStream>>> = Mutex::new(Vec::new());
static WAITING_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns the streams with commands that have not run.
pub fn waiting_streams() -> Vec<Arc<CudaStream>> {
    match WAITING_COUNT.load(Ordering::Acquire) {
        0 => Vec::new(),
        _ => WAITING.lock().unwrap_or_else(PoisonError::into_inner).clone(),
    }
}

fn change_waiting(change: impl FnOnce(&mut Vec<Arc<CudaStream>>)) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut waiting);
    WAITING_COUNT.store(waiting.len(), Ordering::Release);
}

/// Polls until a condition is met.
pub fn wait_until(mut is_met: impl FnMut() -> bool) {
    let [mut pause, longest] = PAUSES;
    for poll in 0.. {
        if is_met() {
            return;
        }
        if poll < QUICK_POLLS {
            thread::yield_now();
        } else {
            thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
    }
}

/// Drops the commands of a context that ends, and waits until none of them runs.
pub fn abandon(context: CudaHandle) {
    for stream in waiting_streams() {
        stream.deferred().abandon(context);
    }
}

impl DeferredQueue {
    fn state(&self) -> MutexGuard<'_, DeferredState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if all commands have run.
    pub fn is_empty(&self) -> bool {
        let state = self.state();
        state.accepted == state.finished
    }

    /// Returns the number of commands so far.
    pub fn accepted(&self) -> u64 {
        self.state().accepted
    }

    /// True if as many commands have run.
    pub fn has_finished(&self, count: u64) -> bool {
        self.state().finished >= count
    }

    /// Waits until all commands so far have run.
    pub fn wait(&self) {
        let state = self.state();
        let until = state.accepted;
        let ended = self.progress.wait_while(state, |state| state.finished < until);
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the first error of a command that nobody has seen.
    pub fn take_failure(&self) -> CudaResult<()> {
        self.state().failure.take().map_or(Ok(()), Err)
    }

    /// Appends a command, for the stream's thread to run.
    pub fn push(&self, stream: &Arc<CudaStream>, command: StreamCommand) -> CudaResult<()> {
        let mut state = self.state();
        if !state.has_thread {
            let owner = Arc::clone(stream);
            let thread = thread::Builder::new().name("heddle-stream".into());
            let started = thread.spawn(move || run_queue(&owner));
            // It locks the queue first, which has a command then.
            started.map_err(|_| CudaError(CUDA_ERROR_OUT_OF_MEMORY))?;
            state.has_thread = true;
            change_waiting(|waiting| waiting.push(Arc::clone(stream)));
        }
        state.accepted += 1;
        state.commands.push_back(DeferredCommand {
            command,
            context: context::current_handle(),
            is_abandoned: Arc::default(),
        });
        Ok(())
    }

    fn abandon(&self, context: CudaHandle) {
        let state = self.state();
        let waiting = state.commands.iter().map(|command| (command.context, &command.is_abandoned));
        let running = state.running.iter().map(|(context, flag)| (*context, flag));
        let mut has_any = false;
        for (_, flag) in waiting.chain(running).filter(|(of, _)| *of == context) {
            flag.store(true, Ordering::Release);
            has_any = true;
        }
        drop(state);
        if has_any {
            self.wait();
        }
    }

    /// Takes the next command; the queue ends without one.
    fn next(&self, stream: &Arc<CudaStream>) -> Option<DeferredCommand> {
        let mut state = self.state();
        let next = state.commands.pop_front();
        match &next {
            Some(next) => state.running = Some((next.context, Arc::clone(&next.is_abandoned))),
            None => {
                state.has_thread = false;
                change_waiting(|waiting| waiting.retain(|other| !Arc::ptr_eq(other, stream)));
            }
        }
        next
    }

    fn finish(&self, result: CudaResult<()>) {
        let mut state = self.state();
        state.finished += 1;
        state.running = None;
        if let Err(error) = result {
            state.failure.get_or_insert(error);
        }
        self.progress.notify_all();
    }
}

/// Runs the commands of a stream's queue until it is empty.
fn run_queue(stream: &Arc<CudaStream>) {
    while let Some(DeferredCommand { command, context, is_abandoned }) = stream.deferred().next(stream) {
        let has_ended = context::set_current(context).is_err();
        let is_abandoned = || has_ended || is_abandoned.load(Ordering::Acquire);
        let run = |leaf: &StreamCommand| {
            if let StreamCommand::Wait(wait) = leaf {
                wait_until(|| is_abandoned() || wait.is_met());
            }
            match leaf {
                StreamCommand::Reach(_) => leaf.run(),
                _ if is_abandoned() => Ok(()),
                _ => stream.run(|| leaf.run()),
            }
        };
        // A panic in the driver ends its command only.
        let result = catch_unwind(AssertUnwindSafe(|| command.each_leaf(run)));
        let result = result.unwrap_or(Err(CudaError(CUDA_ERROR_UNKNOWN)));
        // Objects of the command are released before streams that wait for it go on.
        drop(command);
        stream.deferred().finish(result);
    }
}
