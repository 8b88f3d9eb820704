//! Run-time selection of a kernel's code: which of several codes runs launches of a class, found by running them on a budget.
//!
//! A kernel starts with the code that the cost model prefers. Other codes are candidates, in the order of the model's promise; a
//! *class* of launches (octave of work-items, size of groups, threads) has an *incumbent*, which runs its launches, and examines one
//! candidate at a time.
//!
//! * **TrialBudget** (`budget.rs`). Slower slices and compilation count as lost time. Whatever explores first asks whether its expected loss
//!   fits into 5 % of the time that the kernel and the class have run so far. So few launches try nothing.
//! * **Promise.** Where the model promises code that is clearly faster than the incumbent, it is compiled as soon as it would have saved the
//!   time of its compilation, had it run all launches. A kernel that has run for long will mostly run for as long again; if it ends at once,
//!   the compilation costs as much as slower code has cost before, or more if it takes longer than expected. Trials of that code are on the budget.
//! * **Slices** (`slices.rs`). In a launch that is long enough the candidate runs slices next to slices of the incumbent. The loss is at
//!   most 9 % of the time that the launch takes with the incumbent. An unknown candidate runs one slice first.
//! * **Launches.** Launches without room for slices are compared as a whole, in alternating batches; so are codes whose slices are
//!   within a few per cent, since a slice finds in the caches what the other code left there.
//! * **Verdict** (`comparison.rs`). A candidate is dropped when its first samples are 1.5 times slower, replaces the incumbent when it
//!   is faster by more than the error of the samples, and otherwise stays where it is.
//! * **Shift** (`pace.rs`). A choice stays until the incumbent's own time for a work-item changes by a quarter and stays so. Then all
//!   candidates are examined again, on the same budget. Nothing is repeated by a timer.
//! * **Kept choices** (`kept.rs`). The choice of each class is kept on disk. A new class starts with the choice of the nearest class.
//!
//! Invariant: results do not depend on the choice. The state changes only by calls; times are arguments, so that tests simulate.

mod budget;
mod build_request;
mod class;
mod comparison;
mod kept;
mod pace;
mod promise;
mod slices;
#[cfg(test)]
mod simulation;

pub(crate) use budget::TrialBudget;
pub(crate) use build_request::{BuildPayment, BuildRequest};
pub(crate) use class::LaunchClass;
pub(crate) use kept::{KeptChoice, parse_choices, print_choices};
pub(crate) use promise::{CodeTraits, TRAIT_WORDS};
pub(crate) use slices::{SlicePair, SlicePlan, SliceTimes, SliceTrial};

use build_request::IDLE_WEIGHT;
use comparison::{PairedComparison, undisturbed_pace};
use pace::PaceTracker;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time of a candidate's first slices: long compared with the clock, short compared with a time slice of the system.
const SLICE: f64 = 6_000.0;
const MAX_SLICE: f64 = 500_000.0;
/// Time of slices that need no confirmation by whole launches: what other code left in the caches is a small part of them.
const LONG_SLICE: f64 = 200_000.0;
/// Share of a launch's time that may be lost in it.
const LAUNCH_SHARE: f64 = 0.09;
/// Assumed ratio of a candidate that never ran: a multiple of the model's promise, between bounds.
const CAUTION: f64 = 6.0;
const MIN_UNKNOWN: f64 = 2.0;
const MAX_UNKNOWN: f64 = 24.0;
/// Number of launches without room for slices after which whole launches are compared.
const MAX_UNSLICED: u32 = 16;
/// Time of a batch of whole launches, and the length from which on a launch needs no batch.
const BATCH: f64 = 500_000.0;
const LONG_LAUNCH: f64 = 2e6;
/// Ratio below which slices or launches show that a candidate is faster.
const FASTER: f64 = 0.985;
/// Ratio of slices that needs no confirmation by whole launches; a less clear one does unless the model predicts it.
const CLEARLY_FASTER: f64 = 0.9;
/// Ratio of slices above which whole launches are not tried.
const CLOSE: f64 = 1.06;
const CLOSE_ERROR: f64 = 0.015;
/// Standard error from which on few samples decide nothing.
const NOISY: f64 = 0.05;
/// Ratio from which on a candidate is not examined in a class because of its ratio in another one, and the increase with the
/// distance of the classes.
const FAR_RATIO: f64 = 1.25;
const FAR_STEP: f64 = 0.25;
/// Number of samples after which slices or launches have decided.
const MAX_SLICES: usize = 64;
const MAX_ROUNDS: usize = 32;
/// Number of classes; further launches count to the nearest.
const MAX_CLASSES: usize = 64;
/// Expected cost of loading code from the cache.
const LOADING: f64 = 2e6;
/// Promised ratio below which code is clearly faster: estimates are this inexact.
const CLEAR_PROMISE: f64 = 0.8;

