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
}

enum Stage<C> {
    Trying(Comparison),
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
    /// Of which kind it is.
    pub(crate) kind: LaunchKind,
}

/// The launches for which the same codes are.
#[derive(Clone, Copy, Default)]
pub(crate) struct LaunchKind(u64);

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
        let codes = state.kind(fitting).codes(first);
        Picked { codes, turn, kind: LaunchKind(fitting) }
    }

    /// The code that launches of this extent run, if that is settled.
    pub(crate) fn settled(&self, first: &Arc<C>, extent: &Extent) -> Option<Arc<C>> {
        let mut state = self.state();
        let fitting = state.fitting(extent);
        match &state.kind(fitting).stage {
            Stage::Chosen(best, _) => Some(Arc::clone(best.as_ref().unwrap_or(first))),
            Stage::Trying(_) => None,
        }
    }

    /// Notes how long a launch took, and what it measured, if it was one of a trial. True asks for others.
    pub(crate) fn took(&self, kind: LaunchKind, time: Duration, measured: Option<Measured>) -> bool {
        let mut state = self.state();
        match &mut state.step {
            Step::Waiting(left) if *left > time => *left -= time,
            Step::Waiting(_) => {
                state.step = Step::Alone;
                return true;
            }
            Step::Alone => {}
            Step::Offered => state.kind(kind.0).took(time, measured),
        }
        false
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
        Kind { fitting, others, stage: Stage::Trying(trial) }
    }

    /// What a launch runs.
    fn codes(&self, first: &Arc<C>) -> Vec<Arc<C>> {
        match &self.stage {
            // All at once, so that they are timed by the same work.
            Stage::Trying(_) => std::iter::once(first).chain(&self.others).cloned().collect(),
            Stage::Chosen(best, _) => vec![Arc::clone(best.as_ref().unwrap_or(first))],
        }
    }

    fn took(&mut self, time: Duration, measured: Option<Measured>) {
        match (&mut self.stage, measured) {
            (Stage::Chosen(_, left), _) if *left > time => *left -= time,
            (Stage::Chosen(..), _) => *self = Kind::of(self.fitting, std::mem::take(&mut self.others)),
            (Stage::Trying(trial), Some(measured)) => {
                trial.note(time, measured);
                if trial.is_over() {
                    let (times, time) = (trial.times(), trial.time);
                    self.choose(&times, time);
                }
            }
            (Stage::Trying(_), None) => {}
        }
    }

    /// Ends a trial, which took so long, by what each code took for all of the work.
    fn choose(&mut self, times: &[f64], trial: Duration) {
        let Some((first, rest)) = times.split_first() else { return };
        let fastest = (0..rest.len()).min_by(|&one, &other| rest[one].total_cmp(&rest[other]));
        let pays = fastest.filter(|&at| rest[at] < first * 0.97);
        let best = pays.and_then(|at| self.others.get(at)).map(Arc::clone);
        let least = rest.iter().copied().fold(*first, f64::min);
        let mut rest = rest.iter();
        self.others.retain(|_| rest.next().is_some_and(|&time| time < least * 1.5));
        self.stage = Stage::Chosen(best, (trial * REST).max(LEAST_REST));
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
        let (choice, kind) = (Choice::<Code>::default(), LaunchKind::default());
        assert!(!choice.took(kind, PATIENCE / 2, None));
        assert!(choice.took(kind, PATIENCE, None));
        assert!(!choice.took(kind, PATIENCE * 10, None));
        // Nothing else could be compiled.
        choice.offer(Vec::new());
        assert!(!choice.took(kind, PATIENCE * 10, None));
    }

    /// Code that is for launches of so many work-items and more, and takes so long for one.
    struct Code {
        least: u64,
        time: f64,
    }

    impl Candidate for Code {
        fn is_for(&self, extent: &Extent) -> bool {
            self.least <= extent.items
        }
    }

    fn extent(items: u64) -> Extent {
        Extent { items, local: [1; 3], is_uniform: true }
    }

    /// Launches so many work-items once. How many codes ran, and how fast the first of them is.
    fn launch(choice: &Choice<Code>, first: &Arc<Code>, items: u64) -> (usize, f64) {
        let picked = choice.pick(first, &extent(items));
        let times = |code: &Arc<Code>| vec![code.time; 16];
        let is_trial = picked.codes.len() > 1;
        let measured = is_trial.then(|| Measured { items, times: picked.codes.iter().map(times).collect() });
        choice.took(picked.kind, Duration::from_micros(20), measured);
        (picked.codes.len(), picked.codes[0].time)
    }

    #[test]
    fn launches_of_each_kind_have_their_own_choice() {
        let choice = Choice::default();
        let code = |least, time| Arc::new(Code { least, time });
        let first = code(0, 1.0);
        assert!(choice.took(LaunchKind::default(), PATIENCE, None));
        choice.offer(vec![code(0, 0.8), code(1000, 0.5), code(0, 2.0)]);
        // No large launch comes, and none is waited for.
        assert_eq!(launch(&choice, &first, 10), (3, 1.0));
        (0..PIECES).for_each(|_| _ = launch(&choice, &first, 10));
        assert_eq!(launch(&choice, &first, 10), (1, 0.8));
        let settled = |items| choice.settled(&first, &extent(items)).map(|code| code.time);
        assert_eq!((settled(10), settled(5000)), (Some(0.8), None));
        // A large one has its trial, and small ones keep what they have.
        assert_eq!(launch(&choice, &first, 5000), (4, 1.0));
        (0..PIECES).for_each(|_| _ = launch(&choice, &first, 5000));
        assert_eq!(launch(&choice, &first, 5000), (1, 0.5));
        assert_eq!(launch(&choice, &first, 10), (1, 0.8));
        // After a while both are tried again, without what was far behind.
        while launch(&choice, &first, 10).0 == 1 {}
        assert_eq!(launch(&choice, &first, 10), (2, 1.0));
        assert_eq!(launch(&choice, &first, 5000), (1, 0.5));
    }
}
