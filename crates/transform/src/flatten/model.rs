//! Cost model: estimates the time of an outer iteration for lanes that run together, before and after flattening.
//!
//! Let `a` be the cost of the payload and `b` that of an iteration of the inner loop. The model draws the inner trip count `t`
//! for each lane and each outer iteration from its distribution; in each iteration the lanes of a brush are a stratified
//! sample. Before flattening, lanes wait for the slowest: `a + b max t`. Afterwards each lane proceeds on its own: an iteration
//! of an inner loop is executed whenever some lane is in it, and the payload whenever lanes reach its end, once for all that
//! arrive at the same time. They often do, so the model draws end times and not only counts. In the end all lanes wait for the
//! one with the most work. Lanes leave the outer loop by its own distribution, and an iteration of it may bypass an inner loop.
//!
//! A distribution does not distinguish variation between lanes from variation between iterations: if all lanes have equal
//! trip counts that grow with each outer iteration, none waits. So a profile counts iterations of lanes *together*, which then
//! give the time before flattening.
//!
//! On a CPU, flattening makes uniform values varying: counters of the outer loop become vectors, and contiguous accesses gather
//! and scatter. Both sides of a branch run in each iteration unless it is guarded, so the payload counts for each iteration or as
//! guarded, whichever is less. Loop-carried values need selects. Much of that overlaps with the latency of the iteration's
//! dependence chain.
//!
//! By formula (1) of the paper flattening pays if `n/N > Ta/(Ta + Tb)`, where `n/N` is the fraction of idle lanes in the inner
//! loop. It ignores overhead and charges the payload in each iteration. Remarks show both estimates.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{ControlTables, Cycle, InitialShapes, divergence};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Inst, InstData, Op, Value};
use std::fmt;

use super::FlattenOptions;
use crate::address_pattern::AddressPattern;
use crate::fuse::MachineModel;

/// Assumed mean trip count of loops without counts.
const UNKNOWN_TRIPS: f64 = 8.0;
/// Number of drawn outer iterations without counts (`UNKNOWN_ROUNDS`), and the maximum (`MAX_ROUNDS`).
const UNKNOWN_ROUNDS: u64 = 32;
const MAX_ROUNDS: u64 = 256;
/// Maximum loop depth inside a loop that raises its cost.
const MAX_DEPTH: usize = 6;
/// Maximum number of profiled lanes that are drawn together.
const MAX_JOINT_LANES: usize = 128;
/// Minimum speedup. Draws do not model lanes that have more work all the time, for which all others wait in the end, as in
/// `sorts` quicksort of `./x bench ptx`.
const MIN_GAIN: f64 = 1.15;
/// Cost of a guard on a CPU: a test and a branch that is sometimes mispredicted.
const GUARD: f64 = 6.0;
/// Fraction of the cost of selects, tests and scattered accesses on a CPU that the latency of an iteration does not hide. Fitted
/// to `./x bench divergence native` on Zen 4.
const NOT_HIDDEN: f64 = 0.6;

/// Distribution of a loop's trip count: numbers of lanes by number of iterations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TripCounts {
    /// Pairs of a trip count and its frequency, in ascending order.
    pub counts: Vec<(u64, u64)>,
    /// Iterations of lanes together, if they were profiled.
    pub together: Option<JointIterations>,
}

/// Iterations of a loop by lanes that run together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JointIterations {
    /// Number of lanes.
    pub lanes: u64,
    /// Iterations that some lane executed.
    pub iterations: u64,
}

impl TripCounts {
    /// Parses a distribution: `1x31/64x1` is a trip count of 1 for 31 lanes and of 64 for one.
    pub fn parse(words: &str) -> Option<TripCounts> {
        let pair = |word: &str| {
            let (trips, count) = word.split_once('x')?;
            Some((trips.parse().ok()?, count.parse().ok().filter(|&count: &u64| count > 0)?))
        };
        let mut counts = words.split('/').map(pair).collect::<Option<Vec<(u64, u64)>>>()?;
        counts.sort_unstable();
        Some(TripCounts { counts, together: None })
    }

    /// Returns the number of lanes that left the loop.
    fn lanes(&self) -> u64 {
        self.counts.iter().fold(0, |total: u64, &(_, count)| total.saturating_add(count))
    }

    /// Returns the iterations of all lanes together.
    fn all(&self) -> u64 {
        let all = |&(trips, count): &(u64, u64)| trips.saturating_mul(count);
        self.counts.iter().map(all).fold(0, u64::saturating_add)
    }

    /// Returns the distribution with outer iterations that bypass the loop counted as trip count 0.
    fn within(&self, outer: Option<&TripCounts>) -> TripCounts {
        let passed = outer.map_or(0, |outer| outer.all().saturating_sub(self.lanes()));
        let mut counts = self.counts.clone();
        if passed > 0 && !counts.is_empty() {
            counts.push((0, passed));
            counts.sort_unstable();
        }
        TripCounts { counts, together: self.together }
    }

