//! Whether flattening pays: what lanes that run together take for an iteration of the outer loop, before and after.
//!
//! Be `a` the cost of the payload and `b` that of an iteration of the inner loop. How often the inner loop goes round is drawn
//! for each lane and each iteration of the outer loop, from its distribution; in each iteration the lanes of a brush are a fair
//! sample of it. Before, lanes wait for the slowest: `a + b max t`. After, each lane goes on for itself: an iteration of an
//! inner loop is executed whenever some lane is in it, and the payload whenever a lane comes to its end, once for those that
//! come there at the same time. That they often do is why the end times are drawn, and not only their number. In the end all
//! wait for the lane with the most to do. Lanes also leave the outer loop by its own distribution, and an iteration of it may
//! pass by an inner loop.
//!
//! A distribution does not tell lanes that differ from iterations that do: where a loop goes round once more in each iteration of
//! the outer one, but as often for all lanes, none waits. A run tells by how often lanes went round *together*, which is then
//! what it takes before.
//!
//! On a CPU, what lanes shared before differs then: counters of the outer loop become vectors, and accesses that were of lanes
//! side by side gather and scatter. Both sides of a branch run in each iteration unless a guard is asked, so the payload is
//! executed in each or guarded, whichever is less; and what goes round is chosen lane by lane. Much of that is done while the
//! chain of operations of an iteration waits for itself.
//!
//! Formula (1) of the paper says that it pays if `n/N > Ta/(Ta + Tb)`, where `n/N` is the share of lanes that are idle in
//! the inner loop. It knows no overhead, and takes the payload to be executed each time. Both are told.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{ControlTables, Cycle, InitialShapes, divergence};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Inst, InstData, Op, Value};
use std::fmt;

use super::FlattenOptions;
use crate::fuse::MachineModel;
use crate::fuse::cost::{AccessPattern, reach};

/// How often loops go round of which nothing is known, on average.
const UNKNOWN_TRIPS: f64 = 8.0;
/// How many iterations of the outer loop are drawn, if nothing is known of it, and at most.
const UNKNOWN_ROUNDS: u64 = 32;
const MOST_ROUNDS: u64 = 256;
/// The deepest nest of loops in a loop that counts.
const DEEPEST: usize = 6;
/// The most lanes of a run that are drawn together.
const MOST_LANES: usize = 128;
/// What must be gained, as a factor. Draws know nothing of lanes that have more to do than others all the time, for which all wait
/// in the end, as in `sorts` quicksort of `./x bench ptx`.
const LEAST_GAIN: f64 = 1.15;
/// What a guard costs on a CPU: a question and a branch that is now and then a surprise.
const GUARD: f64 = 6.0;
/// The share that is left on a CPU of what choosing, asking and scattered accesses take, beside the operations of an iteration
/// that wait for each other. Fitted to what `./x bench divergence native` measures on Zen 4.
const NOT_HIDDEN: f64 = 0.6;

/// How often a loop goes round once it is entered: counts of lanes, by number of iterations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TripCounts {
    /// Pairs of a number of iterations and how often it came, in ascending order.
    pub counts: Vec<(u64, u64)>,
    /// How lanes went round it together, where that was seen.
    pub together: Option<JointIterations>,
}

/// How lanes that run together went round a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JointIterations {
    /// How many there are.
    pub lanes: u64,
    /// Iterations that any of them executed, each counted once.
    pub iterations: u64,
}

impl TripCounts {
    /// From words: `1x31/64x1` is one iteration 31 times, 64 iterations once.
    pub fn parse(words: &str) -> Option<TripCounts> {
        let pair = |word: &str| {
            let (trips, count) = word.split_once('x')?;
            Some((trips.parse().ok()?, count.parse().ok().filter(|&count: &u64| count > 0)?))
        };
        let mut counts = words.split('/').map(pair).collect::<Option<Vec<(u64, u64)>>>()?;
        counts.sort_unstable();
        Some(TripCounts { counts, together: None })
    }