/// Use of run-time selection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Trials {
    /// Only the code that the model prefers.
    Off,
    /// Choices that are kept on disk; nothing is tried.
    Kept,
    /// Candidates are tried.
    #[default]
    On,
}

/// A code that can be compiled.
pub(crate) trait CandidateSpec: PartialEq {
    /// Time that the model predicts, divided by that of the first code.
    fn promise(&self) -> f64;
    /// Name by which it is kept.
    fn key(&self) -> u64;
}

/// Selection among the codes of one kernel for one kind of groups. Code 0 is the one that the model prefers.
pub(crate) struct Selection<S, C> {
    state: Mutex<SelectionState<S, C>>,
}

struct SelectionState<S, C> {
    trials: Trials,
    codes: Vec<CodeSlot<S, C>>,
    classes: Vec<ClassState>,
    kept: Vec<KeptChoice>,
    total: TrialBudget,
    /// Expected time of a compilation.
    compile_time: f64,
}

struct CodeSlot<S, C> {
    spec: S,
    code: CodeState<C>,
}

enum CodeState<C> {
    /// Code 0, which the caller has.
    First,
    /// Not looked for in the cache.
    Unknown,
    /// Not in the cache.
    Unbuilt,
    Building {
        request: BuildRequest,
        reserved: f64,
    },
    Ready(Arc<C>),
    Failed,
}

struct ClassState {
    class: LaunchClass,
    incumbent: usize,
    budget: TrialBudget,
    pace: PaceTracker,
    standings: Vec<Standing>,
    examination: Option<Examination>,
    /// False once all candidates have been examined.
    is_open: bool,
    /// True if the choice changed since the last shift.
    has_changed: bool,
}

/// A code in a class.
#[derive(Clone, Copy)]
struct Standing {
    code: usize,
    /// Predicted or measured ratio, by which candidates are ordered.
    promise: f64,
    /// Measured ratio to the code that was the incumbent then.
    ratio: Option<f64>,
    is_open: bool,
    /// True if it was the incumbent and was put back among the candidates.
    is_former: bool,
}

/// Comparison of one candidate with the incumbent.
struct Examination {
    code: usize,
    /// Measured ratio, once it ran.
    ratio: Option<f64>,
    promise: f64,
    slices: PairedComparison,
    launches: PairedComparison,
    /// True if whole launches are compared.
    is_whole: bool,
    /// True if launches have room for slices that need no confirmation.
    is_long: bool,
    unsliced: u32,
    batch: Batch,
}

/// Alternating batches of whole launches.
#[derive(Default)]
struct Batch {
    /// Pace of the incumbent's batch; the candidate's is next.
    incumbent: Option<f64>,
    /// Time and work-items of each launch so far.
    times: Vec<[f64; 2]>,
}

impl Batch {
    /// Time for a work-item over a batch of so many launches. The first of several does not count.
    fn pace(&self, size: u32) -> f64 {
        undisturbed_pace(&self.times[usize::from(size > 1 && self.times.len() > 1)..])
    }
}

/// Size of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchWork {
    pub(crate) items: u64,
    /// Number of work-groups.
    pub(crate) groups: u64,
    pub(crate) threads: usize,
}

/// Code of a launch.
#[derive(Debug)]
pub(crate) struct Picked<C> {
    /// Code of the launch; none is code 0.
    pub(crate) code: Option<Arc<C>>,
    /// Candidate that runs slices of it; its code if it is not code 0.
    pub(crate) slices: Option<(SliceTrial, Option<Arc<C>>)>,
    pub(crate) ticket: Ticket,
}

/// Reference of a launch's times to the class and the examination that they count for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    class: usize,
    code: usize,
    /// Candidate of a launch with slices.
    candidate: Option<usize>,
    reserved: f64,
}

/// Consequence of a launch.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum FollowUp {
    Nothing,
    Build(BuildRequest),
    /// All candidates of the class have been examined.
    Settled(ClassReport),
}

/// Choice of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ClassReport {
    pub(crate) incumbent: usize,
    /// Measured ratios of other codes, in thousandths.
    pub(crate) others: Vec<(usize, u64)>,
}

