//! Whether flattening pays: what lanes that run together take for an iteration of the outer loop, before and after.
//!
//! Be `a` the cost of the payload and `b` that of an iteration of the inner loop. How often the inner loop goes round is drawn
//! for each lane and each iteration of the outer loop, from its distribution; in each iteration the lanes of a brush are a fair
//! sample of it. Before, lanes wait for the slowest: `a + b max t`. After, each lane goes on for itself: an iteration of an
//! inner loop is executed whenever some lane is in it, and the payload whenever a lane comes to its end, once for those that
//! come there at the same time. That they often do is why the end times are drawn, and not only their number. In the end all
//! wait for the lane with the most to do.
//!
//! On a CPU, what lanes shared before differs then: counters of the outer loop become vectors, and accesses that were of lanes
//! side by side gather and scatter. Both sides of a branch run in each iteration unless a guard is asked, so the payload is
//! executed in each or guarded, whichever is less; and what goes round is chosen lane by lane.
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
use crate::fuse::Machine;
use crate::fuse::cost::{Reach, reach};

/// How often loops go round of which nothing is known, on average.
const UNKNOWN_TRIPS: f64 = 8.0;
/// How many iterations of the outer loop are drawn, if nothing is known of it, and at most.
const UNKNOWN_ROUNDS: u64 = 32;
const MOST_ROUNDS: u64 = 256;
/// What must be gained, as a factor.
const LEAST_GAIN: f64 = 1.05;
/// What a guard costs on a CPU: a question and a branch that is now and then a surprise.
const GUARD: f64 = 6.0;

/// How often a loop goes round once it is entered: counts of lanes, by number of iterations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trips {
    /// Pairs of a number of iterations and how often it came, in ascending order.
    pub counts: Vec<(u64, u64)>,
}

impl Trips {
    /// From words: `1x31/64x1` is one iteration 31 times, 64 iterations once.
    pub fn parse(words: &str) -> Option<Trips> {
        let pair = |word: &str| {
            let (trips, count) = word.split_once('x')?;
            Some((trips.parse().ok()?, count.parse().ok().filter(|&count: &u64| count > 0)?))
        };
        let mut counts = words.split('/').map(pair).collect::<Option<Vec<(u64, u64)>>>()?;
        counts.sort_unstable();
        Some(Trips { counts })
    }