    /// How many lanes left it.
    fn lanes(&self) -> u64 {
        self.counts.iter().fold(0, |total: u64, &(_, count)| total.saturating_add(count))
    }

    /// How many iterations all of them did.
    fn all(&self) -> u64 {
        let all = |&(trips, count): &(u64, u64)| trips.saturating_mul(count);
        self.counts.iter().map(all).fold(0, u64::saturating_add)
    }

    /// The same, of a loop that iterations of another one may pass by.
    fn within(&self, outer: Option<&TripCounts>) -> TripCounts {
        let passed = outer.map_or(0, |outer| outer.all().saturating_sub(self.lanes()));
        let mut counts = self.counts.clone();
        if passed > 0 && !counts.is_empty() {
            counts.push((0, passed));
            counts.sort_unstable();
        }
        TripCounts { counts, together: self.together }
    }

    /// The number of iterations below which this share of the lanes stays; of a loop that nothing is known of as if after
    /// each iteration a lane left with the same probability.
    fn quantile(known: Option<&TripCounts>, share: f64) -> u64 {
        let counts = known.map_or(&[][..], |trips| &trips.counts);
        let total = known.map_or(0, TripCounts::lanes);
        let Some(&(most, _)) = counts.last().filter(|_| total > 0) else {
            return ((1.0 - share).ln() / (1.0 - 1.0 / UNKNOWN_TRIPS).ln()).ceil().max(1.0) as u64;
        };
        let mut below = 0.0;
        for &(trips, count) in counts {
            below += count as f64 / total as f64;
            if share < below {
                return trips;
            }
        }
        most
    }

    /// How often lanes go round a loop together in an iteration of the one around. What a run did not come to is not gone round.
    fn rounds_in(inner: Option<&TripCounts>, outer: Option<&TripCounts>) -> f64 {
        let together = |trips: Option<&TripCounts>| trips.and_then(|trips| trips.together);
        match (inner, together(inner).zip(together(outer))) {
            (_, Some((inner, outer))) => inner.iterations as f64 / outer.iterations.max(1) as f64,
            (Some(inner), None) => inner.all() as f64 / inner.lanes().max(1) as f64,
            (None, None) if outer.is_some() => 0.0,
            (None, None) => UNKNOWN_TRIPS,
        }
    }

    /// How often an inner loop was gone round in an iteration of the outer one: by lanes together, and by each of so many.
    fn seen(inner: Option<&TripCounts>, outer: Option<&TripCounts>, lanes: usize) -> Option<(f64, f64)> {
        let (inner, outer) = inner.zip(outer)?;
        let (within, around) = inner.together.zip(outer.together)?;
        // Of more lanes, one that goes round often is more likely among them.
        (within.lanes == lanes as u64 && around.lanes == within.lanes).then_some(())?;
        let rounds = Some(around.iterations as f64).filter(|&rounds| rounds > 0.0)?;
        Some((within.iterations as f64 / rounds, inner.all() as f64 / (rounds * lanes as f64)))
    }
}

/// Numbers for draws, always the same ones (SplitMix64).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A fair sample for so many lanes: each of as many equal parts of the distribution comes once, to any lane.
    fn sample(&mut self, known: Option<&TripCounts>, lanes: usize) -> Vec<u64> {
        let mut parts: Vec<usize> = (0..lanes).collect();
        for index in (1..lanes).rev() {
            parts.swap(index, self.below(index + 1));
        }
        let offset = self.share();
        parts.iter().map(|&part| TripCounts::quantile(known, (part as f64 + offset) / lanes as f64)).collect()
    }

    /// The same, where it is those lanes that a run had together which are a fair sample, in any order.
    fn sample_as_seen(&mut self, known: Option<&TripCounts>, lanes: usize) -> Vec<u64> {
        let together = known
            .and_then(|trips| trips.together)
            .map_or(lanes, |together| usize::try_from(together.lanes).unwrap_or(lanes).clamp(1, MOST_LANES));
        let mut drawn = Vec::with_capacity(lanes + together);
        while drawn.len() < lanes {
            drawn.extend(self.sample(known, together));
        }
        drawn.truncate(lanes);
        drawn
    }
}