/// Times of a launch.
#[derive(Clone, Default, Debug)]
pub(crate) struct LaunchTimes {
    pub(crate) items: u64,
    /// Time of all threads together.
    pub(crate) time: f64,
    pub(crate) slices: SliceTimes,
}

impl<S: CandidateSpec, C> Selection<S, C> {
    /// Selection for a kernel whose first code took so long to compile.
    pub(crate) fn new(first: S, trials: Trials, compile_time: Duration, kept: Vec<KeptChoice>) -> Self {
        let codes = vec![CodeSlot { spec: first, code: CodeState::First }];
        let compile_time = compile_time.as_nanos() as f64;
        let (classes, total) = (Vec::new(), TrialBudget::default());
        Selection { state: Mutex::new(SelectionState { trials, codes, classes, kept, total, compile_time }) }
    }

    fn state(&self) -> MutexGuard<'_, SelectionState<S, C>> {
        // No update is left half done by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a class known, with the specifications of its candidates. Returns the number of a code that is to be loaded from the
    /// cache before the first launch, because a process before has chosen it.
    pub(crate) fn open_class(&self, class: LaunchClass, specs: impl FnOnce() -> Vec<S>) -> Option<usize> {
        let mut state = self.state();
        if state.trials == Trials::Off || state.find(&class).is_some() {
            return None;
        }
        state.add_class(class, specs())
    }

    /// Number of the code that runs a class, once all candidates have been examined, and the code; none is code 0.
    pub(crate) fn settled(&self, class: &LaunchClass) -> Option<(usize, Option<Arc<C>>)> {
        let state = self.state();
        let known = state.classes.get(state.find(class)?)?;
        (!known.is_open).then(|| (known.incumbent, state.code(known.incumbent)))
    }

    /// Code of the next launch.
    pub(crate) fn pick(&self, class: &LaunchClass, work: &LaunchWork) -> Picked<C> {
        self.state().pick(class, work)
    }

    /// Adds the times of a launch. `has_idle` tells whether a processor is idle, so that compilation takes nothing from the kernel.
    pub(crate) fn add_launch(
        &self,
        ticket: Ticket,
        times: &LaunchTimes,
        has_idle: impl Fn() -> bool,
    ) -> FollowUp {
        let mut state = self.state();
        state.add_launch(ticket, times);
        state.follow_up(ticket.class, has_idle)
    }

    /// Ends a build, which took so long. No code after a search means that there is none in the cache, after a compilation that the
    /// kernel cannot be compiled so. A build that another one has overtaken is ignored.
    pub(crate) fn end_build(&self, request: BuildRequest, time: Duration, code: Option<Arc<C>>) {
        let mut state = self.state();
        let Some(slot) = state.codes.get_mut(request.code) else { return };
        let CodeState::Building { request: current, reserved } = slot.code else { return };
        if current != request {
            return;
        }
        let is_ready = code.is_some();
        slot.code = match code {
            Some(code) => CodeState::Ready(code),
            None if request.compiles => CodeState::Failed,
            None => CodeState::Unbuilt,
        };
        let time = time.as_nanos() as f64;
        state.total.settle(reserved, time * request.weight());
        if request.payment == BuildPayment::Promise {
            state.total.invested += time;
        }
        if request.compiles && is_ready {
            state.compile_time = state.compile_time.max(time);
        }
    }

    /// Adds the code that [`Self::open_class`] wants. Without it, classes whose choice it was run code 0.
    pub(crate) fn add_chosen_code(&self, number: usize, code: Option<Arc<C>>) {
        let mut state = self.state();
        let is_ready = code.is_some();
        let Some(slot) = state.codes.get_mut(number) else { return };
        slot.code = code.map_or(CodeState::Unbuilt, CodeState::Ready);
        if !is_ready {
            let classes = state.classes.iter_mut().filter(|class| class.incumbent == number);
            classes.for_each(|class| class.incumbent = 0);
        }
    }

    /// Account of all launches.
    pub(crate) fn total(&self) -> TrialBudget {
        self.state().total
    }

    /// True if a choice is worth keeping that was not kept when its examination ended.
    pub(crate) fn has_news(&self) -> bool {
        let state = self.state();
        state.trials == Trials::On
            && state.classes.iter().any(|it| it.is_open && it.incumbent != 0 && it.budget.launches > 0)
    }

    /// Choices to be kept: those of all classes that ran, and those of other classes that were kept before.
    pub(crate) fn choices(&self) -> Vec<KeptChoice> {
        let state = self.state();
        let mut choices: Vec<KeptChoice> =
            state.classes.iter().filter_map(|class| state.kept_choice(class)).collect();
        let others = state.kept.iter().filter(|kept| state.find(&kept.class).is_none());
        choices.extend(others.cloned());
        choices
    }