    /// Returns the trip count at a quantile. Without counts the distribution is geometric.
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

    /// Returns the mean number of brush iterations per iteration of the outer loop; 0 for loops that the profiled run did not reach.
    fn rounds_in(inner: Option<&TripCounts>, outer: Option<&TripCounts>) -> f64 {
        let together = |trips: Option<&TripCounts>| trips.and_then(|trips| trips.together);
        match (inner, together(inner).zip(together(outer))) {
            (_, Some((inner, outer))) => inner.iterations as f64 / outer.iterations.max(1) as f64,
            (Some(inner), None) => inner.all() as f64 / inner.lanes().max(1) as f64,
            (None, None) if outer.is_some() => 0.0,
            (None, None) => UNKNOWN_TRIPS,
        }
    }

    /// Returns the profiled iterations of an inner loop per outer iteration: by lanes together, and by each of `lanes` lanes.
    fn profiled(inner: Option<&TripCounts>, outer: Option<&TripCounts>, lanes: usize) -> Option<(f64, f64)> {
        let (inner, outer) = inner.zip(outer)?;
        let (within, around) = inner.together.zip(outer.together)?;
        // Counts of other brush sizes do not apply: among more lanes a slow one is more likely.
        (within.lanes == lanes as u64 && around.lanes == within.lanes).then_some(())?;
        let rounds = Some(around.iterations as f64).filter(|&rounds| rounds > 0.0)?;
        Some((within.iterations as f64 / rounds, inner.all() as f64 / (rounds * lanes as f64)))
    }
}

/// Deterministic random numbers (SplitMix64).
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

    /// Draws a stratified sample: one trip count of each of `lanes` equal parts of the distribution, in random order.
    fn sample(&mut self, known: Option<&TripCounts>, lanes: usize) -> Vec<u64> {
        let mut parts: Vec<usize> = (0..lanes).collect();
        for index in (1..lanes).rev() {
            parts.swap(index, self.below(index + 1));
        }
        let offset = self.share();
        parts.iter().map(|&part| TripCounts::quantile(known, (part as f64 + offset) / lanes as f64)).collect()
    }

    /// Draws stratified samples of as many lanes as the profile had together.
    fn sample_as_seen(&mut self, known: Option<&TripCounts>, lanes: usize) -> Vec<u64> {
        let together = known.and_then(|trips| trips.together).map_or(lanes, |together| {
            usize::try_from(together.lanes).unwrap_or(lanes).clamp(1, MAX_JOINT_LANES)
        });
        let mut drawn = Vec::with_capacity(lanes + together);
        while drawn.len() < lanes {
            drawn.extend(self.sample(known, together));
        }
        drawn.truncate(lanes);
        drawn
    }
}

/// Returns the length of a union of intervals.
fn union(mut intervals: Vec<(u64, u64)>) -> u64 {
    intervals.sort_unstable();
    let (mut covered, mut end) = (0u64, 0u64);
    for (from, to) in intervals {
        covered = covered.saturating_add(to.saturating_sub(from.max(end)));
        end = end.max(to);
    }
    covered
}

/// Estimate for a nest; costs are in instructions of lanes together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlattenEstimate {
    /// Outer iteration before flattening.
    pub before: f64,
    /// Outer iteration after flattening.
    pub after: f64,
    /// Formula (1): fraction of lanes that are idle in the inner loop.
    pub idle: f64,
    /// Formula (1): fraction of the payload in one iteration.
    pub payload: f64,
}

impl FlattenEstimate {
    /// True if flattening pays by the model.
    pub fn pays(&self) -> bool {
        self.before > MIN_GAIN * self.after
    }

    /// True if flattening pays by formula (1).
    pub fn pays_by_formula(&self) -> bool {
        self.idle > self.payload
    }
}

impl fmt::Display for FlattenEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.pays_by_formula() { "pays" } else { "does not pay" };
        write!(
            f,
            "flattened: {:.1} instructions per iteration become {:.1}; by formula (1), idle share {:.2} against {:.2}, it {word}",
            self.before, self.after, self.idle, self.payload
        )
    }
}

/// Costs of a function's blocks, in simple instructions.
pub(super) struct FlattenCosts<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    machine: MachineModel,
    /// Mean iterations of loops per iteration of the parent loop.
    rounds: SecondaryMap<Cycle, f64>,
    /// Costs of blocks before flattening.
    now: SecondaryMap<Block, f64>,
    /// Costs of blocks whose lanes are in different iterations.
    apart: SecondaryMap<Block, f64>,
}

/// Returns a machine-independent cost, in simple instructions.
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