/// How long intervals of time are together, where they overlap once.
fn union(mut intervals: Vec<(u64, u64)>) -> u64 {
    intervals.sort_unstable();
    let (mut covered, mut end) = (0u64, 0u64);
    for (from, to) in intervals {
        covered = covered.saturating_add(to.saturating_sub(from.max(end)));
        end = end.max(to);
    }
    covered
}

/// What the model makes of a nest; costs are in instructions of lanes together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlattenEstimate {
    /// An iteration of the outer loop as it is.
    pub before: f64,
    /// The same, flattened.
    pub after: f64,
    /// Formula (1): the share of lanes that are idle in the inner loop.
    pub idle: f64,
    /// Formula (1): the share of the payload in one way round.
    pub payload: f64,
}

impl FlattenEstimate {
    /// Whether it pays.
    pub fn pays(&self) -> bool {
        self.before > LEAST_GAIN * self.after
    }

    /// Whether it would by formula (1).
    pub fn pays_by_formula(&self) -> bool {
        self.idle > self.payload
    }
}

impl fmt::Display for FlattenEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.pays_by_formula() { "pays" } else { "does not pay" };
        write!(
            f,
            "{:.1} instructions for an iteration become {:.1}; by formula (1), {:.2} idle against {:.2}, it {word}",
            self.before, self.after, self.idle, self.payload
        )
    }
}

/// What the parts of a function cost, in simple instructions.
pub(super) struct FlattenCosts<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    machine: MachineModel,
    /// How often loops go round in an iteration of the loop around.
    rounds: SecondaryMap<Cycle, f64>,
    /// Blocks as they are.
    now: SecondaryMap<Block, f64>,
    /// Blocks whose lanes are in different iterations.
    apart: SecondaryMap<Block, f64>,
}

/// About how many simple instructions one takes.
fn cost(data: &InstData) -> f64 {
    match data.op {
        Op::Phi => 0.0,
        Op::Br if data.args.is_empty() => 0.0,
        Op::Sqrt | Op::Rsqrt | Op::Fdiv | Op::Frem => 8.0,
        _ => match data.op.info().effect {
            Effect::Traps => 12.0,
            Effect::Reads | Effect::Writes | Effect::ReadsWrites => 4.0,
            Effect::Callee => 20.0,
            _ => 1.0,
        },
    }
}

/// What one costs on a machine, where lanes are in one iteration or in several.
fn cost_on(
    machine: MachineModel,
    func: &Function,
    control: &ControlTables,
    facts: &Divergence,
    inst: Inst,
    is_apart: bool,
) -> f64 {
    let data = func.inst(inst);
    let is_vectors = matches!(machine, MachineModel::Vectors(..));
    if !is_vectors {
        return cost(data);
    }
    let changes = |value: Value| {
        let block = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
        block.is_some_and(|block| control.cycles.innermost(block).is_some())
    };
    let accessed = match data.op {
        Op::Load => func.result(inst),
        Op::Store => data.args.first().copied(),
        _ => None,
    };
    let lies = accessed.zip(data.address()).map(|(value, address)| match is_apart && changes(address) {
        true => AccessPattern::Scattered,
        false => reach(facts, address, func.value_type(value).scalar()),
    });
    let result = func.result(inst).filter(|&value| is_apart && changes(value));
    let tenths = match (result, data.op.info().effect) {
        (Some(value), Effect::Pure | Effect::Traps) => machine.operation(data.op, func.value_type(value)),
        (_, Effect::Joins) => 0,
        _ => machine.inst(func, facts, inst, lies),
    };
    tenths as f64 / 10.0
}