    /// Calls a function with the specification of a code.
    pub(crate) fn with_spec<T>(&self, number: usize, call: impl FnOnce(&S) -> T) -> Option<T> {
        self.state().codes.get(number).map(|slot| call(&slot.spec))
    }

    /// Classes with a choice, most time first, as (class, incumbent, account).
    pub(crate) fn classes(&self) -> Vec<(LaunchClass, usize, TrialBudget)> {
        let state = self.state();
        let classes = state.classes.iter().map(|it| (it.class, it.incumbent, it.budget));
        let mut classes: Vec<_> = classes.collect();
        classes.sort_by(|one, other| other.2.run.total_cmp(&one.2.run));
        classes
    }
}

impl<S: CandidateSpec, C> SelectionState<S, C> {
    fn find(&self, class: &LaunchClass) -> Option<usize> {
        self.classes.iter().position(|it| it.class == *class)
    }

    fn nearest(&self, class: &LaunchClass) -> Option<usize> {
        (0..self.classes.len()).min_by_key(|&at| self.classes[at].class.distance(class))
    }

    fn code(&self, number: usize) -> Option<Arc<C>> {
        match &self.codes.get(number)?.code {
            CodeState::Ready(code) => Some(Arc::clone(code)),
            _ => None,
        }
    }

    /// True if the code can run.
    fn is_ready(&self, number: usize) -> bool {
        matches!(self.codes.get(number).map(|slot| &slot.code), Some(CodeState::Ready(_) | CodeState::First))
    }

    /// Ratio of a code to another in the nearest class that has compared them, and the distance of that class.
    fn measured_elsewhere(&self, code: usize, incumbent: usize, class: &LaunchClass) -> Option<(f64, u32)> {
        let [key, own] = [code, incumbent].map(|it| self.codes[it].spec.key());
        let classes = self.classes.iter().filter(|it| it.incumbent == incumbent).filter_map(|it| {
            let standing = it.standings.iter().find(|it| it.code == code)?;
            Some((standing.ratio?, it.class.distance(class)))
        });
        let kept = self.kept.iter().filter(|it| it.code == own).filter_map(|it| {
            let (_, ratio) = it.ratios.iter().find(|it| it.0 == key)?;
            Some((*ratio, it.class.distance(class)))
        });
        classes.chain(kept).min_by_key(|it| it.1)
    }

    /// Adds a class. It starts with the choice that was kept for it, or with that of the nearest class.
    fn add_class(&mut self, class: LaunchClass, specs: Vec<S>) -> Option<usize> {
        if self.classes.len() >= MAX_CLASSES {
            return None;
        }
        let mut numbers = vec![0];
        for spec in specs {
            let known = self.codes.iter().position(|slot| slot.spec == spec);
            numbers.push(known.unwrap_or_else(|| {
                self.codes.push(CodeSlot { spec, code: CodeState::Unknown });
                self.codes.len() - 1
            }));
        }
        let kept = self.kept.iter().min_by_key(|kept| kept.class.distance(&class));
        let near = self.nearest(&class).map(|at| &self.classes[at]);
        let kept = kept
            .filter(|kept| near.is_none_or(|near| kept.class.distance(&class) < near.class.distance(&class)));
        let of_kept = |kept: &KeptChoice| numbers.iter().find(|&&it| self.codes[it].spec.key() == kept.code);
        let incumbent = match (kept, near) {
            (Some(kept), _) => of_kept(kept).copied(),
            (None, Some(near)) => Some(near.incumbent).filter(|code| numbers.contains(code)),
            _ => None,
        };
        let incumbent = incumbent.unwrap_or(0);
        let standing = |&code: &usize| {
            let measured = self.measured_elsewhere(code, incumbent, &class);
            let of_first = self.measured_elsewhere(0, incumbent, &class).map_or(1.0, |it| it.0);
            let promise = measured.map_or(self.codes[code].spec.promise() * of_first, |it| it.0);
            let is_far = |(ratio, distance)| ratio > FAR_RATIO + FAR_STEP * f64::from(distance);
            let is_open = code != incumbent && !measured.is_some_and(is_far);
            Standing { code, promise, ratio: None, is_open, is_former: false }
        };
        let mut standings: Vec<Standing> = numbers.iter().map(standing).collect();
        standings.sort_by(|one, other| one.promise.total_cmp(&other.promise));
        let own = kept.filter(|kept| kept.class == class);
        let pace = own.map_or_else(PaceTracker::default, |kept| PaceTracker::of_reference(kept.pace));
        self.classes.push(ClassState {
            class,
            incumbent,
            budget: TrialBudget::default(),
            pace,
            standings,
            examination: None,
            is_open: true,
            has_changed: false,
        });
        (!self.is_ready(incumbent)).then_some(incumbent)
    }

