//! Which of several codes for the same launches is the fastest, found out by running them.
//!
//! A kernel starts with vector code as wide as registers are. Where memory decides, or lanes part all the time, fewer lanes
//! may be faster, down to one; where values wait for each other, more. No model knows the data. So once a kernel
//! has run for as long as compiling others may take, a thread makes them; then the groups of launches go to each of them in
//! turn, a few at a time, so that all get the same kind of work. A few groups are not a launch: they find in the caches what other
//! code left there. So the one that takes least and those close to it then run whole launches in turn, and the fastest stays
//! (`Final`). After some time those that came close are tried again, as the data may have changed.
//!
//! Invariant: what work-items compute does not depend on the choice. Kernels that see which work-items make a brush have
//! none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// For how long a kernel runs before others are compiled.
const PATIENCE: Duration = Duration::from_millis(100);
/// How many slices of each code are timed, of how many pieces of work, and how many slices are enough if they take long.
const SLICES: usize = 128;
const PIECES: usize = 16;
const FEW_SLICES: usize = 8;
/// What takes long, all launches of a trial together.
const LONG_TRIAL: Duration = Duration::from_millis(30);
/// How many pieces there are before those count as disturbed in which codes differ most.
const MANY_PIECES: usize = 32;
/// How long a slice is to take: long beside the clock, short beside what the system does in between.
const SLICE: Duration = Duration::from_micros(6);
/// How many times as long as a trial took the choice stays.
const REST: u32 = 100;
/// The shortest time that it stays.
const LEAST_REST: Duration = Duration::from_millis(200);

/// Who takes part in a final, at most, and how many times as long as the best it may take.
const FINALISTS: usize = 5;
const CLOSE: f64 = 1.2;
/// For how long each of them runs at a time, but for the first launch, which what ran before is in the way of.
const BATCH: Duration = Duration::from_micros(500);
/// What is so long that the first launch counts.
const LONG_LAUNCH: Duration = Duration::from_millis(2);
/// How many rounds a final has, and how many are enough if they take long.
const ROUNDS: usize = 24;
const FEW_ROUNDS: usize = 8;
const LONG_FINAL: Duration = Duration::from_millis(100);
/// How much faster another one has to be than the one that the trial found, in the median and in three of four rounds.
const FASTER: f64 = 0.985;

/// Code that can be chosen.
pub(crate) trait Candidate {
    /// Whether it is for such launches.
    fn is_for(&self, extent: &Extent) -> bool;
}

/// How large a launch is.
pub(crate) struct Extent {
    pub(crate) items: u64,
    /// The size of groups.
    pub(crate) local: [u32; 3],
    /// Whether there are no smaller ones at the ends.
    pub(crate) is_uniform: bool,
}

/// What became of a choice so far.
pub(crate) struct Choice<C> {
    state: Mutex<State<C>>,
}

struct State<C> {
    step: Step,
    /// What is there beside the first.
    others: Vec<Arc<C>>,
    /// Launches for which different codes are: each kind has a trial of its own, so that none waits for launches of another one.
    kinds: Vec<Kind<C>>,
    launches: u64,
}

enum Step {
    /// The first code has run for all but so long.
    Waiting(Duration),
    /// Others are being compiled.
    Alone,
    Offered,
}

/// Launches for which the same codes are.
struct Kind<C> {
    /// Which of the others are for them, a bit each.
    fitting: u64,
    /// Those that are worth a trial.
    others: Vec<Arc<C>>,
    stage: Stage<C>,
    /// What the trial has found out, the first code being none.
    tried: Vec<(Option<Arc<C>>, f64)>,
}

enum Stage<C> {
    Trying(Comparison),
    /// Behind a trial that took so long.
    Deciding(Final<C>, Duration),
    /// This one, or the first, for so long.
    Chosen(Option<Arc<C>>, Duration),
}

/// What a trial has found out so far. Launches differ: of a search, one level may have much to do and others nothing. So
/// codes are compared for one piece of work at a time, and pieces count by their size.
#[derive(Default)]
struct Comparison {
    /// How long its launches took.
    time: Duration,
    /// How many slices of each code have been timed, the first one included.
    slices: Vec<usize>,
    pieces: Vec<Piece>,
    /// The last piece, as long as it has no slice of some code.
    open: Piece,
}