    /// The number of iterations below which this share of the lanes stays; of a loop that nothing is known of as if after
    /// each iteration a lane left with the same probability.
    fn quantile(known: Option<&Trips>, share: f64) -> u64 {
        let counts = known.map_or(&[][..], |trips| &trips.counts);
        let total: u64 = counts.iter().fold(0, |total: u64, &(_, count)| total.saturating_add(count));
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

    fn mean(&self) -> Option<f64> {
        let total: u64 = self.counts.iter().fold(0, |total: u64, &(_, count)| total.saturating_add(count));
        let sum: f64 = self.counts.iter().map(|&(trips, count)| trips as f64 * count as f64).sum();
        (total > 0).then(|| sum / total as f64)
    }
}

/// Numbers for draws, always the same ones (SplitMix64).
struct Draws(u64);

impl Draws {
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
    fn sample(&mut self, known: Option<&Trips>, lanes: usize) -> Vec<u64> {
        let mut parts: Vec<usize> = (0..lanes).collect();
        for index in (1..lanes).rev() {
            parts.swap(index, self.below(index + 1));
        }
        let offset = self.share();
        parts.iter().map(|&part| Trips::quantile(known, (part as f64 + offset) / lanes as f64)).collect()
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
pub struct Estimate {
    /// An iteration of the outer loop as it is.
    pub before: f64,
    /// The same, flattened.
    pub after: f64,
    /// Formula (1): the share of lanes that are idle in the inner loop.
    pub idle: f64,
    /// Formula (1): the share of the payload in one way round.
    pub payload: f64,
}

impl Estimate {
    /// Whether it pays.
    pub fn pays(&self) -> bool {
        self.before > LEAST_GAIN * self.after
    }

    /// Whether it would by formula (1).
    pub fn pays_by_formula(&self) -> bool {
        self.idle > self.payload
    }
}

impl fmt::Display for Estimate {
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
pub(super) struct Costs<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    machine: Machine,
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
        Op::Sqrt | Op::Fdiv | Op::Frem => 8.0,
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
    machine: Machine,
    func: &Function,
    control: &ControlTables,
    facts: &Divergence,
    inst: Inst,
    is_apart: bool,
) -> f64 {
    let data = func.inst(inst);
    let is_vectors = matches!(machine, Machine::Vectors(..));
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
        true => Reach::Scattered,
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

impl<'a> Costs<'a> {
    pub(super) fn new(func: &'a Function, control: &'a ControlTables, machine: Machine) -> Costs<'a> {
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
        Costs { func, control, machine, now, apart }
    }

    /// An iteration of a loop, those inside of it gone round an unknown number of times.
    fn iteration(&self, cycle: Cycle, own: &SecondaryMap<Block, f64>) -> f64 {
        let forest = &self.control.cycles;
        let depth = forest.depth(cycle);
        let weight =
            |block: &Block| UNKNOWN_TRIPS.powi((forest.depth_of_block(*block) - depth - 1).min(6) as i32);
        forest.blocks(cycle).iter().map(|block| own[*block] * weight(block)).sum()
    }

    /// The payload, and an iteration of each inner loop.
    fn parts(&self, outer: Cycle, inner: &[Cycle], own: &SecondaryMap<Block, f64>) -> (f64, Vec<f64>) {
        let bodies: Vec<f64> = inner.iter().map(|&cycle| self.iteration(cycle, own)).collect();
        // What an iteration of the outer loop takes holds that of inner ones as if nothing was known of them.
        let payload = (self.iteration(outer, own) - UNKNOWN_TRIPS * bodies.iter().sum::<f64>()).max(0.0);
        (payload, bodies)
    }

    /// What choosing costs in each iteration, lane by lane, of what goes round these loops.
    fn chosen(&self, cycles: &[Cycle]) -> f64 {
        let header = |&cycle: &Cycle| self.func.phis(self.control.cycles.header(cycle));
        let values = cycles.iter().flat_map(header).filter_map(|phi| self.func.result(phi));
        let tenths: i64 = match self.machine {
            Machine::Vectors(..) => {
                values.map(|value| self.machine.select(self.func.value_type(value))).sum()
            }
            Machine::Warps => 0,
        };
        tenths as f64 / 10.0
    }

    pub(super) fn estimate(&self, outer: Cycle, inner: &[Cycle], options: &FlattenOptions) -> Estimate {
        let forest = &self.control.cycles;
        let lanes = options.lanes.max(1) as usize;
        let trips = |cycle: Cycle| options.trips.get(&forest.header(cycle));
        let (payload, bodies) = self.parts(outer, inner, &self.now);
        let rounds = trips(outer).and_then(Trips::mean).map_or(UNKNOWN_ROUNDS, |mean| mean.round() as u64);
        let rounds = rounds.clamp(1, MOST_ROUNDS);
        let mut draws = Draws(0);
        let mut now = vec![0u64; lanes];
        let mut inside: Vec<Vec<(u64, u64)>> = vec![Vec::new(); inner.len()];
        let mut ends: Vec<u64> = Vec::new();
        let (mut waited, mut worked, mut waiting) = (0.0, 0.0, 0.0);
        for _ in 0..rounds {
            for (number, &cycle) in inner.iter().enumerate() {
                let drawn = draws.sample(trips(cycle), lanes);
                let most = drawn.iter().copied().max().unwrap_or(0);
                waited += most as f64 * bodies[number];
                waiting += most as f64 * self.chosen(&[cycle]);
                for (now, &trips) in now.iter_mut().zip(&drawn) {
                    let end = now.saturating_add(trips);
                    inside[number].push((*now, end));
                    ends.push(end);
                    *now = end;
                    worked += trips as f64 * bodies[number] / lanes as f64;
                }
            }
        }
        ends.sort_unstable();
        ends.dedup();
        let all = now.iter().copied().max().unwrap_or(0) as f64;
        let (payload_apart, bodies_apart) = self.parts(outer, inner, &self.apart);
        let in_loops: f64 =
            bodies_apart.iter().zip(inside).map(|(body, inside)| body * union(inside) as f64).sum();
        // Asking for the state, and whether the lane leaves; choosing what goes round.
        let around: Vec<Cycle> = inner.iter().copied().chain([outer]).collect();
        let asked = all * (inner.len() as f64 + 1.0 + self.chosen(&around));
        let ends = ends.len() as f64 / inner.len() as f64;
        let at_ends = match self.machine {
            Machine::Warps => ends * payload_apart,
            Machine::Vectors(..) => (all * payload_apart).min(all * GUARD + ends * payload_apart),
        };
        let rounds = rounds as f64;
        let each: f64 = bodies.iter().sum();
        Estimate {
            before: payload + (waited + waiting) / rounds,
            after: (in_loops + asked + at_ends) / rounds,
            idle: if waited > 0.0 { 1.0 - worked / waited } else { 0.0 },
            payload: payload / f64::max(payload + each, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_distribution() {
        let trips = Trips::parse("1x31/64x1").expect("words");
        let mut draws = Draws(7);
        for _ in 0..100 {
            let drawn = draws.sample(Some(&trips), 32);
            assert_eq!(drawn.iter().filter(|&&trips| trips == 64).count(), 1);
            assert_eq!(drawn.iter().filter(|&&trips| trips == 1).count(), 31);
        }
        let unknown: u64 = (0..1000).flat_map(|_| draws.sample(None, 32)).sum();
        let mean = unknown as f64 / 32_000.0;
        assert!((mean - UNKNOWN_TRIPS).abs() < 0.5, "{mean}");
    }

    #[test]
    fn words_say_a_distribution() {
        assert_eq!(Trips::parse("64x1/1x31"), Some(Trips { counts: vec![(1, 31), (64, 1)] }));
        for wrong in ["", "1", "1x", "x1", "1x0", "1x1/", "-1x1", "1x99999999999999999999"] {
            assert_eq!(Trips::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn intervals_that_overlap_count_once() {
        assert_eq!(union(vec![(5, 7), (0, 3), (2, 4), (6, 9)]), 8);
        assert_eq!(union(vec![]), 0);
    }
}