    fn pick(&mut self, class: &LaunchClass, work: &LaunchWork) -> Picked<C> {
        let Some(at) = self.find(class).or_else(|| self.nearest(class)) else {
            let ticket = Ticket { class: usize::MAX, code: 0, candidate: None, reserved: 0.0 };
            return Picked { code: None, slices: None, ticket };
        };
        // The nearest class may have code for groups of another size.
        let incumbent =
            match self.classes[at].class.local == class.local && self.is_ready(self.classes[at].incumbent) {
                true => self.classes[at].incumbent,
                false => 0,
            };
        let mut picked = Picked {
            code: self.code(incumbent),
            slices: None,
            ticket: Ticket { class: at, code: incumbent, candidate: None, reserved: 0.0 },
        };
        if self.trials != Trials::On || self.classes[at].class != *class {
            return picked;
        }
        self.examine_next(at);
        let allowance = self.total.allowance().min(self.classes[at].budget.allowance());
        let state = &mut self.classes[at];
        let (Some(examination), Some(pace)) = (&mut state.examination, state.pace.recent()) else {
            return picked;
        };
        match examination.plan(work, pace, allowance) {
            ExaminationPlan::Incumbent => {}
            ExaminationPlan::Candidate { loss } => {
                let code = examination.code;
                picked.ticket = Ticket { class: at, code, candidate: None, reserved: loss };
                picked.code = self.code(code);
            }
            ExaminationPlan::Slices(plan) => {
                let code = examination.code;
                picked.ticket = Ticket { candidate: Some(code), reserved: plan.limit, ..picked.ticket };
                picked.slices = Some((SliceTrial::new(plan, state.budget.launches), self.code(code)));
            }
        }
        self.total.reserve(picked.ticket.reserved);
        self.classes[at].budget.reserve(picked.ticket.reserved);
        picked
    }

    /// Begins to examine the most promising candidate that can run, if none is examined.
    fn examine_next(&mut self, at: usize) {
        if self.classes[at].examination.is_some() {
            return;
        }
        let open = self.classes[at].standings.iter().filter(|it| it.is_open);
        let next = open.clone().find(|it| self.is_ready(it.code));
        self.classes[at].examination = next.map(|it| Examination::new(it.code, it.promise));
    }

    fn add_launch(&mut self, ticket: Ticket, times: &LaunchTimes) {
        let items = times.items as f64;
        self.total.add_launch(times.time);
        let Some(state) = self.classes.get_mut(ticket.class) else { return };
        state.budget.add_launch(times.time);
        let mut verdict = None;
        let mut loss = 0.0;
        let is_examined = |code| state.examination.as_ref().is_some_and(|it| it.code == code);
        if ticket.code == state.incumbent {
            let pairs = &times.slices.pairs;
            let [time, of_candidate] =
                pairs.iter().fold([0.0; 2], |[time, items], it| [time + it.time, items + it.items]);
            // Preempted slices may add up to more than the launch; then the launch tells nothing.
            if items > of_candidate
                && times.time > time
                && state.pace.add(times.time - time, items - of_candidate)
            {
                state.reopen();
            } else if let Some(examination) = &mut state.examination {
                if ticket.candidate == Some(examination.code) {
                    loss = times.slices.loss;
                    verdict = examination.add_slices(times);
                } else if ticket.candidate.is_none() {
                    examination.add_launch(false, times.time, items, state.pace.recent());
                }
            }
        } else if is_examined(ticket.code) {
            let pace = state.pace.recent().unwrap_or(0.0);
            loss = times.time - items * pace;
            if let Some(examination) = &mut state.examination {
                examination.add_launch(true, times.time, items, Some(pace));
                verdict = examination.verdict_of_launches();
            }
        }
        state.budget.settle(ticket.reserved, loss);
        if let Some(verdict) = verdict {
            state.end_examination(verdict);
        }
        self.total.settle(ticket.reserved, loss);
    }