/// Whole launches of the best of a trial and of those close to it.
struct Final<C> {
    /// The best one of the trial first; none is the first code of all.
    codes: Vec<Option<Arc<C>>>,
    /// What each took for a work-item, of each round.
    rounds: Vec<Vec<f64>>,
    /// The round that is not over.
    open: Vec<f64>,
    /// Of the one whose turn it is: how many launches, and the time and work-items of those that count.
    launches: u32,
    time: Duration,
    items: u64,
    /// How long all took.
    all: Duration,
}

/// What a trial led to.
pub(crate) struct Outcome<C> {
    /// Each code, and what it took for the work in the trial.
    pub(crate) tried: Vec<(Arc<C>, f64)>,
    /// Which of them stays.
    pub(crate) chosen: usize,
}

/// What follows from a launch.
pub(crate) enum Next<C> {
    Nothing,
    /// Others are to be compiled.
    Others,
    Settled(Outcome<C>),
}

/// Some work that each code had a part of: a launch, or several small ones.
#[derive(Default)]
struct Piece {
    items: f64,
    /// Of each code: nanoseconds for a work-item, summed over slices, and how many slices.
    times: Vec<(f64, usize)>,
}

/// What a launch runs.
pub(crate) struct Picked<C> {
    /// One code, or those of a trial: the first one, and others.
    pub(crate) codes: Vec<Arc<C>>,
    /// Which of them begins.
    pub(crate) turn: u64,
    /// What its time counts for.
    pub(crate) ticket: Ticket,
}

/// What the time of a launch counts for: the launches for which the same codes are, and one of the codes of a final.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ticket {
    fitting: u64,
    finalist: usize,
}

/// What a launch has measured.
pub(crate) struct Measured {
    /// How many work-items it had.
    pub(crate) items: u64,
    /// Of each of its codes, what slices took for a work-item, in nanoseconds.
    pub(crate) times: Vec<Vec<f64>>,
}

/// How many groups make a slice, where a work-item takes so many nanoseconds.
pub(crate) fn slice(nanoseconds: f64, items: u64) -> u64 {
    ((SLICE.as_nanos() as f64 / (nanoseconds * items as f64).max(1.0)).ceil() as u64).max(1)
}