impl<'a> FlattenCosts<'a> {
    pub(super) fn new(
        func: &'a Function,
        control: &'a ControlTables,
        options: &FlattenOptions,
    ) -> FlattenCosts<'a> {
        let machine = options.machine;
        let facts = &divergence(func, control, &InitialShapes::declared(func, machine.geometry()));
        let mut now = SecondaryMap::with_len(func.block_count());
        let mut apart = SecondaryMap::with_len(func.block_count());
        for &block in control.index.order().iter().filter(|&&block| control.cycles.innermost(block).is_some())
        {
            let sum = |is_apart| -> f64 {
                let insts = func.block_insts(block);
                insts.map(|inst| cost_on(machine, func, control, facts, inst, is_apart)).sum()
            };
            (now[block], apart[block]) = (sum(false), sum(true));
        }
        let forest = &control.cycles;
        let mut rounds = SecondaryMap::with_len(forest.num_cycles());
        for cycle in forest.cycles() {
            let trips = |cycle: Cycle| options.trips.get(&forest.header(cycle));
            let around = forest.parent(cycle).and_then(trips);
            rounds[cycle] = TripCounts::rounds_in(trips(cycle), around);
        }
        FlattenCosts { func, control, machine, rounds, now, apart }
    }

    /// An iteration of a loop, those inside of it gone round as often as is known or guessed.
    fn iteration(&self, cycle: Cycle, own: &SecondaryMap<Block, f64>) -> f64 {
        let forest = &self.control.cycles;
        let weight = |block: &Block| -> f64 {
            let around = std::iter::successors(forest.innermost(*block), |&inner| forest.parent(inner));
            around.take_while(|&inner| inner != cycle).take(DEEPEST).map(|inner| self.rounds[inner]).product()
        };
        forest.blocks(cycle).iter().map(|block| own[*block] * weight(block)).sum()
    }

    /// The payload, and an iteration of each inner loop.
    fn parts(&self, outer: Cycle, inner: &[Cycle], own: &SecondaryMap<Block, f64>) -> (f64, Vec<f64>) {
        let bodies: Vec<f64> = inner.iter().map(|&cycle| self.iteration(cycle, own)).collect();
        let inside: f64 = inner.iter().zip(&bodies).map(|(&cycle, body)| self.rounds[cycle] * body).sum();
        let payload = (self.iteration(outer, own) - inside).max(0.0);
        (payload, bodies)
    }

    /// What choosing costs in each iteration, lane by lane, of what goes round these loops.
    fn chosen(&self, cycles: &[Cycle]) -> f64 {
        let header = |&cycle: &Cycle| self.func.phis(self.control.cycles.header(cycle));
        let values = cycles.iter().flat_map(header).filter_map(|phi| self.func.result(phi));
        let tenths: i64 = match self.machine {
            MachineModel::Vectors(..) => {
                values.map(|value| self.machine.select(self.func.value_type(value))).sum()
            }
            MachineModel::Warps => 0,
        };
        tenths as f64 / 10.0
    }

    /// What the model makes of a nest; and how often lanes go round it once it is flattened, if all of that is known now.
    pub(super) fn estimate(
        &self,
        outer: Cycle,
        inner: &[Cycle],
        options: &FlattenOptions,
    ) -> (FlattenEstimate, Option<TripCounts>) {
        let forest = &self.control.cycles;
        let lanes = options.lanes.max(1) as usize;
        let trips = |cycle: Cycle| options.trips.get(&forest.header(cycle));
        let (payload, bodies) = self.parts(outer, inner, &self.now);
        let mut draws = SplitMix64(0);
        let rounds_of = rounds_of(trips(outer), lanes, &mut draws);
        let rounds = rounds_of.iter().copied().max().unwrap_or(1);
        let within: Vec<Option<TripCounts>> =
            inner.iter().map(|&cycle| trips(cycle).map(|known| known.within(trips(outer)))).collect();
        let mut now = vec![0u64; lanes];
        let mut inside: Vec<Vec<(u64, u64)>> = vec![Vec::new(); inner.len()];
        let mut most: Vec<u64> = vec![0; inner.len()];
        let mut done: Vec<f64> = vec![0.0; inner.len()];
        for round in 0..rounds {
            let is_active = |lane: &usize| rounds_of[*lane] > round;
            let active = (0..lanes).filter(is_active).count();
            let before = now.clone();
            for (number, within) in within.iter().enumerate() {
                let drawn = draws.sample_as_seen(within.as_ref(), lanes);
                most[number] += (0..lanes).filter(is_active).map(|lane| drawn[lane]).max().unwrap_or(0);
                for lane in (0..lanes).filter(is_active) {
                    let end = now[lane].saturating_add(drawn[lane]);
                    inside[number].push((now[lane], end));
                    now[lane] = end;
                    done[number] += drawn[lane] as f64 / active as f64;
                }
            }
            // What passes by all of them goes round once with the payload alone.
            for lane in (0..lanes).filter(is_active) {
                now[lane] += u64::from(now[lane] == before[lane]);
            }
        }
        // Of each iteration of the outer loop, by what was seen, if it was, or else drawn: how often an inner loop goes round, and
        // how often a lane does.
        let (mut waited, mut worked, mut waiting) = (0.0, 0.0, 0.0);
        for (number, &cycle) in inner.iter().enumerate() {
            let (most, done) = TripCounts::seen(trips(cycle), trips(outer), lanes)
                .unwrap_or((most[number] as f64 / rounds as f64, done[number] / rounds as f64));
            waited += most * bodies[number];
            worked += done * bodies[number];
            waiting += most * self.chosen(&[cycle]);
        }
        // The payload behind an inner loop is executed whenever a lane comes to the end of that one.
        let ends: usize = inside.iter().map(|inside| distinct_ends(inside)).sum();
        let all = now.iter().copied().max().unwrap_or(0) as f64;
        let (payload_apart, bodies_apart) = self.parts(outer, inner, &self.apart);
        let in_loops: f64 =
            bodies_apart.iter().zip(inside).map(|(body, inside)| body * union(inside) as f64).sum();
        // Asking for the state, and whether the lane leaves; choosing what goes round. Of two states it is a truth value.
        let around: Vec<Cycle> = inner.iter().copied().chain([outer]).collect();
        let states = if inner.len() == 1 { 1.0 } else { 2.0 * inner.len() as f64 };
        let left = if self.machine == MachineModel::Warps { 1.0 } else { NOT_HIDDEN };
        let asked = left * all * (states + 1.0 + self.chosen(&around));
        let payload_apart = payload + left * (payload_apart - payload);
        let ends = ends as f64 / inner.len() as f64;
        let at_ends = match self.machine {
            MachineModel::Warps => ends * payload_apart,
            MachineModel::Vectors(..) => (all * payload_apart).min(left * all * GUARD + ends * payload_apart),
        };
        let rounds = rounds as f64;
        let each: f64 = bodies.iter().sum();
        let estimate = FlattenEstimate {
            before: payload + waited + waiting,
            after: (in_loops + asked + at_ends) / rounds,
            idle: if waited > 0.0 { 1.0 - worked / waited } else { 0.0 },
            payload: payload / f64::max(payload + each, 1.0),
        };
        let are_known = inner.iter().chain([&outer]).all(|&cycle| trips(cycle).is_some());
        let flattened = are_known.then(|| {
            now.sort_unstable();
            TripCounts { counts: now.into_iter().map(|trips| (trips, 1)).collect(), together: None }
        });
        (estimate, flattened)
    }
}