    /// Next compilation that the budget pays or a promise repays, or the end of a class's examinations.
    fn follow_up(&mut self, at: usize, has_idle: impl Fn() -> bool) -> FollowUp {
        let Some(state) = self.classes.get(at) else { return FollowUp::Nothing };
        if self.trials != Trials::On || !state.is_open || state.examination.is_some() {
            return FollowUp::Nothing;
        }
        let mut is_waiting = false;
        for standing in state.standings.iter().filter(|it| it.is_open) {
            let code = standing.code;
            let compiles = match self.codes[code].code {
                // The next launch examines it.
                CodeState::Ready(_) | CodeState::First => return FollowUp::Nothing,
                CodeState::Building { request, reserved } => {
                    let repays = request.compiles && self.repays(state, standing);
                    return self.overtake(request, reserved, repays);
                }
                CodeState::Failed => continue,
                CodeState::Unknown => false,
                CodeState::Unbuilt => true,
            };
            is_waiting = true;
            if self.codes.iter().any(|slot| matches!(slot.code, CodeState::Building { .. })) {
                return FollowUp::Nothing;
            }
            let (time, allowance) = (self.expected_time(compiles), self.total.allowance());
            let payment = if allowance >= time * IDLE_WEIGHT && has_idle() {
                BuildPayment::IdleProcessor
            } else if compiles && allowance < time && self.repays(state, standing) {
                BuildPayment::Promise
            } else {
                BuildPayment::Budget
            };
            let request = BuildRequest { code, compiles, payment };
            let cost = time * request.weight();
            if allowance >= cost || payment == BuildPayment::Promise {
                return self.begin_build(request, cost);
            }
            // The most promising one is waited for.
            break;
        }
        if is_waiting {
            return FollowUp::Nothing;
        }
        let state = &mut self.classes[at];
        state.is_open = false;
        let measured = state.standings.iter().filter(|it| it.code != state.incumbent);
        let others = measured.filter_map(|it| Some((it.code, (it.ratio? * 1000.0) as u64))).collect();
        FollowUp::Settled(ClassReport { incumbent: state.incumbent, others })
    }

    /// Expected time of a compilation or of a search in the cache.
    fn expected_time(&self, compiles: bool) -> f64 {
        if compiles { 1.5 * self.compile_time } else { LOADING }
    }

    /// True if a class would have saved the time to compile a candidate by now, had it run as fast as the model promises.
    fn repays(&self, class: &ClassState, candidate: &Standing) -> bool {
        let of_incumbent = class.standings.iter().find(|it| it.code == class.incumbent);
        let ratio = candidate.promise / of_incumbent.map_or(1.0, |it| it.promise);
        let saved = (1.0 - ratio) * class.budget.run;
        ratio < CLEAR_PROMISE && saved >= self.total.invested + self.expected_time(true)
    }

    fn begin_build(&mut self, request: BuildRequest, cost: f64) -> FollowUp {
        self.total.reserve(cost);
        self.codes[request.code].code = CodeState::Building { request, reserved: cost };
        FollowUp::Build(request)
    }

    /// Begins a build again that waits for an idle processor, once the budget pays for all of it or its promise repays it: other
    /// processes may leave none.
    fn overtake(&mut self, request: BuildRequest, reserved: f64, repays: bool) -> FollowUp {
        let cost = self.expected_time(request.compiles);
        let payment = match self.total.allowance() + reserved >= cost {
            _ if request.is_paid() => return FollowUp::Nothing,
            true => BuildPayment::Budget,
            false if repays => BuildPayment::Promise,
            false => return FollowUp::Nothing,
        };
        self.total.settle(reserved, 0.0);
        let request = BuildRequest { payment, ..request };
        self.begin_build(request, cost * request.weight())
    }

    fn kept_choice(&self, class: &ClassState) -> Option<KeptChoice> {
        let pace = class.pace.recent()?;
        let key = |code: usize| self.codes[code].spec.key();
        let ratios = class.standings.iter().filter_map(|it| Some((key(it.code), it.ratio?))).collect();
        let code = key(class.incumbent);
        Some(KeptChoice {
            class: class.class,
            code,
            pace,
            launches: class.budget.launches,
            ratios,
            is_settled: !class.is_open,
        })
    }
}

impl ClassState {
    /// Puts all codes but the incumbent back among the candidates.
    fn reopen(&mut self) {
        for standing in &mut self.standings {
            standing.is_open = standing.code != self.incumbent;
            standing.is_former = false;
            standing.promise = standing.ratio.unwrap_or(standing.promise);
        }
        self.standings.sort_by(|one, other| one.promise.total_cmp(&other.promise));
        self.examination = None;
        self.pace.restart(self.has_changed || self.is_open);
        (self.is_open, self.has_changed) = (true, false);
    }

