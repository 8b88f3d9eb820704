//! Which of several codes for the same launches is the fastest, found out by running them.
//!
//! A kernel starts with vector code as wide as registers are. Where memory decides, or lanes part all the time, fewer lanes
//! may be faster, down to one; where values wait for each other, more. No model knows the data. So once a kernel
//! has run for as long as compiling others may take, a thread makes them; then the groups of launches go to each of them in
//! turn, a few at a time, so that all get the same kind of work, and the one that takes least stays. After some time
//! those that came close are tried again, as the data may have changed.
//!
//! Invariant: what work-items compute does not depend on the choice. Kernels that see which work-items make a brush have
//! none.

use crate::code::GroupCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// For how long a kernel runs before others are compiled.
const PATIENCE: Duration = Duration::from_millis(100);
/// How many slices of each code are timed, and how many are enough if they take long.
const SLICES: usize = 24;
const FEW_SLICES: usize = 6;
/// What takes long, all slices of a trial together.
const LONG_TRIAL: Duration = Duration::from_millis(20);
/// How long a slice is to take: long beside the clock, short beside what the system does in between.
const SLICE: Duration = Duration::from_micros(6);
/// How many times as long as a trial took the choice stays.
const REST: u32 = 100;
/// The shortest time that it stays.
const LEAST_REST: Duration = Duration::from_millis(200);

/// The codes of a trial: the first one, and others.
pub(crate) type Codes = Vec<Arc<GroupCode>>;

/// What became of a choice so far.
#[derive(Default)]
pub(crate) struct Choice {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    step: Step,
    /// Beside the first.
    others: Codes,
    /// Of each code, the first included, how long slices took for each work-item, in nanoseconds.
    times: Vec<Vec<f64>>,
    /// How long the trial has taken.
    tried: Duration,
    launches: u64,
}

enum Step {
    /// The first code has run for so long.
    Waiting(Duration),
    /// Others are being compiled, or there are none.
    Alone,
    Trying,
    /// One was chosen, the first or one of the others, for so long.
    Chosen(Option<Arc<GroupCode>>, Duration),
}

impl Default for Step {
    fn default() -> Step {
        Step::Waiting(PATIENCE)
    }
}

/// What a launch runs.
pub(crate) struct Picked {
    /// One code, or those of a trial.
    pub(crate) codes: Codes,
    /// Which of them begins.
    pub(crate) turn: u64,
}

/// What a launch has measured: of each of its codes, nanoseconds for a work-item.
pub(crate) type Measured = Vec<Vec<f64>>;

/// How many groups make a slice, where a work-item takes so many nanoseconds.
pub(crate) fn slice(nanoseconds: f64, items: u64) -> u64 {
    ((SLICE.as_nanos() as f64 / (nanoseconds * items as f64).max(1.0)).ceil() as u64).max(1)
}

/// What slices take without those that something else got in the way of.
fn typical(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    let kept = &times[..times.len() - times.len() / 8];
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}

impl Choice {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is guarded is left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the next launch runs, in groups of this size.
    pub(crate) fn pick(&self, first: &Arc<GroupCode>, local: [u32; 3]) -> Picked {
        let mut state = self.state();
        state.launches += 1;
        let turn = state.launches;
        let fits = |code: &&Arc<GroupCode>| code.local.is_none_or(|fixed| fixed == local);
        let codes = match &state.step {
            // A trial is of all, so that they are timed by the same work.
            Step::Trying if state.others.iter().all(|code| fits(&code)) => {
                std::iter::once(first).chain(&state.others).cloned().collect()
            }
            Step::Chosen(Some(code), _) if fits(&code) => vec![Arc::clone(code)],
            _ => vec![Arc::clone(first)],
        };
        Picked { codes, turn }
    }

    /// Notes how long a launch took, and what it measured, if it was one of a trial. True asks for others.
    pub(crate) fn took(&self, time: Duration, measured: Option<Measured>) -> bool {
        let mut state = self.state();
        match &mut state.step {
            Step::Waiting(left) if *left > time => *left -= time,
            Step::Waiting(_) => {
                state.step = Step::Alone;
                return true;
            }
            Step::Chosen(_, left) if *left > time => *left -= time,
            Step::Chosen(..) => state.begin(),
            Step::Trying => state.note(time, measured.unwrap_or_default()),
            Step::Alone => {}
        }
        false
    }

    /// Others are there: they are tried.
    pub(crate) fn offer(&self, others: Codes) {
        let mut state = self.state();
        state.others = others;
        state.begin();
    }
}

impl State {
    fn begin(&mut self) {
        self.times = vec![Vec::new(); self.others.len() + 1];
        self.tried = Duration::ZERO;
        self.step = if self.others.is_empty() { Step::Alone } else { Step::Trying };
    }

    fn note(&mut self, time: Duration, measured: Measured) {
        if measured.len() != self.times.len() {
            return;
        }
        self.tried += time;
        for (all, new) in self.times.iter_mut().zip(measured) {
            let room = (4 * SLICES).saturating_sub(all.len());
            all.extend(new.into_iter().take(room));
        }
        let least = self.times.iter().map(Vec::len).min().unwrap_or(0);
        if least < SLICES && (least < FEW_SLICES || self.tried < LONG_TRIAL) {
            return;
        }
        // The same number of slices of each, in the order of the work.
        let typical: Vec<f64> = self.times.iter_mut().map(|times| typical(&mut times[..least])).collect();
        let Some((first, rest)) = typical.split_first() else { return };
        let best = rest.iter().copied().fold(*first, f64::min);
        let chosen = rest.iter().position(|&time| time == best).filter(|_| best < first * 0.97);
        let code = chosen.map(|number| Arc::clone(&self.others[number]));
        let mut rest = rest.iter();
        self.others.retain(|_| rest.next().is_some_and(|&time| time < best * 1.5));
        self.step = Step::Chosen(code, (self.tried * REST).max(LEAST_REST));
    }
}