/// How many iterations of the outer loop each lane is thought to do.
fn rounds_of(known: Option<&TripCounts>, lanes: usize, draws: &mut SplitMix64) -> Vec<u64> {
    let Some(known) = known.filter(|trips| trips.lanes() > 0) else { return vec![UNKNOWN_ROUNDS; lanes] };
    let rounds = draws.sample(Some(known), lanes);
    let most = rounds.iter().copied().max().unwrap_or(1).max(1);
    let kept = most.min(MOST_ROUNDS);
    let scaled = |rounds: u64| (u128::from(rounds) * u128::from(kept) / u128::from(most)) as u64;
    rounds.into_iter().map(|rounds| scaled(rounds).max(1)).collect()
}

/// How many different ends intervals have.
fn distinct_ends(intervals: &[(u64, u64)]) -> usize {
    let mut ends: Vec<u64> = intervals.iter().map(|&(_, end)| end).collect();
    ends.sort_unstable();
    ends.dedup();
    ends.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_distribution() {
        let trips = TripCounts::parse("1x31/64x1").expect("words");
        let mut draws = SplitMix64(7);
        for _ in 0..100 {
            let drawn = draws.sample(Some(&trips), 32);
            assert_eq!(drawn.iter().filter(|&&trips| trips == 64).count(), 1);
            assert_eq!(drawn.iter().filter(|&&trips| trips == 1).count(), 31);
        }
        let unknown: u64 = (0..1000).flat_map(|_| draws.sample(None, 32)).sum();
        let mean = unknown as f64 / 32_000.0;
        assert!((mean - UNKNOWN_TRIPS).abs() < 0.5, "{mean}");
    }

    /// Of 32 lanes two are late, each time: of 16 of them none to two.
    #[test]
    fn fewer_lanes_than_were_seen_are_some_of_them() {
        let together = Some(JointIterations { lanes: 32, iterations: 64 });
        let trips = TripCounts { together, ..TripCounts::parse("1x30/64x2").expect("words") };
        let mut draws = SplitMix64(7);
        let mut late = [0; 3];
        for _ in 0..400 {
            let drawn = draws.sample_as_seen(Some(&trips), 16);
            assert_eq!(drawn.len(), 16);
            late[drawn.iter().filter(|&&trips| trips == 64).count()] += 1;
        }
        assert!(late[0] > 60 && late[1] > 150 && late[2] > 60, "{late:?}");
        assert_eq!(draws.sample_as_seen(Some(&trips), 48).len(), 48);
    }

    #[test]
    fn words_say_a_distribution() {
        assert_eq!(
            TripCounts::parse("64x1/1x31"),
            Some(TripCounts { counts: vec![(1, 31), (64, 1)], together: None })
        );
        for wrong in ["", "1", "1x", "x1", "1x0", "1x1/", "-1x1", "1x99999999999999999999"] {
            assert_eq!(TripCounts::parse(wrong), None, "{wrong}");
        }
    }

    /// A loop that goes round once more each time, for all lanes alike, and one that lanes go round as often as they like.
    #[test]
    fn what_lanes_did_together_is_known() {
        let counts: Vec<(u64, u64)> = (1..=16).map(|trips| (trips, 32)).collect();
        let went = |iterations| Some(JointIterations { lanes: 32, iterations });
        let outer = TripCounts { counts: vec![(16, 32)], together: went(16) };
        let inner = |iterations| TripCounts { counts: counts.clone(), together: went(iterations) };
        let seen = |inner: TripCounts| TripCounts::seen(Some(&inner), Some(&outer), 32);
        assert_eq!(seen(inner((1..=16).sum())), Some((8.5, 8.5)));
        assert_eq!(seen(inner(16 * 16)), Some((16.0, 8.5)));
        assert_eq!(seen(TripCounts { together: None, ..inner(1) }), None);
        assert_eq!(TripCounts::seen(Some(&inner(256)), Some(&outer), 16), None, "of other lanes");
    }

    #[test]
    fn iterations_may_pass_by_a_loop() {
        let [outer, inner] = ["10x32", "4x80"].map(|words| TripCounts::parse(words).expect("words"));
        assert_eq!(inner.within(Some(&outer)).counts, [(0, 240), (4, 80)]);
        assert_eq!(inner.within(None), inner);
    }

    #[test]
    fn intervals_that_overlap_count_once() {
        assert_eq!(union(vec![(5, 7), (0, 3), (2, 4), (6, 9)]), 8);
        assert_eq!(union(vec![]), 0);
    }
}