    /// Ends the examination of a candidate with its ratio, and whether it replaces the incumbent.
    fn end_examination(&mut self, verdict: ExaminationVerdict) {
        let Some(Examination { code, .. }) = self.examination.take() else { return };
        let former = self.incumbent;
        for standing in &mut self.standings {
            if standing.code == code {
                (standing.is_open, standing.ratio) = (false, Some(verdict.ratio));
            } else if standing.code == former && verdict.replaces {
                standing.ratio = Some(1.0 / verdict.ratio.max(0.01));
                // A choice that is less than clear is checked once more, after the other candidates.
                standing.is_open = !standing.is_former && verdict.ratio > CLEARLY_FASTER;
                standing.is_former = true;
                standing.promise = f64::MAX;
            }
        }
        if verdict.replaces {
            // Ratios are to the incumbent.
            let others = self.standings.iter_mut().filter(|it| it.code != code && it.code != former);
            others.for_each(|it| it.ratio = it.ratio.map(|ratio| ratio / verdict.ratio.max(0.01)));
            self.standings.sort_by(|one, other| one.promise.total_cmp(&other.promise));
            (self.incumbent, self.has_changed) = (code, true);
            self.pace.scale(verdict.ratio);
        }
    }
}

/// Code of the next launch in an examination.
enum ExaminationPlan {
    Incumbent,
    Candidate { loss: f64 },
    Slices(SlicePlan),
}

/// End of an examination.
#[derive(Clone, Copy, Debug)]
struct ExaminationVerdict {
    ratio: f64,
    replaces: bool,
}

impl Examination {
    fn new(code: usize, promise: f64) -> Examination {
        Examination {
            code,
            ratio: None,
            promise,
            slices: PairedComparison::default(),
            launches: PairedComparison::default(),
            is_whole: false,
            is_long: false,
            unsliced: 0,
            batch: Batch::default(),
        }
    }

    /// Upper bound of the candidate's ratio while it is not known.
    fn worst(&self) -> f64 {
        if self.promise > 100.0 {
            return 1.5;
        }
        (CAUTION * self.promise).clamp(MIN_UNKNOWN, MAX_UNKNOWN).max(1.2 * self.promise)
    }