/// Which of so many codes runs a slice. In each round all of them have their turn, in an order that no pattern of the work
/// keeps step with.
pub(crate) fn turn(slice: u64, launch: u64, codes: usize) -> usize {
    let codes = codes.max(1) as u64;
    let round = (slice / codes).wrapping_add(launch.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let begin = ((round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * codes) >> 32;
    ((slice % codes + begin) % codes) as usize
}

/// What slices take without those that something else got in the way of.
fn typical(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    let kept = &times[..times.len() - times.len() / 8];
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}

impl Piece {
    fn time(&self, code: usize) -> f64 {
        let (sum, count) = self.times[code];
        sum / count.max(1) as f64
    }

    /// How many times as long the slowest code takes as the fastest.
    fn spread(&self) -> f64 {
        let times = (0..self.times.len()).map(|code| self.time(code));
        let (least, most) = times.fold((f64::MAX, 0.0), |(least, most), it| (it.min(least), it.max(most)));
        most / least.max(f64::MIN_POSITIVE)
    }
}

impl Comparison {
    fn of(codes: usize) -> Comparison {
        Comparison { slices: vec![0; codes], ..Comparison::default() }
    }

    fn note(&mut self, time: Duration, measured: Measured) {
        self.time += time;
        let codes = self.slices.len();
        if measured.times.len() != codes {
            return;
        }
        let open = &mut self.open;
        open.times.resize(codes, (0.0, 0));
        open.items += measured.items as f64;
        for (code, mut times) in measured.times.into_iter().enumerate() {
            open.times[code].0 += typical(&mut times) * times.len() as f64;
            open.times[code].1 += times.len();
            self.slices[code] += times.len();
        }
        if open.times.iter().all(|&(_, count)| count > 0) {
            self.pieces.push(std::mem::take(open));
        }
    }

    fn is_over(&self) -> bool {
        let least = self.slices.iter().copied().min().unwrap_or(0);
        let is_long = self.time >= LONG_TRIAL;
        !self.pieces.is_empty()
            && (is_long || self.pieces.len() >= PIECES)
            && (least >= SLICES || is_long && least >= FEW_SLICES)
    }

    /// How long each code takes for all of the work.
    fn times(&mut self) -> Vec<f64> {
        if self.pieces.len() >= MANY_PIECES {
            self.pieces.sort_by(|one, other| one.spread().total_cmp(&other.spread()));
            self.pieces.truncate(self.pieces.len() - self.pieces.len() / 8);
        }
        let time = |code| self.pieces.iter().map(|piece| piece.items * piece.time(code)).sum();
        (0..self.slices.len()).map(time).collect()
    }
}

impl<C> Default for Choice<C> {
    fn default() -> Self {
        let step = Step::Waiting(PATIENCE);
        Choice { state: Mutex::new(State { step, others: Vec::new(), kinds: Vec::new(), launches: 0 }) }
    }
}

impl<C: Candidate> Choice<C> {
    fn state(&self) -> MutexGuard<'_, State<C>> {
        // Nothing that is guarded is left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the next launch runs.
    pub(crate) fn pick(&self, first: &Arc<C>, extent: &Extent) -> Picked<C> {
        let mut state = self.state();
        state.launches += 1;
        let turn = state.launches;
        let fitting = state.fitting(extent);
        let kind = state.kind(fitting);
        let finalist = match &kind.stage {
            Stage::Deciding(last, _) => last.open.len(),
            _ => 0,
        };
        Picked { codes: kind.codes(first), turn, ticket: Ticket { fitting, finalist } }
    }

    /// The code that the next launch of this extent runs, if it is one.
    pub(crate) fn settled(&self, first: &Arc<C>, extent: &Extent) -> Option<Arc<C>> {
        let mut state = self.state();
        let fitting = state.fitting(extent);
        let kind = state.kind(fitting);
        match kind.stage {
            Stage::Trying(_) => None,
            Stage::Deciding(..) | Stage::Chosen(..) => kind.codes(first).pop(),
        }
    }

    /// Notes how long a launch of so many work-items took, and what it measured, if it was one of a trial.
    pub(crate) fn took(
        &self,
        first: &Arc<C>,
        ticket: Ticket,
        items: u64,
        time: Duration,
        measured: Option<Measured>,
    ) -> Next<C> {
        let mut state = self.state();
        match &mut state.step {
            Step::Waiting(left) if *left > time => *left -= time,
            Step::Waiting(_) => {
                state.step = Step::Alone;
                return Next::Others;
            }
            Step::Alone => {}
            Step::Offered => {
                let kind = state.kind(ticket.fitting);
                if let Some(chosen) = kind.took(ticket.finalist, items, time, measured) {
                    let code = |code: &Option<Arc<C>>| Arc::clone(code.as_ref().unwrap_or(first));
                    let tried = kind.tried.iter().map(|(it, time)| (code(it), *time)).collect();
                    return Next::Settled(Outcome { tried, chosen });
                }
            }
        }
        Next::Nothing
    }

    /// Others are there: they are tried.
    pub(crate) fn offer(&self, others: Vec<Arc<C>>) {
        let mut state = self.state();
        state.step = Step::Offered;
        state.others = others;
        state.kinds.clear();
    }
}

impl<C: Candidate> State<C> {
    /// Which of the others are for launches of this extent, a bit each.
    fn fitting(&self, extent: &Extent) -> u64 {
        let others = (0..64).zip(&self.others);
        others.map(|(at, code)| u64::from(code.is_for(extent)) << at).sum()
    }
}

impl<C> State<C> {
    /// The launches for which just these are.
    fn kind(&mut self, fitting: u64) -> &mut Kind<C> {
        let known = self.kinds.iter().position(|kind| kind.fitting == fitting);
        let at = known.unwrap_or_else(|| {
            let others = (0..64).zip(&self.others).filter(|&(at, _)| fitting >> at & 1 != 0);
            self.kinds.push(Kind::of(fitting, others.map(|(_, code)| Arc::clone(code)).collect()));
            self.kinds.len() - 1
        });
        &mut self.kinds[at]
    }
}

impl<C> Kind<C> {
    fn of(fitting: u64, others: Vec<Arc<C>>) -> Self {
        let trial = Comparison::of(others.len() + 1);
        Kind { fitting, others, stage: Stage::Trying(trial), tried: Vec::new() }
    }

    /// What a launch runs.
    fn codes(&self, first: &Arc<C>) -> Vec<Arc<C>> {
        let one = |code: &Option<Arc<C>>| vec![Arc::clone(code.as_ref().unwrap_or(first))];
        match &self.stage {
            // All at once, so that they are timed by the same work.
            Stage::Trying(_) => std::iter::once(first).chain(&self.others).cloned().collect(),
            Stage::Deciding(last, _) => one(&last.codes[last.open.len()]),
            Stage::Chosen(best, _) => one(best),
        }
    }

    /// Notes a launch. Says which of those that were tried stays, when that is known.
    fn took(
        &mut self,
        finalist: usize,
        items: u64,
        time: Duration,
        measured: Option<Measured>,
    ) -> Option<usize> {
        match (&mut self.stage, measured) {
            (Stage::Chosen(_, left), _) if *left > time => *left -= time,
            (Stage::Chosen(..), _) => *self = Kind::of(self.fitting, std::mem::take(&mut self.others)),
            (Stage::Trying(trial), Some(measured)) => {
                trial.note(time, measured);
                if trial.is_over() {
                    let (times, time) = (trial.times(), trial.time);
                    return self.end_trial(&times, time);
                }
            }
            (Stage::Trying(_), None) => {}
            (Stage::Deciding(last, trial), _) => {
                last.note(finalist, items, time);
                if last.is_over() {
                    let best = last.codes.swap_remove(last.best());
                    let all = *trial + last.all;
                    return self.choose(best, all);
                }
            }
        }
        None
    }

    /// Ends a trial, which took so long, by what each code took for all of the work.
    fn end_trial(&mut self, times: &[f64], trial: Duration) -> Option<usize> {
        let (&first, rest) = times.split_first()?;
        let others = self.others.iter().cloned().map(Some);
        self.tried = std::iter::once(None).chain(others).zip(times.iter().copied()).collect();
        let fastest = (1..times.len()).min_by(|&one, &other| times[one].total_cmp(&times[other]));
        let best = fastest.filter(|&at| times[at] < first * 0.97).unwrap_or(0);
        let least = times.iter().copied().fold(first, f64::min);
        let mut rest = rest.iter();
        self.others.retain(|_| rest.next().is_some_and(|&time| time < least * 1.5));
        let mut close: Vec<usize> = (0..times.len()).collect();
        close.retain(|&at| at != best && times[at] < least * CLOSE);
        close.sort_by(|&one, &other| times[one].total_cmp(&times[other]));
        close.truncate(FINALISTS - 1);
        let code = |at: usize| self.tried[at].0.clone();
        if close.is_empty() {
            let best = code(best);
            return self.choose(best, trial);
        }
        let codes = std::iter::once(best).chain(close).map(code).collect();
        self.stage = Stage::Deciding(Final::of(codes), trial);
        None
    }

    /// Has a code stay for some time, after it took so long to find.
    fn choose(&mut self, best: Option<Arc<C>>, took: Duration) -> Option<usize> {
        let is_best = |code: &Option<Arc<C>>| match (code, &best) {
            (Some(code), Some(best)) => Arc::ptr_eq(code, best),
            (code, best) => code.is_none() && best.is_none(),
        };
        let chosen = self.tried.iter().position(|(code, _)| is_best(code));
        self.stage = Stage::Chosen(best, (took * REST).max(LEAST_REST));
        chosen
    }
}

impl<C> Final<C> {
    fn of(codes: Vec<Option<Arc<C>>>) -> Final<C> {
        let (time, all) = (Duration::ZERO, Duration::ZERO);
        Final { codes, rounds: Vec::new(), open: Vec::new(), launches: 0, time, items: 0, all }
    }

    /// Notes a launch of a finalist; one that came late does not count.
    fn note(&mut self, finalist: usize, items: u64, time: Duration) {
        if finalist != self.open.len() {
            return;
        }
        self.launches += 1;
        self.all += time;
        if self.launches > 1 || time >= LONG_LAUNCH {
            self.time += time;
            self.items += items;
        }
        if self.time < BATCH {
            return;
        }
        self.open.push(self.time.as_nanos() as f64 / self.items.max(1) as f64);
        (self.launches, self.time, self.items) = (0, Duration::ZERO, 0);
        if self.open.len() == self.codes.len() {
            self.rounds.push(std::mem::take(&mut self.open));
        }
    }

    fn is_over(&self) -> bool {
        let rounds = self.rounds.len();
        rounds >= ROUNDS || rounds >= FEW_ROUNDS && self.all >= LONG_FINAL
    }

    /// The fastest one: the best of the trial, if no other one is clearly faster.
    fn best(&self) -> usize {
        let median = |at: usize| {
            let mut ratios: Vec<f64> = self.rounds.iter().map(|round| round[at] / round[0]).collect();
            ratios.sort_by(f64::total_cmp);
            // Three of four have to be lower than one.
            let is_clear = ratios.get(ratios.len() * 3 / 4).is_some_and(|&ratio| ratio < 1.0);
            ratios.get(ratios.len() / 2).copied().filter(|&ratio| is_clear && ratio < FASTER)
        };
        let faster = (1..self.codes.len()).filter_map(|at| Some((at, median(at)?)));
        faster.min_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_long_beside_the_clock() {
        assert_eq!(slice(1.0, 256), 24);
        assert_eq!(slice(1000.0, 256), 1);
        assert_eq!(slice(0.0, 0), 6000);
    }

    #[test]
    fn each_round_has_every_code() {
        for launch in 0..20 {
            for round in 0..20 {
                let mut seen: Vec<usize> = (0..4).map(|number| turn(round * 4 + number, launch, 4)).collect();
                seen.sort_unstable();
                assert_eq!(seen, [0, 1, 2, 3]);
            }
        }
        // Where groups lie in rows of a multiple of the codes, none gets a column for itself.
        let first: Vec<usize> = (0..16).map(|row| turn(row * 16, 1, 4)).collect();
        assert!((0..4).all(|code| first.contains(&code)), "{first:?}");
    }

    #[test]
    fn what_was_in_the_way_does_not_count() {
        let mut times = vec![1.0; 15];
        times.push(1000.0);
        assert_eq!(typical(&mut times), 1.0);
        assert_eq!(typical(&mut [3.0]), 3.0);
    }

    /// A launch of which each code had so many slices, which took so long for a work-item.
    fn measured(items: u64, slices: usize, times: [f64; 2]) -> Measured {
        Measured { items, times: times.iter().map(|&time| vec![time; slices]).collect() }
    }

    #[test]
    fn launches_count_by_what_they_do() {
        // A search: levels that have nothing to do, for which the second code is best, and one that has.
        let mut trial = Comparison::of(2);
        for level in 0..2 * PIECES {
            assert!(level < PIECES || trial.is_over());
            let times = if level % 8 == 3 { [40.0, 200.0] } else { [1.0, 0.2] };
            trial.note(Duration::from_micros(500), measured(1 << 18, 8, times));
        }
        let times = trial.times();
        assert!(times[0] * 4.0 < times[1], "{times:?}");
    }

    #[test]
    fn small_launches_are_one_piece_of_work() {
        let mut trial = Comparison::of(2);
        for launch in 0..2 * SLICES {
            assert!(!trial.is_over());
            let disturbed = if launch % 50 == 6 { 1000.0 } else { 1.0 };
            let time = 10.0 * disturbed * if launch % 2 == 0 { 1.0 } else { 0.8 };
            let mut times = vec![Vec::new(); 2];
            times[launch % 2].push(time);
            trial.note(Duration::from_micros(6), Measured { items: 64, times });
        }
        assert!(trial.is_over());
        let times = trial.times();
        assert!((times[1] / times[0] - 0.8).abs() < 1e-9, "{times:?}");
    }

    #[test]
    fn others_are_asked_for_once() {
        let (choice, first) = (Choice::default(), code(0, 1.0, 1.0));
        let asks = |time| matches!(choice.took(&first, Ticket::default(), 1, time, None), Next::Others);
        assert!(!asks(PATIENCE / 2));
        assert!(asks(PATIENCE));
        assert!(!asks(PATIENCE * 10));
        // Nothing else could be compiled.
        choice.offer(Vec::new());
        assert!(!asks(PATIENCE * 10));
    }

    /// Code that is for launches of so many work-items and more, and takes so long for one: in slices, and in whole launches.
    struct Code {
        least: u64,
        slices: f64,
        whole: f64,
    }

    impl Candidate for Code {
        fn is_for(&self, extent: &Extent) -> bool {
            self.least <= extent.items
        }
    }

    fn code(least: u64, slices: f64, whole: f64) -> Arc<Code> {
        Arc::new(Code { least, slices, whole })
    }

    fn extent(items: u64) -> Extent {
        Extent { items, local: [1; 3], is_uniform: true }
    }

    /// Launches so many work-items once. How many codes ran, how fast the first of them is in slices, and what followed.
    fn launch(choice: &Choice<Code>, first: &Arc<Code>, items: u64) -> (usize, f64, Next<Code>) {
        let picked = choice.pick(first, &extent(items));
        let is_trial = picked.codes.len() > 1;
        let times = |code: &Arc<Code>| vec![code.slices; 16];
        let measured = is_trial.then(|| Measured { items, times: picked.codes.iter().map(times).collect() });
        let time = Duration::from_secs_f64(20e-6 * picked.codes[0].whole);
        let next = choice.took(first, picked.ticket, items, time, measured);
        (picked.codes.len(), picked.codes[0].slices, next)
    }

    fn offered(others: Vec<Arc<Code>>) -> (Choice<Code>, Arc<Code>) {
        let (choice, first) = (Choice::default(), code(0, 1.0, 1.0));
        let next = choice.took(&first, Ticket::default(), 1, PATIENCE, None);
        assert!(matches!(next, Next::Others));
        choice.offer(others);
        (choice, first)
    }

    /// Launches until a choice is made: which code it is, and how many launches had one code.
    fn settle(choice: &Choice<Code>, first: &Arc<Code>, items: u64) -> (usize, usize) {
        let mut single = 0;
        for _ in 0..100_000 {
            let (codes, _, next) = launch(choice, first, items);
            single += usize::from(codes == 1);
            if let Next::Settled(outcome) = next {
                return (outcome.chosen, single);
            }
        }
        panic!("no choice is made");
    }

    #[test]
    fn launches_of_each_kind_have_their_own_choice() {
        let (choice, first) = offered(vec![code(0, 0.8, 0.8), code(1000, 0.5, 0.5), code(0, 2.0, 2.0)]);
        let ran = |items| {
            let (codes, time, _) = launch(&choice, &first, items);
            (codes, time)
        };
        // No large launch comes, and none is waited for.
        assert_eq!(ran(10), (3, 1.0));
        (0..PIECES).for_each(|_| _ = ran(10));
        assert_eq!(ran(10), (1, 0.8));
        let settled = |items| choice.settled(&first, &extent(items)).map(|code| code.slices);
        assert_eq!((settled(10), settled(5000)), (Some(0.8), None));
        // A large one has its trial, and small ones keep what they have.
        assert_eq!(ran(5000), (4, 1.0));
        (0..PIECES).for_each(|_| _ = ran(5000));
        assert_eq!(ran(5000), (1, 0.5));
        assert_eq!(ran(10), (1, 0.8));
        // After a while both are tried again, without what was far behind.
        while ran(10).0 == 1 {}
        assert_eq!(ran(10), (2, 1.0));
        assert_eq!(ran(5000), (1, 0.5));
    }

    #[test]
    fn whole_launches_decide_among_those_that_are_close() {
        // In slices the second is best, in launches the third; the fourth is too slow to be asked again.
        let others = vec![code(0, 0.80, 0.80), code(0, 0.84, 0.76), code(0, 1.0, 0.5)];
        let (choice, first) = offered(others);
        let (chosen, single) = settle(&choice, &first, 100);
        assert_eq!(chosen, 2);
        // Both run for half a millisecond in each round.
        assert!((ROUNDS * 2 * 32..ROUNDS * 2 * 35).contains(&single), "{single}");
        assert_eq!(launch(&choice, &first, 100).1, 0.84);
    }

    #[test]
    fn what_is_not_clearly_faster_does_not_replace_the_best_of_a_trial() {
        let (choice, first) = offered(vec![code(0, 0.80, 0.80), code(0, 0.84, 0.79)]);
        assert_eq!(settle(&choice, &first, 100).0, 1);
        // The first code of all may be among them.
        let (choice, first) = offered(vec![code(0, 0.95, 1.05)]);
        assert_eq!(settle(&choice, &first, 100).0, 0);
        // Rounds in which launches have other things to do contradict each other.
        let mut last = Final::<Code>::of(vec![None, Some(code(0, 1.0, 1.0))]);
        last.rounds = (0..ROUNDS).map(|round| vec![1.0, if round % 3 == 0 { 3.0 } else { 0.5 }]).collect();
        assert_eq!(last.best(), 0);
        last.rounds = (0..ROUNDS).map(|round| vec![1.0, if round % 5 == 0 { 3.0 } else { 0.5 }]).collect();
        assert_eq!(last.best(), 1);
    }

    #[test]
    fn a_launch_that_ends_late_counts_for_nobody() {
        let mut last = Final::<Code>::of(vec![None, None]);
        last.note(1, 10, BATCH * 10);
        assert!(last.open.is_empty());
        last.note(0, 10, BATCH * 10);
        assert_eq!(last.open.len(), 1);
    }
}