/// Returns the cost on a machine; with `is_apart`, lanes are in different iterations.
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
        true => AddressPattern::Scattered,
        false => AddressPattern::estimated(facts, address, func.value_type(value).scalar()),
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

    /// Returns the cost of an iteration of a loop, inner loops included.
    fn iteration(&self, cycle: Cycle, own: &SecondaryMap<Block, f64>) -> f64 {
        let forest = &self.control.cycles;
        let weight = |block: &Block| -> f64 {
            let around = std::iter::successors(forest.innermost(*block), |&inner| forest.parent(inner));
            around
                .take_while(|&inner| inner != cycle)
                .take(MAX_DEPTH)
                .map(|inner| self.rounds[inner])
                .product()
        };
        forest.blocks(cycle).iter().map(|block| own[*block] * weight(block)).sum()
    }

    /// Returns the costs of the payload and of an iteration of each inner loop.
    fn parts(&self, outer: Cycle, inner: &[Cycle], own: &SecondaryMap<Block, f64>) -> (f64, Vec<f64>) {
        let bodies: Vec<f64> = inner.iter().map(|&cycle| self.iteration(cycle, own)).collect();
        let inside: f64 = inner.iter().zip(&bodies).map(|(&cycle, body)| self.rounds[cycle] * body).sum();
        let payload = (self.iteration(outer, own) - inside).max(0.0);
        (payload, bodies)
    }

    /// Returns the cost of the selects of loop-carried values per iteration.
    fn select_cost(&self, cycles: &[Cycle]) -> f64 {
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

    /// Estimates a nest; also returns the trip counts of the flattened loop if those of its loops are known.
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
            // An outer iteration that bypasses all inner loops takes one iteration of the flattened loop.
            for lane in (0..lanes).filter(is_active) {
                now[lane] += u64::from(now[lane] == before[lane]);
            }
        }
        // Per outer iteration, profiled or else drawn: iterations of each inner loop by the brush and by a lane.
        let (mut waited, mut worked, mut waiting) = (0.0, 0.0, 0.0);
        for (number, &cycle) in inner.iter().enumerate() {
            let (most, done) = TripCounts::profiled(trips(cycle), trips(outer), lanes)
                .unwrap_or((most[number] as f64 / rounds as f64, done[number] / rounds as f64));
            waited += most * bodies[number];
            worked += done * bodies[number];
            waiting += most * self.select_cost(&[cycle]);
        }
        // The payload after an inner loop is executed whenever lanes reach the end of that loop.
        let ends: usize = inside.iter().map(|inside| distinct_ends(inside)).sum();
        let all = now.iter().copied().max().unwrap_or(0) as f64;
        let (payload_apart, bodies_apart) = self.parts(outer, inner, &self.apart);
        let in_loops: f64 =
            bodies_apart.iter().zip(inside).map(|(body, inside)| body * union(inside) as f64).sum();
        // Tests of the state and of the exit, and selects of loop-carried values. Two states are one boolean.
        let around: Vec<Cycle> = inner.iter().copied().chain([outer]).collect();
        let states = if inner.len() == 1 { 1.0 } else { 2.0 * inner.len() as f64 };
        let left = if self.machine == MachineModel::Warps { 1.0 } else { NOT_HIDDEN };
        let requested = left * all * (states + 1.0 + self.select_cost(&around));
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
            after: (in_loops + requested + at_ends) / rounds,
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

/// Returns the drawn number of outer iterations of each lane.
fn rounds_of(known: Option<&TripCounts>, lanes: usize, draws: &mut SplitMix64) -> Vec<u64> {
    let Some(known) = known.filter(|trips| trips.lanes() > 0) else { return vec![UNKNOWN_ROUNDS; lanes] };
    let rounds = draws.sample(Some(known), lanes);
    let most = rounds.iter().copied().max().unwrap_or(1).max(1);
    let kept = most.min(MAX_ROUNDS);
    let scaled = |rounds: u64| (u128::from(rounds) * u128::from(kept) / u128::from(most)) as u64;
    rounds.into_iter().map(|rounds| scaled(rounds).max(1)).collect()
}

/// Returns the number of distinct ends of intervals.
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

    /// Two of 32 lanes are slow each time; of 16 lanes zero to two are.
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

    /// One loop's trip count grows each time, equally for all lanes; the other's differs between lanes.
    #[test]
    fn what_lanes_did_together_is_known() {
        let counts: Vec<(u64, u64)> = (1..=16).map(|trips| (trips, 32)).collect();
        let went = |iterations| Some(JointIterations { lanes: 32, iterations });
        let outer = TripCounts { counts: vec![(16, 32)], together: went(16) };
        let inner = |iterations| TripCounts { counts: counts.clone(), together: went(iterations) };
        let profiled = |inner: TripCounts| TripCounts::profiled(Some(&inner), Some(&outer), 32);
        assert_eq!(profiled(inner((1..=16).sum())), Some((8.5, 8.5)));
        assert_eq!(profiled(inner(16 * 16)), Some((16.0, 8.5)));
        assert_eq!(profiled(TripCounts { together: None, ..inner(1) }), None);
        assert_eq!(TripCounts::profiled(Some(&inner(256)), Some(&outer), 16), None, "of other lanes");
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