    /// Ratio that the next slice or launch is expected to have, if one was measured. It is bounded: where a candidate seems slower
    /// than any code is, another process ran during its first slice or launch, and the budget would never pay for a second one.
    fn expected_ratio(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio.min(self.worst().max(MAX_UNKNOWN)))
    }

    fn plan(&mut self, work: &LaunchWork, pace: f64, allowance: f64) -> ExaminationPlan {
        let time = pace * work.items as f64;
        let wall = time / work.threads.max(1) as f64;
        if !self.is_whole {
            self.is_long = wall / 256.0 >= LONG_SLICE;
            let slice = if self.ratio.is_some() { (wall / 256.0).clamp(SLICE, MAX_SLICE) } else { SLICE };
            let group_time = time / work.groups.max(1) as f64;
            let plan = SlicePlan::new(work.groups, group_time, slice, self.expected_ratio(), self.worst());
            let (loss, limit) = (plan.slice_loss(), (LAUNCH_SHARE * wall).min(allowance));
            if work.groups >= 2 * plan.groups && loss <= LAUNCH_SHARE * wall {
                self.unsliced = 0;
                return match loss <= limit && allowance > 0.0 {
                    true => ExaminationPlan::Slices(SlicePlan { limit, ..plan }),
                    false => ExaminationPlan::Incumbent,
                };
            }
            self.unsliced += 1;
            self.is_whole = self.unsliced >= MAX_UNSLICED;
            return ExaminationPlan::Incumbent;
        }
        // Whole launches: a batch of the incumbent, then one of the candidate.
        let launches = self.batch_size(time);
        let ratio = self.expected_ratio().map_or(self.worst(), |ratio| ratio + 0.05);
        let loss = (ratio - 1.0).max(0.0) * time;
        let is_turn = self.batch.incumbent.is_some();
        let has_begun = is_turn && !self.batch.times.is_empty();
        let needed = if has_begun { loss } else { loss * f64::from(launches) };
        if allowance < needed || allowance <= 0.0 {
            // The batch begins again when the budget pays it, also where its launches were slower than expected.
            let batch = std::mem::take(&mut self.batch);
            if let Some(incumbent) = batch.incumbent.filter(|_| has_begun) {
                let ratio = batch.pace(launches) / incumbent.max(f64::MIN_POSITIVE);
                self.ratio = Some(self.ratio.map_or(ratio, |expected| expected.max(ratio)));
            }
            return ExaminationPlan::Incumbent;
        }
        if is_turn { ExaminationPlan::Candidate { loss } } else { ExaminationPlan::Incumbent }
    }

    /// Number of launches of a batch, the first one included, which does not count if there are several.
    fn batch_size(&self, time: f64) -> u32 {
        match self.ratio {
            None => 1,
            _ if time >= LONG_LAUNCH => 1,
            _ => 1 + (BATCH / time.max(1.0)).ceil().clamp(1.0, 64.0) as u32,
        }
    }

    /// Adds a whole launch of the candidate or of the incumbent.
    fn add_launch(&mut self, is_candidate: bool, time: f64, items: f64, pace: Option<f64>) {
        if !self.is_whole || is_candidate != self.batch.incumbent.is_some() {
            return;
        }
        let size = self.batch_size(pace.unwrap_or(0.0) * items);
        self.batch.times.push([time, items]);
        if self.batch.times.len() < size as usize {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        let own = batch.pace(size);
        match batch.incumbent {
            None => self.batch.incumbent = Some(own),
            Some(incumbent) => {
                self.launches.add(incumbent, own);
                let ratio = own / incumbent.max(f64::MIN_POSITIVE);
                self.ratio = Some(self.launches.estimate().map_or(ratio, |it| it.ratio));
            }
        }
    }

    /// Adds the slices of a launch, as up to four samples.
    fn add_slices(&mut self, times: &LaunchTimes) -> Option<ExaminationVerdict> {
        let pairs = &times.slices.pairs;
        let mean = |pairs: &[SlicePair], of: usize| {
            pairs.iter().map(|it| it.paces[of]).sum::<f64>() / pairs.len().max(1) as f64
        };
        if pairs.is_empty() {
            return None;
        }
        // The candidate's very first slice runs with cold caches.
        if self.ratio.is_none() && pairs.len() == 1 {
            self.ratio = Some(mean(pairs, 1) / mean(pairs, 0).max(f64::MIN_POSITIVE));
            return None;
        }
        let weight = times.items as f64 / pairs.len().min(4) as f64;
        for some in pairs.chunks(pairs.len().div_ceil(4)) {
            self.slices.add(mean(some, 0) * weight, mean(some, 1) * weight);
        }
        self.ratio = self.slices.estimate().map(|it| it.ratio).or(self.ratio);
        let is_long = pairs.iter().all(|it| it.items * it.paces[0] >= LONG_SLICE);
        let verdict = self.verdict_of_slices(is_long);
        if self.is_long && !is_long {
            // Short slices only show whether longer ones are worth their cost.
            (self.slices, self.is_whole) = (PairedComparison::default(), false);
            return verdict.filter(|verdict| !verdict.replaces);
        }
        verdict
    }

    /// Verdict of slices, if they decide; `is_long` says that they are as good as launches.
    fn verdict_of_slices(&mut self, is_long: bool) -> Option<ExaminationVerdict> {
        let estimate = self.slices.estimate()?;
        let ratio = estimate.ratio;
        if self.slices.is_far_slower() {
            return Some(ExaminationVerdict { ratio, replaces: false });
        }
        if estimate.count < if estimate.error < NOISY { 4 } else { 12 } {
            return None;
        }
        let (low, high) = estimate.bounds();
        if high < FASTER && (ratio < CLEARLY_FASTER || self.promise < 1.0 || is_long) {
            return Some(ExaminationVerdict { ratio, replaces: true });
        }
        let is_over = self.slices.count() >= MAX_SLICES;
        let is_close = estimate.error < CLOSE_ERROR;
        if low > CLOSE || is_over && ratio > CLOSE || is_long && (is_over || is_close && ratio > FASTER) {
            return Some(ExaminationVerdict { ratio, replaces: false });
        }
        self.is_whole = !is_long && (is_over || high < FASTER || is_close && ratio < CLOSE);
        None
    }

    fn verdict_of_launches(&self) -> Option<ExaminationVerdict> {
        let far = self.launches.is_far_slower();
        let estimate = self.launches.estimate()?;
        let ratio = estimate.ratio;
        let (low, high) = estimate.bounds();
        // Noisy launches take more rounds.
        let is_enough = estimate.count >= if estimate.error < NOISY { 4 } else { 12 };
        let decides = is_enough && (low > 1.0 || high < FASTER) || far;
        let is_over = self.launches.count() >= MAX_ROUNDS;
        (decides || is_over)
            .then_some(ExaminationVerdict { ratio, replaces: !far && is_enough && high < FASTER })
    }
}
